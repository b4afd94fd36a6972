//! What sending lost datagrams again needs: the sender's store, and the receiver's [`Window`] and count of [`Missing`]
//! datagrams.
//!
//! None of them knows a connection. `docs/resend.md` has the wire format.

mod missing;
mod store;
mod window;

pub(crate) use missing::Missing;
pub(crate) use store::{Kept, Store};
pub(crate) use window::{Novelty, Window};
