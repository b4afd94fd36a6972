//! Sessions as their users see them: two ends on a virtual clock, joined by a path that a test controls.

mod close;
mod handshake;
mod hostile;
mod identity;
mod net;
mod records;
mod trust;
mod versions;
