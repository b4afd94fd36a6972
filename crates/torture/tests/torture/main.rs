//! Tests of the torture test: its command, its determinism and its reach.

mod command;
mod seeds;
