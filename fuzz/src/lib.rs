//! Fuzz targets: each passes arbitrary bytes to one part of Fairwire, and panics if the result breaks a promise.
//!
//! The same functions run in two ways. `make fuzz` links them with libFuzzer, which searches for new inputs;
//! `cargo test` replays the inputs under `corpus/` with any toolchain. A target also asserts bounds on time and memory.
//! It counts steps and heap allocations ([`fairwire_held::thread`]), so that the bounds hold in both ways and on every
//! machine.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "only those who work on it read its documentation"
)]

mod application;
pub mod claims;
pub mod codec;
mod content;
pub mod hostile;
pub mod options;
pub mod pair;
pub mod perf_messages;
pub mod scenario;
mod setup;
pub mod tls;
pub mod tls_keyed;
pub mod tls_records;
mod trace;
pub mod watched;

#[global_allocator]
static ALLOCATOR: fairwire_held::Counting = fairwire_held::Counting;

/// A fuzz target: its name, which is also that of its folder under `corpus/`, and the function that runs one input.
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
    Target {
        name: "tls",
        run: tls::run,
    },
    Target {
        name: "tls_keyed",
        run: tls_keyed::run,
    },
    Target {
        name: "tls_records",
        run: tls_records::run,
    },
];
