//! What the omniscient observer sees of a run, one thing at a time, in order.
//!
//! The world reports everything that crosses an endpoint's seam; the oracle reads the reports and
//! knows nothing else of the world, so that it cannot share its mistakes.

use std::net::SocketAddr;

use fairwire_proto::{
    Config, ConnectionId, DatagramId, EndpointConfig, EndpointInspection, EndpointStats, Event,
    IcmpError, Inspection, Meta, Received, SendError, StartError, Stats, Transmit,
};
use fairwire_units::{Ecn, Instant};
use fairwire_wire::ServiceCode;

/// Each datagram of at least this many bytes begins with a tag that no other datagram of the run has.
pub const TAG_LEN: usize = 8;

/// Something that happened at one host. Hosts are counted from zero.
#[derive(Clone, Debug)]
pub enum Seen<'a> {
    /// The host began, or began again: its endpoint is new and knows nothing.
    Started {
        /// The new endpoint's configuration.
        config: &'a EndpointConfig,
    },
    /// The host's clock shows something else than before, or runs faster or slower from now on. A host
    /// whose clock was never reported shows the observer's time. The endpoint knows its host's time only.
    Clock {
        /// What it shows now; never less than a moment ago.
        shows: Instant,
        /// Millionths of a second that it gains in each second, if negative: loses.
        gains_ppm: i64,
    },
    /// The application called its endpoint.
    Call(Call<'a>),
    /// A packet left the endpoint; the network has not touched it.
    Sent {
        /// The packet's number, counted over the entire run.
        packet: PacketNo,
        /// Its head.
        head: &'a [u8],
        /// The rest of it.
        transmit: &'a Transmit,
    },
    /// The network handed a packet to the endpoint.
    Arrived {
        /// Where the packet comes from.
        origin: Origin,
        /// Addresses and ECN field.
        meta: Meta,
        /// Its head, as it arrives.
        head: &'a [u8],
        /// Its payload, as it arrives.
        payload: &'a [u8],
    },
    /// An ICMP error arrived, true or forged.
    Icmp {
        /// What it says.
        error: IcmpError,
        /// Does it tell the truth about the network?
        genuine: bool,
    },
    /// The endpoint reported an event.
    Event {
        /// Of which connection.
        id: ConnectionId,
        /// What.
        event: &'a Event,
    },
    /// The application read a datagram.
    Received {
        /// Of which connection.
        id: ConnectionId,
        /// Its data.
        payload: &'a [u8],
        /// The ECN field it arrived with.
        ecn: Ecn,
        /// All that the endpoint says of it.
        received: &'a Received,
    },
    /// The state of a connection after a step in which something happened at its endpoint. Those are shown
    /// too that the application does not know yet, once they have sent something.
    State {
        /// Of which connection.
        id: ConnectionId,
        /// Its public statistics.
        stats: &'a Stats,
        /// Its inner state.
        inspection: &'a Inspection,
    },
    /// The endpoint no longer knows a connection, of which a state was shown: it was released, or it ended
    /// before the application knew of it.
    Gone {
        /// Which one.
        id: ConnectionId,
    },
    /// The endpoint's statistics, after the same step.
    Endpoint {
        /// The statistics.
        stats: &'a EndpointStats,
    },
    /// The endpoint's inner state, now and then after [`Seen::Endpoint`] (it costs time for each connection).
    Inside {
        /// The state.
        inspection: &'a EndpointInspection,
    },
    /// From now on the network delivers every packet, whole, once and in order.
    Healed,
    /// The run is over; the world has waited long enough after [`Seen::Healed`].
    Ended,
}

/// A call of the application and what came back.
#[derive(Clone, Debug)]
pub enum Call<'a> {
    /// `Endpoint::listen`.
    Listen {
        /// The DCCP port.
        port: u16,
        /// The services that it offers.
        services: &'a [ServiceCode],
        /// The configuration of its connections.
        config: &'a Config,
    },
    /// `Endpoint::connect`.
    Connect {
        /// The peer.
        remote: SocketAddr,
        /// The configuration.
        config: &'a Config,
        /// The connection's name, or why there is none.
        result: Result<ConnectionId, &'a StartError>,
    },
    /// `Endpoint::listen_towards`.
    Invite {
        /// The peer.
        remote: SocketAddr,
        /// The configuration.
        config: &'a Config,
        /// The connection's name, or why there is none.
        result: Result<ConnectionId, &'a StartError>,
    },
    /// `Endpoint::send`.
    Send {
        /// The connection.
        id: ConnectionId,
        /// The data, unique within the run unless it is shorter than a tag.
        payload: &'a [u8],
        /// The datagram's name, or why it was not taken.
        result: Result<DatagramId, SendError>,
    },
    /// `Endpoint::close`.
    Close(ConnectionId),
    /// `Endpoint::abandon`.
    Abandon(ConnectionId),
    /// `Endpoint::discard`.
    Discard(ConnectionId),
    /// `Endpoint::abort`.
    Abort(ConnectionId),
    /// `Endpoint::release`.
    Release(ConnectionId),
    /// `Endpoint::stop_reading`.
    StopReading(ConnectionId),
    /// `Endpoint::change_ccid` with the CCIDs wanted, the best one first.
    ChangeCcid {
        /// The connection.
        id: ConnectionId,
        /// Is it the CCID of what we send?
        sending: bool,
        /// The preference list.
        wanted: &'a [u8],
        /// Was the wish taken?
        taken: bool,
    },
    /// `Endpoint::path_changed`.
    PathChanged(ConnectionId),
    /// Any other call, by name.
    Other(ConnectionId, &'static str),
}

/// The number of a packet that an endpoint sent, counted over the entire run.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct PacketNo(pub u64);

/// Where an arriving packet comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// An endpoint sent it, and it arrives as it was sent (its ECN field may have been marked).
    Genuine(PacketNo),
    /// An endpoint sent it, and the network changed its bytes.
    Damaged(PacketNo),
    /// An attacker, or a lying peer, made it.
    Forged,
}
