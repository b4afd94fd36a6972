//! Fuzz targets: each takes any bytes, feeds them to one part of Fairwire, and panics if what
//! comes out breaks a promise.
//!
//! The same functions run in two ways. `make fuzz` links them with libFuzzer, which searches for
//! new inputs; `cargo test` replays the inputs under `corpus/`, on any toolchain. Bounds of time
//! and memory are part of what a target asserts: it counts its steps and what it takes of the heap
//! ([`fairwire_held::thread`]), so that they hold in both ways and on every machine.

mod application;
pub mod claims;
pub mod codec;
mod content;
pub mod hostile;
pub mod options;
pub mod pair;
pub mod perf_messages;
pub mod scenario;
mod seal;
#[cfg(test)]
mod seeds;
mod setup;
mod trace;
mod watched;

#[global_allocator]
static ALLOCATOR: fairwire_held::Counting = fairwire_held::Counting;

/// A target: its name, which is that of its folder under `corpus/`, and what runs one input.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of the binary and of the corpus.
    pub name: &'static str,
    /// Runs one input.
    pub run: fn(&[u8]),
}

/// Every target.
pub const TARGETS: &[Target] = &[
    Target {
        name: "codec",
        run: codec::run,
    },
    Target {
        name: "options",
        run: options::run,
    },
    Target {
        name: "perf_messages",
        run: perf_messages::run,
    },
    Target {
        name: "scenario",
        run: scenario::run,
    },
    Target {
        name: "claims",
        run: claims::run,
    },
    Target {
        name: "hostile",
        run: hostile::run,
    },
    Target {
        name: "pair",
        run: pair::run,
    },
];
