//! The sender of a connection.
//!
//! [`input`] processes acknowledgements, [`ecn`] their marks, [`output`] decides what leaves, and [`timeout`] handles
//! the retransmission timer, and [`spurious`] undoes needless timeouts, which [`frto`] detects. [`outstanding`] holds the segments that were sent, and its [`scoreboard`] what the peer
//! has selected of them. [`round_trip`] owns the estimate of the round-trip time.

mod ecn;
mod fine;
mod frto;
mod input;
mod marks;
mod output;
mod outstanding;
mod round_trip;
mod scoreboard;
mod spurious;
#[cfg(test)]
mod tests;
mod timeout;

use fairwire_cc::{Controller, Flight, with_delivery_rate};
use fairwire_units::Instant;

use crate::config::{Config, Source};
use crate::event::{Event, Trace, Traced};
use crate::recovery::{Recovery, Sequence};
use crate::segment::TcpSegment;
use crate::stats::SenderStats;
use frto::Frto;
use marks::Marks;
use outstanding::Outstanding;
use round_trip::RoundTrips;

/// The number of the first byte of data; the SYN has the number before it.
const FIRST: u64 = 1;

/// A TCP sender.
#[derive(Debug)]
pub struct Sender {
    config: Config,
    controller: Box<dyn Controller>,
    start: Instant,
    phase: Phase,
    /// The payload of a full segment as agreed by both sides, bytes.
    mss: u32,

    una: u64,
    outstanding: Outstanding,
    /// The number after the last byte that the application has passed on.
    stream_end: u64,
    peer_window: u32,
    /// The newest time of the peer's clock, for the echo.
    peer_stamp: u32,

    recovery: Recovery,
    frto: Frto,
    marks: Marks,
    duplicates: u32,
    /// Whether the first outstanding segment has to leave again, regardless of the window.
    retransmit_first: bool,
    /// The segments sent on the first duplicate acknowledgements (RFC 3042).
    limited_sent: u32,
    /// The segments that may still leave on the acknowledgement that ended a recovery.
    burst_left: Option<u32>,
    /// The limit of segments outstanding until the first acknowledgement, set if the SYN was lost.
    flight_limit: Option<u32>,
    /// Whether a segment had to wait for the controller when `poll_transmit` was last drained.
    held: bool,
    paced_until: Option<Instant>,
    ack_due: bool,

    rtt: RoundTrips,
    retransmit_at: Option<Instant>,

    trace: Trace,
    stats: SenderStats,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    Closed,
    SynDue { again: bool },
    SynSent { at: Instant, again: bool },
    Established,
}

impl Sender {
    /// Creates a sender that opens its connection at `start` and sends the data of `source`.
    ///
    /// `controller` is usually made by [`Config::window`] from a law.
    pub fn new(
        config: Config,
        controller: Box<dyn Controller>,
        source: Source,
        start: Instant,
    ) -> Self {
        let stream_end = match source {
            Source::Greedy => u64::MAX,
            Source::Finite(bytes) => FIRST.saturating_add(bytes),
            Source::Written => FIRST,
        };
        Self {
            config,
            controller: with_delivery_rate(controller),
            start,
            phase: Phase::Closed,
            mss: config.mss(),
            una: FIRST,
            outstanding: Outstanding::new(FIRST),
            stream_end,
            peer_window: config.window_bytes(),
            peer_stamp: 0,
            recovery: Recovery::new(config.recovery),
            frto: Frto::default(),
            marks: Marks::new(config.ecn, config.handshake),
            duplicates: 0,
            retransmit_first: false,
            limited_sent: 0,
            burst_left: None,
            flight_limit: None,
            held: false,
            paced_until: None,
            ack_due: false,
            rtt: RoundTrips::new(&config),
            retransmit_at: None,
            trace: Trace::new(config.trace),
            stats: SenderStats::default(),
        }
    }

    /// Adds `bytes` bytes of data from the application.
    pub fn write(&mut self, bytes: u64) {
        self.stream_end = self.stream_end.saturating_add(bytes);
    }

    /// Returns how many bytes of the application's data have not been sent yet.
    pub fn unsent(&self) -> u64 {
        self.stream_end.saturating_sub(self.outstanding.max())
    }

    /// Returns the payload of a full segment, bytes.
    pub fn mss(&self) -> u32 {
        self.mss
    }

    /// Returns whether all data that the application has passed on is acknowledged.
    pub fn is_done(&self) -> bool {
        self.una == self.stream_end
    }

    /// Processes a segment from the peer.
    pub fn handle_segment(&mut self, now: Instant, segment: &TcpSegment) {
        if let Some(timestamps) = segment.timestamps {
            self.peer_stamp = timestamps.value;
        }
        match self.phase {
            Phase::SynSent { at, again } if segment.flags.syn && segment.flags.ack => {
                self.establish(now, segment, (!again).then_some(at));
            }
            // Our answer to the SYN-ACK was lost.
            Phase::Established if segment.flags.syn => self.ack_due = true,
            Phase::Established if segment.flags.ack => self.handle_ack(now, segment),
            _ => self.stats.discarded += 1,
        }
    }

