//! What a connection is made of. Each part keeps the books of one concern and knows no
//! connection; what the connection does with it stands in a file above.

pub(super) mod agreed;
pub(super) mod arrivals;
pub(super) mod backoff;
pub(super) mod ccids;
mod codes;
pub(super) mod counted;
pub(super) mod dropped;
pub(super) mod liveness;
pub(super) mod nonces;
pub(super) mod path_mtu;
pub(super) mod queue;
pub(super) mod receive_queue;
pub(super) mod reported;
pub(super) mod sequence;
pub(super) mod short;
pub(super) mod size;
pub(super) mod syncs;
pub(super) mod timestamp;
pub(super) mod unconfirmed;
pub(super) mod unreached;
pub(super) mod window;
