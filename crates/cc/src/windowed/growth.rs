//! What one acknowledgement counts for: the difference between TCP and CCID 2, for any law.

/// How acknowledged packets are converted to growth.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Growth {
    /// One step per acknowledgement, regardless of how many packets it covers (RFC 5681, section 3.1). A step is one
    /// packet in slow start, and the law's increase for one packet in congestion avoidance.
    Tcp,
    /// Appropriate byte counting (RFC 3465), in packets: one step per packet covered. In slow start, at most `limit`
    /// steps per acknowledgement.
    ByteCounting {
        /// The limit L of RFC 3465, in packets.
        limit: u32,
    },
    /// CCID 2 (RFC 4341, sections 3.1 and 5). Slow start adds one packet for two newly acknowledged, at most half the
    /// Ack Ratio per acknowledgement. Congestion avoidance adds the law's increase for each packet. The window changes
    /// in whole packets.
    Ccid2 {
        /// The current Ack Ratio; feedback with another one replaces it.
        ack_ratio: u32,
        /// The growth in slow start.
        slow_start: SlowStart,
    },
}

/// The growth of a CCID 2 window in slow start, per acknowledged packet.
///
/// Of the packets that one acknowledgement covers, at most as many count as the Ack Ratio says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum SlowStart {
    /// One packet for two acknowledged: the window grows by half in a round trip (RFC 4341, section 5).
    #[default]
    OneForTwo,
    /// One packet for each one acknowledged: the window doubles in a round trip, as in the DCCP module of ns-2.35.
    OneForOne,
}

impl Growth {
    /// CCID 2 with the initial Ack Ratio of two (RFC 4340, section 11.3).
    pub const CCID2: Self = Self::Ccid2 {
        ack_ratio: 2,
        slow_start: SlowStart::OneForTwo,
    };

    /// Returns this growth with another Ack Ratio, if it depends on one.
    pub(super) fn with_ack_ratio(self, ratio: u32) -> Self {
        match self {
            Self::Ccid2 { slow_start, .. } => Self::Ccid2 {
                ack_ratio: ratio,
                slow_start,
            },
            other => other,
        }
    }

    /// Returns how many packets slow start adds for an acknowledgement of `acked` packets.
    pub(super) fn in_slow_start(self, acked: f64) -> f64 {
        match self {
            Self::Tcp => 1.0,
            Self::ByteCounting { limit } => acked.min(limit.into()),
            Self::Ccid2 {
                ack_ratio,
                slow_start,
            } => {
                let counted = acked.min(ack_ratio.into());
                match slow_start {
                    SlowStart::OneForTwo => counted / 2.0,
                    SlowStart::OneForOne => counted,
                }
            }
        }
    }

    /// Returns how many packets an acknowledgement of `acked` packets counts for in congestion avoidance.
    pub(super) fn in_avoidance(self, acked: f64) -> f64 {
        match self {
            Self::Tcp => 1.0,
            Self::ByteCounting { .. } | Self::Ccid2 { .. } => acked,
        }
    }

    /// Returns whether the window changes only in whole packets.
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Ccid2 { .. })
    }

    /// Returns whether each of several timeouts in a row lowers the slow-start threshold, or only the first.
    ///
    /// A TCP that retransmits the same segment again does not lower it (RFC 5681, section 3.1). CCID 2 sends other
    /// packets each time and lowers it (RFC 4341, section 5).
    pub(super) fn each_timeout_lowers_threshold(self) -> bool {
        matches!(self, Self::Ccid2 { .. })
    }
}
