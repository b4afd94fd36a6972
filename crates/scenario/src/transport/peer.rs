//! One side of a conversation, and its readings.

use std::fmt;

use fairwire_net::{FlowId, Packet};
use fairwire_units::{Duration, Instant};

use super::ends::Ends;
use super::store::Store;

/// One side of one conversation: a protocol's endpoint with the application above it.
pub trait Peer: fmt::Debug + Send {
    /// Returns its ends: nodes and flow numbers.
    fn ends(&self) -> Ends;

    /// Returns whether packets of `flow` are for it.
    fn takes(&self, flow: FlowId) -> bool {
        self.ends().incoming == flow
    }

    /// Handles a packet that arrived, and releases its contents.
    fn handle_packet(&mut self, now: Instant, packet: Packet, store: &mut Store);

    /// Returns the next packet to send, if there is one.
    fn poll_transmit(&mut self, now: Instant, store: &mut Store) -> Option<Packet>;

    /// Returns the moment at which [`handle_timeout`](Self::handle_timeout) must be called.
    fn next_timeout(&self) -> Option<Instant>;

    /// Handles everything that is due.
    fn handle_timeout(&mut self, now: Instant, store: &mut Store);

    /// Returns whether the sender of a finite source is done: everything is acknowledged, or the connection is closed.
    fn is_over(&self) -> bool {
        false
    }

    /// Returns whether the receiver has got everything that the other side's finite source sends. Over an unreliable
    /// transport: whether the sender has closed the connection in good order, whatever was lost.
    fn is_complete(&self) -> bool {
        false
    }

    /// Returns its current reading.
    fn reading(&self) -> Reading {
        Reading::default()
    }
}

/// The gauges and counters of one side of a flow at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// The congestion window, packets.
    pub cwnd: Option<f64>,
    /// The slow-start threshold, packets.
    pub ssthresh: Option<f64>,
    /// The allowed sending rate, bits per second.
    pub rate_bits_per_s: Option<f64>,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The loss event rate, 0 to 1.
    pub p: Option<f64>,
    /// How often congestion made it slower.
    pub cuts: Option<u64>,
    /// Its timeouts.
    pub timeouts: Option<u64>,
    /// Packets that it sent again.
    pub retransmitted: Option<u64>,
    /// DCCP-Sync packets that it sent.
    pub syncs: Option<u64>,
    /// The bytes of Ack Vector state for the other side's data.
    pub ack_vector_state: Option<u64>,
}
