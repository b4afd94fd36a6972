//! The shared medium, hand-offs and slow hosts against theory and arithmetic.

mod bianchi;
mod handoff;
mod host;
mod medium;
mod support;
