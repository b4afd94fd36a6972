//! Sessions as their users see them: two ends on a virtual clock, joined by a path that a test controls.

mod close;
mod close_code;
mod cost;
mod data_path;
mod early;
mod ends;
mod forged;
mod handshake;
mod hostile;
mod identity;
mod interop;
mod kept;
mod keyed;
mod keys;
mod messages;
mod migration;
mod moving;
mod nat;
mod net;
mod panics;
mod records;
mod secured;
#[cfg(feature = "seeded")]
mod seeded;
mod trust;
mod versions;
mod watched;

#[global_allocator]
static ALLOCATOR: fairwire_held::Counting = fairwire_held::Counting;
