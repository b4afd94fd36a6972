//! Tests of the simulated TCP against theory and its RFCs.
//!
//! The tests set every property of the path.

mod cubic;
mod dctcp;
mod delivery;
mod ecn;
mod fill;
mod losses;
mod path;
mod rate;
mod recovery;
mod response;
mod square_root;
mod vegas;
mod veno;
