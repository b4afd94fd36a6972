//! Loss models: the fate of packets on the wire.
//!
//! A loss model decides once about each packet that goes on the wire of its link, in that order. A dropped packet uses
//! the link like any other, and is missing at the far end.
//!
//! A [`Loss`] is the state of a model on one link. A [`LossModel`] has a model's settings, and builds a [`Loss`] for
//! each link. Models that files may name are registered: this module lists those of this crate, and other crates add
//! theirs with [`Registry::register`].

mod bernoulli;
mod bit_errors;
mod black_hole;
mod gilbert;
mod model;
mod outage;
mod process;
mod rule;

use std::sync::LazyLock;

use fairwire_units::registry::{Registered, Registry};

pub use bernoulli::{Bernoulli, BernoulliConfig};
pub use bit_errors::{BitErrors, BitErrorsConfig};
pub use black_hole::BlackHole;
pub use gilbert::{GilbertElliott, GilbertElliottConfig};
pub use model::LossModel;
pub use outage::Outage;
pub use process::{Loss, Verdict};
pub use rule::{EveryConfig, Nth, Periodic, every, nth};

impl Registered for dyn LossModel {
    fn registry() -> &'static Registry<Self> {
        static ALL: LazyLock<Registry<dyn LossModel>> = LazyLock::new(|| {
            let kinds = [
                bernoulli::kind(),
                rule::kind(),
                gilbert::kind(),
                bit_errors::kind(),
            ];
            Registry::new("loss model", kinds).with_bare_key("rate")
        });
        &ALL
    }
}

#[cfg(test)]
mod tests;
