//! Rules that differ between the RFCs and between the stacks based on them.

/// How the reported receive rate limits the sending rate.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum ReceiveLimit {
    /// Twice the largest receive rate of the last two round trips, with a rule for pauses of the application (RFC 5348,
    /// sections 4.3 and 4.4).
    #[default]
    Rfc5348,
    /// Twice the receive rate of the latest report, without a rule for pauses (RFC 3448, sections 4.3 and 4.4).
    Rfc3448,
}

/// From when on oscillations are reduced (RFC 5348, section 4.5).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum ReductionFrom {
    /// From the first report on, in slow start too (RFC 5348, section 4.5).
    #[default]
    FirstReport,
    /// From the first report of a loss on, as in the DCCP module of ns-2.35. A queue that fills up in slow start then
    /// does not slow the sender down, and overflows further.
    FirstLoss,
}

/// How much of what the rate allowed and the sender did not use may leave at once.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum Bursts {
    /// At most the packets of one `granularity`, or two if that is more, and at most those of a round trip in all (RFC
    /// 5348, section 4.6).
    #[default]
    Bounded,
    /// All of it, as in Linux 6.1. Each packet may also leave half of `granularity` early, even if packets are closer
    /// together than that. Only simulations may have it: on a network a pause of a minute would end in a flood.
    Unbounded,
}

/// The sending rate until the first report, and after it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum FirstRate {
    /// The initial window in each round trip, from the first packet on; the handshake measures the round trip (RFC
    /// 5348, section 4.2).
    #[default]
    Handshake,
    /// One packet per second until the first report, then the initial window in each round trip (RFC 4342, section 5).
    FirstReport,
    /// One packet per second until the first report, then one packet in each round trip (RFC 3448, section 4.3).
    OnePacket,
}
