//! The shared medium, hand-offs and slow hosts, compared with theory and with calculations by hand.

mod bianchi;
mod handoff;
mod host;
mod medium;
mod support;
