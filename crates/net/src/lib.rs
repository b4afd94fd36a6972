//! A deterministic packet network: links, shared media, queues, loss, taps.
//!
//! It moves opaque packets between [`Agent`]s and knows no protocol. The same seed gives the
//! same events in the same order on every machine.
//!
//! 1. Build a [`Topology`]: nodes, and one-directional links described by [`LinkSpec`] (or the
//!    shapes [`Topology::chain`] and [`Topology::dumbbell`]); then what has no wires: a
//!    [`Topology::medium`] with its [`Topology::access_point`]s and [`Topology::station`]s, which may
//!    [`Topology::hand_off`]; and hosts that are slow ([`Topology::host`]).
//! 2. Make a [`Network`] of it, with the [`Agent`]s' store and an [`Observer`] (`()` for none).
//! 3. Place the agents, then [`Network::run_until`] a moment; ask, change, run on.
//!
//! Time is integer nanoseconds. A packet costs one event per hop. Whatever is random draws from
//! a [`Stream`], which has a name, so that a new one moves nobody else's luck. [`Digest`] turns
//! what an observer on the wires sees into one number that two equal runs share.

mod agent;
mod air;
mod context;
mod digest;
mod host;
mod link;
mod loss;
mod network;
mod observer;
mod queue;
mod routing;
mod schedule;
mod streams;
mod topology;
mod trace;
mod transmitter;
mod variation;

pub use agent::{Agent, FlowId, Handle, LinkId, NodeId, Packet, Release};
pub use air::{
    Dcf, HandOff, MAC_FRAMING, MediumId, ParseRateControlError, PhyRate, RadioSpec, RadioStats,
    RateControl, StationSpec, Stranded,
};
pub use context::LinkContext;
pub use digest::{Digest, DigestValue};
pub use host::HostSpec;
pub use link::{LinkSpec, LinkStats};
pub use loss::*;
pub use network::Network;
pub use observer::{DropReason, Observer, Place, Sighting};
pub use queue::*;
pub use routing::route;
pub use streams::{Stream, Streams};
pub use topology::{Access, Chain, Dumbbell, Side, Topology, Towards};
pub use trace::{Trace, TraceError};
pub use variation::{DelayVariation, Distribution, VariationConfig};
