//! What goes wrong.

use serde::{Deserialize, Serialize};

/// Something that happens to some of the packets at one place for some time.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Names its random stream; does not change when others are taken away.
    pub id: u32,
    /// From when on.
    pub from_ms: u64,
    /// Until when.
    pub until_ms: u64,
    /// On the link of this host.
    pub host: usize,
    /// For packets from that host, or for packets to it?
    pub outgoing: bool,
    /// Of a thousand packets, how many it hits.
    pub per_mille: u16,
    /// What happens to those.
    pub harm: Harm,
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub enum Harm {
    /// It is lost.
    Drop,
    /// It is lost, and so are those after it.
    Burst {
        /// How many in all.
        packets: u32,
    },
    /// It is lost, and an ICMP error says so.
    Refuse {
        /// Which one, by its place in a list.
        why: u8,
    },
    /// It is lost if it is larger than this and must not be fragmented.
    Narrow {
        /// Bytes that pass.
        mtu: u16,
        /// Does an ICMP error say so?
        told: bool,
    },
    /// Copies of it come, too.
    Duplicate {
        /// How many.
        copies: u8,
        /// Within this time.
        within_ms: u64,
    },
    /// It is held back at random, so that others overtake it.
    Reorder {
        /// At most so long.
        by_ms: u64,
    },
    /// It takes longer, as all others do.
    Delay {
        /// So long.
        by_ms: u64,
    },
    /// Its end is cut off.
    Truncate,
    /// A bit of it changes that its checksum covers, if it has one.
    FlipCovered,
    /// A bit of its data changes that its checksum does not cover.
    FlipUncovered,
    /// A bit of its header changes, and the checksum is made to fit.
    FlipHead,
    /// A bit of its data changes, and the checksum is made to fit.
    FlipData,
    /// It is marked, if it is ECN-capable.
    Mark,
    /// Its ECN field is cleared.
    Bleach,
    /// Its mark is taken away again.
    Unmark,
    /// A packet of long ago comes with it.
    Replay,
    /// If it is a Response with an Init Cookie, another one follows, with the next number and another cookie: as
    /// from a server that answers each Request anew.
    SecondResponse {
        /// Within this time.
        within_ms: u64,
    },
    /// It comes back to its sender, as from its receiver, who does not get it.
    Echo,
    /// What it acknowledges is changed, and the checksum is made to fit.
    Lie(Lie),
}

/// What somebody between the endpoints makes of an acknowledgement.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Lie {
    /// All that the Ack Vector speaks of was received.
    AllReceived,
    /// Nothing of it was.
    NothingReceived,
    /// All of it was marked.
    AllMarked,
    /// The Ack Vector's bytes are random.
    RandomVector,
    /// It acknowledges packets of the future.
    Ahead,
    /// It acknowledges packets of the past.
    Behind,
    /// The loss event rate is zero, the receive rate is huge.
    Lossless,
    /// The loss event rate is large, the receive rate is small.
    Lossy,
    /// Loss intervals are random.
    RandomIntervals,
    /// Elapsed times and timestamp echoes are random.
    RandomTimes,
    /// All options are gone.
    NoOptions,
    /// Feature options are gone.
    NoFeatures,
    /// One byte of the options is random.
    RandomOption,
    /// Features are confirmed with other values.
    FalseFeatures,
}

/// Something that happens once.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// Names its random stream.
    pub id: u32,
    /// When.
    pub at_ms: u64,
    /// To which host.
    pub host: usize,
    /// What.
    pub what: Happening,
}

/// What happens once.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub enum Happening {
    /// The host begins again, with a new endpoint and a new secret.
    Restart {
        /// After so long.
        after_ms: u64,
    },
    /// Its clock jumps forward.
    ClockStep {
        /// So far.
        by_ms: u64,
    },
    /// Its clock runs faster or slower.
    ClockRate {
        /// Millionths of a second that it gains in each second.
        gains_ppm: i64,
    },
    /// Its packets get another address (a NAT has lost its binding).
    Rebind,
    /// False ICMP errors come to it.
    IcmpLie {
        /// What it says: 0 is Too Big, others are unreachable in several ways.
        says: u8,
        /// How much of a packet it quotes: nothing, ports, all of a true packet, or all with a wrong number.
        quote: u8,
        /// How many.
        count: u8,
    },
    /// An attacker sends packets to it.
    Inject {
        /// The packet type, 0 to 15.
        kind: u8,
        /// How many.
        count: u8,
        /// Does the attacker see the packets that pass, and their numbers?
        on_path: bool,
    },
    /// An attacker who sees the packets that pass sends it data in a row, beyond numbers that nobody used.
    Row {
        /// Numbers that are left out.
        hole: u16,
        /// How many.
        count: u8,
        /// The round trip that they state (RFC 6323), microseconds.
        stated_us: u16,
    },
    /// An attacker sends it Requests for this connection's port from forged addresses.
    Flood {
        /// How many.
        count: u8,
        /// The connection.
        connection: u16,
    },
}

impl Harm {
    /// The fault's name, for the report.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Drop => "drop",
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
    /// All of them.
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

    /// The lie's name, for the report.
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

impl Happening {
    /// The happening's name, for the report.
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

/// The names of all faults that a run may count, packets dropped by full queues included.
pub fn all_names() -> Vec<&'static str> {
    let mut names = vec![
        "full queue",
        "drop",
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
