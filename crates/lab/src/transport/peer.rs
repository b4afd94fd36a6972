//! One side of a conversation, and what it shows.

use std::fmt;

use fairwire_net::{FlowId, Packet};
use fairwire_units::{Duration, Instant};

use super::ends::Ends;
use super::store::Store;

/// One side of one conversation: a protocol's endpoint with the application above it.
pub(crate) trait Peer: fmt::Debug + Send {
    /// Returns who talks to whom.
    fn ends(&self) -> Ends;

    /// Are packets of `flow` for it?
    fn takes(&self, flow: FlowId) -> bool {
        self.ends().incoming == flow
    }

    /// Takes a packet that came, and releases what it holds.
    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store);

    /// Returns the next packet to send, if there is one.
    fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet>;

    /// Returns the moment at which [`handle_timeout`](Self::handle_timeout) must be called.
    fn next_timeout(&self) -> Option<Instant>;

    /// Does what is due.
    fn handle_timeout(&mut self, now: Instant, store: &mut Store);

    /// Sender of a finite source: is everything acknowledged, or the connection closed?
    fn is_over(&self) -> bool {
        false
    }

    /// Receiver: has everything come that the other side's finite source sends? Over an unreliable transport: has the
    /// sender closed the connection behind it, whatever was lost?
    fn is_complete(&self) -> bool {
        false
    }

    /// Returns what its instruments show.
    fn reading(&self) -> Reading {
        Reading::default()
    }
}

/// What one side of a flow showed at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) cwnd: Option<f64>,
    pub(crate) ssthresh: Option<f64>,
    pub(crate) rate_bits_per_s: Option<f64>,
    pub(crate) srtt: Option<Duration>,
    pub(crate) p: Option<f64>,
    pub(crate) cuts: Option<u64>,
    pub(crate) timeouts: Option<u64>,
    pub(crate) retransmitted: Option<u64>,
    pub(crate) syncs: Option<u64>,
    /// What it remembers of the other side's data.
    pub(crate) ack_vector_state: Option<u64>,
}
