//! The interface between a connection and its two halves.
//!
//! A connection owns the sequence numbers, the windows, the handshake's timers and the order of options. A [`Tx`], the
//! sending half, owns what depends on the CCID of the data we send: the packets in flight, the reading of the peer's
//! feedback, and the controller. An [`Rx`], the receiving half, owns what depends on the CCID of the peer's data: when
//! feedback is due and which options it carries. Each half is created from its CCID's row after negotiation and can be
//! replaced while the connection is open.
//!
//! One call tells a half all that it needs to know of a packet, ours or the peer's.

use std::fmt;

use fairwire_cc::{Flight, Gauges, Permit, RoundTrip};
use fairwire_units::{Duration, Ecn, Instant, Rate};
use fairwire_wire::{DropCode, Encoder, NoRoom, Seq};

use crate::event::Fate;
use crate::id::DatagramId;
use crate::packet_options::PacketOptions;

/// A packet that we sent, as the sending half sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Its sequence number.
    pub seq: Seq,
    /// Application bytes, or `None` if it is not a data packet. Such packets are not part of the pipe (RFC 4341,
    /// section 5), but they use sequence numbers that Ack Vectors cover.
    pub data: Option<u32>,
    /// The application's datagram in it.
    pub id: Option<DatagramId>,
    /// Whether it carries an ECN nonce of one (RFC 3540).
    pub nonce: bool,
}

/// A valid packet of the peer, after its options were processed, as one half sees it. Fields that do not concern the
/// half are `None`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<'a> {
    /// The packet itself. `None` if it may be a duplicate, which must count once, or if the peer sent it before this
    /// half was created.
    pub arrival: Option<Arrival>,
    /// Its acknowledgement. A sending half does not see acknowledgements of packets that another half sent.
    pub ack: Option<Ack<'a>>,
    /// New information about the peer's host. Only a sending half gets it.
    pub host: Option<&'a HostReport>,
}

/// A packet that arrived: on the path of the peer's data, and of the acknowledgements of ours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Its sequence number.
    pub seq: Seq,
    /// Application bytes, or `None` if it is not a data packet. Such packets cause no feedback (RFC 4340, section
    /// 11.1), or two ends would acknowledge each other for ever.
    pub data: Option<u32>,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its `CCVal` field: the window counter, or what else the CCID defines (RFC 4342, section 8.1).
    pub ccval: u8,
    /// Its NDP Count option, if there was one (RFC 4340, section 7.7).
    pub ndp_count: Option<u64>,
    /// Whether the peer sends NDP Counts, so that a missing option means zero.
    pub has_ndp_counts: bool,
    /// Its RTT Estimate option in microseconds, where the peer agreed to send them (RFC 6323, section
    /// 3.3).
    pub rtt_estimate: Option<u32>,
}

/// An acknowledgement from the peer, with the other options of its packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack<'a> {
    /// The sequence number of the packet that carries it.
    pub seq: Seq,
    /// The packet of ours that it acknowledges.
    pub ackno: Seq,
    /// The options of that packet.
    pub options: &'a PacketOptions<'a>,
}

/// Whether the peer sends data (RFC 4340, section 11.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PeerData {
    /// Data came recently, so our acknowledgements leave anyway.
    Flowing,
    /// No data came recently, but the peer may not know yet that we received the last of it.
    Paused,
    /// The peer sends no data and knows that we received all of it: it is quiescent.
    Quiescent,
}

/// Returns the time without data after which a peer is quiescent (RFC 4341, 6.2.1, and RFC 4342, 6.4).
pub(crate) fn quiescent_after(rtt: Duration) -> Duration {
    Duration::from_millis(200).max(rtt * 2)
}

/// When a receiving half wants its options sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AckDue {
    /// Not at all: there is nothing new to report.
    No,
    /// There is nothing new to report, but packets that leave anyway should repeat the report.
    WithData,
    /// At this time at the latest; earlier if a data packet leaves.
    At(Instant),
    /// Now.
    Now,
}

/// The results of feedback about our datagrams; the connection turns them into events and counters.
#[derive(Debug, Default)]
pub(crate) struct FeedbackOutcome {
    /// Fates, in order of sequence number.
    pub fates: Vec<(Option<DatagramId>, Fate)>,
    /// Whether the feedback acknowledged anything new, which shows that the peer is alive and gets our data.
    pub progress: bool,
    /// Bytes of our datagrams that are newly known to have arrived. If reports give rates, this is an estimate.
    pub arrived_bytes: u64,
    /// Bytes of the largest datagram that is now known to have arrived; zero if there is none.
    pub largest_arrived: u32,
    /// Loss events reported now, under CCIDs that do not acknowledge single packets.
    pub loss_events: u32,
    /// Whether no feedback came for a whole timeout, with data in flight.
    pub silence: bool,
    /// Whether the peer gave false feedback so often that the connection should end (RFC 4340, section 12.3).
    pub aggression: bool,
}

/// Consecutive packets of ours, with or without data, whose data the peer reports as dropped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct DropRun {
    /// The newest packet.
    pub high: Seq,
    /// The oldest packet.
    pub low: Seq,
    /// The reported reason.
    pub code: DropCode,
}

