//! Instants, durations, rates, sizes, packets and percentages, parsed and printed with their units.
//!
//! Time is an argument everywhere in Fairwire, so it has its own type: an [`Instant`] is a number of nanoseconds since
//! the run began. A run is a simulation or the life of a socket endpoint. Instants of two runs cannot be compared.
//!
//! All values except percentages are integers, so that the same input gives the same bits on every machine. `FromStr`
//! reads what `Display` prints (`"300ms"`, `"2 Mbit/s"`, `"500 B"`). A bare number is refused, because a missing unit
//! is a common mistake in experiments. With the feature `settings`, serde reads and writes the same form, and a JSON
//! Schema describes it.

mod decimal;
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

pub use decimal::Decimal;
pub use ecn::Ecn;
pub use packets::Packets;
pub use parse::ParseUnitError;
pub use percent::Percent;
pub use rate::Rate;
pub use size::Size;
pub use time::{Duration, Instant};
