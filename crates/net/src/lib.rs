//! A deterministic packet network: links, shared media, queues, losses and observers.
//!
//! It moves opaque packets between [`Agent`]s and knows no protocol. The same seed gives the same events in the same
//! order on every machine.
//!
//! 1. Build a [`Topology`] of nodes and one-directional links, each described by a [`LinkSpec`]. [`Topology::chain`]
//!    and [`Topology::dumbbell`] build common shapes. Then add wireless parts: a [`Topology::medium`] with its
//!    [`Topology::access_point`]s and [`Topology::station`]s, and their [`Topology::hand_off`]s. Slow hosts are added
//!    with [`Topology::host`].
//! 2. Make a [`Network`] from it, with the [`Agent`]s' store and an [`Observer`] (`()` for none).
//! 3. Place the agents, then call [`Network::run_until`]; inspect or change the network, and continue.
//!
//! Time is integer nanoseconds. A packet costs one event per hop. Everything random draws from a named [`Stream`], so a
//! new stream does not change the numbers of another. [`Digest`] turns what an observer on the wires sees into one
//! number, which is the same for two equal runs.

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
    RateControl, StationSpec, WaitingPackets,
};
pub use context::LinkContext;
pub use digest::{Digest, DigestValue};
pub use host::HostSpec;
pub use link::{LinkSpec, LinkStats};
pub use loss::*;
pub use network::Network;
pub use observer::{DropReason, Observation, Observer, Place};
pub use queue::*;
pub use routing::route;
pub use streams::{Stream, Streams};
pub use topology::{Access, Chain, Dumbbell, Side, Topology, Towards};
pub use trace::{Trace, TraceError};
pub use variation::{DelayVariation, Distribution, VariationConfig};
