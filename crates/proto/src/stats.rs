//! Counters and gauges of connections and endpoints.

use std::ops::AddAssign;
use std::time::Duration;

use fairwire_cc::{Gauges, TargetBitrate};
use fairwire_units::Rate;
use fairwire_wire::Ccid;

/// Counters and gauges of one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Packets sent, of all types.
    pub packets_sent: u64,
    /// Data and `DataAck` packets sent.
    pub data_sent: u64,
    /// Application bytes sent.
    pub bytes_sent: u64,
    /// Valid packets received, of all types.
    pub packets_received: u64,
    /// Data and `DataAck` packets received.
    pub data_received: u64,
    /// Packets that the network duplicated. Their data is delivered once.
    pub duplicates: u64,
    /// Application bytes received.
    pub bytes_received: u64,
    /// Data packets received with a congestion mark.
    pub marks_received: u64,
    /// Data packets dropped because the application did not read.
    pub receive_drops: u64,
    /// Received packets whose data did not reach the application as usual, by Drop Code (RFC 4340, section 11.7): 0
    /// protocol constraints, 1 not listening, 2 receive queue, 3 corrupt, 7 delivered corrupt.
    pub dropped_locally: [u64; 8],
    /// Our packets that the peer reported in this way, by Drop Code; also those whose fate was reported before.
    pub dropped_by_peer: [u64; 8],
    /// Packets in which the peer asked us not to send faster (Slow Receiver).
    pub slow_receivers: u64,
    /// Our data packets that the peer acknowledged. Zero under CCID 3 and 4, whose receivers do not acknowledge single
    /// packets.
    pub acknowledged: u64,
    /// Our data packets known to be lost, copies included. Zero under CCID 3 and 4, which do not report single losses:
    /// see [`Gauges::p`], the loss event rate that the peer reports.
    pub lost: u64,
    /// Our data packets acknowledged with a mark. Zero under CCID 3 and 4, which do not report single marks.
    pub marked: u64,
    /// Loss events in the peer's data, seen by our receiver (CCID 3 and 4).
    pub loss_events_seen: u64,
    /// The loss event rate in the peer's data, seen by our receiver, 0.0 to 1.0 (CCID 3).
    pub loss_rate_seen: Option<f64>,
    /// Datagrams that expired in the send queue.
    pub expired: u64,
    /// Datagrams that were pushed out of the send queue, were discarded when it was purged or closed, or became too
    /// large when the path MTU fell.
    pub refused: u64,
    /// Datagrams that were dropped from the send queue because another member of their group expired, was dropped or
    /// was lost.
    pub group_broken: u64,
    /// Copies of datagrams that were sent because they were lost or dropped before ([`Resend`](crate::Resend)).
    pub resent: u64,
    /// Datagrams that were delivered although the packet in which they were first sent was lost or dropped.
    pub recovered: u64,
    /// Received datagrams that were dropped because the same datagram was delivered before; not those that the network
    /// duplicated.
    pub resent_duplicates: u64,
    /// Received copies that were dropped because they are so old that they may have been delivered before.
    pub resent_too_old: u64,
    /// Messages of the peer that were given up, because a part was missing for too long or newer ones took its place, or
    /// because their parts contradicted each other.
    pub incomplete_messages: u64,
    /// Closes of the peer whose Close Code said nothing: with DTLS it was changed, forged or in clear text.
    pub unread_close_codes: u64,
    /// Datagrams in the send queue now that wait to be sent again.
    pub queued_resends: usize,
    /// Datagrams in the send queue now.
    pub queued_packets: usize,
    /// Bytes in the send queue now.
    pub queued_bytes: usize,
    /// Data packets in flight now.
    pub flight_packets: u32,
    /// Sync packets sent.
    pub syncs_sent: u64,
    /// Size of the largest IP packet that the path takes, as far as is known, bytes.
    pub path_mtu: u16,
    /// Path MTU probes sent (RFC 8899). They are Syncs and count as such, too.
    pub mtu_probes_sent: u64,
    /// Path MTU probes that were not answered in time.
    pub mtu_probes_lost: u64,
    /// ICMP errors (Too Big) that were ignored (RFC 4340, section 14.1).
    pub too_big_ignored: u64,
    /// Packets discarded because they do not belong to the connection (RFC 4340, section 7.5.4).
    pub discarded: u64,
    /// Packets with a wrong checksum.
    pub checksum_errors: u64,
    /// How often the connection has followed its peer to another address, or gone to another one itself
    /// ([`Config::migration`](crate::Config::migration)).
    pub migrations: u64,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The newest sample of the round-trip time of our data under the CCID in use.
    pub latest_rtt: Option<Duration>,
    /// The shortest of those samples: an estimate of the path's delay without queues.
    pub min_rtt: Option<Duration>,
    /// Gauges of the congestion controller.
    pub gauges: Gauges,
    /// Estimate of the rate at which the application may send now: datagrams without headers, bits per second. It is
    /// the allowed rate of TFRC, or the congestion window divided by the round-trip time. It jumps with each report,
    /// and may be far above what the path carries.
    pub allowed_rate: Option<Rate>,
    /// The smooth rate that the application's data can keep up, and what limits it.
    pub target_bitrate: Option<TargetBitrate>,
    /// CCID of the data we send, once agreed.
    pub send_ccid: Option<Ccid>,
    /// CCID of the data we receive, once agreed.
    pub receive_ccid: Option<Ccid>,
    /// The confirmed Sequence Window of the data we send, packets.
    pub sequence_window: u64,
    /// The Ack Ratio of our data: how many packets one acknowledgement covers (RFC 4340, 11.3).
    pub ack_ratio: u64,
    /// Bytes of Ack Vector history kept about the peer's packets.
    pub ack_vector_state: usize,
}

