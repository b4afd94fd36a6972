//! Transports: the protocols that carry the data of flows.
//!
//! A [`Transport`] is a protocol with its settings in a flow of a scenario. It makes the two [`Peer`]s of a
//! conversation. The module of a protocol holds everything that is specific to it: its settings and their checks, its
//! header sizes, its endpoints and their gauges, and the form of its packets in a capture. A further transport is one
//! more module here, and a key of [`Flow`](crate::Flow).
//!
//! Common to the transports are the [`store`] of packets in flight, the [`ends`] and the [`application`] of a
//! conversation, and the meters of a flow.

pub mod application;
pub mod content;
pub mod dccp;
pub mod ends;
pub mod flow_meter;
pub mod frames;
pub mod header;
pub mod model;
pub mod peer;
pub mod pending;
pub mod store;
pub mod tcp;
pub mod ticks;
pub mod udp;
pub mod windows;

pub use model::{Conversation, Transport};
pub use peer::{Peer, Reading};

/// The keys of a flow that are transports, in the order of `Flow::transports`. A flow has exactly one of them.
pub const TRANSPORTS: &[&str] = &["tcp", "dccp", "udp"];
