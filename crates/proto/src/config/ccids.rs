//! Parameters of the congestion controls.

use std::num::NonZeroU16;
use std::time::Duration;

use fairwire_cc::tfrc::{
    Bursts, EquationForm, FirstIntervalLife, FirstRate, LossMean, ReceiveLimit, ReductionFrom,
};
use fairwire_cc::{IdleRule, Law, SlowStart, default_law};
use fairwire_units::registry::Chosen;

use super::limit::Limit;
use super::table::settings;
#[cfg(feature = "settings")]
use super::written::{OptionalPackets, OptionalRate, Time};
use crate::error::ConfigError;

settings! {
    "ccid2."
    /// Parameters of CCID 2 (RFC 4341).
    ///
    /// Choose the window law by name, `config.ccid2.law = law("vegas")?` with [`law`](crate::laws::law), or build one
    /// with [`Chosen::of`].
    #[derive(Clone, Debug, PartialEq)]
    pub struct Ccid2Config {
        /// The window law: how the window grows and shrinks.
        pub law: Chosen<dyn Law> = default_law();
        /// What the window counts. The sizes below are in this unit: in packets, or in segments of full size.
        pub window_counts: WindowCounts = WindowCounts::Packets;
        /// Initial slow-start threshold, packets; without it there is no limit.
        pub initial_ssthresh: Option<f64> as optional ["OptionalPackets"] = None, "at least 2 packets";
        /// Initial congestion window, packets; without it, that of RFC 3390 for the packet size, or with a window of bytes
        /// that of RFC 6928.
        pub initial_window: Option<f64> as optional ["OptionalPackets"] = None, "at least 1 packet";
        /// Minimum retransmission timeout.
        pub min_rto: Duration as ["Time"] = Duration::from_millis(200), "at least 1 ms and at most 60 s";
        /// What happens to the congestion window while it is not used (RFC 4341, 5.1).
        pub idle: IdleRule = IdleRule::Restart;
        /// Whether a packet is also lost if a later one arrived and 9/8 of a round trip have passed (RFC 9002, 6.1.2).
        /// RFC 4341, section 5, waits for three later ones, which a thin flow sends over several round trips.
        pub losses_by_time: bool = false;
        /// Whether, after a timeout, one datagram in a round trip may leave until something is acknowledged.
        ///
        /// The return of a path is then noticed within a round trip. Without it the timeout doubles each time (RFC 4341,
        /// section 5), so that the longer a path fails, the later its return is noticed.
        pub probe_outages: bool = false;
        /// How much slow start adds for acknowledged packets.
        pub slow_start: SlowStart = SlowStart::OneForTwo;
        /// Whether acknowledgements of packets sent before a window cut still increase the window. RFC 4341, section 5,
        /// does not let them; ns-2's module and Linux do.
        pub growth_after_cut: bool = false;
        /// Whether the window grows while the application does not use all of it. RFC 4341, section 5.1, forbids it;
        /// ns-2's module and Linux before 3.4 allow it.
        pub growth_unused: bool = false;
        /// The fixed Ack Ratio that we request from the peer: how many of our data packets one of its acknowledgements
        /// covers. It is at most half the window. Without it the ratio adapts to the loss of acknowledgements (RFC 4341,
        /// 6.1.2).
        pub ack_ratio: Option<NonZeroU16> as optional ["OptionalPackets"] = None,
            "at least 1 packet and at most 65535 packets";
        /// What the Ack Ratio adapts to, if it is not fixed.
        pub ack_ratio_follows: AckRatioFollows = AckRatioFollows::LostAcks;
        /// Whether each data packet we send carries an Ack Vector, even if no packet of the peer arrived since the last
        /// one. RFC 4341, section 6, asks for one by the Ack Ratio. More vectors make up for lost acknowledgements and
        /// take room from data.
        pub ack_vector_on_all_data: bool = false;
    }
}

impl Ccid2Config {
    /// Returns an error that names the first invalid parameter.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.check_limits()?;
        Law::problem(&*self.law).map_or(Ok(()), |problem| {
            Err(ConfigError::new("ccid2.law", problem))
        })
    }
}

/// What the congestion window of CCID 2 counts.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum WindowCounts {
    /// Packets, whatever their size (RFC 4341, section 5).
    #[default]
    Packets,
    /// Bytes, as QUIC does (RFC 9002, section 7): a flow of small datagrams may send as many bytes as a TCP of full
    /// segments on the same path. RFC 4341, sections 5 and 5.3, counts packets.
    ///
    /// Each packet counts with 36 bytes for its headers, as in CCID 4 (RFC 5622, section 5). The window is at least two
    /// segments, grows by the bytes acknowledged whatever `slow_start` says, and need not be a whole number. At most the
    /// initial window, or 2 ms of the rate, leaves at once; more is spread over the round trip (RFC 9002, section 7.7).
    Bytes,
}

