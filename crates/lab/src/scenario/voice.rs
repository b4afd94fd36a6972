//! Speech: codecs, and the header in front of their frames.

use fairwire_measure::SpeechCodec;
use fairwire_units::{Duration, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The header of RTP without contributing sources (RFC 3550, section 5.1), bytes; in DCCP each datagram is
/// one RTP packet (RFC 5762, section 4.1).
pub const RTP_HEADER: u32 = 12;

/// A speech codec: what it sends, and what it is worth.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum CodecName {
    /// 160 bytes in 20 ms (64 kbit/s); a lost packet is silence.
    #[serde(rename = "g711")]
    G711,
    /// The same; losses are concealed (G.711, appendix I).
    #[serde(rename = "g711-plc")]
    G711Plc,
    /// 20 bytes in 20 ms (8 kbit/s).
    #[serde(rename = "g729a")]
    G729a,
    /// 80 bytes in 30 ms (21.3 kbit/s), as in the paper voip.
    #[serde(rename = "voice-80")]
    Voice80,
}

impl CodecName {
    /// A frame.
    pub fn frame(self) -> Size {
        Size::new(match self {
            Self::G711 | Self::G711Plc => 160,
            Self::G729a => 20,
            Self::Voice80 => 80,
        })
    }

    /// The speech that a frame holds.
    pub fn every(self) -> Duration {
        Duration::from_millis(match self {
            Self::Voice80 => 30,
            Self::G711 | Self::G711Plc | Self::G729a => 20,
        })
    }

    /// What it does to speech. The 80-byte codec is not one that G.113 lists: it counts as G.729A.
    pub fn quality(self) -> SpeechCodec {
        match self {
            Self::G711 => SpeechCodec::G711,
            Self::G711Plc => SpeechCodec::G711_CONCEALED,
            Self::G729a | Self::Voice80 => SpeechCodec::G729A,
        }
    }
}
