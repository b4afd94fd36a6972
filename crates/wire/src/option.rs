//! Options: walking them, what each says, and where each counts (RFC 4340, section 5.8).
//!
//! [`Options`] yields [`RawOption`]s in order and stops where a length makes no sense; what came
//! before stays valid. [`RawOption::decode`] turns one into a [`DccpOption`] or an
//! [`OptionError`]; an option with an error is ignored by the caller unless Mandatory came before
//! it.

mod ack_vector;
mod data_dropped;
mod error;
mod intervals;
mod value;
mod walk;

pub mod option_type;

pub use ack_vector::{AckCell, AckCells, CellState};
pub use data_dropped::{DropBlock, DropBlocks, DropCode};
pub use error::OptionError;
pub use intervals::{DropCounts, LossInterval, LossIntervals};
pub use value::{DccpOption, NO_LOSS, RTT_TOO_LARGE};
pub use walk::{OptionIter, Options, RawOption};

/// The most data one option holds: its length byte counts itself and the type too.
pub const MAX_OPTION_DATA: usize = 253;
