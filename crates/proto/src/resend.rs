//! What sending lost datagrams again needs: the sender's buffer, and the receiver's [`Window`] and count of [`Missing`]
//! datagrams.
//!
//! None of them knows a connection. `docs/resend.md` has the wire format.

mod buffer;
mod missing;
mod window;

pub(crate) use buffer::{Kept, ResendBuffer};
pub(crate) use missing::Missing;
pub(crate) use window::{Novelty, Window};
