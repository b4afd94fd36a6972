//! Transports: what carries the data of a flow.
//!
//! A [`Transport`] is a protocol with its settings, as a flow of a scenario has them; it makes the two [`Peer`]s of a
//! conversation. Everything that one protocol alone knows stands in its module: its settings and what they refuse,
//! its header sizes, its endpoints and their gauges, and what its packets look like in a capture. Another transport
//! is one more module here, and a key of [`Flow`](crate::scenario::Flow).
//!
//! Below the transports: the [`store`] that holds packets on their way, the [`ends`] and the [`application`] of a
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
pub(crate) mod store;
pub(crate) mod tcp;
mod ticks;
pub(crate) mod udp;
pub(crate) mod windows;

pub(crate) use model::{Conversation, Transport};
pub(crate) use peer::{Peer, Reading};

/// The keys of a flow that are transports, in the order of `Flow::transports`; a flow has one of them.
pub(crate) const TRANSPORTS: &[&str] = &["tcp", "dccp", "udp"];
