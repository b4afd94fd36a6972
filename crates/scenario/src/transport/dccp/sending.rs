//! How a flow's datagrams are sent: until when, with what, and before what.

use fairwire_proto::{Resend, SendOptions};
use fairwire_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::traffic::Offer;

/// How datagrams are sent, besides in order.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sending {
    /// How long after its offer a datagram may still leave. One that still waits then is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// How long after its offer a datagram that is lost may still be sent again (docs/resend.md); CCID 2 only. The
    /// receiving application gets it once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resend: Option<Duration>,
    /// Whether the packets of a frame are a group: when one of them expires, is dropped or is lost, those that still
    /// wait are dropped. CCID 3 and 4 do not report single losses. Needs traffic with frames.
    #[serde(default)]
    pub groups: bool,
    /// Whether the traffic's priorities apply: I frames of a video leave before other frames. Needs traffic with
    /// frames.
    #[serde(default)]
    pub priorities: bool,
}

impl Sending {
    /// Returns the options of a datagram that is offered `now`.
    pub(super) fn options(&self, now: Instant, offer: &Offer) -> SendOptions {
        let mut options = SendOptions::default();
        options.deadline = self.deadline.map(|time| now + time);
        if let Some(time) = self.resend {
            options.resend = Resend::Until(now + time);
        }
        options.group = offer.frame.filter(|_| self.groups);
        if self.priorities {
            options.priority = offer.priority;
        }
        options
    }

    /// Returns a key that needs traffic with frames, if one is set.
    pub(super) fn needs_frames(&self) -> Option<&'static str> {
        let keys = [
            ("send.groups", self.groups),
            ("send.priorities", self.priorities),
        ];
        keys.into_iter()
            .find(|(_, is_set)| *is_set)
            .map(|(key, _)| key)
    }

    /// Returns whether nothing is set.
    pub(super) fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}
