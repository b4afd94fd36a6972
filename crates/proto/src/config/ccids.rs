//! Parameters of the congestion controls.

use std::num::NonZeroU16;
use std::time::Duration;

use fairwire_cc::tfrc::{EquationForm, FirstIntervalLife, FirstRate, LossMean, ReceiveLimit};
use fairwire_cc::{IdleRule, Law, SlowStart, default_law};
use fairwire_units::registry::Chosen;

#[cfg(feature = "settings")]
use super::written;
use crate::error::ConfigError;

/// Parameters of CCID 2 (RFC 4341).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields, default)
)]
#[non_exhaustive]
pub struct Ccid2Config {
    /// How the window grows and shrinks: a law by its name, `config.ccid2.law = law("vegas")?` with
    /// [`law`](crate::laws::law), or one made by hand with [`Chosen::of`].
    pub law: Chosen<dyn Law>,
    /// First slow-start threshold, packets; `None` is unlimited.
    #[cfg_attr(feature = "settings", serde(with = "written::packets", skip_serializing_if = "Option::is_none"), schemars(with = "Option<fairwire_units::Packets>", extend("minimum_quantity" = "2 packets", "advice" = "use at least 2 packets")))]
    pub initial_ssthresh: Option<f64>,
    /// First window, packets; `None` follows RFC 3390 by the packet size.
    #[cfg_attr(feature = "settings", serde(with = "written::packets", skip_serializing_if = "Option::is_none"), schemars(with = "Option<fairwire_units::Packets>", extend("minimum_quantity" = "1 packet", "advice" = "use at least 1 packet")))]
    pub initial_window: Option<f64>,
    /// Retransmission timeout at least.
    #[cfg_attr(
        feature = "settings",
        serde(with = "written::time"),
        schemars(
            with = "fairwire_units::Duration",
            extend(
                "minimum_quantity" = "1 ms",
                "maximum_quantity" = "60 s",
                "advice" = "the least retransmission timeout is 1 ms at least and 60 s at most"
            )
        )
    )]
    pub min_rto: Duration,
    /// What becomes of a window that is not used (RFC 4341, 5.1).
    pub idle: IdleRule,
    /// What slow start adds for what is acknowledged.
    pub slow_start: SlowStart,
    /// Does the window grow by acknowledgements of packets that were sent before it was cut? RFC 4341, section 5, gives
    /// them nothing; ns-2's module and Linux do not ask.
    pub growth_after_cut: bool,
    /// Does the window grow while the application leaves it unused? RFC 4341, section 5.1, forbids it; ns-2's module
    /// and Linux of before 3.4 do not look.
    pub growth_unused: bool,
    /// The Ack Ratio that we ask the peer for, whatever happens: how many of our data packets one of its acknowledgements
    /// covers. `None` follows the loss of acknowledgements (RFC 4341, 6.1.2).
    #[cfg_attr(feature = "settings", serde(with = "written::ratio", skip_serializing_if = "Option::is_none"), schemars(with = "Option<fairwire_units::Packets>", extend("minimum_quantity" = "1 packet", "maximum_quantity" = "65535 packets", "advice" = "an Ack Ratio is from 1 to 65535 packets")))]
    pub ack_ratio: Option<NonZeroU16>,
    /// Does each data packet of ours carry an Ack Vector of the peer's packets, whether or not any came since the last one? RFC
    /// 4341, section 6, asks for one by the Ack Ratio. It makes up for lost acknowledgements and takes its room from data.
    pub ack_vector_on_all_data: bool,
}

impl Default for Ccid2Config {
    fn default() -> Self {
        Self {
            law: default_law(),
            initial_ssthresh: None,
            initial_window: None,
            min_rto: Duration::from_millis(200),
            idle: IdleRule::Restart,
            slow_start: SlowStart::OneForTwo,
            growth_after_cut: false,
            growth_unused: false,
            ack_ratio: None,
            ack_vector_on_all_data: false,
        }
    }
}

impl Ccid2Config {
    /// What is wrong with it, and what would do.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let at_least = |value: Option<f64>, least: f64| value.is_none_or(|v| v >= least);
        if !at_least(self.initial_window, 1.0) {
            return Err(ConfigError::new(
                "ccid2.initial_window",
                "use at least 1 packet",
            ));
        }
        if !at_least(self.initial_ssthresh, 2.0) {
            return Err(ConfigError::new(
                "ccid2.initial_ssthresh",
                "use at least 2 packets",
            ));
        }
        Law::problem(&*self.law).map_or(Ok(()), |problem| {
            Err(ConfigError::new("ccid2.law", problem))
        })
    }
}

