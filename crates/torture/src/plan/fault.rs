//! Faults of the network and the hosts, and attacks.

use serde::{Deserialize, Serialize};

/// A fault that affects some of the packets at one place for some time.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The number from which its random stream is derived. It does not change when other faults are removed.
    pub id: u32,
    /// The start, in ms.
    pub from_ms: u64,
    /// The end, in ms.
    pub until_ms: u64,
    /// The host on whose link it acts.
    pub host: usize,
    /// Whether it affects packets from that host, rather than to it.
    pub outgoing: bool,
    /// The share of packets that it affects, in thousandths.
    pub per_mille: u16,
    /// What happens to these packets.
    pub harm: Harm,
}

/// What a fault does to a packet.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub enum Harm {
    /// The packet is lost.
    Drop,
    /// The first packet of a type is lost, once for each pair of ports.
    DropFirst {
        /// The packet type, 0 to 15.
        kind: u8,
    },
    /// The packet and those after it are lost.
    Burst {
        /// The number of packets in all.
        packets: u32,
    },
    /// The packet is lost, and an ICMP error is sent.
    Refuse {
        /// The kind of error, by its position in a list.
        why: u8,
    },
    /// The packet is lost if it is larger than the MTU and must not be fragmented.
    Narrow {
        /// The MTU, in bytes.
        mtu: u16,
        /// Whether an ICMP error is sent.
        told: bool,
    },
    /// Copies of the packet arrive, too.
    Duplicate {
        /// The number of copies.
        copies: u8,
        /// The time within which they arrive, in ms.
        within_ms: u64,
    },
    /// The packet is delayed by a random time, so that others overtake it.
    Reorder {
        /// The longest delay, in ms.
        by_ms: u64,
    },
    /// The packet is delayed by a fixed time.
    Delay {
        /// The delay, in ms.
        by_ms: u64,
    },
    /// The end of the packet is cut off.
    Truncate,
    /// A bit that the checksum covers, if there is a checksum, is flipped.
    FlipCovered,
    /// A bit of the data that the checksum does not cover is flipped.
    FlipUncovered,
    /// A bit of the header is flipped, and the checksum is corrected.
    FlipHead,
    /// A bit of the data is flipped, and the checksum is corrected.
    FlipData,
    /// The packet is marked, if it is ECN-capable.
    Mark,
    /// The ECN field is cleared.
    Bleach,
    /// An ECN mark is removed.
    Unmark,
    /// An old packet arrives together with the packet.
    Replay,
    /// A Response with an Init Cookie is followed by another one, with the next number and another cookie.
    ///
    /// This looks like a server that answers each Request anew.
    SecondResponse {
        /// The time within which it arrives, in ms.
        within_ms: u64,
    },
    /// The packet is returned to its sender as if from its receiver, and does not reach the receiver.
    Echo,
    /// The acknowledgement in the packet is changed, and the checksum is corrected.
    Lie(Lie),
}

/// A change to an acknowledgement by an attacker between the endpoints.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Lie {
    /// The Ack Vector reports every packet as received.
    AllReceived,
    /// The Ack Vector reports no packet as received.
    NothingReceived,
    /// The Ack Vector reports every packet as marked.
    AllMarked,
    /// The bytes of the Ack Vector are random.
    RandomVector,
    /// The Acknowledgement Number is that of a future packet.
    Ahead,
    /// The Acknowledgement Number is that of an old packet.
    Behind,
    /// The loss event rate is zero and the receive rate is huge.
    Lossless,
    /// The loss event rate is large and the receive rate is small.
    Lossy,
    /// The loss intervals are random.
    RandomIntervals,
    /// Elapsed times and timestamp echoes are random.
    RandomTimes,
    /// All options are removed.
    NoOptions,
    /// Feature options are removed.
    NoFeatures,
    /// One byte of the options is random.
    RandomOption,
    /// Features are confirmed with other values.
    FalseFeatures,
}

/// A fault or attack that happens once.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TimedIncident {
    /// The number from which its random stream is derived.
    pub id: u32,
    /// The time, in ms.
    pub at_ms: u64,
    /// The host that it affects.
    pub host: usize,
    /// What happens.
    pub what: Incident,
}

