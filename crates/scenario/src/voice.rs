//! Speech codecs, and the RTP header in front of their frames.

use fairwire_measure::SpeechCodec;
use fairwire_units::{Duration, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The size of an RTP header without contributing sources (RFC 3550, section 5.1), bytes. In DCCP each datagram is one
/// RTP packet (RFC 5762, section 4.1).
pub const RTP_HEADER: u32 = 12;

/// A speech codec: its frames and its quality.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum CodecName {
    /// 160 bytes in 20 ms (64 kbit/s); a lost packet is heard as silence.
    #[serde(rename = "g711")]
    G711,
    /// The same as `"g711"` with loss concealment (G.711, appendix I).
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
    /// Returns the size of a frame.
    pub fn frame(self) -> Size {
        Size::new(match self {
            Self::G711 | Self::G711Plc => 160,
            Self::G729a => 20,
            Self::Voice80 => 80,
        })
    }

    /// Returns the length of the speech in a frame.
    pub fn every(self) -> Duration {
        Duration::from_millis(match self {
            Self::Voice80 => 30,
            Self::G711 | Self::G711Plc | Self::G729a => 20,
        })
    }

    /// Returns its quality for the E-model. G.113 does not list the 80-byte codec, so it counts as G.729A.
    pub fn quality(self) -> SpeechCodec {
        match self {
            Self::G711 => SpeechCodec::G711,
            Self::G711Plc => SpeechCodec::G711_CONCEALED,
            Self::G729a | Self::Voice80 => SpeechCodec::G729A,
        }
    }
}
