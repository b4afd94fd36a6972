//! A read-only view of an endpoint's inner state, for tests that check every step (feature `inspect`).
//!
//! Nothing here is part of the stable interface, and nothing here changes anything.

use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use crate::endpoint::Endpoint;
use crate::id::ConnectionId;

/// The inner state of a connection. Names as in RFC 4340, section 7.1, where it has them.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts that a test looks at one by one"
)]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Inspection {
    /// The state's name (RFC 4340, section 8.4; RFC 5596 for INVITED and LISTEN1).
    pub state: &'static str,
    /// Did we answer the Request?
    pub is_server: bool,
    /// Does the application know of it?
    pub is_announced: bool,
    /// Initial number sent.
    pub iss: Seq,
    /// Initial number received.
    pub isr: Seq,
    /// Greatest number sent, numbers passed over included.
    pub gss: Seq,
    /// Greatest number received on a sequence-valid packet.
    pub gsr: Seq,
    /// Greatest acknowledgement number received.
    pub gar: Seq,
    /// What the next acknowledgement names.
    pub acknowledgeable: Seq,
    /// Lowest valid number received.
    pub swl: Seq,
    /// Highest valid number received.
    pub swh: Seq,
    /// Lowest valid acknowledgement number.
    pub awl: Seq,
    /// Highest valid acknowledgement number.
    pub awh: Seq,
    /// Sequence Window of our numbers.
    pub local_window: u64,
    /// Sequence Window of the peer's numbers.
    pub remote_window: u64,
    /// May our packets carry 24-bit numbers?
    pub short_sent: bool,
    /// May the peer's?
    pub short_taken: bool,
    /// Do our packets carry NDP Counts?
    pub ndp_sent: bool,
    /// May data leave?
    pub may_send: bool,
    /// When a packet is wanted for negotiation.
    pub negotiation_due: Option<Instant>,
    /// When the last valid packet came.
    pub heard_at: Option<Instant>,
    /// The round trip that timers and windows go by.
    pub rtt: Duration,
    /// Data packets in flight.
    pub flight_packets: u32,
    /// Their application bytes.
    pub flight_bytes: u64,
    /// The congestion window, packets, where there is one.
    pub cwnd: Option<f64>,
    /// The timer of retransmission or of no feedback.
    pub feedback_timer: Option<Instant>,
    /// When the state gives up.
    pub deadline: Option<Instant>,
    /// When a silent peer is given up.
    pub gives_up_at: Option<Instant>,
    /// Did the application ask to close?
    pub is_draining: bool,
    /// When the endpoint has to be woken for this connection; valid once nothing more is to leave.
    pub wakes_at: Option<Instant>,
    /// Datagrams that wait to be sent, and their bytes.
    pub send_queue: (usize, usize),
    /// Datagrams that wait to be read, and what they count.
    pub receive_queue: (usize, usize),
    /// Bytes of memory that the endpoint counts for it.
    pub counted: usize,
    /// The same, counted anew.
    pub held: usize,
}

/// The inner state of an endpoint.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EndpointInspection {
    /// Connections that have a record, closed ones that were not released included.
    pub records: usize,
    /// Those of them of which the application has not been told.
    pub unannounced: usize,
    /// Bytes of memory that the endpoint counts, summed up over all records.
    pub counted: usize,
    /// Does every connection that is not closed have a timer, or is it in OPEN?
    pub all_timed: bool,
}

impl Endpoint {
    /// Returns the inner state of a connection; `None` if the endpoint does not know it.
    pub fn inspect(&self, id: ConnectionId) -> Option<Inspection> {
        let mut inspection = self.connection(id)?.inspection();
        inspection.wakes_at = self.wakes_at(id);
        Some(inspection)
    }

    /// Returns the inner state of the endpoint. Takes time for each connection.
    pub fn inspect_endpoint(&self) -> EndpointInspection {
        let mut all = EndpointInspection {
            records: 0,
            unannounced: 0,
            counted: 0,
            all_timed: true,
        };
        for connection in self.records() {
            let inspection = connection.inspection();
            all.records += 1;
            all.unannounced += usize::from(!inspection.is_announced);
            all.counted += inspection.counted;
            let rests = matches!(inspection.state, "CLOSED" | "OPEN");
            all.all_timed &= rests || self.wakes_at(connection.id).is_some();
        }
        all
    }
}
