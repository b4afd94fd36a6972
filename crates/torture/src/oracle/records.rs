//! Records of a connection that one check each needs.

mod acks;
mod events;
mod expected;
mod features;
mod missing;
mod pipe;
mod rates;
mod repeats;
mod timeouts;

pub(super) use acks::Acks;
pub(super) use events::{Events, NDUPACK};
pub(super) use expected::{Expected, Validity};
pub(super) use features::Features;
pub(super) use missing::Missing;
pub(super) use pipe::{NUMDUPACK, Pipe};
pub(super) use rates::Rates;
pub(super) use repeats::{FIRST, Repeats};
pub(super) use timeouts::Timeouts;
