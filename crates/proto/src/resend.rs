//! What sending lost datagrams again needs: the sender's store and the receiver's [`Window`].
//!
//! Neither knows a connection. A connection uses the window for packet numbers. `fairwire` uses another one for the
//! numbers inside the records of DTLS, which are encrypted anew for each packet. `docs/resend.md` has the wire format
//! of both.

mod store;
mod window;

pub(crate) use store::{Kept, Store};
pub use window::{Novelty, Window};
