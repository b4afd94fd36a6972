//! Is this TCP believable? It is checked against theory and against its RFC, over a path whose
//! every property is set by the test.

mod cubic;
mod dctcp;
mod delivery;
mod fill;
mod losses;
mod path;
mod rate;
mod recovery;
mod response;
mod square_root;
mod vegas;
mod veno;
