//! Sweeps with a memory: a run that a store has is never done again.
//!
//! 1. A [`Store`] is a folder of finished runs. A run's key is the hash of its resolved scenario, its seed, and the hash
//!    of the sources that compute results ([`SOURCES`]).
//! 2. A [`Plan`] says which runs of some cells are missing. [`Plan::run_here`] does them on the processors of this
//!    machine. Another engine takes tasks instead ([`Plan::take`]), sends them to its workers as bytes
//!    ([`Plan::bytes`]), has them done there ([`work`]) and gives the results back ([`Plan::keep`]).
//! 3. Finished runs are [`Tables`] in Arrow's format, everywhere: on their way from a worker ([`encode`]), in segments,
//!    and in Parquet after a compaction ([`Store::compact`]).
//!
//! A crash loses at most the runs that were under way. `docs/sweeps.md` describes the files of a store.

mod axis;
mod bytes;
mod checks;
pub mod columns;
mod error;
mod frame;
mod here;
mod key;
mod list;
mod lock;
mod name;
mod part;
mod plan;
mod record;
mod regular;
mod repair;
mod seeds;
mod segment;
mod settings;
mod sorted;
mod store;
mod tables;
mod task;
mod text;
mod upkeep;
mod whole;

pub use axis::Axis;
pub use bytes::{decode, encode};
pub use error::StoreError;
pub use here::SweepError;
pub use key::{NotAKey, RunKey, SOURCES, ScenarioKey};
pub use list::{Listed, ListedCell};
pub use part::Table;
pub use plan::{Plan, Task};
pub use record::{Origin, Recorded};
pub use seeds::{Precision, Seeds};
pub use store::Store;
pub use tables::Tables;
pub use task::{TaskError, work};
pub use upkeep::{Prune, Upkeep};
