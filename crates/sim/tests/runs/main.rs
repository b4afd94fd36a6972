//! Whole runs of scenarios, held to what models, papers and other programs say.

mod adaptive_video;
mod allocations;
mod both_ways;
mod capture;
mod dctcp;
mod digests;
mod dtls;
mod models;
mod parking_lot;
mod registered;
mod response;
mod short_flows;
mod small_packets;
mod stacks;
mod tcp;
mod trace;
mod video;
mod wlan;

/// Counts the allocations of each thread.
#[global_allocator]
static ALLOCATOR: fairwire_held::Counting = fairwire_held::Counting;
