//! Observations of a run, one at a time, in order.
//!
//! The world reports everything that crosses the interface of an endpoint. The oracle reads these reports and knows
//! nothing else of the world, so it cannot share the world's mistakes.

use std::net::SocketAddr;

use fairwire_proto::{
    Config, ConnectionId, DatagramId, EndpointConfig, EndpointInspection, EndpointStats, Event,
    IcmpError, Inspection, Meta, Received, SendError, SendOptions, StartError, Stats, Transmit,
};
use fairwire_units::{Ecn, Instant};
use fairwire_wire::{Seq, ServiceCode};

/// The length of a tag, in bytes. Each datagram of at least this length begins with a tag that is unique in the run.
pub const TAG_LEN: usize = 8;

/// An observation at one host. Hosts are numbered from zero.
#[derive(Clone, Debug)]
pub enum Seen<'a> {
    /// The host started, or restarted. Its endpoint is new and has no state.
    Started {
        /// The new endpoint's configuration.
        config: &'a EndpointConfig,
    },
    /// The host's clock changed its time or its rate.
    ///
    /// A host whose clock was never reported shows the observer's time. The endpoint only knows its host's time.
    Clock {
        /// The time that it shows now, which is never earlier than before.
        shows: Instant,
        /// Microseconds per second by which it is fast; negative if it is slow.
        gains_ppm: i64,
    },
    /// The application called its endpoint.
    Call(Call<'a>),
    /// The endpoint sent a packet; the network has not changed it yet.
    Sent {
        /// The packet's number in the run.
        packet: PacketNo,
        /// The head.
        head: &'a [u8],
        /// The rest of the packet.
        transmit: &'a Transmit,
    },
    /// The network delivered a packet to the endpoint.
    Arrived {
        /// The origin of the packet.
        origin: Origin,
        /// Addresses and ECN field.
        meta: Meta,
        /// The head, as it arrived.
        head: &'a [u8],
        /// The payload, as it arrived.
        payload: &'a [u8],
    },
    /// An ICMP error arrived, genuine or forged.
    Icmp {
        /// The error.
        error: IcmpError,
        /// Whether it is true.
        genuine: bool,
    },
    /// The endpoint reported an event.
    Event {
        /// The connection.
        id: ConnectionId,
        /// The event.
        event: &'a Event,
    },
    /// The application read a datagram.
    Received {
        /// The connection.
        id: ConnectionId,
        /// The data.
        payload: &'a [u8],
        /// The ECN field with which it arrived.
        ecn: Ecn,
        /// Everything that the endpoint returned with it.
        received: &'a Received,
    },
    /// The state of a connection after a step of its endpoint.
    ///
    /// This includes connections that the application does not know yet, once they have sent a packet.
    State {
        /// The connection.
        id: ConnectionId,
        /// The public statistics.
        stats: &'a Stats,
        /// The internal state.
        inspection: &'a Inspection,
    },
    /// The endpoint no longer knows a connection whose state was reported.
    ///
    /// The connection was released, or it ended before the application knew it.
    Gone {
        /// The connection.
        id: ConnectionId,
    },
    /// The endpoint's statistics after the same step.
    Endpoint {
        /// The statistics.
        stats: &'a EndpointStats,
    },
    /// The endpoint's internal state, after [`Seen::Endpoint`].
    Inside {
        /// The internal state.
        inspection: &'a EndpointInspection,
    },
    /// From now on the network delivers every packet unchanged, once and in order.
    Healed,
    /// The run is over; the world has waited long enough after [`Seen::Healed`].
    Ended,
}

/// A call of the application and its result.
#[derive(Clone, Debug)]
pub enum Call<'a> {
    /// `Endpoint::listen`.
    Listen {
        /// The DCCP port.
        port: u16,
        /// The services that the listener offers.
        services: &'a [ServiceCode],
        /// The configuration of its connections.
        config: &'a Config,
    },
    /// `Endpoint::connect`.
    Connect {
        /// The peer's address.
        remote: SocketAddr,
        /// The configuration.
        config: &'a Config,
        /// The connection's id, or the error.
        result: Result<ConnectionId, &'a StartError>,
    },
    /// `Endpoint::listen_towards`.
    Invite {
        /// The peer's address.
        remote: SocketAddr,
        /// The configuration.
        config: &'a Config,
        /// The connection's id, or the error.
        result: Result<ConnectionId, &'a StartError>,
    },
    /// `Endpoint::secure`.
    Secure(ConnectionId),
    /// `Endpoint::send_with`.
    Send {
        /// The connection.
        id: ConnectionId,
        /// The data, unique within the run unless it is shorter than a tag.
        payload: &'a [u8],
        /// How it is to be sent.
        options: SendOptions,
        /// The datagram's id, or the error.
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
    /// `Endpoint::change_ccid` with a preference list of CCIDs, most preferred first.
    ChangeCcid {
        /// The connection.
        id: ConnectionId,
        /// Whether it is the CCID for sending.
        sending: bool,
        /// The preference list.
        wanted: &'a [u8],
        /// Whether the endpoint accepted the call.
        taken: bool,
    },
    /// `Endpoint::path_changed`.
    PathChanged(ConnectionId),
    /// `Endpoint::report_dropped` for a datagram that was read.
    ReportDropped(ConnectionId, Seq),
    /// Any other call, by name.
    Other(ConnectionId, &'static str),
}

/// The number of a packet that an endpoint sent, counted over the whole run.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct PacketNo(pub u64);

/// The origin of an arriving packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin {
    /// An endpoint sent it, and it arrives unchanged, except that its ECN field may be marked.
    Genuine(PacketNo),
    /// An endpoint sent it, and the network changed its bytes.
    Damaged(PacketNo),
    /// An attacker or a lying peer made it.
    Forged,
}
