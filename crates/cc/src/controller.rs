//! The interface between a protocol and its congestion control.

use std::fmt;

use fairwire_units::{Duration, Ecn, Instant};

use crate::RoundTrip;

/// The packets in the network and those waiting to be sent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Flight {
    /// Data packets sent and not yet known to have left the network (the pipe of RFC 4341, section 5).
    pub packets: u32,
    /// The bytes of these packets, in the caller's measure of size.
    pub bytes: u64,
    /// Datagrams queued behind the permit; zero means that the application is the limit.
    pub waiting: u32,
}

/// Whether the next packet may leave.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Permit {
    /// It may leave now.
    Now,
    /// It may not leave before this time; ask again then.
    At(Instant),
    /// It may not leave before the next feedback or timeout.
    AwaitFeedback,
}

/// How the network signalled congestion.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Signal {
    /// Packets were lost.
    Lost,
    /// Packets arrived with a congestion mark (RFC 3168).
    Marked,
}

/// The congestion reported by one piece of feedback.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Congestion {
    /// `Lost` if any packet was lost, otherwise `Marked`.
    pub signal: Signal,
    /// When the newest of these packets was sent. Packets sent before the last cut cannot cause another one.
    pub newest_sent: Instant,
    /// The number of packets lost or marked.
    pub packets: u32,
}

/// The packets that one piece of feedback reports as delivered, whether or not the window may grow by them.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Delivery {
    /// The number of packets newly known to have arrived.
    pub packets: u32,
    /// The bytes of these packets.
    pub bytes: u64,
    /// The number of them with a congestion mark, as far as the protocol knows.
    pub marked: u32,
    /// When the newest of them was sent; `None` if this is not known, as for a packet that was sent twice.
    pub newest_sent: Option<Instant>,
}

/// A sample of the delivery rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Packets per second.
    pub packets_per_s: f64,
    /// Bytes per second, in the protocol's measure of size.
    pub bytes_per_s: f64,
    /// Whether the application had nothing more to send during the sample. If so, the network may carry more.
    pub app_limited: bool,
    /// The packets delivered before the sampled packet left. A round trip has passed when this reaches the number
    /// delivered at the start of that round trip.
    pub delivered_before: u64,
    /// The packets delivered so far, those of this sample included.
    pub delivered: u64,
}

/// The limit that a controller sets to its sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A number of packets in the network.
    Window(f64),
    /// A number of bytes in the network.
    Bytes {
        /// How many, headers included.
        bytes: f64,
        /// The bytes that headers add to each packet.
        header: f64,
    },
    /// A rate in bytes per second; it determines how much is in the network.
    Rate(f64),
}

impl Limit {
    /// Returns the window in packets; `None` if the limit is none of packets.
    pub fn window(self) -> Option<f64> {
        match self {
            Self::Window(packets) => Some(packets),
            Self::Bytes { .. } | Self::Rate(_) => None,
        }
    }

    /// Returns how many packets of `size` bytes the limit allows in a round trip of `rtt`, at least one.
    ///
    /// One if the limit is a rate and the round-trip time is not known.
    pub fn packets_per_rtt(self, rtt: Option<Duration>, size: f64) -> f64 {
        let packets = match self {
            Self::Window(packets) => packets,
            Self::Bytes { bytes, header } => bytes / (size + header).max(1.0),
            Self::Rate(rate) => rtt.map_or(1.0, |rtt| rate * rtt.as_secs_f64() / size.max(1.0)),
        };
        packets.max(1.0)
    }
}

/// The report of a TFRC receiver (RFC 5348, section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfrcReport {
    /// The rate at which the receiver got data since its last report, bytes per second.
    pub x_recv: f64,
    /// The loss event rate, 0.0 to 1.0.
    pub p: f64,
    /// Whether the report contains a loss event that no earlier report contained. The controller itself notices an
    /// increase of `p`, with or without a new loss event (RFC 5348, section 4.3).
    pub new_loss: bool,
    /// When the newest packet that the receiver had seen was sent; the interval of the report ends there (`t_new` of
    /// RFC 5348, section 8.2.1). If `None`, the controller estimates it.
    pub covers_until: Option<Instant>,
}

/// The limits of the receiving host (RFC 4340, sections 11.6 and 11.7).
///
/// They do not depend on the network, which may be able to carry more.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct HostLimits {
    /// The number of packets newly reported as dropped from the receive buffer (Drop Code 2).
    pub buffer_drops: u32,
    /// Whether the host asks for no higher rate for one round trip (Slow Receiver).
    pub slow: bool,
    /// Whether slow start has to end because the host reported dropped data (RFC 4341, section 5.2). Packets that count
    /// as marked are in [`Feedback::congestion`] as well.
    pub ends_slow_start: bool,
}

