//! Whole runs of scenarios, held to what models, papers and other programs say.

mod both_ways;
mod capture;
mod dctcp;
mod digests;
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