    /// Returns the next segment to send now, if there is one.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<TcpSegment> {
        if self.phase == Phase::Closed && now >= self.start {
            self.phase = if self.config.handshake {
                Phase::SynDue { again: false }
            } else {
                Phase::Established
            };
        }
        match self.phase {
            Phase::SynDue { again } => Some(self.send_syn(now, again)),
            Phase::Established => self.poll_established(now),
            Phase::Closed | Phase::SynSent { .. } => None,
        }
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout), if ever.
    pub fn next_timeout(&self) -> Option<Instant> {
        if self.phase == Phase::Closed {
            return Some(self.start);
        }
        Instant::earliest([
            self.retransmit_at,
            self.paced_until,
            self.controller.next_timeout(),
        ])
    }

    /// Handles the timers that have expired at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.retransmit_at.is_some_and(|at| at <= now) {
            self.time_out(now);
        }
        if self.paced_until.is_some_and(|at| at <= now) {
            self.paced_until = None;
        }
        if self.controller.next_timeout().is_some_and(|at| at <= now) {
            let flight = self.flight();
            self.controller.handle_timeout(now, flight);
        }
    }

    /// Returns the oldest event that was not read yet, if the configuration asks for events.
    pub fn poll_event(&mut self) -> Option<Traced> {
        self.trace.pop()
    }

    /// Returns the counters and the present state.
    pub fn stats(&self) -> SenderStats {
        let gauges = self.controller.gauges();
        SenderStats {
            cwnd_packets: gauges.cwnd_packets,
            ssthresh_packets: gauges.ssthresh_packets,
            outstanding: self.outstanding.in_flight(),
            srtt: self.rtt.srtt(),
            rto: self.rtt.rto(),
            ..self.stats
        }
    }

    /// Returns what counts against the window: outstanding segments, less those known from acknowledgements to have
    /// left the network.
    fn flight(&self) -> Flight {
        let careful = !self.config.limited_transmit && self.outstanding.all_in_flight();
        let in_network = if self.config.recovery.uses_sack() {
            // Without RFC 3042 selected segments make no room before a recovery begins.
            if careful && !self.recovery.is_active() {
                self.outstanding.in_flight()
            } else {
                self.outstanding.pipe()
            }
        } else {
            self.outstanding.in_flight()
        };
        let left = if self.recovery.is_active() {
            self.recovery.inflation()
        } else if self.config.recovery.uses_sack() {
            // RFC 6675, 5, step 3: the pipe controls limited transmit.
            0
        } else if self.config.limited_transmit && self.outstanding.all_in_flight() {
            // RFC 3042: each of the first two duplicates lets a new segment leave.
            i64::from(self.duplicates.min(2))
        } else {
            0
        };
        let packets = i64::from(in_network).saturating_sub(left);
        Flight {
            packets: u32::try_from(packets.max(0)).unwrap_or(u32::MAX),
            bytes: self.outstanding.bytes_in_flight(),
            waiting: self.held_back(),
        }
    }

    /// Returns all outstanding data (`FlightSize` in RFC 5681), without segments sent on duplicates (RFC 3042).
    fn flight_size(&self) -> Flight {
        Flight {
            packets: self
                .outstanding
                .in_flight()
                .saturating_sub(self.limited_sent),
            ..self.flight()
        }
    }

    /// Returns how many segments wait for the controller: none, or those that could leave if it allowed them.
    fn held_back(&self) -> u32 {
        if !self.held {
            return 0;
        }
        let sendable = self.send_limit().saturating_sub(self.outstanding.max());
        u32::try_from(sendable / u64::from(self.mss))
            .unwrap_or(u32::MAX)
            .max(1)
    }

    /// Returns the number up to which the application and the receiver let data leave.
    fn send_limit(&self) -> u64 {
        let window = self.una.saturating_add(u64::from(self.peer_window));
        window.min(self.stream_end)
    }

    fn sequence(&self, now: Instant) -> Sequence {
        let oldest = self.outstanding.first().map(|first| first.at);
        let expired = |sent_at| self.rtt.has_expired(now.saturating_since(sent_at));
        Sequence {
            una: self.una,
            max: self.outstanding.max(),
            is_lost: self.config.recovery.uses_sack() && self.outstanding.is_first_lost(self.mss),
            has_expired: oldest.is_some_and(expired),
        }
    }

    fn record(&mut self, at: Instant, event: Event) {
        if self.trace.is_on() {
            self.trace.push(Traced {
                at,
                event,
                cwnd_packets: self.controller.limit().window(),
                outstanding: self.outstanding.in_flight(),
            });
        }
    }
}
