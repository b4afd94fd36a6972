//! The distributed coordination function, which decides who sends when (IEEE Std 802.11-2007, clause 9.2).
//!
//! A DIFS after the acknowledgement of each exchange, all radios start to count slots on one grid. A radio sends in the
//! slot in which its backoff ends. Frames of the same slot collide. When the medium becomes busy in slot n, the backoff
//! of each waiting radio is frozen: it has n slots less to wait next time. After each frame of its own, whatever its
//! fate, a radio draws a new backoff.
//!
//! Nothing happens in idle slots, so an exchange is one event: the end of its last frame. It is planned when the
//! previous one ends, and planned again when a radio joins before it has begun.

use fairwire_units::{Duration, Instant};

use super::radio::{Radio, Serving};
use crate::schedule::Key;

/// The parameters of a medium.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dcf {
    /// The length of a slot.
    pub slot: Duration,
    /// The time between a frame and its acknowledgement.
    pub sifs: Duration,
    /// The idle time before slots are counted.
    pub difs: Duration,
    /// The first contention window: a backoff is 0 to this many slots.
    pub cw_min: u32,
    /// The largest contention window. Each failure doubles the window up to this one.
    pub cw_max: u32,
    /// The most times that a frame is sent.
    pub attempts: u32,
}

impl Dcf {
    /// 802.11g without older stations: slots of 9 us, SIFS 10 us, DIFS 28 us, windows 15 to 1023, a retry limit of 7.
    pub const G: Self = Self {
        slot: Duration::from_micros(9),
        sifs: Duration::from_micros(10),
        difs: Duration::from_micros(28),
        cw_min: 15,
        cw_max: 1_023,
        attempts: 7,
    };
}

/// The next exchange, unless a radio joins before it begins.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    slot: u64,
    start: Instant,
    /// The end of the last frame.
    end: Key,
    /// When slots are counted again.
    over: Instant,
    begun: bool,
}

/// One channel, on which every radio hears every other.
#[derive(Debug)]
pub(crate) struct Medium {
    pub(crate) dcf: Dcf,
    /// The numbers of the radios on it, in increasing order.
    members: Vec<usize>,
    /// The start of the current slot grid.
    grid: Instant,
    exchange: Option<Exchange>,
    /// The radios that send in the exchange.
    pub(crate) senders: Vec<usize>,
}

impl Medium {
    /// Creates an idle medium.
    pub(crate) fn new(dcf: Dcf) -> Self {
        Self {
            dcf,
            members: Vec::new(),
            grid: Instant::START + dcf.difs,
            exchange: None,
            senders: Vec::new(),
        }
    }

    pub(crate) fn enter(&mut self, radio: usize) {
        if let Err(at) = self.members.binary_search(&radio) {
            self.members.insert(at, radio);
        }
    }

    pub(crate) fn leave(&mut self, radio: usize) {
        self.members.retain(|member| *member != radio);
    }

    /// Returns when the last frame of the next exchange ends.
    pub(crate) fn end(&self) -> Key {
        self.exchange.map_or(Key::NEVER, |exchange| exchange.end)
    }

    /// Returns whether an exchange is in progress at `now`. An exchange that has begun by then becomes fixed.
    pub(crate) fn is_busy(&mut self, now: Instant, radios: &mut [Radio]) -> bool {
        let Some(exchange) = &mut self.exchange else {
            return false;
        };
        if !exchange.begun && exchange.start <= now {
            exchange.begun = true;
            self.grid = exchange.over;
            for &member in &self.members {
                radios[member].turn = radios[member].turn.saturating_sub(exchange.slot);
            }
        }
        exchange.begun
    }

    /// Returns whether `radio` sends in the exchange in progress.
    pub(crate) fn is_sending(&self, radio: usize) -> bool {
        self.exchange.is_some_and(|exchange| exchange.begun) && self.senders.contains(&radio)
    }

    /// Gives a turn to a radio that had no frame and now has one.
    pub(crate) fn wants_to_send(&self, now: Instant, radio: &mut Radio) {
        match self.next_slot(now) {
            // The medium was busy, or not idle for long enough: every radio draws a backoff.
            None if radio.turn == 0 => radio.draw(self.dcf.cw_min),
            None => {}
            Some(slot) => radio.turn = radio.turn.max(slot),
        }
    }

    /// Lets a radio join this medium; it counts its slots from now on.
    pub(crate) fn starts_counting(&self, now: Instant, radio: &mut Radio) {
        radio.restart(self.dcf.cw_min);
        radio.turn += self.next_slot(now).unwrap_or(0);
    }

    /// Returns the slot that begins next, if slots are counted at `now`.
    fn next_slot(&self, now: Instant) -> Option<u64> {
        let silent = now.as_nanos().checked_sub(self.grid.as_nanos())?;
        Some(silent / self.dcf.slot.as_nanos() + 1)
    }

    /// Ends the exchange in progress.
    pub(crate) fn finish(&mut self, now: Instant, radios: &mut [Radio]) {
        self.is_busy(now, radios);
        self.exchange = None;
    }

    /// Plans the next exchange: its senders and its times.
    pub(crate) fn plan(
        &mut self,
        ticket: u64,
        radios: &[Radio],
        airtime: impl Fn(Serving) -> Airtime,
    ) {
        self.senders.clear();
        let mut first = u64::MAX;
        for &member in &self.members {
            let radio = &radios[member];
            if radio.serving.is_none() || radio.turn > first {
                continue;
            }
            if radio.turn < first {
                first = radio.turn;
                self.senders.clear();
            }
            self.senders.push(member);
        }
        if self.senders.is_empty() {
            self.exchange = None;
            return;
        }
        let start = self.grid + self.dcf.slot * first;
        let (mut end, mut over) = (start, start);
        for serving in self
            .senders
            .iter()
            .filter_map(|sender| radios[*sender].serving)
        {
            let airtime = airtime(serving);
            end = end.max(start + airtime.frame);
            over = over.max(start + airtime.frame + self.dcf.sifs + airtime.ack);
        }
        self.exchange = Some(Exchange {
            slot: first,
            start,
            end: Key { at: end, ticket },
            over: over + self.dcf.difs,
            begun: false,
        });
    }
}

/// The airtimes of a frame and of its acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Airtime {
    pub(crate) frame: Duration,
    pub(crate) ack: Duration,
}
