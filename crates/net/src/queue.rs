//! Queue disciplines: who waits for a link, who goes next, who is thrown away.
//!
//! A [`Queue`] is a discipline at work at one link; a [`QueueModel`] is a discipline with its settings,
//! which makes one for each link. The models that files may name are registered: those of this crate are
//! listed here, and other crates add theirs with [`Registry::register`].
//!
//! A discipline is one file, which holds its settings, and its lines here.

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
            Registry::new("queue discipline", kinds).short_for("limit")
        });
        &ALL
    }
}
