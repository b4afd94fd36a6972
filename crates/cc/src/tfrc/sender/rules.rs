//! Rules that differ between the RFCs, and between the stacks that followed them.

/// How the receive rate that is reported limits the rate that is sent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum ReceiveLimit {
    /// Twice the largest of the last two round trips, with a rule for pauses of the application (RFC 5348, sections
    /// 4.3 and 4.4).
    #[default]
    Rfc5348,
    /// Twice that of the latest report, whatever the application did (RFC 3448, sections 4.3 and 4.4).
    Rfc3448,
}

/// The rate until the first report, and the one that the report leads to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum FirstRate {
    /// The initial window in each round trip that the handshake measured, from the first packet on (RFC 5348,
    /// section 4.2).
    #[default]
    Handshake,
    /// One packet per second until the first report, and then the initial window in each round trip (RFC 4342,
    /// section 5).
    FirstReport,
    /// One packet per second until the first report, and then one in each round trip (RFC 3448, section 4.3).
    OnePacket,
}