/// Parameters of CCID 3 (RFC 4342, RFC 5348) and CCID 4 (RFC 5622, RFC 4828).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(deny_unknown_fields, default)
)]
#[non_exhaustive]
pub struct Ccid3Config {
    /// CCID 3: the segment size s of the equation: the mean of what is sent, the largest that may be, or a number of
    /// bytes, which each packet then counts as. CCID 4 has 1,460 bytes, or what a narrower path
    /// leaves to TCP.
    pub segment: Segment,
    /// Packets acknowledged by one TCP acknowledgement, b of the equation.
    #[cfg_attr(feature = "settings", schemars(range(min = 1.0, max = 100.0), extend("advice" = "b is at least one packet and at most 100")))]
    pub b: f64,
    /// TCP's retransmission timeout in the equation, in round trips (4 in RFC 5348, section 3.1).
    #[cfg_attr(feature = "settings", schemars(range(max = 1000.0), extend("exclusiveMinimum" = 0.0, "advice" = "t_rto_rtts is more than zero round trips and at most 1000")))]
    pub t_rto_rtts: f64,
    /// Reduce oscillations by the square root of the round-trip time (RFC 5348, section 4.5)?
    pub oscillation_reduction: bool,
    /// Weigh recent losses less after a long loss-free time (RFC 5348, section 5.5)?
    pub history_discounting: bool,
    /// What the mean of loss intervals is divided by before eight are closed. Ours as a sender, for the
    /// rate, and as a receiver, for the loss event rate that is reported.
    pub loss_mean: LossMean,
    /// The rate that the interval before the first loss event stands for, in a receiver.
    pub first_interval: FirstInterval,
    /// How long that interval counts, in a receiver that reports a loss event rate (`reports`). A sender that gets loss
    /// intervals counts them all.
    pub first_interval_lasts: FirstIntervalLife,
    /// Which losses are one loss event, in a receiver.
    pub loss_events: LossEvents,
    /// How exactly the throughput equation is computed.
    pub equation: EquationForm,
    /// What a receiver's reports tell of losses. CCID 4 tells intervals in any case.
    pub reports: Reports,
    /// Over which time the receive rate is measured that a receiver reports.
    pub receive_rate: ReceiveRateOver,
    /// How the receive rate limits the rate that is sent.
    pub receive_limit: ReceiveLimit,
    /// The rate until the first report, and the one that it leads to.
    pub start: FirstRate,
    /// That rate, bytes per second, in the place of RFC 3390's window in a round trip; slow start never goes below it either.
    /// `None` leaves it to `start`.
    #[cfg_attr(feature = "settings", serde(with = "written::rate", skip_serializing_if = "Option::is_none"), schemars(with = "Option<fairwire_units::Rate>", extend("exclusive_minimum_quantity" = "0 bit/s", "advice" = "a first rate is more than nothing")))]
    pub initial_rate: Option<f64>,
    /// The nofeedback timer is no shorter.
    #[cfg_attr(
        feature = "settings",
        serde(with = "written::time"),
        schemars(with = "fairwire_units::Duration", extend(
            "maximum_quantity" = "1 h",
            "advice" = "a nofeedback timer of more than an hour is surely not meant"
        ))
    )]
    pub min_nofeedback: Duration,
    /// The send timer's grain: what a paced burst may make up for (RFC 5348, section 4.6).
    #[cfg_attr(
        feature = "settings",
        serde(with = "written::time"),
        schemars(
            with = "fairwire_units::Duration",
            extend(
                "maximum_quantity" = "1 s",
                "advice" = "the send timer's grain is at most a second"
            )
        )
    )]
    pub granularity: Duration,
    /// How often feedback is given on the data that come: per round trip, or the time from one report to the next (a
    /// round trip if that is shorter). At most one report for each data packet; a loss event is told at once, and each
    /// report's receive rate covers a whole round trip (RFC 5348, section 6).
    pub feedback: FeedbackRate,
}

