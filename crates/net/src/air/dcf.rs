//! Whose turn it is: the distributed coordination function (IEEE Std 802.11-2007, clause 9.2).
//!
//! Behind each exchange, a DIFS after its acknowledgement, slots are counted on one grid that all
//! share. A radio sends in the slot in which its backoff ends; those of one slot collide. When the
//! medium becomes busy in slot n, who waits has n slots less to wait next time: the backoff is
//! frozen. After each frame of its own, whatever became of it, a radio draws again.
//!
//! Nothing happens in idle slots, so an exchange is one event, the end of its last frame. It is
//! planned when the one before ends, and planned anew when somebody joins before it has begun.

use fairwire_units::{Duration, Instant};

use super::radio::{Radio, Serving};
use crate::schedule::Key;

/// The numbers of a medium.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dcf {
    /// A slot.
    pub slot: Duration,
    /// Between a frame and its acknowledgement.
    pub sifs: Duration,
    /// The silence before slots are counted.
    pub difs: Duration,
    /// The first contention window: a backoff is 0 to this many slots.
    pub cw_min: u32,
    /// The last one; each failure doubles it on the way there.
    pub cw_max: u32,
    /// Times that a frame is sent at most.
    pub attempts: u32,
}

impl Dcf {
    /// 802.11g among its like: slots of 9 us, SIFS 10, DIFS 28, windows 15 to 1023, a retry limit of 7.
    pub const G: Self = Self {
        slot: Duration::from_micros(9),
        sifs: Duration::from_micros(10),
        difs: Duration::from_micros(28),
        cw_min: 15,
        cw_max: 1_023,
        attempts: 7,
    };
}

/// What is going to be sent next, if nobody joins before.
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

/// One channel, on which everybody hears everybody.
#[derive(Debug)]
pub(crate) struct Medium {
    pub(crate) dcf: Dcf,
    /// The radios on it, in the order of their numbers.
    members: Vec<usize>,
    /// Slots are counted from here.
    grid: Instant,
    exchange: Option<Exchange>,
    /// Who sends in it.
    pub(crate) senders: Vec<usize>,
}

impl Medium {
    /// A silent medium.
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

    /// When the next exchange's last frame ends.
    pub(crate) fn end(&self) -> Key {
        self.exchange.map_or(Key::NEVER, |exchange| exchange.end)
    }

    /// Is an exchange on its way at `now`? What has begun by then is settled.
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

    /// Does `radio` send in the exchange on its way?
    pub(crate) fn is_sending(&self, radio: usize) -> bool {
        self.exchange.is_some_and(|exchange| exchange.begun) && self.senders.contains(&radio)
    }

    /// A frame has come to a radio that had none.
    pub(crate) fn wants_to_send(&self, now: Instant, radio: &mut Radio) {
        match self.next_slot(now) {
            // The medium was busy, or not silent for long enough: everybody draws.
            None if radio.turn == 0 => radio.draw(self.dcf.cw_min),
            None => {}
            Some(slot) => radio.turn = radio.turn.max(slot),
        }
    }

    /// A radio comes to this medium and counts its slots from now on.
    pub(crate) fn starts_counting(&self, now: Instant, radio: &mut Radio) {
        radio.restart(self.dcf.cw_min);
        radio.turn += self.next_slot(now).unwrap_or(0);
    }

    /// The slot that begins next, if slots are counted at `now`.
    fn next_slot(&self, now: Instant) -> Option<u64> {
        let silent = now.as_nanos().checked_sub(self.grid.as_nanos())?;
        Some(silent / self.dcf.slot.as_nanos() + 1)
    }

    /// The exchange on its way has ended.
    pub(crate) fn finish(&mut self, now: Instant, radios: &mut [Radio]) {
        self.is_busy(now, radios);
        self.exchange = None;
    }

    /// Who sends next, and when.
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

/// What a frame takes, and its acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Airtime {
    pub(crate) frame: Duration,
    pub(crate) ack: Duration,
}
