//! A network without wires at its edge: access points, stations, hand-offs, slow hosts.
//!
//! Two switches, left and right, are joined by the `bottleneck`, if there is one; each access
//! point hangs on one of them by a link like `access`. Access points of one channel share a medium.

pub(super) mod check;

use std::fmt;
use std::str::FromStr;

use fairwire_net::{DropTailConfig, HostSpec, QueueLimit, QueueModel, RateControl, Stranded};
use fairwire_units::registry::Chosen;
use fairwire_units::{Duration, text_setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Side;
use super::queue::droptail;
use crate::quantity::{Named, QuantityError};

/// Access points and stations, and what they have in common.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Wlan {
    /// The rate of frames, both ways, of stations that do not say their own. 6, 9, 12, 18, 24, 36, 48 or
    /// 54 Mbit/s; or `"adaptive"`, which begins with 54 Mbit/s, or `"adaptive from 24 Mbit/s"`.
    #[serde(default)]
    pub rate: RateControl,
    /// The signal of stations that do not say their own: its level above what 6 Mbit/s needs. Without one only
    /// collisions lose frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Decibels>,
    /// What the queue of each radio holds that does not say its own, beside the frame it is at.
    #[serde(default = "hundred")]
    pub queue: Chosen<dyn QueueModel>,
    /// How slow the stations are that do not say so. Without it they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSpec>,
    /// How long a station that hands off belongs to nobody, where the hand-off does not say it.
    #[serde(default = "outage")]
    #[schemars(extend(
        "maximum_quantity" = "1 h",
        "advice" = "an outage of more than an hour is surely not meant"
    ))]
    pub outage: Duration,
    /// What becomes of packets at a station that hands off.
    #[serde(default)]
    pub at_station: Stranded,
    /// What becomes of packets at the access point that it leaves.
    #[serde(default = "lost")]
    pub at_ap: Stranded,
    /// The access points. Access points of one channel share a medium.
    pub aps: Named<AccessPoint>,
    /// The stations.
    pub stations: Named<Station>,
    /// Who changes the access point, and when.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<HandOff>,
}

/// An access point.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AccessPoint {
    /// The side of the bottleneck that it is on.
    #[serde(default)]
    pub side: Side,
    /// Its channel. Access points of one channel share the medium; channels do not hear each other.
    pub channel: u32,
    /// What its queue holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Chosen<dyn QueueModel>>,
}

/// A station.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// The access point that it belongs to at first.
    pub ap: String,
    /// The rate of its frames, both ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateControl>,
    /// Its signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Decibels>,
    /// What its queue holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Chosen<dyn QueueModel>>,
    /// How slow it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSpec>,
}

/// A change of access point.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HandOff {
    /// Who.
    pub station: String,
    /// When it leaves.
    pub at: Duration,
    /// Where to.
    pub to: String,
    /// How long it belongs to nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "maximum_quantity" = "1 h",
        "advice" = "an outage of more than an hour is surely not meant"
    ))]
    pub outage: Option<Duration>,
}

/// A level in decibels, written `"20 dB"`.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Decibels(pub f64);

impl FromStr for Decibels {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let number = text.trim().strip_suffix("dB").map(str::trim);
        let level = number.and_then(|number| number.parse::<f64>().ok());
        match level {
            Some(level) if (-100.0..=100.0).contains(&level) => Ok(Self(level)),
            _ => Err(QuantityError::new(format!(
                "'{text}' is no level: write one from \"-100 dB\" to \"100 dB\""
            ))),
        }
    }
}

impl fmt::Display for Decibels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} dB", self.0))
    }
}

text_setting!(Decibels, "decibels", "20 dB", r"^\s*-?[0-9.]+\s*dB\s*$");

fn hundred() -> Chosen<dyn QueueModel> {
    droptail(DropTailConfig {
        limit: QueueLimit::Packets(100),
        ..DropTailConfig::default()
    })
}

fn outage() -> Duration {
    Duration::from_millis(200)
}

fn lost() -> Stranded {
    Stranded::Lost
}

impl Wlan {
    /// The access points that `station` comes to, its first one first, each once.
    pub fn access_points<'a>(&'a self, name: &str, station: &'a Station) -> Vec<&'a str> {
        let mut all = vec![station.ap.as_str()];
        for hand_off in self.handoffs.iter().filter(|one| one.station == name) {
            if !all.contains(&hand_off.to.as_str()) {
                all.push(&hand_off.to);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests;
