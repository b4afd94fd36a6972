//! The parts of a connection. Each keeps the state of one concern and does not know the connection. The files above say
//! what the connection does with it.

pub(super) mod again;
pub(super) mod agreed;
pub(super) mod arrivals;
pub(super) mod assembly;
pub(super) mod backoff;
pub(super) mod cap;
pub(super) mod ccids;
pub(super) mod close_code;
mod codes;
pub(super) mod counted;
pub(super) mod draws;
pub(super) mod dropped;
pub(super) mod groups;
pub(super) mod icmp_errors;
pub(super) mod liveness;
pub(super) mod migration;
pub(super) mod nonces;
mod ordered;
pub(super) mod path_mtu;
pub(super) mod queue;
pub(super) mod receive_queue;
pub(super) mod reported;
pub(super) mod secure;
pub(super) mod sequence;
pub(super) mod short;
pub(super) mod size;
pub(super) mod syncs;
pub(super) mod target;
pub(super) mod timestamp;
pub(super) mod unconfirmed;
pub(super) mod window;
