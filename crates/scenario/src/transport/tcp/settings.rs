//! TCP's settings: a window law, a recovery, a preset that imitates a simulator or a kernel, and further parameters.

use fairwire_cc::{Law, default_law};
use fairwire_tcp::{AckDelay, RecoveryKind, SackAfterTimeout};
use fairwire_units::registry::Chosen;
use fairwire_units::{Duration, Packets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::MinRto;

/// The parameters of TCP.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent yes-or-no keys of one table"
)]
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// The implementation to imitate. It sets the values that the file does not state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// The window law: how the congestion window grows and shrinks.
    #[serde(default = "default_law")]
    pub law: Chosen<dyn Law>,
    /// The loss recovery: what is retransmitted, and when. If it is not stated, it is that of the preset or of the law:
    /// `"vegas"` with Vegas, `"sack"` with CUBIC and DCTCP.
    #[serde(default)]
    pub recovery: RecoveryKind,
    /// What happens to selective acknowledgements when the retransmission timer expires.
    #[serde(default)]
    pub sack_after_timeout: SackAfterTimeout,
    /// Whether to use ECN (RFC 3168). A law that counts marks needs it, and its receiver echoes each mark (RFC 8257).
    #[serde(default)]
    pub ecn: bool,
    /// The receive window. Without it there is no limit. The default of ns-2's agents is `"20 packets"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Packets>,
    /// Whether the receiver acknowledges only every second segment (RFC 5681, section 4.2).
    #[serde(default = "yes")]
    pub delayed_acks: bool,
    /// How long a delayed acknowledgement waits.
    #[serde(default)]
    pub ack_delay: AckDelay,
    /// The time for which a delayed acknowledgement waits for a second segment: always, or at least (`ack_delay`).
    #[serde(default = "ack_wait")]
    #[schemars(extend(
        "maximum_quantity" = "10 s",
        "advice" = "an acknowledgement waits at most 10 s"
    ))]
    pub ack_wait: Duration,
    /// The number of segments at the beginning that are acknowledged one by one despite `delayed_acks`. With Linux's
    /// `ack_delay` it is the most that are, each time that Linux does so.
    #[serde(default)]
    pub quick_acks: Packets,
    /// The least retransmission timeout. `"ns2"` is one second.
    #[serde(default = "min_rto")]
    #[schemars(extend(
        "minimum_quantity" = "1 ms",
        "maximum_quantity" = "60 s",
        "advice" = "the least retransmission timeout is 1 ms to 60 s"
    ))]
    pub min_rto: MinRto,
    /// The retransmission timeout before the first round-trip sample.
    #[serde(default = "initial_rto")]
    #[schemars(extend(
        "minimum_quantity" = "1 ms",
        "maximum_quantity" = "60 s",
        "advice" = "the first retransmission timeout is 1 ms to 60 s"
    ))]
    pub initial_rto: Duration,
    /// Whether a fast retransmission restarts the retransmission timer. In RFC 6298 only acknowledgements restart it;
    /// ns-2 and Linux also do so here.
    #[serde(default)]
    pub rearm: bool,
    /// The initial congestion window. The default is that of RFC 3390.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Packets>,
    /// The initial slow-start threshold. Without it there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Packets>,
    /// Whether to open with SYN, SYN-ACK and ACK. Without a handshake data leaves at once, as from ns-2's one-way
    /// agents before 2001.
    #[serde(default = "yes")]
    pub handshake: bool,
    /// Whether to send a new segment on each of the first two duplicate acknowledgements (RFC 3042).
    #[serde(default = "yes")]
    pub limited_transmit: bool,
    /// The most segments that may leave at once when a recovery ends (RFC 6582, section 6).
    #[serde(default = "max_burst")]
    pub max_burst: Packets,
    /// Whether every segment carries timestamps (RFC 7323, section 3). They take 12 bytes, so a full segment carries
    /// less data. Each acknowledgement of new data is then a round-trip sample for the timeout.
    #[serde(default)]
    pub timestamps: bool,
    /// The interval of the clock of each host. Timers fire only at its ticks, and the round-trip time for the timeout
    /// is measured in whole ticks. The first tick is random (`tick/FLOW/SIDE`). Without it timers fire at any time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 s",
        "maximum_quantity" = "1 s",
        "advice" = "a clock ticks at least once a second"
    ))]
    pub tick: Option<Duration>,
    /// Whether the first slow start ends when the round-trip time grows (`HyStart++`, RFC 9406). With `abc`, an
    /// acknowledgement there counts for at most eight segments.
    #[serde(default)]
    pub hystart: bool,
    /// Whether to detect spurious timeouts and to restore the window after them (F-RTO, RFC 5682).
    #[serde(default)]
    pub frto: bool,
    /// Whether the window grows by the segments acknowledged rather than by acknowledgements (RFC 3465). In slow start
    /// an acknowledgement counts for at most two segments. It is the default with CUBIC.
    #[serde(default)]
    pub abc: bool,
}

/// An implementation to imitate.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Preset {
    /// The one-way agents of ns-2.35 with the values of its `ns-default.tcl`.
    #[serde(rename = "ns2")]
    Ns2,
    /// Linux 2.6.19 to 2.6.38.
    #[serde(rename = "linux-2.6")]
    Linux26,
    /// The current RFCs, with the timers of Linux.
    #[serde(rename = "modern")]
    Modern,
}

fn yes() -> bool {
    true
}

fn ack_wait() -> Duration {
    Duration::from_millis(200)
}

fn min_rto() -> MinRto {
    MinRto::Time(Duration::from_millis(200))
}

fn initial_rto() -> Duration {
    Duration::from_secs(1)
}

fn max_burst() -> Packets {
    Packets(4)
}
