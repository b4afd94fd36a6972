//! Sweeps with a memory: a run that a store has is never done again.
//!
//! A [`Store`] is a folder with a database of finished runs, where a [`Plan`](fairwire_sim::campaign::Plan) finds and
//! keeps runs ([`RunStore`](fairwire_sim::campaign::RunStore)). A run's key is the hash of its resolved scenario, its
//! seed, and the hash of the sources that compute results ([`SOURCES`]).
//!
//! 1. [`Store::run`] does the runs of a plan on the processors of this machine. Another engine takes tasks from the
//!    plan instead, sends them to its workers as bytes ([`task_bytes`]), has them done there ([`work`]), and gives the
//!    results back to the plan.
//! 2. [`Store::query`] answers SQL with [columns], and [`Store::export`] writes Parquet.
//!
//! A crash loses at most the runs that were under way. `docs/sweeps.md` describes the tables of a store.

mod axis;
pub mod columns;
mod db;
mod error;
pub mod gap;
mod list;
mod name;
mod parquet_file;
mod query;
mod raw;
mod record;
mod repair;
mod rows;
mod run_store;
mod schema;
mod settings;
mod store;
mod task;
mod text;
mod upkeep;

pub use axis::axis_columns;
pub use error::StoreError;
pub use list::{Listed, ListedCell, sweep_id};
pub use raw::{decode, encode};
pub use record::{Origin, Recorded, SOURCES};
pub use repair::{Kept, Repair};
pub use store::Store;
pub use task::{TaskError, task_bytes, work};
pub use upkeep::Prune;
