//! Tests of the network through its public interface: agents, observers and results.

mod allocations;
mod behaviour;
mod disciplines;
mod models;
mod support;
mod theory;
mod wlan;

/// Counts the allocations of each thread.
#[global_allocator]
static ALLOCATOR: fairwire_held::Counting = fairwire_held::Counting;
