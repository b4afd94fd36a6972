//! The seam between a connection and the two halves it owns.
//!
//! A connection owns sequence space, windows, timers of the handshake and the order of options.
//! A [`Tx`] owns what depends on the CCID of the data we send: which packets are in flight,
//! what the peer's feedback says of them, and the controller. An [`Rx`] owns what depends on
//! the CCID of the peer's data: when feedback is due and which options it carries. Each is made
//! from its CCID's row after negotiation and can be replaced while the connection is open.
//!
//! Each half hears of a packet, of ours or of the peer's, in one call that holds all it needs to know of
//! that packet.

use std::fmt;

use fairwire_cc::{Flight, Gauges, Permit};
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
    /// Application bytes, or `None` if it is not a data packet: those take no part in the pipe
    /// (RFC 4341, section 5) but use up sequence numbers that Ack Vectors cover.
    pub data: Option<u32>,
    /// The application's datagram in it.
    pub id: Option<DatagramId>,
    /// Does it carry the ECN nonce one (RFC 3540)?
    pub nonce: bool,
}

/// A valid packet of the peer's whose options were processed, as one half sees it. What is none of
/// the half's business is left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming<'a> {
    /// The packet itself. Left out if it may be a copy, which counts once, or if the peer sent it
    /// before this half was made.
    pub arrival: Option<Arrival>,
    /// Its acknowledgement. A sending half does not see those of packets that another half sent.
    pub ack: Option<Ack<'a>>,
    /// What it tells of the peer's host that was not known. Only a sending half sees it.
    pub host: Option<&'a HostNews>,
}

/// A packet that arrived: on the way of the peer's data, and of the acknowledgements of ours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Its sequence number.
    pub seq: Seq,
    /// Application bytes, or `None` if it is not a data packet: those call for no feedback
    /// (RFC 4340, section 11.1), or two ends would acknowledge each other for ever.
    pub data: Option<u32>,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its window counter or other CCID-defined value (RFC 4342, section 8.1).
    pub ccval: u8,
    /// Its NDP Count option, if there was one (RFC 4340, section 7.7).
    pub ndp_count: Option<u64>,
    /// Does the peer send NDP Counts, so that none means zero?
    pub has_ndp_counts: bool,
    /// Its RTT Estimate option in microseconds, where the peer agreed to send them (RFC 6323, section
    /// 3.3).
    pub rtt_estimate: Option<u32>,
}

/// An acknowledgement of the peer's, and what came with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack<'a> {
    /// The sequence number of the packet that carries it.
    pub seq: Seq,
    /// The packet of ours that it acknowledges.
    pub ackno: Seq,
    /// What the options of that packet say.
    pub options: &'a PacketOptions<'a>,
}

/// Does the peer send data (RFC 4340, section 11.1)?
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PeerData {
    /// Some came lately, so our acknowledgements of it leave anyway.
    Flowing,
    /// None came lately, but it may not know yet that we have the last.
    Paused,
    /// None, and it knows: it is quiescent.
    Quiescent,
}

/// RFC 4341, 6.2.1, and RFC 4342, 6.4: a peer is quiescent when it has sent no data for so long.
pub(crate) fn quiescent_after(rtt: Duration) -> Duration {
    Duration::from_millis(200).max(rtt * 2)
}

/// When a receiving half wants its options sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AckDue {
    /// Nothing to say that is not said already.
    No,
    /// The same, but what leaves anyway is to say it again.
    WithData,
    /// At this moment at the latest; earlier if a data packet leaves anyway.
    At(Instant),
    /// Now.
    Now,
}

/// What feedback told about our datagrams; the connection turns it into events and counters.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Fates, in order of sequence number.
    pub fates: Vec<(Option<DatagramId>, Fate)>,
    /// Did the feedback make the peer look alive and our data acknowledged: was anything new in it?
    pub progress: bool,
    /// Bytes of the largest datagram that is now known to have arrived, zero if none is.
    pub largest_arrived: u32,
    /// Loss events reported now, where packets are not acknowledged one by one.
    pub loss_events: u32,
    /// Did the peer lie for so long that the connection should end (RFC 4340, section 12.3)?
    pub aggression: bool,
}

/// Consecutive packets of ours, with or without data, whose data the peer reports as dropped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct DropRun {
    /// The newest.
    pub high: Seq,
    /// The oldest.
    pub low: Seq,
    /// Why.
    pub code: DropCode,
}