impl HostLimits {
    /// Returns whether there is no limit.
    pub fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// The content of one acknowledgement, mark, report or expired timer.
///
/// A new signal becomes a new field.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Feedback {
    /// A new round-trip sample, without the time for which the peer held the packet.
    pub rtt: Option<Duration>,
    /// The round-trip time as measured so far, this sample included. The caller measures it. If it has no timeout it is
    /// empty, and the previous one remains valid.
    pub path: RoundTrip,
    /// The packets that have arrived.
    pub delivery: Delivery,
    /// The delivery rate that they show, for a controller that asks for it ([`Controller::wants_delivery_rate`]).
    pub rate: Option<RateSample>,
    /// The number of data packets acknowledged for the first time, marked ones included, by which the window may grow.
    /// Zero during a TCP's recovery.
    pub newly_acked: u32,
    /// The bytes of these packets.
    pub newly_acked_bytes: u64,
    /// When the oldest of them was sent. Set only if the protocol lets a window grow only by packets sent after a cut.
    pub oldest_acked_sent: Option<Instant>,
    /// The losses and marks found now.
    pub congestion: Option<Congestion>,
    /// Whether the caller answers every loss by starting again from one packet, as a Tahoe TCP does. If `congestion`
    /// cuts the window, slow start then leads back to the window that the cut would have left.
    pub start_over: bool,
    /// Whether the caller's retransmission timeout expired, that is, nothing came back for that long.
    pub timeout: bool,
    /// Whether the last timeout turned out to be spurious: what was in flight arrived late (RFC 5682).
    pub spurious_timeout: bool,
    /// The report of a TFRC receiver.
    pub tfrc: Option<TfrcReport>,
    /// The current Ack Ratio, at least one: how many packets one acknowledgement may cover (RFC 4340, section 11.3).
    /// `None` if the protocol has none.
    pub ack_ratio: Option<u32>,
    /// The limits of the peer's host, as opposed to the network.
    pub host: HostLimits,
}

/// The state of a controller for display and logs. `None` means that this controller has no such value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gauges {
    /// The congestion window, packets.
    pub cwnd_packets: Option<f64>,
    /// The slow-start threshold, packets; infinite at first.
    pub ssthresh_packets: Option<f64>,
    /// The allowed sending rate, bytes per second.
    pub rate_bytes_per_s: Option<f64>,
    /// The loss event rate, 0.0 to 1.0.
    pub p: Option<f64>,
    /// The receive rate of the last report, bytes per second.
    pub x_recv_bytes_per_s: Option<f64>,
    /// The number of window cuts or rate cuts so far.
    pub cuts: u64,
    /// The number of timeouts so far (retransmission or nofeedback timer).
    pub timeouts: u64,
}

/// A congestion controller: a window or a rate.
///
/// The order of calls: ask [`permit`](Self::permit) before each packet. After each packet that left, call
/// [`on_sent`](Self::on_sent) with the flight that includes it. Pass every acknowledgement to
/// [`on_feedback`](Self::on_feedback) with the flight that remains after it. `size` is the packet's size in bytes, in
/// the caller's measure of size.
pub trait Controller: fmt::Debug + Send {
    /// Returns whether a packet of `size` bytes may leave now.
    fn permit(&self, now: Instant, flight: Flight, size: u32) -> Permit;

    /// Records that a packet of `size` bytes left; `flight` includes it.
    fn on_sent(&mut self, now: Instant, flight: Flight, size: u32);

    /// Processes feedback from the peer or a timeout; `flight` is what remains in the network.
    fn on_feedback(&mut self, now: Instant, flight: Flight, feedback: &Feedback);

    /// Returns when this controller's timer expires, if it has one.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    /// Handles the expiry of the timer of [`next_timeout`](Self::next_timeout).
    fn handle_timeout(&mut self, _now: Instant, _flight: Flight) {}

    /// Starts again without history: the path changed, or the connection was idle too long for its history to be valid.
    fn reset(&mut self, now: Instant);

    /// Returns the window or rate, independent of what has been sent.
    ///
    /// Protocols call this for every packet, so it has to be cheap.
    fn limit(&self) -> Limit;

    /// Returns the ECN codepoint of data packets, for use when both sides support ECN.
    ///
    /// It is Not-ECT for a controller without an answer to marks, and ECT(1) for one that answers as L4S requires (RFC
    /// 9331).
    fn ecn(&self) -> Ecn {
        Ecn::Ect0
    }

    /// Returns whether feedback should contain samples of the delivery rate ([`Feedback::rate`]).
    ///
    /// Protocols ask once, when they take the controller ([`with_delivery_rate`](crate::with_delivery_rate)).
    fn wants_delivery_rate(&self) -> bool {
        false
    }

    /// Returns the bytes of memory held in addition to the controller's own size.
    fn memory(&self) -> usize {
        0
    }

    /// Returns the state of the controller for display and logs.
    fn gauges(&self) -> Gauges;
}
