//! The seam between a protocol and its congestion control.

use std::fmt;

use fairwire_units::{Duration, Ecn, Instant};

use crate::RoundTrip;

/// What the caller has in the network and what it would like to add.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Flight {
    /// Data packets sent and not yet known to have left the network (the pipe of RFC 4341, section 5).
    pub packets: u32,
    /// Their bytes, counted as the caller counts sizes.
    pub bytes: u64,
    /// Datagrams queued behind the permit: zero says that the application is the limit.
    pub waiting: u32,
}

/// May the next packet leave?
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Permit {
    /// Yes.
    Now,
    /// Not before this moment: ask again then.
    At(Instant),
    /// Not before the next feedback or timeout.
    AwaitFeedback,
}

/// How the network said that it is congested.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Signal {
    /// Packets were lost.
    Lost,
    /// Packets arrived with a congestion mark (RFC 3168).
    Marked,
}

/// Congestion found by one piece of feedback.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Congestion {
    /// Lost if any packet was, else marked.
    pub signal: Signal,
    /// When the newest of the packets concerned was sent: what was sent before the last cut cannot ask for another.
    pub newest_sent: Instant,
    /// How many packets were lost or marked.
    pub packets: u32,
}

/// What has arrived, by one piece of feedback, whether or not a window may grow by it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Delivery {
    /// Packets now known to have arrived.
    pub packets: u32,
    /// Of these, ones with a congestion mark, as far as the protocol knows.
    pub marked: u32,
    /// When the newest of them was sent; `None` if that is not known, as of one that was sent twice.
    pub newest_sent: Option<Instant>,
}

/// What a controller holds its sender to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// Packets in the network.
    Window(f64),
    /// Bytes per second; what is in the network follows from it.
    Rate(f64),
}

impl Limit {
    /// The window, packets; `None` where a rate rules.
    pub fn window(self) -> Option<f64> {
        match self {
            Self::Window(packets) => Some(packets),
            Self::Rate(_) => None,
        }
    }

    /// Packets of `size` bytes that a round trip of `rtt` has room for, at least one; one while the round trip
    /// is not known and a rate rules.
    pub fn packets_per_rtt(self, rtt: Option<Duration>, size: f64) -> f64 {
        let packets = match self {
            Self::Window(packets) => packets,
            Self::Rate(rate) => rtt.map_or(1.0, |rtt| rate * rtt.as_secs_f64() / size.max(1.0)),
        };
        packets.max(1.0)
    }
}

/// What a TFRC receiver reports (RFC 5348, section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfrcReport {
    /// The rate at which the receiver got data since its last report, in bytes per second.
    pub x_recv: f64,
    /// The loss event rate, 0.0 to 1.0.
    pub p: f64,
    /// Does it tell of a loss event that no earlier report told of? That `p` rises, with or without
    /// one, is noticed by the controller itself (RFC 5348, section 4.3).
    pub new_loss: bool,
    /// When the newest packet that the receiver had seen was sent: where the interval ends that
    /// the report covers (`t_new` of RFC 5348, section 8.2.1). `None` lets the controller estimate it.
    pub covers_until: Option<Instant>,
}

/// What the receiving host says of itself: the network may well carry more (RFC 4340, sections 11.6
/// and 11.7).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct HostLimits {
    /// Packets newly reported as dropped from its receive buffer (Drop Code 2).
    pub buffer_drops: u32,
    /// It asks not to get more than now for a round trip (Slow Receiver).
    pub slow: bool,
    /// It reported data as dropped, for whatever reason that hints at trouble: slow start is over
    /// (RFC 4341, section 5.2). Packets that count as marked are in [`Feedback::congestion`] too.
    pub ends_slow_start: bool,
}

