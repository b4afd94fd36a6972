//! A wireless network: access points, stations, hand-offs, slow hosts.
//!
//! Two switches, left and right, are joined by the `bottleneck`, if there is one. Each access point is connected to one
//! of them by a link like `access`. Access points on one channel share a medium.

pub(super) mod check;

use std::fmt;
use std::str::FromStr;

use fairwire_net::{DropTailConfig, HostSpec, QueueLimit, QueueModel, RateControl, WaitingPackets};
use fairwire_units::registry::Chosen;
use fairwire_units::{Duration, text_setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Side;
use super::queue::droptail;
use crate::quantity::{Named, QuantityError};

/// Access points and stations, and their common settings.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Wlan {
    /// The default rate of a station's frames, in both directions: 6, 9, 12, 18, 24, 36, 48 or 54 Mbit/s, `"adaptive"`
    /// (starting at 54 Mbit/s), or `"adaptive from 24 Mbit/s"`.
    #[serde(default)]
    pub rate: RateControl,
    /// The default signal of a station: its level above what 6 Mbit/s needs. Without a signal only collisions lose
    /// frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Decibels>,
    /// The default queue of each radio. The frame in transmission does not count.
    #[serde(default = "hundred")]
    pub queue: Chosen<dyn QueueModel>,
    /// The default processing times of a station's host. Without them a host takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSpec>,
    /// The default outage of a hand-off: the time for which the station belongs to no access point.
    #[serde(default = "outage")]
    #[schemars(extend(
        "maximum_quantity" = "1 h",
        "advice" = "an outage is at most 1 h"
    ))]
    pub outage: Duration,
    /// What happens to packets that wait at a station that hands off.
    #[serde(default)]
    pub at_station: WaitingPackets,
    /// What happens to packets that wait for the station at the access point that it leaves.
    #[serde(default = "lost")]
    pub at_ap: WaitingPackets,
    /// The access points. Those on one channel share a medium.
    pub aps: Named<AccessPoint>,
    /// The stations.
    pub stations: Named<Station>,
    /// The hand-offs, in the order of their times for each station.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handoffs: Vec<HandOff>,
}

/// An access point.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AccessPoint {
    /// The side of the bottleneck on which the access point is.
    #[serde(default)]
    pub side: Side,
    /// The channel. Access points on one channel share the medium; channels do not interfere.
    pub channel: u32,
    /// The queue of the access point. The default is that of the wlan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Chosen<dyn QueueModel>>,
}

/// A station.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// The first access point of the station.
    pub ap: String,
    /// The rate of the station's frames, in both directions. The default is that of the wlan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateControl>,
    /// The signal of the station. The default is that of the wlan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<Decibels>,
    /// The queue of the station. The default is that of the wlan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Chosen<dyn QueueModel>>,
    /// The processing times of the station's host. The default is that of the wlan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSpec>,
}

/// A change of access point.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HandOff {
    /// The station that changes its access point.
    pub station: String,
    /// The time at which the station leaves its access point.
    pub at: Duration,
    /// The access point to which the station changes.
    pub to: String,
    /// The time for which the station belongs to no access point. The default is that of the wlan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "maximum_quantity" = "1 h",
        "advice" = "an outage is at most 1 h"
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
                "'{text}' is not a level: write one from \"-100 dB\" to \"100 dB\""
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

fn lost() -> WaitingPackets {
    WaitingPackets::Lost
}

impl Wlan {
    /// Returns the access points that `station` uses, each once, the first one first.
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
