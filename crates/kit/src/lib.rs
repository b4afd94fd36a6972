//! Two endpoints on a virtual clock, the link between them, and packets made by hand: for tests, benchmarks and fuzz
//! targets.
//!
//! [`Pair`] is the harness. The rest makes and reads packets: [`Draft`] builds one of any type,
//! [`Wire`] is one that was sent, and [`Dice`] draws what happens to it.
//!
//! The unit tests of `proto` compile these sources as a module of their own, because a test inside a crate cannot use a
//! crate above it. So nothing here names its own crate.

#![allow(
    clippy::missing_panics_doc,
    clippy::new_without_default,
    clippy::should_implement_trait,
    reason = "all of it asserts, and names are short where every test writes them"
)]

mod configs;
mod dice;
mod forge;
mod pair;
mod wire;

pub use configs::{PORT, SERVICE, both_ways, config_of, ms};
pub use dice::Dice;
pub use forge::{Draft, kind_of, plain, reseal, reseal_bytes};
pub use pair::{Fault, Instead, Pair, data, paths};
pub use wire::Wire;