/// What happens once.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub enum Incident {
    /// The host restarts with a new endpoint and a new secret.
    Restart {
        /// The time until it is up again, in ms.
        after_ms: u64,
    },
    /// The host's clock jumps forward.
    ClockStep {
        /// The size of the jump, in ms.
        by_ms: u64,
    },
    /// The host's clock runs faster or slower from now on.
    ClockRate {
        /// Microseconds per second by which it is fast; negative if it is slow.
        gains_ppm: i64,
    },
    /// The host's packets get another address, because a NAT has lost its binding.
    Rebind,
    /// False ICMP errors reach the host.
    IcmpLie {
        /// The kind of error: 0 and 8 are Too Big, the others are kinds of Unreachable.
        says: u8,
        /// The quoted packet: nothing, the ports, all of a genuine packet, or all with a wrong sequence number.
        quote: u8,
        /// The number of errors.
        count: u8,
    },
    /// An attacker sends packets to the host.
    Inject {
        /// The packet type, 0 to 15.
        kind: u8,
        /// The number of packets.
        count: u8,
        /// Whether the attacker sees the passing packets and their numbers.
        on_path: bool,
    },
    /// An attacker who sees the passing packets sends the host consecutive data packets beyond unused numbers.
    Row {
        /// The number of unused numbers.
        hole: u16,
        /// The number of packets.
        count: u8,
        /// The round-trip time that the packets state (RFC 6323), in microseconds.
        stated_us: u16,
    },
    /// An attacker sends the host Requests for this connection's port from forged addresses.
    Flood {
        /// The number of Requests.
        count: u8,
        /// The connection.
        connection: u16,
    },
}

impl Harm {
    /// Returns the name of the fault in the report.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::DropFirst { .. } => "drop the first of a type",
            Self::Burst { .. } => "burst loss",
            Self::Refuse { .. } => "drop with icmp",
            Self::Narrow { told: true, .. } => "narrow mtu with icmp",
            Self::Narrow { told: false, .. } => "black hole of large packets",
            Self::Duplicate { .. } => "duplicate",
            Self::Reorder { .. } => "reorder",
            Self::Delay { .. } => "delay",
            Self::Truncate => "truncate",
            Self::FlipCovered => "bit flip inside the checksum",
            Self::FlipUncovered => "bit flip outside the checksum",
            Self::FlipHead => "header flip, checksum repaired",
            Self::FlipData => "data flip, checksum repaired",
            Self::Mark => "ecn mark",
            Self::Bleach => "ecn bleached",
            Self::Unmark => "ecn mark removed",
            Self::Replay => "replay",
            Self::SecondResponse { .. } => "second response",
            Self::Echo => "echo",
            Self::Lie(lie) => lie.name(),
        }
    }
}

impl Lie {
    /// Every lie.
    pub const ALL: [Self; 14] = [
        Self::AllReceived,
        Self::NothingReceived,
        Self::AllMarked,
        Self::RandomVector,
        Self::Ahead,
        Self::Behind,
        Self::Lossless,
        Self::Lossy,
        Self::RandomIntervals,
        Self::RandomTimes,
        Self::NoOptions,
        Self::NoFeatures,
        Self::RandomOption,
        Self::FalseFeatures,
    ];

    /// Returns the name of the lie in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::AllReceived => "lie: all received",
            Self::NothingReceived => "lie: nothing received",
            Self::AllMarked => "lie: all marked",
            Self::RandomVector => "lie: random ack vector",
            Self::Ahead => "lie: acks the future",
            Self::Behind => "lie: acks the past",
            Self::Lossless => "lie: no loss events",
            Self::Lossy => "lie: many loss events",
            Self::RandomIntervals => "lie: random loss intervals",
            Self::RandomTimes => "lie: random times",
            Self::NoOptions => "lie: options removed",
            Self::NoFeatures => "lie: features removed",
            Self::RandomOption => "lie: random option byte",
            Self::FalseFeatures => "lie: false features",
        }
    }
}

impl Incident {
    /// Returns the name in the report.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Restart { .. } => "restart",
            Self::ClockStep { .. } => "clock step",
            Self::ClockRate { .. } => "clock rate",
            Self::Rebind => "nat rebinding",
            Self::IcmpLie { .. } => "icmp lie",
            Self::Inject { on_path: true, .. } => "injected on path",
            Self::Inject { on_path: false, .. } => "injected off path",
            Self::Row { .. } => "data beyond a hole",
            Self::Flood { .. } => "request flood",
        }
    }
}

/// Returns the names of all faults that a run may count, including packets dropped by full queues.
pub fn all_names() -> Vec<&'static str> {
    let mut names = vec![
        "full queue",
        "drop",
        "drop the first of a type",
        "burst loss",
        "drop with icmp",
        "narrow mtu with icmp",
        "black hole of large packets",
        "duplicate",
        "reorder",
        "delay",
        "truncate",
        "bit flip inside the checksum",
        "bit flip outside the checksum",
        "header flip, checksum repaired",
        "data flip, checksum repaired",
        "ecn mark",
        "ecn bleached",
        "ecn mark removed",
        "replay",
        "second response",
        "echo",
        "restart",
        "clock step",
        "clock rate",
        "nat rebinding",
        "icmp lie",
        "injected on path",
        "injected off path",
        "data beyond a hole",
        "request flood",
    ];
    names.extend(Lie::ALL.iter().map(|lie| lie.name()));
    names
}
