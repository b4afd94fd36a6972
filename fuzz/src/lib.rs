//! Fuzz targets: each takes any bytes, feeds them to one part of Fairwire, and panics if what
//! comes out breaks a promise.
//!
//! The same functions run in two ways. `make fuzz` links them with libFuzzer, which searches for
//! new inputs; `cargo test` replays the inputs under `corpus/`, on any toolchain.

pub mod codec;

/// A target: its name, which is that of its folder under `corpus/`, and what runs one input.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the binary and of the corpus.
    pub name: &'static str,
    /// Runs one input.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[Target {
    name: "codec",
    run: codec::run,
}];
