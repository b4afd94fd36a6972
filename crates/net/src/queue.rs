//! Queue disciplines: which packets wait for a link, which goes next, and which are dropped.
//!
//! A [`Queue`] is the state of a discipline at one link. A [`QueueModel`] has a discipline's settings, and builds a
//! [`Queue`] for each link. Models that files may name are registered: this module lists those of this crate, and other
//! crates add theirs with [`Registry::register`].
//!
//! A discipline is one file, which has its settings too, and its entries in this module.

mod codel;
mod discipline;
mod drop_tail;
mod fq_codel;
mod limit;
mod model;
mod red;

use std::sync::LazyLock;

use fairwire_units::registry::{Registered, Registry};

pub use codel::{Codel, CodelConfig, CodelLaw};
pub use discipline::{Admission, Backlog, Next, Queue, Queued};
pub use drop_tail::{Counts, DropTail, DropTailConfig};
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use limit::{ParseLimitError, QueueLimit};
pub use model::QueueModel;
pub use red::{Red, RedConfig};

impl Registered for dyn QueueModel {
    fn registry() -> &'static Registry<Self> {
        static ALL: LazyLock<Registry<dyn QueueModel>> = LazyLock::new(|| {
            let kinds = [
                drop_tail::kind(),
                red::kind(),
                codel::kind(),
                fq_codel::kind(),
            ];
            Registry::new("queue discipline", kinds).with_bare_key("limit")
        });
        &ALL
    }
}