/// What the Ack Ratio of CCID 2 adapts to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum AckRatioFollows {
    /// Lost and marked acknowledgements: they double it, and windows without any lower it again (RFC 4341, section
    /// 6.1.2).
    #[default]
    LostAcks,
    /// The same, with what leaves in a round trip in place of a window that is not used: a flow that sends less than four
    /// datagrams in a round trip has each acknowledged. RFC 4341, section 6.1.2, has a ratio of two or more with a window
    /// of four or more, used or not.
    Use,
    /// The window, as in Linux 6.1: the ratio doubles when a window causes 20 acknowledgements, and halves when it
    /// causes fewer than ten. After a timeout it is one. Sockets refuse it.
    Window,
}

settings! {
    "ccid3."
    /// Parameters of CCID 3 (RFC 4342, RFC 5348) and CCID 4 (RFC 5622, RFC 4828).
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Ccid3Config {
        /// Segment size s of the equation under CCID 3: the mean of the packets sent, the largest possible, or a number
        /// of bytes that stands for each packet. CCID 4 uses 1,460 bytes, or what a narrower path leaves to TCP.
        pub segment: Segment = Segment::Mean;
        /// Number of packets that one TCP acknowledgement covers, b of the equation.
        pub b: f64 = 1.0, "at least 1.0 and at most 100.0";
        /// TCP's retransmission timeout in the equation, in round trips (4 in RFC 5348, section 3.1).
        pub t_rto_rtts: f64 = 4.0, "above 0.0 and at most 1000.0";
        /// Whether to reduce oscillations with the square root of the round-trip time (RFC 5348, section 4.5).
        pub oscillation_reduction: bool = true;
        /// Sender: from when on oscillations are reduced.
        pub oscillation_reduction_from: ReductionFrom = ReductionFrom::FirstReport;
        /// Whether recent losses weigh less after a long time without loss (RFC 5348, section 5.5).
        pub history_discounting: bool = true;
        /// What the mean of the loss intervals is divided by before eight of them are closed. It affects the rate of
        /// our sender and the loss event rate that our receiver reports.
        pub loss_mean: LossMean = LossMean::Known;
        /// Receiver: the rate from which the interval before the first loss event is computed.
        pub first_interval: FirstInterval = FirstInterval::LargestRate;
        /// Receiver: how long that interval counts, if a loss event rate is reported (`reports`). A sender that gets
        /// loss intervals counts them all.
        pub first_interval_lasts: FirstIntervalLife = FirstIntervalLife::PushedOut;
        /// Receiver: which losses form one loss event.
        pub loss_events: LossEvents = LossEvents::RoundTrip;
        /// How exactly the throughput equation is computed.
        pub equation: EquationForm = EquationForm::Exact;
        /// Receiver: what its reports say about losses. CCID 4 always reports intervals.
        pub reports: Reports = Reports::Intervals;
        /// Receiver: how it measures the round trip with the window counters, if the sender does not tell it
        /// (`send_rtt_estimate`).
        pub receiver_rtt: ReceiverRtt = ReceiverRtt::Smoothed;
        /// Receiver: the period over which it measures the receive rate that it reports.
        pub receive_rate: ReceiveRateOver = ReceiveRateOver::RoundTrip;
        /// Sender: how the reported receive rate limits the sending rate.
        pub receive_limit: ReceiveLimit = ReceiveLimit::Rfc5348;
        /// Sender: the rate before the first report, and the rate that follows from it.
        pub start: FirstRate = FirstRate::Handshake;
        /// Sender: the initial rate, bytes per second, instead of RFC 3390's window per round trip; slow start never
        /// goes below it either. Without it, `start` decides.
        pub initial_rate: Option<f64> as optional ["OptionalRate"] = None, "above 0 bit/s";
        /// Minimum time of the nofeedback timer.
        pub min_nofeedback: Duration as ["Time"] = Duration::ZERO, "at most 1 h";
        /// Granularity of the send timer: the lateness that a burst may make up for (RFC 5348, section 4.6).
        pub granularity: Duration as ["Time"] = Duration::from_millis(1), "at most 1 s";
        /// Sender: how large bursts may be.
        pub bursts: Bursts = Bursts::Bounded;
        /// Sender: whether the Sequence Window stays as wide as the handshake made it, and does not limit the flight.
        /// RFC 4340, section 7.5.2, widens it with the rate. Linux keeps it: once more than a window of packets leaves
        /// in a round trip, reports are too old to be valid. Sockets refuse it.
        pub keep_sequence_window: bool = false;
        /// Receiver: how often it gives feedback on arriving data: a number of reports per round trip, or the time from
        /// one report to the next (a round trip if that is shorter). There is at most one report per data packet. A
        /// loss event is reported at once, and each report's receive rate covers a whole round trip (RFC 5348, section
        /// 6).
        pub feedback: FeedbackRate = FeedbackRate::PerRoundTrip(1);
    }
}

