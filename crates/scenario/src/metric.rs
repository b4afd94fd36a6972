//! The metrics: names, units and definitions.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! metrics {
    ($($variant:ident $name:literal $unit:literal $meaning:literal;)*) => {
        /// A metric of a flow, a link or of all flows together.
        #[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
        #[non_exhaustive]
        pub enum Metric {
            $(
                #[doc = $meaning]
                #[serde(rename = $name)]
                $variant,
            )*
        }

        impl Metric {
            /// All metrics, in the order of results.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns its name in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Finds the metric called `name`.
            pub fn find(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|metric| metric.name() == name)
            }

            /// Returns the unit of its values; empty if they have none.
            pub const fn unit(self) -> &'static str {
                match self { $(Self::$variant => $unit),* }
            }

            /// Returns its definition in one sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning),* }
            }
        }
    };
}

metrics! {
    Throughput "throughput" "bit/s" "Bits of IP packets delivered, headers included, per second of the window.";
    Goodput "goodput" "bit/s" "Bits of payload delivered to the application, per second of the window; for TCP in order and once.";
    Sent "sent" "packets" "Data packets that left the sender in the window, repeated ones included.";
    Delivered "delivered" "packets" "Data packets that reached the receiver in the window.";
    SentRate "sent_rate" "packets/s" "Data packets sent per second of the window.";
    DeliveredRate "delivered_rate" "packets/s" "Data packets delivered per second of the window.";
    AckRate "ack_rate" "packets/s" "Packets without data, acknowledgements nearly all, that came back to the sender per second of the window.";
    Dropped "dropped" "packets" "Data packets sent in the window that a queue or a link dropped.";
    Loss "loss" "%" "Data packets that a queue or a link dropped, out of those sent in the window.";
    Refused "refused" "packets" "Packets that the application offered in the window and the send queue did not take.";
    Offered "offered" "packets" "Packets that the application offered in the window, refused ones included (DCCP and UDP).";
    Overdue "overdue" "packets" "Packets offered in the window that arrived later than the playout limit (`measure.playout`) after the offer.";
    LossOffered "loss_offered" "%" "Packets offered in the window that were lost on the way to the receiving application (refused, or dropped anywhere), out of those offered that were not still under way at the end of the run.";
    LossPlayout "loss_playout" "%" "The share of packets offered in the window that were lost, or did not arrive within the playout limit (`measure.playout`). Those that could still arrive in time when the run ended do not count.";
    Timely "timely" "%" "Data packets sent in the window that arrived within the playout limit (`measure.playout`) after they left, out of those sent that could not still be in time when the run ended: time in the sender's own queue does not count.";
    Frames "frames" "frames" "Frames that the application offered in the window (video).";
    FramesWhole "frames_whole" "%" "Frames offered in the window of which the receiving application got every packet (over TCP every byte), out of those offered that were not still under way at the end of the run.";
    FramesTimely "frames_timely" "%" "Frames offered in the window of which the receiving application got every packet within the playout limit (`measure.playout`) after the offer, out of those offered that could not still be in time when the run ended.";
    ThroughputRatio "throughput_ratio" "%" "Throughput in the window out of that in the window of comparison (`measure.baseline`).";
    RFactor "r_factor" "" "Rating of the E-model (ITU-T G.107) for a flow with a codec, from the mean delay of packets in time plus one frame, and `loss_playout`. It is below zero for a call that cannot be understood; `mos` is then 1.";
    Mos "mos" "" "Mean opinion score, 1 to 4.5, of the E-model's rating (`r_factor`).";
    Completed "completed" "s" "The time from the beginning of the run to the arrival of the last byte of a flow with a `total`.";
    FlowsBegun "flows_begun" "flows" "Short flows that began in the window.";
    FlowsCompleted "flows_completed" "flows" "Of the short flows that began in the window, those that completed before the run ended.";
    CompletionMean "completion_mean" "s" "Mean time that the short flows which began in the window and completed took, from the beginning of each to its last byte; over DCCP to the end of its connection.";
    CompletionP50 "completion_p50" "s" "Median of the times that short flows took.";
    CompletionP95 "completion_p95" "s" "95th percentile of the times that short flows took.";
    DelayMean "delay_mean" "s" "Mean time from the sender's network interface to the receiver's, of data packets delivered in the window.";
    DelayMin "delay_min" "s" "The least time from the sender's network interface to the receiver's, of data packets delivered in the window.";
    DelayP50 "delay_p50" "s" "Median of the one-way delays from interface to interface.";
    DelayP95 "delay_p95" "s" "95th percentile of the one-way delays from interface to interface.";
    DelayP99 "delay_p99" "s" "99th percentile of the one-way delays from interface to interface.";
    DelayMax "delay_max" "s" "The greatest of the one-way delays from interface to interface.";
    AppDelayMean "app_delay_mean" "s" "Mean time from the application's offer to delivery, send queue included.";
    DelayAllMean "delay_all_mean" "s" "Mean one-way delay over all packets of both directions, acknowledgements included (some papers' tools average so).";
    JitterRfc3550 "jitter_rfc3550" "s" "Interarrival jitter (RFC 3550, section 6.4.1) at the end of the window.";
    JitterMean "jitter_mean" "s" "Mean of the absolute difference between the delays of two packets that arrived one after the other.";
    JitterSpread "jitter_spread" "s" "Standard deviation of the one-way delays.";
    JitterGap "jitter_gap" "s" "Mean of the absolute difference between two gaps between arrivals that followed each other.";
    JitterPeriods "jitter_periods" "s" "Mean of the absolute difference between the mean delays of two successive periods of the series (1 s if none is set), of those in the window in which something arrived.";
    JitterRange "jitter_range" "s" "The greatest delay less the least.";
    FirstLoss "first_loss" "s" "When the first data packet was dropped, from the beginning of the run.";
    PeakThroughput "peak_throughput" "bit/s" "The greatest throughput of a period of the series (1 s if none is set).";
    PeakAt "peak_at" "s" "When the first period with a throughput within 1 % of the peak ended, from the beginning of the run.";
    GoodputSpread "goodput_spread" "bit/s" "Standard deviation of the goodput of the periods of the series that lie in the window.";
    CwndMean "cwnd_mean" "packets" "Mean of the congestion window, sampled once per period of the series.";
    CwndMax "cwnd_max" "packets" "The greatest congestion window, sampled once per period of the series.";
    SrttMean "srtt_mean" "s" "Mean of the sender's smoothed round-trip time, sampled once per period of the series.";
    SrttMin "srtt_min" "s" "The least smoothed round-trip time, sampled once per period of the series.";
    SrttMax "srtt_max" "s" "The greatest smoothed round-trip time, sampled once per period of the series.";
    SrttSpread "srtt_spread" "s" "Standard deviation of the sender's smoothed round-trip time, sampled once per period of the series.";
    Retransmitted "retransmitted" "packets" "Segments sent again in the window (TCP).";
    Cuts "cuts" "times" "Window or rate cuts in the window.";
    Timeouts "timeouts" "times" "Retransmission or nofeedback timeouts in the window.";
    Syncs "syncs" "packets" "Sync packets sent in the window, both sides (DCCP).";
    AckVectorState "ack_vector_state" "B" "The most bytes of Ack Vector history that the receiver held at a sample (DCCP).";
    Utilisation "utilisation" "%" "Share of the link's rate used by what left on it, framing included.";
    QueueMean "queue_mean" "packets" "Mean number of packets in the queue, the one in transmission included, over time.";
    QueueMax "queue_max" "packets" "The greatest number of packets in the queue, the one in transmission included.";
    QueueDrops "queue_drops" "packets" "Packets that the queue dropped in the window.";
    LinkLosses "link_losses" "packets" "Packets that were lost at random on the link in the window.";
    Marks "marks" "packets" "Packets that the link marked (Congestion Experienced) in the window.";
    MaxOverMin "max_over_min" "" "The greatest of the flows' throughputs over the least: at most 2 passes the factor-of-two test.";
    Jain "jain" "" "Jain's fairness index of the flows' throughputs: 1 if all are equal, 1/n if one has everything.";
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no metric of this name. The message lists those that there are.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UnknownMetric(String);

impl fmt::Display for UnknownMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        write!(f, "no metric {:?}: there are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownMetric {}

impl FromStr for Metric {
    type Err = UnknownMetric;

    fn from_str(name: &str) -> Result<Self, UnknownMetric> {
        Self::find(name).ok_or_else(|| UnknownMetric(name.to_owned()))
    }
}