impl Stats {
    /// Returns whether the connection is application-limited: nothing waits in the send queue.
    pub fn is_app_limited(&self) -> bool {
        self.queued_packets == 0
    }
}

/// Counters of packets that belong to no connection, and gauges of an endpoint.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct EndpointStats {
    /// Packets that could not be decoded.
    pub malformed: u64,
    /// Packets with a wrong checksum.
    pub checksum_errors: u64,
    /// Packets for which there is neither a connection nor a listener.
    pub unmatched: u64,
    /// Resets sent without a connection.
    pub resets_sent: u64,
    /// Packets not answered because their source network had used up its rate of answers.
    pub rate_limited: u64,
    /// Requests refused because of a limit.
    pub refused: u64,
    /// Packets dropped because they would have completed a handshake while the accept queue was full. The clients
    /// repeat them.
    pub deferred: u64,
    /// Half-open connections that were replaced by newer ones. Those whose clients have an Init Cookie do not count.
    pub evicted: u64,
    /// Responses sent with an Init Cookie.
    pub cookies_sent: u64,
    /// Connections that began with a valid returned cookie.
    pub cookies_accepted: u64,
    /// Packets whose cookie was wrong, expired or missing.
    pub cookies_refused: u64,
    /// Packets from or for addresses that no connection has, which may have been from the peers of encrypted connections
    /// ([`Config::migration`](crate::Config::migration)). They are not answered.
    pub elsewhere: u64,
    /// Of those, the records that a session found to be forged. They are not all attacks: two clients behind one NAT may
    /// have the same DCCP ports.
    pub elsewhere_forged: u64,
    /// Connections now, half-open ones included.
    pub connections: usize,
    /// Bytes of memory used by connections now, queues included (see `EndpointConfig::max_memory`).
    pub memory: usize,
    /// Half-open incoming connections now.
    pub half_open: usize,
    /// Connections in TIMEWAIT now.
    pub time_wait: usize,
}

impl AddAssign for EndpointStats {
    /// Adds the counters and gauges of another endpoint that shares the address.
    fn add_assign(&mut self, other: Self) {
        let Self {
            malformed,
            checksum_errors,
            unmatched,
            resets_sent,
            rate_limited,
            refused,
            deferred,
            evicted,
            cookies_sent,
            cookies_accepted,
            cookies_refused,
            elsewhere,
            elsewhere_forged,
            connections,
            memory,
            half_open,
            time_wait,
        } = other;
        for (sum, more) in [
            (&mut self.malformed, malformed),
            (&mut self.checksum_errors, checksum_errors),
            (&mut self.unmatched, unmatched),
            (&mut self.resets_sent, resets_sent),
            (&mut self.rate_limited, rate_limited),
            (&mut self.refused, refused),
            (&mut self.deferred, deferred),
            (&mut self.evicted, evicted),
            (&mut self.cookies_sent, cookies_sent),
            (&mut self.cookies_accepted, cookies_accepted),
            (&mut self.cookies_refused, cookies_refused),
            (&mut self.elsewhere, elsewhere),
            (&mut self.elsewhere_forged, elsewhere_forged),
        ] {
            *sum += more;
        }
        for (sum, more) in [
            (&mut self.connections, connections),
            (&mut self.memory, memory),
            (&mut self.half_open, half_open),
            (&mut self.time_wait, time_wait),
        ] {
            *sum += more;
        }
    }
}
