//! Traffic of an application that always has data.

use std::sync::Arc;

use fairwire_units::Instant;
use fairwire_units::registry::Kind;

use super::model::{FlowContext, PacketShape, TrafficModel};
use super::source::{Offer, Source, When};

/// Traffic of an application that always has data. It has no settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greedy;

impl TrafficModel for Greedy {
    fn build(&self, flow: &FlowContext<'_>) -> Box<dyn Source> {
        Box::new(GreedySource {
            bytes: flow.packet.payload,
        })
    }

    fn packets_per_second(&self, _packet: &PacketShape) -> Option<u64> {
        None
    }
}

/// Returns the kind for the registry.
pub(super) fn kind() -> Kind<dyn TrafficModel> {
    let kind: Kind<dyn TrafficModel> = Kind::new("greedy", "The application always has data.");
    kind.standard(|| Arc::new(Greedy))
}

/// A source that sends packets of one size whenever there is room.
#[derive(Clone, Copy, Debug)]
struct GreedySource {
    bytes: u32,
}

impl Source for GreedySource {
    fn begin(&mut self, _at: Instant) {}

    fn next(&self) -> Option<Offer> {
        Some(Offer::new(When::ItFits, self.bytes))
    }

    fn advance(&mut self) {}
}
