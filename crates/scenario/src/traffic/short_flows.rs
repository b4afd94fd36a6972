//! Short flows: flows of finite size that arrive at random (docs/models/short-flows.md).

use std::sync::Arc;

use fairwire_net::Stream;
use fairwire_units::registry::Kind;
use fairwire_units::{Duration, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::greedy::Greedy;
use super::model::{FlowContext, PacketShape, TrafficModel};
use super::source::{Arrival, Arrivals, Source};

/// Flows of finite size that arrive as a Poisson process, each on a new connection.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ShortFlows {
    /// The mean time between arrivals; the times are exponentially distributed.
    #[schemars(extend(
        "minimum_quantity" = "100 us",
        "advice" = "the mean time between arrivals of flows is at least 100 us: each flow is a connection, which takes memory"
    ))]
    pub every: Duration,
    /// The sizes of the flows, as payload. A size alone applies to all flows.
    pub sizes: Sizes,
}

/// The distribution of flow sizes, in bytes of payload.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(extend("short_form" = "size"))]
pub enum Sizes {
    /// All flows have the same size.
    Fixed {
        /// The size of each flow.
        #[schemars(extend(
            "minimum_quantity" = "1 B",
            "advice" = "a flow has at least one byte"
        ))]
        size: Size,
    },
    /// An exponential distribution.
    Exponential {
        /// The mean size.
        #[schemars(extend(
            "minimum_quantity" = "1 B",
            "advice" = "a flow has at least one byte"
        ))]
        mean: Size,
    },
    /// Each size between two bounds has the same probability.
    Uniform {
        /// The smallest size.
        #[schemars(extend(
            "minimum_quantity" = "1 B",
            "advice" = "a flow has at least one byte"
        ))]
        least: Size,
        /// The largest size.
        most: Size,
    },
    /// A bounded Pareto distribution: most flows are small, and a few large ones hold most of the bytes.
    Pareto {
        /// The exponent: the share of flows above a size falls with this power of the size.
        #[schemars(
            range(max = 100.0),
            extend("exclusiveMinimum" = 0.0, "advice" = "the shape is above 0 and at most 100")
        )]
        shape: f64,
        /// The smallest size.
        #[schemars(extend(
            "minimum_quantity" = "1 B",
            "advice" = "a flow has at least one byte"
        ))]
        least: Size,
        /// The largest size.
        most: Size,
    },
}

impl Sizes {
    fn draw(self, stream: &mut Stream) -> u64 {
        match self {
            Self::Fixed { size } => size.bytes(),
            Self::Exponential { mean } => {
                whole(-(mean.bytes() as f64) * libm::log(1.0 - stream.uniform()))
            }
            Self::Uniform { least, most } => {
                let (least, most) = (least.bytes(), most.bytes());
                least + stream.below((most - least).saturating_add(1))
            }
            // The inverse of F(x) = (1 - (l/x)^a) / (1 - (l/m)^a).
            Self::Pareto { shape, least, most } => {
                let (least, most) = (least.bytes() as f64, most.bytes() as f64);
                let cut = 1.0 - libm::pow(least / most, shape);
                whole(least * libm::pow(1.0 - stream.uniform() * cut, -1.0 / shape))
            }
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are not below zero, and the cast saturates"
)]
fn whole(bytes: f64) -> u64 {
    ((bytes + 0.5) as u64).max(1)
}

impl TrafficModel for ShortFlows {
    /// Builds a greedy source for each short flow.
    fn build(&self, flow: &FlowContext<'_>) -> Box<dyn Source> {
        Greedy.build(flow)
    }

    fn arrivals(&self, flow: &FlowContext<'_>) -> Option<Box<dyn Arrivals>> {
        Some(Box::new(Poisson {
            of: *self,
            times: flow.stream("arrivals"),
            sizes: flow.stream("sizes"),
        }))
    }

    fn packets_per_second(&self, _packet: &PacketShape) -> Option<u64> {
        None
    }

    fn is_random(&self) -> bool {
        true
    }

    fn problem(&self, _packet: &PacketShape) -> Option<(&'static str, String)> {
        match self.sizes {
            Sizes::Pareto { least, most, .. } | Sizes::Uniform { least, most } if least >= most => {
                let message = "'least' must be less than 'most'";
                Some(("sizes.most", message.to_owned()))
            }
            _ => None,
        }
    }
}

/// Returns the kind for the registry.
pub(super) fn kind() -> Kind<dyn TrafficModel> {
    let meaning = "Flows of finite size that arrive at random, each on a new connection.";
    let kind: Kind<dyn TrafficModel> = Kind::new("short-flows", meaning);
    kind.settings(|settings: ShortFlows| Arc::new(settings))
}

#[derive(Clone, Debug)]
struct Poisson {
    of: ShortFlows,
    times: Stream,
    sizes: Stream,
}

impl Arrivals for Poisson {
    fn next(&mut self) -> Arrival {
        Arrival {
            after: self.times.exponential(self.of.every),
            bytes: self.of.sizes.draw(&mut self.sizes),
        }
    }
}
