//! Instants, durations, rates, sizes, packets and percentages, parsed and printed with their units.
//!
//! Time is an argument everywhere in Fairwire, so it has a type of its own: an [`Instant`]
//! is a number of nanoseconds since the run began. A run is a simulation or the life of a
//! socket endpoint; instants of two runs have nothing to do with each other.
//!
//! All but percentages are integers, so that the same input gives the same bits everywhere.
//! `FromStr` reads what `Display` prints (`"300ms"`, `"2 Mbit/s"`, `"500 B"`); a bare number is
//! refused, because a number without a unit is how experiments go wrong. With the feature `settings` they
//! are read and written by serde in the same form, and described by a JSON Schema.

mod ecn;
mod packets;
mod parse;
mod percent;
mod rate;
pub mod registry;
#[cfg(feature = "settings")]
pub mod settings;
mod size;
mod time;

#[cfg_attr(not(feature = "plant"), doc(hidden))]
pub mod plant;

pub use ecn::Ecn;
pub use packets::Packets;
pub use parse::ParseUnitError;
pub use percent::Percent;
pub use rate::Rate;
pub use size::Size;
pub use time::{Duration, Instant};