impl DropRun {
    /// How many there are.
    pub(crate) fn packets(&self) -> u64 {
        self.low.distance(self.high) + 1
    }
}

/// RFC 4340, 11.7 and 11.7.2: does a packet with this code count as marked? All do, whatever the
/// reason, but for protocol constraints and a full receive buffer.
pub(crate) fn counts_as_marked(code: DropCode) -> bool {
    !matches!(
        code,
        DropCode::ProtocolConstraints | DropCode::ReceiveBuffer
    )
}

/// What one packet of the peer's tells of its host that was not known.
#[derive(Debug, Default)]
pub(crate) struct HostNews {
    /// Packets whose data were dropped, newest first.
    pub drops: Vec<DropRun>,
    /// Does it ask not to get more (RFC 4340, section 11.6)?
    pub slow: bool,
}

/// The sending half: controller, packets in flight, and the reading of the peer's feedback.
pub(crate) trait Tx: fmt::Debug + Send {
    /// What is in the network; `waiting` is the caller's to fill.
    fn flight(&self) -> Flight;

    /// May a datagram of `size` application bytes leave now, with `waiting` in the queue behind the permit?
    fn permit(&self, now: Instant, waiting: u32, size: u32) -> Permit;

    /// The `CCVal` field of the next data packet (RFC 4342, section 8.1), zero where the CCID has none.
    fn ccval(&mut self, now: Instant) -> u8;

    /// A packet left; `waiting` is how many datagrams the queue still holds behind it. Of the last
    /// packet before the controller refused or the queue ran empty this says who is the limit:
    /// more than zero, the controller; zero, the application.
    fn on_sent(&mut self, now: Instant, sent: Sent, waiting: u32);

    /// How many of 65,536 numbers should be passed over from now on, to see whether the peer claims to
    /// have received them all the same (RFC 4342, section 9)? Which ones they are nobody can tell
    /// beforehand.
    fn skips_of_65536(&self) -> u32 {
        0
    }

    /// No packet has the number `seq`.
    fn on_skipped(&mut self, _now: Instant, _seq: Seq) {}

    /// Does feedback tell what became of each packet? Where it does not, the fate of a datagram
    /// is [`Fate::Sent`] as soon as it left.
    fn acknowledges_packets(&self) -> bool {
        true
    }