impl DropRun {
    /// Returns the number of packets.
    pub(crate) fn packets(&self) -> u64 {
        self.low.distance(self.high) + 1
    }
}

/// Returns whether a packet with this Drop Code counts as marked (RFC 4340, 11.7 and 11.7.2). All codes do, except
/// protocol constraints and a full receive buffer.
pub(crate) fn counts_as_marked(code: DropCode) -> bool {
    !matches!(
        code,
        DropCode::ProtocolConstraints | DropCode::ReceiveBuffer
    )
}

/// New information about the peer's host from one of its packets.
#[derive(Debug, Default)]
pub(crate) struct HostReport {
    /// Packets whose data was dropped, newest first.
    pub drops: Vec<DropRun>,
    /// Whether the peer asks us not to send faster (RFC 4340, section 11.6).
    pub slow: bool,
}

/// The sending half: the controller, the packets in flight, and the reading of the peer's feedback.
pub(crate) trait Tx: fmt::Debug + Send {
    /// Returns what is in flight. The caller fills in `waiting`.
    fn flight(&self) -> Flight;

    /// Returns whether, or when, a datagram of `size` application bytes may leave, with `waiting` datagrams in the
    /// queue.
    fn permit(&self, now: Instant, waiting: u32, size: u32) -> Permit;

    /// Returns whether more data could leave without further feedback.
    fn has_room(&self, now: Instant) -> bool {
        self.permit(now, 0, 1) != Permit::AwaitFeedback
    }

    /// Returns the `CCVal` field of the next data packet (RFC 4342, section 8.1), zero if the CCID has none.
    fn ccval(&mut self, now: Instant) -> u8;

    /// Notes that a packet left, with `waiting` datagrams still in the queue. After the last packet of a burst
    /// `waiting` shows what limits the sender: more than zero, the controller; zero, the application.
    fn on_sent(&mut self, now: Instant, sent: Sent, waiting: u32);

    /// Returns how many of 65,536 sequence numbers to skip from now on, to see whether the peer claims to have received
    /// them (RFC 4342, section 9). Which ones are skipped cannot be predicted.
    fn skips_of_65536(&self) -> u32 {
        0
    }

    /// Notes that no packet has the number `seq`.
    fn on_skipped(&mut self, _now: Instant, _seq: Seq) {}

    /// Returns whether feedback reports what became of each packet. If not, a datagram's fate is [`Fate::Sent`] as soon
    /// as it leaves.
    fn acknowledges_packets(&self) -> bool {
        true
    }

    /// Processes a valid packet of the peer, of any type; `waiting` datagrams are in the queue. Round trips that the
    /// connection measures come through [`Tx::on_rtt_sample`].
    fn on_packet(
        &mut self,
        now: Instant,
        packet: Incoming<'_>,
        waiting: u32,
        outcome: &mut FeedbackOutcome,
    );

    /// Takes a round trip that the connection measured (from the handshake or a Timestamp Echo).
    fn on_rtt_sample(&mut self, now: Instant, rtt: Duration);

    /// Returns when to call [`Tx::handle_timeout`].
    fn next_timeout(&self) -> Option<Instant>;

    /// Handles the timer, which is the one of retransmission or of no feedback.
    fn handle_timeout(&mut self, now: Instant, waiting: u32, outcome: &mut FeedbackOutcome);

    /// Returns whether the peer's feedback needs an acknowledgement from us (RFC 4341, section 6.2). The next packet of
    /// ours that carries one ends this, through [`Tx::on_feedback_acknowledged`].
    fn wants_ack_of_ack(&self) -> bool;

    /// Notes that a packet with an acknowledgement number left, which acknowledges the peer's feedback.
    fn on_feedback_acknowledged(&mut self, now: Instant);

    /// Returns the Ack Ratio that the peer should use, if the CCID has one (RFC 4341, section 6.1).
    fn wanted_ack_ratio(&self) -> Option<u16>;

    /// Sets the Ack Ratio that is in force for our data (RFC 4340, section 11.3).
    fn set_ack_ratio(&mut self, _ratio: u16) {}

    /// Sets whether the peer sends Loss Event Rate options from now on (RFC 4342, section 8.4).
    fn set_loss_event_rate(&mut self, _on: bool) {}

    /// Returns whether NDP Counts on the peer's packets would help (RFC 4340, section 7.7).
    fn wants_ndp_counts(&self) -> bool {
        false
    }

    /// Returns the number of packets per round trip for which the Sequence Window needs room (RFC 4340, section 7.5.2).
    fn packets_per_rtt(&self) -> u64;

    /// Returns whether the Sequence Window is widened for this half, and limits its flight (RFC 4340, section 7.5.2).
    fn heeds_window(&self) -> bool {
        true
    }

    /// Returns the smoothed round-trip time, once there is one.
    fn srtt(&self) -> Option<Duration>;

    /// Returns what is known about the round-trip time.
    fn round_trip(&self) -> RoundTrip;

