//! Is this TCP believable? It is checked against theory and against its RFC, over a path whose
//! every property is set by the test.

mod delivery;
mod fill;
mod path;
mod recovery;
mod square_root;
