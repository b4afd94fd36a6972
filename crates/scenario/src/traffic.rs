//! Traffic: when applications send, and how much.
//!
//! A [`TrafficModel`] is a kind of application with its settings, which a flow of a scenario names. It makes a
//! [`Source`] for the flow, which is the running application. Sources do not depend on transports, and transports do
//! not depend on kinds of sources. The models of this crate are listed here; other crates add theirs with
//! [`Registry::register`].
//!
//! A model is one file, which holds its settings and its source, and a line in the list.

mod adaptive_video;
mod cbr;
mod greedy;
mod model;
mod pace;
mod short_flows;
mod source;
mod talk;
mod video;

use std::sync::LazyLock;

use fairwire_units::registry::{Registered, Registry};

pub use adaptive_video::{AdaptiveVideo, Pause};
pub use cbr::Cbr;
pub use greedy::Greedy;
pub use model::{FlowContext, PacketShape, TrafficModel};
pub use short_flows::{ShortFlows, Sizes};
pub use source::{Arrival, Arrivals, Offer, Source, When};
pub use talk::TalkSpurts;
pub use video::Video;

impl Registered for dyn TrafficModel {
    fn registry() -> &'static Registry<Self> {
        static ALL: LazyLock<Registry<dyn TrafficModel>> = LazyLock::new(|| {
            let kinds = [
                greedy::kind(),
                cbr::kind(),
                talk::kind(),
                video::kind(),
                adaptive_video::kind(),
                short_flows::kind(),
            ];
            Registry::new("traffic", kinds)
        });
        &ALL
    }
}
