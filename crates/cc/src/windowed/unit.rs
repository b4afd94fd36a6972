//! What a window counts: packets, or bytes in units of a segment.

use crate::{Feedback, Signal};

/// What a window counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum WindowUnit {
    /// Packets, whatever their size (RFC 4341, section 5).
    #[default]
    Packets,
    /// Bytes, as QUIC counts them (RFC 9002, section 7). The window is in segments of full size, so that each law works
    /// as it is: a segment is as many small packets as have its bytes.
    Segments {
        /// The bytes of a segment, its headers included.
        segment: f64,
        /// The bytes that headers add to each packet.
        header: f64,
    },
}

impl WindowUnit {
    /// The smallest window, in this unit: one packet (RFC 4341, section 5), or two segments (RFC 9002, section 7.2).
    pub(super) fn least(self) -> f64 {
        match self {
            Self::Packets => 1.0,
            Self::Segments { .. } => 2.0,
        }
    }

    /// Returns what these packets count for, which have this many bytes without headers.
    pub(super) fn amount(self, packets: u32, bytes: u64) -> f64 {
        match self {
            // RFC 4341, 5.3: there is no room for more packets if they become smaller. In a window of bytes there is.
            Self::Packets => f64::from(packets),
            Self::Segments { segment, header } => {
                (bytes as f64 + f64::from(packets) * header) / segment
            }
        }
    }
}

/// Returns the packets that were acknowledged and not marked. RFC 4341, 5: a marked packet earns nothing.
pub(super) fn unmarked(feedback: &Feedback) -> u32 {
    let marked = feedback
        .congestion
        .filter(|congestion| congestion.signal == Signal::Marked)
        .map_or(0, |congestion| congestion.packets);
    feedback.newly_acked.saturating_sub(marked)
}
