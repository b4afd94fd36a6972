//! A read-only view of an endpoint's inner state, for tests that check every step (feature `inspect`).
//!
//! It is no part of the stable interface, and it changes nothing.

use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::id::ConnectionId;

/// The inner state of a connection. Names are those of RFC 4340, section 7.1, where it has them.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts that a test looks at one by one"
)]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// The state's name (RFC 4340, section 8.4; RFC 5596 for INVITED and LISTEN1).
    pub state: &'static str,
    /// Whether we answered the Request.
    pub is_server: bool,
    /// Whether the application knows it.
    pub is_announced: bool,
    /// Initial sequence number sent.
    pub iss: Seq,
    /// Initial sequence number received.
    pub isr: Seq,
    /// Greatest sequence number sent, skipped numbers included.
    pub gss: Seq,
    /// Greatest sequence number received on a sequence-valid packet.
    pub gsr: Seq,
    /// Greatest acknowledgement number received.
    pub gar: Seq,
    /// The number that the next acknowledgement carries.
    pub acknowledgeable: Seq,
    /// Lowest valid sequence number.
    pub swl: Seq,
    /// Highest valid sequence number.
    pub swh: Seq,
    /// Lowest valid acknowledgement number.
    pub awl: Seq,
    /// Highest valid acknowledgement number.
    pub awh: Seq,
    /// Sequence Window of our sequence numbers.
    pub local_window: u64,
    /// Sequence Window of the peer's sequence numbers.
    pub remote_window: u64,
    /// Whether our packets may carry 24-bit sequence numbers.
    pub short_sent: bool,
    /// Whether the peer's packets may.
    pub short_taken: bool,
    /// Whether our packets carry NDP Counts.
    pub ndp_sent: bool,
    /// Whether data may be sent.
    pub may_send: bool,
    /// When negotiation needs a packet of its own.
    pub negotiation_due: Option<Instant>,
    /// When the last valid packet arrived.
    pub heard_at: Option<Instant>,
    /// The round-trip time that timers and windows use.
    pub rtt: Duration,
    /// Data packets in flight.
    pub flight_packets: u32,
    /// Application bytes in flight.
    pub flight_bytes: u64,
    /// The congestion window, packets, if there is one.
    pub cwnd: Option<f64>,
    /// The retransmission timer or the nofeedback timer.
    pub feedback_timer: Option<Instant>,
    /// When the connection gives up in its state.
    pub deadline: Option<Instant>,
    /// When the connection ends if the peer stays silent.
    pub gives_up_at: Option<Instant>,
    /// Whether the application asked to close.
    pub is_draining: bool,
    /// When the endpoint has to be woken for this connection; valid once no packet waits to leave.
    pub wakes_at: Option<Instant>,
    /// The send queue: datagrams, and their bytes.
    pub send_queue: (usize, usize),
    /// The receive queue: datagrams, and their bytes with overhead.
    pub receive_queue: (usize, usize),
    /// Bytes of memory that the endpoint counts for it.
    pub counted: usize,
    /// The same, counted again from its state.
    pub held: usize,
}

/// The inner state of an endpoint.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EndpointInspection {
    /// Connections with a record, closed ones that are not yet released included.
    pub records: usize,
    /// Those that the application has not been told of.
    pub unannounced: usize,
    /// Bytes of memory that the endpoint counts, summed over all records.
    pub counted: usize,
    /// Whether every connection has a timer, unless it is closed or in OPEN.
    pub all_timed: bool,
    /// Attempts to connect that wait for their first answer.
    pub attempts: usize,
}

impl Endpoint {
    /// Returns the inner state of a connection; `None` if the endpoint does not know it.
    pub fn inspect(&self, id: ConnectionId) -> Option<Inspection> {
        let mut inspection = self.connection(id)?.inspection();
        inspection.wakes_at = self.wakes_at(id);
        Some(inspection)
    }

    /// Returns the id of each connection, those included that the application does not know.
    pub fn ids(&self) -> impl Iterator<Item = ConnectionId> {
        self.records().map(Connection::id)
    }

    /// Returns the state of each connection by its name, closed ones included, in the order of their slots.
    pub fn states(&self) -> impl Iterator<Item = &'static str> {
        self.records().map(|connection| connection.state().name())
    }

    /// Returns the inner state of the endpoint, in time proportional to its connections.
    pub fn inspect_endpoint(&self) -> EndpointInspection {
        let mut all = EndpointInspection {
            records: 0,
            unannounced: 0,
            counted: 0,
            all_timed: true,
            attempts: self.attempts(),
        };
        for connection in self.records() {
            let inspection = connection.inspection();
            all.records += 1;
            all.unannounced += usize::from(!inspection.is_announced);
            all.counted += inspection.counted;
            let rests = matches!(inspection.state, "CLOSED" | "OPEN");
            all.all_timed &= rests || self.wakes_at(connection.id()).is_some();
        }
        all
    }
}