/// The rate for which a TFRC receiver computes the interval before the first loss event.
///
/// The receiver takes this interval to be as long as the throughput equation requires for one rate, because the packets
/// in it were sent at many rates.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum FirstInterval {
    /// The largest rate received so far (RFC 5348, section 6.3.1).
    #[default]
    LargestRate,
    /// The rate received over the latest round trip (RFC 3448, section 6.3.1). It is lower than the largest rate if a
    /// queue filled up before it dropped, so the first loss costs more.
    LatestRate,
}

/// Which losses a TFRC receiver counts as one loss event.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum LossEvents {
    /// All losses of one round trip (RFC 4342, section 10.2).
    #[default]
    RoundTrip,
    /// Each lost or marked packet is a loss event of its own, as in Linux 2.6.20.
    EachPacket,
}

/// What a TFRC receiver reports about losses.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum Reports {
    /// The loss intervals, from which the sender computes its own mean (RFC 4342, section 8.6), and the loss event
    /// rate.
    #[default]
    Intervals,
    /// Only the loss event rate (RFC 4342, section 8.5), its inverse truncated to a whole number and not rounded up.
    /// ns-2's module and Linux do this. The peer must have asked for it (section 8.4).
    Rate,
}

/// How a TFRC receiver measures the round trip with the sender's window counters, which count quarters of it (RFC 4342,
/// section 8.1).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum ReceiverRtt {
    /// The average of samples, each between the first packets with two counters that are four apart (RFC 4342, section
    /// 8.1).
    #[default]
    Smoothed,
    /// The latest sample, as in ns-2's module: each packet is compared with the nearest one before it whose counter is
    /// at least five lower.
    Latest,
}

/// The period over which a TFRC receiver measures the receive rate.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum ReceiveRateOver {
    /// The last round trip (RFC 5348, section 6).
    #[default]
    RoundTrip,
    /// The time since the last report, or the last round trip if that is longer, as in ns-2's module.
    AtLeastRoundTrip,
    /// The time since the last report, however short, as in Linux 2.6.20.
    SinceReport,
    /// The time since the last report, but a report of a loss repeats the previous rate, as in Linux from 2.6.25 on.
    SinceReportButLoss,
}

/// How often a TFRC receiver gives feedback.
///
/// A loss event is always reported at once. There is at most one report per data packet, and each report's receive rate
/// covers a whole round trip, however far apart the reports are (RFC 5348, section 6). This is the receiver's own
/// choice and is not negotiated: a sender accepts any rate of reports.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FeedbackRate {
    /// This many reports per round trip, at least one. RFC 4342, section 6, asks for one.
    PerRoundTrip(u16),
    /// One report in this time, or in a round trip if that is shorter.
    Every(Duration),
}

impl Ccid3Config {
    /// Returns an error that names the first invalid parameter.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.check_limits()?;
        if [Segment::Fixed(0), Segment::Literal(0)].contains(&self.segment) {
            return Err(ConfigError::new("ccid3.segment", "use at least 1 byte"));
        }
        match self.feedback {
            FeedbackRate::PerRoundTrip(0) => {
                return Err(ConfigError::new(
                    "ccid3.feedback",
                    "use at least 1 report per round trip",
                ));
            }
            FeedbackRate::Every(time) if time.is_zero() => {
                return Err(ConfigError::new(
                    "ccid3.feedback",
                    "use more than 0 s between two reports",
                ));
            }
            _ => {}
        }
        Ok(())
    }
}

/// The segment size of the throughput equation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Segment {
    /// The mean size of the packets sent.
    Mean,
    /// The largest packet that may be sent.
    Mps,
    /// This many bytes. Each packet counts as this size, received packets included.
    Fixed(u32),
    /// This many bytes, but received bytes count with their real size (RFC 5348 taken literally).
    Literal(u32),
}
