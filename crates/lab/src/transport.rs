//! Transports: the protocols that carry the data of flows.
//!
//! A [`Transport`] is a protocol with its settings in a flow of a scenario. It makes the two [`Peer`]s of a
//! conversation. The module of a protocol holds everything that is specific to it: its settings and their checks, its
//! header sizes, its endpoints and their gauges, and the form of its packets in a capture. A further transport is one
//! more module here, and a key of [`Flow`](crate::scenario::Flow).
//!
//! Common to the transports are the [`store`] of packets in flight, the [`ends`] and the [`application`] of a
//! conversation, and the meters of a flow.

pub(crate) mod application;
pub(crate) mod content;
pub(crate) mod dccp;
pub(crate) mod ends;
pub(crate) mod flow_meter;
mod frames;
pub(crate) mod header;
pub(crate) mod model;
pub(crate) mod peer;
pub(crate) mod pending;
pub(crate) mod store;
pub(crate) mod tcp;
mod ticks;
pub(crate) mod udp;
pub(crate) mod windows;

pub(crate) use model::{Conversation, Transport};
pub(crate) use peer::{Peer, Reading};

/// The keys of a flow that are transports, in the order of `Flow::transports`. A flow has exactly one of them.
pub(crate) const TRANSPORTS: &[&str] = &["tcp", "dccp", "udp"];
