//! Counters and instruments.

use fairwire_units::Duration;

/// What a sender has done and where it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderStats {
    /// Data segments sent, repeated ones included.
    pub segments_sent: u64,
    /// Of these, repeated ones.
    pub segments_retransmitted: u64,
    /// Payload bytes sent, repeated ones included.
    pub bytes_sent: u64,
    /// Payload bytes acknowledged.
    pub bytes_acked: u64,
    /// Acknowledgements that moved forward.
    pub acks: u64,
    /// Acknowledgements that said the same again.
    pub duplicate_acks: u64,
    /// Recoveries begun by duplicate acknowledgements.
    pub fast_recoveries: u64,
    /// Expired retransmission timers, the handshake's included.
    pub timeouts: u64,
    /// Acknowledgements that told of congestion marks (ECE).
    pub echoes: u64,
    /// Segments that made no sense: acknowledgements of what was never sent.
    pub discarded: u64,
    /// Congestion window, packets.
    pub cwnd_packets: Option<f64>,
    /// Slow-start threshold, packets.
    pub ssthresh_packets: Option<f64>,
    /// Segments sent and neither acknowledged nor given up by a timeout.
    pub outstanding: u32,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The retransmission timeout in force.
    pub rto: Duration,
}

/// What a receiver has done.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ReceiverStats {
    /// Data segments that arrived.
    pub segments: u64,
    /// Of these, ones that held nothing new.
    pub duplicates: u64,
    /// Of these, ones that came before their turn.
    pub out_of_order: u64,
    /// Of these, ones beyond the window, dropped.
    pub beyond_window: u64,
    /// Payload bytes handed to the application, in order: the goodput.
    pub bytes_delivered: u64,
    /// Of these, ones with a congestion mark.
    pub marked: u64,
    /// Acknowledgements sent.
    pub acks_sent: u64,
}
