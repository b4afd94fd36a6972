//! Sweeps with a memory: a run that a store has is never done again.
//!
//! 1. A [`Store`] is a folder with a database of finished runs. A run's key is the hash of its resolved scenario, its
//!    seed, and the hash of the sources that compute results ([`SOURCES`]).
//! 2. A [`Plan`] says which runs of some cells are missing. [`Plan::run_here`] does them on the processors of this
//!    machine. Another engine takes tasks instead ([`Plan::take`]), sends them to its workers as bytes
//!    ([`Plan::bytes`]), has them done there ([`work`]) and gives the results back ([`Plan::keep`]).
//! 3. [`Store::query`] answers SQL with a table in Arrow's memory format, and [`Store::export`] writes Parquet.
//!
//! A crash loses at most the runs that were under way. `docs/sweeps.md` describes the tables of a store.

mod axis;
pub mod columns;
mod db;
mod error;
mod here;
mod key;
mod list;
mod name;
mod plan;
mod query;
mod raw;
mod record;
mod repair;
mod rows;
mod schema;
mod seeds;
mod settings;
mod store;
mod task;
mod text;
mod upkeep;

pub use axis::Axis;
pub use error::StoreError;
pub use here::SweepError;
pub use key::{NotAKey, RunKey, SOURCES, ScenarioKey};
pub use list::{Listed, ListedCell};
pub use plan::{Plan, Task};
pub use raw::{decode, encode};
pub use record::{Origin, Recorded};
pub use repair::{Kept, Repair};
pub use seeds::{Precision, Seeds};
pub use store::Store;
pub use task::{TaskError, work};
pub use upkeep::Prune;
