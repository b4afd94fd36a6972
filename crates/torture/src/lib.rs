//! Random endpoints, applications and faults in the simulator, held to invariants at every step.
//!
//! - [`plan`]: what a run is made of, drawn from a seed; `dice`: random choices from named streams.
//! - `world`: a plan at work. It knows everything and judges nothing.
//! - [`seen`]: what an omniscient observer sees: every call, packet, event and state. [`oracle`] judges it and
//!   knows nothing of the world; `describe` makes the log of it.
//! - [`run`]: one plan from its beginning to its end; [`shrink`]: the least plan that fails in the same way.
//! - `plants`, with the feature `plant`: known bugs are put back; are they found?
//! - [`campaign`]: many seeds, side by side; [`report`]: what came of them, in words; [`events`]: what applications
//!   may learn, by name.

pub mod campaign;
mod describe;
mod dice;
pub mod events;
pub mod oracle;
mod outcome;
pub mod plan;
#[cfg(feature = "plant")]
pub mod plants;
pub mod report;
pub mod run;
pub mod seen;
pub mod shrink;
mod world;