/// A TFRC receiver takes the interval before the first loss event to be as long as the throughput
/// equation needs for one rate, since the packets that came before it were sent at many.
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
    /// The rate received over the latest round trip (RFC 3448, section 6.3.1). It is lower than the
    /// largest where a queue has filled before it drops, so the first loss costs more.
    LatestRate,
}

/// Which losses a TFRC receiver takes for one loss event.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum LossEvents {
    /// Those of one round trip (RFC 4342, section 10.2).
    #[default]
    RoundTrip,
    /// Each lost or marked packet is one of its own, as in Linux 2.6.20.
    EachPacket,
}

/// What a TFRC receiver tells of losses.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
#[non_exhaustive]
pub enum Reports {
    /// The loss intervals, of which the sender makes its own mean (RFC 4342, section 8.6), and the loss event rate.
    #[default]
    Intervals,
    /// The loss event rate alone (RFC 4342, section 8.5), whose inverse is cut to a whole number, not rounded up. So do
    /// ns-2's module and Linux; the peer must have asked for it (section 8.4).
    Rate,
}

/// Over which time a TFRC receiver measures the receive rate.
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
    /// The time since the last report, or the last round trip if that is longer. So does ns-2's module.
    AtLeastRoundTrip,
    /// The time since the last report, however short. So does Linux 2.6.20.
    SinceReport,
    /// The same, but a report of a loss repeats the rate of the one before. So does Linux from 2.6.25 on.
    SinceReportButLoss,
}

/// How often a TFRC receiver gives feedback. Each loss event is told at once in any case, nothing is
/// told twice (at most one report per data packet), and each report's receive rate covers a
/// whole round trip, however far apart they are (RFC 5348, section 6).
///
/// This is the receiver's own choice and not negotiated: a sender takes what comes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum FeedbackRate {
    /// So many reports per round trip, at least one. One is what RFC 4342, section 6, asks for.
    PerRoundTrip(u16),
    /// One report in this time, or in a round trip if that is shorter.
    Every(Duration),
}

impl Default for Ccid3Config {
    fn default() -> Self {
        Self {
            segment: Segment::Mean,
            b: 1.0,
            t_rto_rtts: 4.0,
            oscillation_reduction: true,
            history_discounting: true,
            loss_mean: LossMean::Known,
            first_interval: FirstInterval::LargestRate,
            first_interval_lasts: FirstIntervalLife::PushedOut,
            loss_events: LossEvents::RoundTrip,
            equation: EquationForm::Exact,
            reports: Reports::Intervals,
            receive_rate: ReceiveRateOver::RoundTrip,
            receive_limit: ReceiveLimit::Rfc5348,
            start: FirstRate::Handshake,
            initial_rate: None,
            min_nofeedback: Duration::ZERO,
            granularity: Duration::from_millis(1),
            feedback: FeedbackRate::PerRoundTrip(1),
        }
    }
}

impl Ccid3Config {
    /// What is wrong with it, and what would do.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let is_positive = |value: f64| value.is_finite() && value > 0.0;
        if !is_positive(self.b) || !is_positive(self.t_rto_rtts) {
            return Err(ConfigError::new(
                "ccid3.b or ccid3.t_rto_rtts",
                "both are positive numbers",
            ));
        }
        if self.initial_rate.is_some_and(|rate| !is_positive(rate)) {
            return Err(ConfigError::new(
                "ccid3.initial_rate",
                "use more than 0 bytes per second",
            ));
        }
        if [Segment::Fixed(0), Segment::Literal(0)].contains(&self.segment) {
            return Err(ConfigError::new("ccid3.segment", "use at least 1 byte"));
        }
        match self.feedback {
            FeedbackRate::PerRoundTrip(0) => {
                return Err(ConfigError::new(
                    "ccid3.feedback",
                    "a receiver gives feedback at least once per round trip",
                ));
            }
            FeedbackRate::Every(time) if time.is_zero() => {
                return Err(ConfigError::new(
                    "ccid3.feedback",
                    "the time between two reports is more than nothing",
                ));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Which segment size the throughput equation takes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Segment {
    /// The mean size of the packets sent.
    Mean,
    /// The largest packet that may be sent.
    Mps,
    /// This many bytes: each packet counts as that much, those received, too.
    Fixed(u32),
    /// This many bytes, while bytes received count as they are (RFC 5348 word for word).
    Literal(u32),
}
