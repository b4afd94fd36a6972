//! Traffic at a constant bit rate.

use std::sync::Arc;

use fairwire_units::registry::Kind;
use fairwire_units::{Duration, Instant, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::model::{FlowContext, PacketShape, TrafficModel};
use super::pace;
use super::source::{Offer, Source, When};

/// Traffic at a constant bit rate: one packet at a constant interval. Without settings the interval is that of the
/// flow's codec.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// The rate, counted in the size that the flow states (`wire` or `payload`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The interval between packets, in place of `rate`. With neither, it is that of the codec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
}

impl TrafficModel for Cbr {
    fn build(&self, flow: &FlowContext<'_>) -> Box<dyn Source> {
        Box::new(CbrSource {
            at: Instant::START,
            interval: self.interval(&flow.packet).unwrap_or(Duration::MAX),
            bytes: flow.packet.payload,
        })
    }

    fn packets_per_second(&self, packet: &PacketShape) -> Option<u64> {
        Some(self.interval(packet).map_or(0, pace::packets_per_second))
    }

    fn interval(&self, packet: &PacketShape) -> Option<Duration> {
        pace::interval(self.rate, self.every, packet)
    }

    fn problem(&self, packet: &PacketShape) -> Option<(&'static str, String)> {
        pace::problem(self.rate, self.every, packet)
    }
}

/// Returns the kind for the registry.
pub(super) fn kind() -> Kind<dyn TrafficModel> {
    let kind: Kind<dyn TrafficModel> = Kind::new("cbr", "One packet at a constant interval.");
    kind.settings(|settings: Cbr| Arc::new(settings))
}

/// A source that sends a packet of one size at a constant interval.
#[derive(Clone, Copy, Debug)]
struct CbrSource {
    at: Instant,
    interval: Duration,
    bytes: u32,
}

impl Source for CbrSource {
    fn begin(&mut self, at: Instant) {
        self.at = at;
    }

    fn next(&self) -> Option<Offer> {
        Some(Offer::new(When::At(self.at), self.bytes))
    }

    fn advance(&mut self) {
        self.at += self.interval;
    }
}