impl HostLimits {
    /// Does it say nothing?
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// All that one acknowledgement, mark, report or expired timer says. A new signal is a new field.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Feedback {
    /// A new round-trip sample, the time that the peer held the packet already subtracted.
    pub rtt: Option<Duration>,
    /// What is known of the round trip, that sample included. Who measures it keeps it; without a timeout it says
    /// nothing, and what was said before still holds.
    pub path: RoundTrip,
    /// What has arrived.
    pub delivery: Delivery,
    /// Data packets acknowledged for the first time, marked ones included, by which a window may grow: none in a
    /// TCP's recovery.
    pub newly_acked: u32,
    /// Their bytes.
    pub newly_acked_bytes: u64,
    /// When the oldest of them was sent, where the caller's protocol lets a window grow by what was
    /// sent after a cut alone.
    pub oldest_acked_sent: Option<Instant>,
    /// Losses and marks found now.
    pub congestion: Option<Congestion>,
    /// The caller answers every loss by starting again from one packet, as a Tahoe TCP does: if the
    /// congestion above cuts the window, slow start leads back to what the cut would have left.
    pub start_over: bool,
    /// The caller's retransmission timeout expired: nothing came back for that long.
    pub timeout: bool,
    /// What a TFRC receiver reported.
    pub tfrc: Option<TfrcReport>,
    /// The Ack Ratio in force: how many packets the receiver lets one acknowledgement cover, where
    /// there is such a thing (RFC 4340, section 11.3). At least one.
    pub ack_ratio: Option<u32>,
    /// What the peer's host, not the network, cannot bear.
    pub host: HostLimits,
}

/// What a controller would show on its instruments. `None` is "this controller has no such thing".
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gauges {
    /// Congestion window, packets.
    pub cwnd_packets: Option<f64>,
    /// Slow-start threshold, packets; infinite at first.
    pub ssthresh_packets: Option<f64>,
    /// The rate that may be sent, bytes per second.
    pub rate_bytes_per_s: Option<f64>,
    /// Loss event rate, 0.0 to 1.0.
    pub p: Option<f64>,
    /// The receive rate last reported, bytes per second.
    pub x_recv_bytes_per_s: Option<f64>,
    /// Window cuts or rate cuts so far.
    pub cuts: u64,
    /// Timeouts so far (retransmission or nofeedback timer).
    pub timeouts: u64,
}

/// A congestion controller: a window or a rate.
///
/// The order of calls: ask [`permit`](Self::permit) before each packet; after each packet that
/// left, call [`on_sent`](Self::on_sent) with the flight that includes it and with what still
/// waits; hand every acknowledgement to [`on_feedback`](Self::on_feedback) with the flight that
/// remains after it. `size` is the packet's size as the caller counts sizes, in bytes.
pub trait Controller: fmt::Debug + Send {
    /// May a packet of `size` bytes leave now?
    fn permit(&self, now: Instant, flight: Flight, size: u32) -> Permit;

    /// A packet of `size` bytes left; `flight` includes it.
    fn on_sent(&mut self, now: Instant, flight: Flight, size: u32);

    /// News from the peer, or of its silence; `flight` is what remains.
    fn on_feedback(&mut self, now: Instant, flight: Flight, feedback: &Feedback);

    /// When this controller wants to be woken, if it keeps a timer of its own.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    /// The timer of [`next_timeout`](Self::next_timeout) has come.
    fn handle_timeout(&mut self, _now: Instant, _flight: Flight) {}

    /// The path changed or the connection was idle so long that its past says nothing: start afresh.
    fn reset(&mut self, now: Instant);

    /// Window or rate, whatever was sent or not. Cheap: protocols ask for every packet.
    fn limit(&self) -> Limit;

    /// The ECN codepoint of data, where both sides can use ECN: not-ECT for a controller that has no answer
    /// to marks, ECT(1) for one that answers as L4S has it (RFC 9331).
    fn ecn(&self) -> Ecn {
        Ecn::Ect0
    }

    /// Bytes of memory that it holds beside its own size.
    fn memory(&self) -> usize {
        0
    }

    /// The instruments.
    fn gauges(&self) -> Gauges;
}