    /// A valid packet of the peer's arrived, of whatever type; `waiting` datagrams are in the queue.
    /// Round trips that the connection measures itself come through [`Tx::on_rtt_sample`].
    fn on_packet(&mut self, now: Instant, packet: Incoming<'_>, waiting: u32, told: &mut Told);

    /// The connection measured a round trip of its own (handshake, Timestamp Echo).
    fn on_rtt_sample(&mut self, now: Instant, rtt: Duration);

    /// The moment to call [`Tx::handle_timeout`].
    fn next_timeout(&self) -> Option<Instant>;

    /// The timer has come (retransmission or nofeedback).
    fn handle_timeout(&mut self, now: Instant, waiting: u32, told: &mut Told);

    /// Does the peer's feedback need an acknowledgement from us (RFC 4341, section 6.2)? Cleared
    /// by the next packet of ours that carries one, through [`Tx::on_feedback_acknowledged`].
    fn wants_ack_of_ack(&self) -> bool;

    /// A packet with an acknowledgement number left, so the peer's feedback is acknowledged.
    fn on_feedback_acknowledged(&mut self, now: Instant);

    /// The Ack Ratio that the peer should use, if this CCID cares (RFC 4341, section 6.1).
    fn wanted_ack_ratio(&self) -> Option<u16>;

    /// This Ack Ratio is in force for our data (RFC 4340, section 11.3).
    fn set_ack_ratio(&mut self, _ratio: u16) {}

    /// Does the peer send Loss Event Rates from now on (RFC 4342, section 8.4)?
    fn set_loss_event_rate(&mut self, _on: bool) {}

    /// Would it help if the peer's packets carried NDP Counts (RFC 4340, section 7.7)?
    fn wants_ndp_counts(&self) -> bool {
        false
    }

    /// Packets per round trip that the Sequence Window must have room for (RFC 4340, section 7.5.2).
    fn packets_per_rtt(&self) -> u64;

    /// Smoothed round-trip time, once there is one.
    fn srtt(&self) -> Option<Duration>;

    /// What the application may send now.
    fn allowed_rate(&self) -> Option<Rate>;

    /// The ECN codepoint of data, where both sides can use ECN.
    fn ecn(&self) -> Ecn {
        // RFC 8311, 6: DCCP's data is ECT(0).
        Ecn::Ect0
    }

    /// The congestion window, packets, where the CCID has one.
    fn cwnd(&self) -> Option<f64> {
        None
    }

    /// The round-trip time in the form of the RTT Estimate option (RFC 6323, section 3.2.1):
    /// microseconds, 0 while there is none; `None` where the CCID has no such option.
    fn rtt_estimate(&self) -> Option<u32> {
        None
    }

    /// The controller's instruments.
    fn gauges(&self) -> Gauges;

    /// Bytes of memory that it takes, itself included; asked after every packet, so never counted
    /// out.
    fn footprint(&self) -> usize;

    /// The connection ends: every datagram in flight gets the fate [`Fate::Sent`].
    fn finish(&mut self, told: &mut Told);
}

/// The receiving half: what we tell the peer about its data.
pub(crate) trait Rx: fmt::Debug + Send {
    /// A valid packet of the peer's arrived. What packets of ours told that it acknowledges, by number or
    /// by Ack Vectors, need not be told again (RFC 4340, 11.4.2, and appendix A.2).
    fn on_packet(&mut self, now: Instant, packet: Incoming<'_>);

    /// How much the peer sends us, at a round trip of `rtt`.
    fn peer_data(&self, now: Instant, rtt: Duration) -> PeerData;

    /// The peer set its Ack Ratio (RFC 4340, section 11.3).
    fn set_ack_ratio(&mut self, ratio: u16);

    /// The peer's data carry its round-trip times from now on, or no longer (RFC 6323, section 3.3).
    fn set_rtt_estimates(&mut self, _on: bool) {}

    /// The connection has a round-trip estimate of its own for this direction.
    fn set_rtt_hint(&mut self, rtt: Duration);

    /// When feedback is due.
    fn ack_due(&self, now: Instant) -> AckDue;

    /// Bytes of options that [`Rx::write_options`] would like to write now.
    fn options_len(&self, now: Instant) -> usize;

    /// An Ack has room for `len` bytes of feedback: forgets the oldest of what would not fit.
    fn shorten(&mut self, _len: usize) {}

    /// Writes the feedback options of a packet of ours with sequence number `seq` that
    /// acknowledges `ackno`, and takes the feedback as given.
    ///
    /// # Errors
    /// [`NoRoom`] if they do not fit; then nothing was written and the feedback is still due.
    fn write_options(
        &mut self,
        now: Instant,
        seq: Seq,
        ackno: Seq,
        encoder: &mut Encoder<'_>,
    ) -> Result<(), NoRoom>;

    /// Bytes of history held, for statistics; bounded by construction.
    fn state_len(&self) -> usize;

    /// Bytes of memory that it takes, itself included, as [`Tx::footprint`].
    fn footprint(&self) -> usize;

    /// Does it hold what says something about the path, as loss intervals do? Then another path calls
    /// for a new half (RFC 4340, section 10.5).
    fn holds_path_state(&self) -> bool {
        false
    }

    /// Loss events seen so far.
    fn loss_events(&self) -> u64;

    /// The loss event rate as this end sees it, where the CCID's receiver computes one.
    fn loss_rate(&self) -> Option<f64> {
        None
    }
}

/// Shows an acknowledgement to a sending half behind whose packets `waiting` datagrams wait; gives what
/// it told.
#[cfg(test)]
pub(crate) fn acknowledge(
    tx: &mut dyn Tx,
    now: Instant,
    packet: &fairwire_wire::Packet<'_>,
    waiting: u32,
) -> Told {
    let number = |number: Option<fairwire_wire::SeqNo>| number.and_then(fairwire_wire::SeqNo::long);
    let ack = Ack {
        seq: number(Some(packet.seq)).expect("a long number"),
        ackno: number(packet.ack()).expect("an acknowledgement with a long number"),
        options: &PacketOptions::read(packet.options),
    };
    let mut told = Told::default();
    let packet = Incoming {
        arrival: None,
        ack: Some(ack),
        host: None,
    };
    tx.on_packet(now, packet, waiting, &mut told);
    told
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
