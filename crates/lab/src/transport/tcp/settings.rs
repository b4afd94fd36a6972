//! TCP's parameters: a window law, a recovery, a preset that imitates a simulator or a kernel, and what the
//! scenario says beyond them.

use fairwire_cc::{Law, default_law};
use fairwire_tcp::{RecoveryKind, SackAfterTimeout};
use fairwire_units::registry::Chosen;
use fairwire_units::{Duration, Packets};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::MinRto;

/// TCP's parameters, complete.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent yes-or-no keys of one table"
)]
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// What it imitates. It gives the values of what is not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// How the window grows and shrinks.
    #[serde(default = "default_law")]
    pub law: Chosen<dyn Law>,
    /// What is sent again and when. Where nothing is said it is the preset's or the law's: `"vegas"` with Vegas, `"sack"` with
    /// CUBIC and DCTCP.
    #[serde(default)]
    pub recovery: RecoveryKind,
    /// What becomes of selective acknowledgements when the retransmission timer expires.
    #[serde(default)]
    pub sack_after_timeout: SackAfterTimeout,
    /// Use ECN (RFC 3168)? A law that counts marks has them echoed one by one (RFC 8257), and needs it.
    #[serde(default)]
    pub ecn: bool,
    /// The receiver's window, without bound if nothing is said. ns-2's agents have `"20 packets"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Packets>,
    /// Does the receiver acknowledge every second segment only (RFC 5681, section 4.2)?
    #[serde(default = "yes")]
    pub delayed_acks: bool,
    /// How long a delayed acknowledgement waits for the second segment.
    #[serde(default = "ack_wait")]
    #[schemars(extend(
        "maximum_quantity" = "10 s",
        "advice" = "an acknowledgement waits for 10 s at most"
    ))]
    pub ack_wait: Duration,
    /// Segments at the beginning that are acknowledged one by one all the same.
    #[serde(default)]
    pub quick_acks: Packets,
    /// Retransmission timeout at least. `"ns2"` is one second.
    #[serde(default = "min_rto")]
    #[schemars(extend(
        "minimum_quantity" = "1 ms",
        "maximum_quantity" = "60 s",
        "advice" = "the least retransmission timeout is 1 ms at least and 60 s at most"
    ))]
    pub min_rto: MinRto,
    /// Retransmission timeout before the first sample.
    #[serde(default = "initial_rto")]
    #[schemars(extend(
        "minimum_quantity" = "1 ms",
        "maximum_quantity" = "60 s",
        "advice" = "the first retransmission timeout is 1 ms at least and 60 s at most"
    ))]
    pub initial_rto: Duration,
    /// Does a fast retransmission start the timer afresh? RFC 6298 lets acknowledgements alone do so; ns-2 and
    /// Linux do it.
    #[serde(default)]
    pub rearm: bool,
    /// First window, RFC 3390's if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<Packets>,
    /// First slow-start threshold, unlimited if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Packets>,
    /// Open with SYN, SYN-ACK and ACK? Without it data leaves at once, as ns-2's one-way agents of before 2001 do.
    #[serde(default = "yes")]
    pub handshake: bool,
    /// A new segment on each of the first two duplicate acknowledgements (RFC 3042)?
    #[serde(default = "yes")]
    pub limited_transmit: bool,
    /// Segments that may leave at once when a recovery ends (RFC 6582, section 6).
    #[serde(default = "max_burst")]
    pub max_burst: Packets,
    /// Timestamps on every segment (RFC 7323, section 3)? They take 12 bytes of each, so that a full segment carries less, and
    /// each acknowledgement of anything new is a round-trip sample for the timeout.
    #[serde(default)]
    pub timestamps: bool,
    /// The clock of either host: its timers go off at multiples of this time alone, from a first one that is drawn
    /// (`tick/FLOW/SIDE`), and the round trip that the timeout follows from is measured in whole ticks. No tick if it does
    /// not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "exclusive_minimum_quantity" = "0 s",
        "maximum_quantity" = "1 s",
        "advice" = "a clock ticks at least once a second"
    ))]
    pub tick: Option<Duration>,
    /// Does the first slow start end where the round trip grows (`HyStart++`, RFC 9406)? With `abc` an acknowledgement counts for
    /// eight segments at most there.
    #[serde(default)]
    pub hystart: bool,
    /// Does the window grow by the segments acknowledged, two per acknowledgement at most in slow start (RFC 3465),
    /// rather than by acknowledgements? CUBIC's does by default.
    #[serde(default)]
    pub abc: bool,
}

/// What a preset imitates.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum Preset {
    /// The one-way agents of ns-2.35 with the values of its `ns-default.tcl`.
    #[serde(rename = "ns2")]
    Ns2,
    /// Linux 2.6.19 to 2.6.38.
    #[serde(rename = "linux-2.6")]
    Linux26,
    /// What RFCs of today ask for, with Linux's timers.
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
