//! Random endpoints, applications and faults in the simulator, held to invariants at every step.
//!
//! - [`seen`] is what an omniscient observer sees: every call, packet, event and state.

pub mod seen;