    /// Returns the rate at which the application may send now.
    fn allowed_rate(&self) -> Option<Rate>;

    /// Returns the ECN codepoint of data, for connections that use ECN.
    fn ecn(&self) -> Ecn {
        // RFC 8311, 6: DCCP's data is ECT(0).
        Ecn::Ect0
    }

    /// Returns the congestion window, packets, if the CCID has one.
    fn cwnd(&self) -> Option<f64> {
        None
    }

    /// Returns the round-trip time for the RTT Estimate option (RFC 6323, section 3.2.1): in microseconds, 0 while it
    /// is unknown, `None` if the CCID has no such option.
    fn rtt_estimate(&self) -> Option<u32> {
        None
    }

    /// Returns the controller's gauges.
    fn gauges(&self) -> Gauges;

    /// Returns its memory use in bytes, itself included. It is called often, so its cost must not grow with the state.
    fn footprint(&self) -> usize;

    /// Notes that packets leave on another path from now on, whose congestion is that of the old one: for example,
    /// because only a port of the peer is new. What is in flight was most likely sent in vain. It leaves room for other
    /// data, and its losses are no sign of congestion (RFC 9000, section 9.4).
    fn leave_path(&mut self) {}

    /// Notes that the last data packet left on another path than the one in use.
    fn leave_newest(&mut self) {}

    /// Ends the connection: every datagram in flight gets [`Fate::Sent`].
    fn finish(&mut self, outcome: &mut FeedbackOutcome);
}

/// The receiving half: the feedback that we give about the peer's data.
pub(crate) trait Rx: fmt::Debug + Send {
    /// Processes a valid packet of the peer. Reports in those packets of ours that it acknowledges, by number or by Ack
    /// Vector, need not be repeated (RFC 4340, 11.4.2, and appendix A.2).
    fn on_packet(&mut self, now: Instant, packet: Incoming<'_>);

    /// Returns whether the peer sends data, given a round trip of `rtt`.
    fn peer_data(&self, now: Instant, rtt: Duration) -> PeerData;

    /// Sets the Ack Ratio that the peer asked for (RFC 4340, section 11.3).
    fn set_ack_ratio(&mut self, ratio: u16);

    /// Sets whether the peer's data carries its round-trip time from now on (RFC 6323, section 3.3).
    fn set_rtt_estimates(&mut self, _on: bool) {}

    /// Takes the connection's own round-trip estimate.
    fn set_rtt_hint(&mut self, rtt: Duration);

    /// Returns when feedback is due.
    fn ack_due(&self, now: Instant) -> AckDue;

    /// Returns how many bytes of options [`Rx::write_options`] would write now.
    fn options_len(&self, now: Instant) -> usize;

    /// Discards the oldest feedback, so that the rest fits into the `len` bytes that an Ack has for it.
    fn shorten(&mut self, _len: usize) {}

    /// Writes the feedback options into our packet `seq`, which acknowledges `ackno`, and notes the feedback as given.
    ///
    /// # Errors
    /// Returns [`NoRoom`] if they do not fit. Then nothing was written, and the feedback is still due.
    fn write_options(
        &mut self,
        now: Instant,
        seq: Seq,
        ackno: Seq,
        encoder: &mut Encoder<'_>,
    ) -> Result<(), NoRoom>;

    /// Returns the size of its history in bytes, for statistics; it is bounded by design.
    fn state_len(&self) -> usize;

    /// Returns its memory use in bytes, itself included, like [`Tx::footprint`].
    fn footprint(&self) -> usize;

    /// Returns whether it holds state about the path, such as loss intervals. Then a new path needs a new half (RFC
    /// 4340, section 10.5).
    fn holds_path_state(&self) -> bool {
        false
    }

    /// Returns the number of loss events so far.
    fn loss_events(&self) -> u64;

    /// Returns the loss event rate at this end, if the CCID's receiver computes one.
    fn loss_rate(&self) -> Option<f64> {
        None
    }
}

/// Passes an acknowledgement to a sending half, with `waiting` datagrams in its queue, and returns the results.
#[cfg(test)]
pub(crate) fn acknowledge(
    tx: &mut dyn Tx,
    now: Instant,
    packet: &fairwire_wire::Packet<'_>,
    waiting: u32,
) -> FeedbackOutcome {
    let number = |number: Option<fairwire_wire::SeqNo>| number.and_then(fairwire_wire::SeqNo::long);
    let ack = Ack {
        seq: number(Some(packet.seq)).expect("a long number"),
        ackno: number(packet.ack()).expect("an acknowledgement with a long number"),
        options: &PacketOptions::read(packet.options),
    };
    let mut outcome = FeedbackOutcome::default();
    let packet = Incoming {
        arrival: None,
        ack: Some(ack),
        host: None,
    };
    tx.on_packet(now, packet, waiting, &mut outcome);
    outcome
}

#[cfg(test)]
impl From<Arrival> for Incoming<'_> {
    fn from(arrival: Arrival) -> Self {
        Self {
            arrival: Some(arrival),
            ack: None,
            host: None,
        }
    }
}
