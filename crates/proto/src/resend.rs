//! What sending lost datagrams again needs: the sender's store, and the receiver's [`Window`] and count of [`Missing`]
//! datagrams.
//!
//! Neither knows a connection. A connection uses them for packet numbers. `fairwire` uses others for the numbers
//! inside the records of DTLS, which are encrypted anew for each packet. `docs/resend.md` has the wire format
//! of both.

mod missing;
mod store;
mod window;

pub use missing::Missing;
pub(crate) use store::{Kept, Store};
pub use window::{Novelty, Window};
