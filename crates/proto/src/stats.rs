//! Counters and gauges.

use std::time::Duration;

use fairwire_cc::Gauges;
use fairwire_units::Rate;
use fairwire_wire::Ccid;

/// What one connection did and sees.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Packets sent, of every type.
    pub packets_sent: u64,
    /// Data and `DataAck` packets sent.
    pub data_sent: u64,
    /// Application bytes sent.
    pub bytes_sent: u64,
    /// Packets received and found valid, of every type.
    pub packets_received: u64,
    /// Data and `DataAck` packets received.
    pub data_received: u64,
    /// Packets that came again, made by the network; their data is not passed on twice.
    pub duplicates: u64,
    /// Application bytes received.
    pub bytes_received: u64,
    /// Data packets received with a congestion mark.
    pub marks_received: u64,
    /// Data packets dropped because the application did not read.
    pub receive_drops: u64,
    /// Packets received whose data did not reach the application as usual, by Drop Code (RFC 4340,
    /// section 11.7): 0 protocol constraints, 1 not listening, 2 receive queue, 3 corrupt,
    /// 7 delivered corrupt.
    pub dropped_here: [u64; 8],
    /// Our packets of which the peer reported that, by Drop Code; those whose fate was told before, too.
    pub dropped_there: [u64; 8],
    /// Packets in which the peer said that it can hardly keep up (Slow Receiver).
    pub slow_receivers: u64,
    /// Our data packets that the peer acknowledged. Zero under CCID 3 and 4, whose receivers do not
    /// acknowledge each packet: there it is not known.
    pub acknowledged: u64,
    /// Our data packets known lost. Zero under CCID 3 and 4, where it is not known: [`Gauges::p`] is the loss event
    /// rate that the peer reports.
    pub lost: u64,
    /// Our data packets acknowledged with a mark. Zero under CCID 3 and 4, where it is not known.
    pub marked: u64,
    /// Loss events that our receiver saw in the peer's data (CCID 3 and 4).
    pub loss_events_seen: u64,
    /// The loss event rate that our receiver sees in the peer's data, 0.0 to 1.0 (CCID 3).
    pub loss_rate_seen: Option<f64>,
    /// Datagrams that expired in the send queue.
    pub expired: u64,
    /// Datagrams pushed out of the send queue, discarded with it, or too large once the path MTU fell.
    pub refused: u64,
    /// Datagrams waiting in the send queue.
    pub queued_packets: usize,
    /// Their bytes.
    pub queued_bytes: usize,
    /// Data packets in flight.
    pub flight_packets: u32,
    /// Sync packets sent.
    pub syncs_sent: u64,
    /// Bytes of the largest IP packet that the path takes, as far as is known.
    pub path_mtu: u16,
    /// Probes of the path MTU sent (RFC 8899); they are Syncs too.
    pub mtu_probes_sent: u64,
    /// Probes that were not answered in time.
    pub mtu_probes_lost: u64,
    /// ICMP errors about packets too big that were not acted upon (RFC 4340, section 14.1).
    pub too_big_ignored: u64,
    /// Packets discarded as not belonging here (RFC 4340, section 7.5.4).
    pub discarded: u64,
    /// Packets whose checksum did not hold.
    pub checksum_errors: u64,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// What the controller shows.
    pub gauges: Gauges,
    /// Estimate of what the application may send now: bits per second of datagrams alone, without headers. It is the
    /// rate that TFRC allows, or the congestion window over the round-trip time.
    pub allowed_rate: Option<Rate>,
    /// CCID of the data we send, once agreed.
    pub send_ccid: Option<Ccid>,
    /// CCID of the data we receive, once agreed.
    pub receive_ccid: Option<Ccid>,
    /// The confirmed Sequence Window of our direction.
    pub sequence_window: u64,
    /// The Ack Ratio of our data: so many packets one acknowledgement covers (RFC 4340, 11.3).
    pub ack_ratio: u64,
    /// Bytes of Ack Vector history that we hold about the peer's packets.
    pub ack_vector_state: usize,
}

impl Stats {
    /// Is the application the limit, and not congestion control: does nothing wait in the send queue?
    pub fn is_app_limited(&self) -> bool {
        self.queued_packets == 0
    }
}

/// What an endpoint did with packets that belong to no connection.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct EndpointStats {
    /// Packets that could not be decoded.
    pub malformed: u64,
    /// Packets whose checksum did not hold.
    pub checksum_errors: u64,
    /// Packets for no connection and no listener.
    pub unmatched: u64,
    /// Resets sent without a connection.
    pub resets_sent: u64,
    /// Packets not answered because their source network had had its share of answers.
    pub rationed: u64,
    /// Requests refused because of a limit.
    pub refused: u64,
    /// Packets dropped because they would have completed a handshake while the accept queue was
    /// full; their clients repeat them.
    pub deferred: u64,
    /// Half-open connections that made room for newer ones, those whose clients have an Init Cookie not
    /// counted.
    pub evicted: u64,
    /// Responses sent with an Init Cookie.
    pub cookies_sent: u64,
    /// Connections that began with a cookie that came back.
    pub cookies_accepted: u64,
    /// Packets whose cookie was wrong, too old or missing.
    pub cookies_refused: u64,
    /// Connections now, half-open ones included.
    pub connections: usize,
    /// Bytes of memory that connections take now, queues included; at most `EndpointConfig::max_memory`.
    pub memory: usize,
    /// Half-open incoming connections now.
    pub half_open: usize,
    /// Connections in TIMEWAIT now.
    pub time_wait: usize,
}
