//! Tests of the torture test: its command, its determinism, its reach, its plans and its oracle.

mod check;
mod command;
mod oracle;
mod parts;
mod seeds;
