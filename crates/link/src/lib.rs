//! Links of the simulator in real time, between sockets.
//!
//! [`Words`] describe a link as netem does. A [`Relay`] carries UDP datagrams over it. What happens to them is the
//! simulator's doing: with the same seed, the same arrivals meet the same fate.

mod clock;
mod control;
mod engine;
mod lateness;
mod preset;
mod relay;
mod report;
mod sockets;
mod wait;
mod way;
mod words;

pub use control::ask;
pub use engine::{Drops, Passed};
pub use lateness::Lateness;
pub use preset::{ALL as PRESETS, Preset};
pub use relay::{MAX_CLIENTS, Options, Relay, RelayError, Report, Stopper};
pub use way::Way;
pub use words::{Words, WordsError, change_at, time_of};
