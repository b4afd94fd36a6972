//! Options: iteration, values, and the packet types on which each is valid (RFC 4340, section 5.8).
//!
//! [`Options`] yields [`RawOption`]s in order and stops at the first invalid length; the options before it stay valid.
//! [`RawOption::decode`] turns one into a [`DccpOption`] or an [`OptionError`]. The caller ignores an option with an
//! error, unless Mandatory came before it.

mod ack_vector;
mod data_dropped;
mod error;
mod intervals;
mod value;
mod walk;

pub mod option_type;

pub use ack_vector::{AckEntries, AckEntry, EntryState};
pub use data_dropped::{DropBlock, DropBlocks, DropCode};
pub use error::OptionError;
pub use intervals::{DropCounts, LossInterval, LossIntervals};
pub use value::{DccpOption, NO_LOSS, RTT_TOO_LARGE};
pub use walk::{OptionIter, Options, RawOption};

/// The most bytes of data in one option. Its length byte also counts the type and itself.
pub const MAX_OPTION_DATA: usize = 253;
