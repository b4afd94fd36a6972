//! What one acknowledgement counts for: here TCP and CCID 2 differ, whatever the law.

/// How acknowledged packets turn into growth.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Growth {
    /// One step per acknowledgement, however much it covers: one packet in slow start, the law's
    /// increase for one packet in congestion avoidance (RFC 5681, section 3.1).
    Tcp,
    /// Appropriate byte counting (RFC 3465) in packets: one step per packet covered, at most
    /// `limit` of them per acknowledgement in slow start.
    ByteCounting {
        /// RFC 3465's L, in packets.
        limit: u32,
    },
    /// CCID 2 (RFC 4341, sections 3.1 and 5): in slow start one packet for two newly acknowledged, at most
    /// half the Ack Ratio per acknowledgement; in congestion avoidance the law's increase for
    /// each. The window moves in whole packets.
    Ccid2 {
        /// The Ack Ratio in force; feedback that names another changes it.
        ack_ratio: u32,
        /// How fast slow start is.
        slow_start: SlowStart,
    },
}

/// What CCID 2 adds to its window in slow start for the packets that an acknowledgement tells of, of which at most
/// as many count as the Ack Ratio says.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "kebab-case")
)]
pub enum SlowStart {
    /// One packet for two: the window grows by half in a round trip (RFC 4341, section 5).
    #[default]
    OneForTwo,
    /// One packet for each: it doubles. The DCCP module of ns-2.35 does so.
    OneForOne,
}

impl Growth {
    /// CCID 2 with the Ack Ratio of two with which connections begin (RFC 4340, section 11.3).
    pub const CCID2: Self = Self::Ccid2 {
        ack_ratio: 2,
        slow_start: SlowStart::OneForTwo,
    };

    /// The same with another Ack Ratio, where one matters.
    pub(super) fn with_ack_ratio(self, ratio: u32) -> Self {
        match self {
            Self::Ccid2 { slow_start, .. } => Self::Ccid2 {
                ack_ratio: ratio,
                slow_start,
            },
            other => other,
        }
    }

    /// Packets that slow start adds for an acknowledgement of `acked` packets.
    pub(super) fn in_slow_start(self, acked: u32) -> f64 {
        match self {
            Self::Tcp => 1.0,
            Self::ByteCounting { limit } => f64::from(acked.min(limit)),
            Self::Ccid2 {
                ack_ratio,
                slow_start,
            } => {
                let counted = f64::from(acked.min(ack_ratio));
                match slow_start {
                    SlowStart::OneForTwo => counted / 2.0,
                    SlowStart::OneForOne => counted,
                }
            }
        }
    }

    /// How many packets an acknowledgement of `acked` counts for in congestion avoidance.
    pub(super) fn in_avoidance(self, acked: u32) -> f64 {
        match self {
            Self::Tcp => 1.0,
            Self::ByteCounting { .. } | Self::Ccid2 { .. } => f64::from(acked),
        }
    }

    /// Does the window move in whole packets only?
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Ccid2 { .. })
    }

    /// Does each timeout of a row lower the slow-start threshold, or only the first?
    ///
    /// A TCP that retransmits the same segment again leaves the threshold alone (RFC 5681,
    /// section 3.1); CCID 2 sends other packets each time and lowers it (RFC 4341, section 5).
    pub(super) fn every_timeout_counts(self) -> bool {
        matches!(self, Self::Ccid2 { .. })
    }
}
