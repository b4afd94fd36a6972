//! Tests of random endpoints, applications and faults in the simulator, with invariants checked at every step.
//!
//! - [`plan`]: the plan of a run, drawn from a seed; `dice`: random choices from named streams.
//! - `world`: the execution of a plan. It knows everything and judges nothing. [`clock`]: a host's clock.
//! - [`seen`]: everything that can be observed: calls, packets, events and states. [`oracle`] judges the observations
//!   and knows nothing of the world; `describe` writes the log from them.
//! - [`run`]: one plan from beginning to end; [`shrink`]: a smaller plan that fails in the same way.
//! - [`campaign`]: many seeds in parallel; [`progress`] and [`report`]: how far they are and their results, as text;
//!   [`events`]: the names of application events.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "only those who work on it read its documentation"
)]

pub mod campaign;
pub mod clock;
mod describe;
mod dice;
pub mod events;
pub mod oracle;
mod outcome;
pub mod plan;
pub mod progress;
pub mod report;
pub mod run;
pub mod seen;
pub mod shrink;
mod world;
