//! Counters and gauges.

use fairwire_units::Duration;

/// The counters and the present state of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderStats {
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Data segments retransmitted.
    pub segments_retransmitted: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes acknowledged.
    pub bytes_acked: u64,
    /// Acknowledgements of new data.
    pub acks: u64,
    /// Duplicate acknowledgements.
    pub duplicate_acks: u64,
    /// Recoveries begun by duplicate acknowledgements.
    pub fast_recoveries: u64,
    /// Expirations of the retransmission timer, during the handshake included.
    pub timeouts: u64,
    /// Of these, timeouts that F-RTO (RFC 5682) found spurious.
    pub spurious_timeouts: u64,
    /// Acknowledgements that echoed congestion marks (ECE).
    pub echoes: u64,
    /// Segments that were not valid, such as acknowledgements of data that was never sent.
    pub discarded: u64,
    /// The congestion window, packets.
    pub cwnd_packets: Option<f64>,
    /// The slow-start threshold, packets.
    pub ssthresh_packets: Option<f64>,
    /// Segments sent and neither acknowledged nor given up by a timeout.
    pub outstanding: u32,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The present retransmission timeout.
    pub rto: Duration,
}

/// The counters of a receiver.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ReceiverStats {
    /// Data segments that arrived.
    pub segments: u64,
    /// Of these, segments without new data.
    pub duplicates: u64,
    /// Of these, segments that arrived out of order.
    pub out_of_order: u64,
    /// Of these, segments beyond the window, which were dropped.
    pub beyond_window: u64,
    /// Payload bytes passed to the application, in order: the goodput.
    pub bytes_delivered: u64,
    /// Data segments with a congestion mark.
    pub marked: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
}
