//! The receiving half with Ack Vectors: when to acknowledge, and what to report. Every loss and mark is reported (RFC 4340,
//! section 11). `CCVal` is not used (RFC 4340, section 5.1).

use fairwire_cc::DEFAULT_RTT;
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{DccpOption, Encoder, EntryState, NoRoom, Seq, option_type};

use super::history::{History, Order};
use super::nonce::Nonces;
use super::records::Records;
use super::vector::Report;
use crate::constants::DEFAULT_ACK_RATIO;
use crate::half::{Ack, AckDue, Arrival, Incoming, PeerData, Rx, quiescent_after};

/// The longest time for which an acknowledgement waits for more packets (RFC 4340, section 11.3).
const ACK_DELAY: Duration = Duration::from_millis(200);

/// The unit of Elapsed Time (RFC 4340, section 13.2).
const ELAPSED_UNIT: Duration = Duration::from_micros(10);

/// The shortest delay that is reported with an Elapsed Time option.
const WORTH_TELLING: Duration = Duration::from_micros(100);

/// The most data bytes of one option, and the bytes of its type and length.
const OPTION_DATA: usize = 253;
const OPTION_HEAD: usize = 2;

/// The size of the longest Elapsed Time option, bytes.
const LONGEST_ELAPSED: usize = OPTION_HEAD + 4;

/// The receiver of data from a CCID 2 sender.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    history: History,
    records: Records,
    /// The peer's ECN nonces, once it has sent one.
    nonces: Option<Box<Nonces>>,
    /// Whether the ECN bits of arriving packets can be read.
    reads_ecn: bool,
    /// When the newest packet arrived.
    newest_at: Option<Instant>,
    ack_ratio: u16,
    rtt: Duration,
    /// Data packets since the last acknowledgement.
    unacknowledged: u32,
    /// When the oldest of them arrived.
    waiting_since: Instant,
    /// When data last arrived.
    data_at: Option<Instant>,
    /// The newest data packet that arrived, until a vector that reports it is known to have reached the peer.
    unreported: Option<Seq>,
    /// Whether a loss or mark requires an immediate acknowledgement.
    urgent: bool,
    /// When a mark last required one.
    last_mark: Option<Instant>,
    /// Whether every data packet carries a vector.
    on_all_data: bool,
}

impl Receiver {
    /// Creates a receiver for the peer's packets from sequence number `first` on, or from the first packet that
    /// arrives; older ones are ignored.
    pub(crate) fn new(first: Option<Seq>) -> Self {
        Self {
            history: History::new(first),
            records: Records::default(),
            nonces: None,
            reads_ecn: true,
            newest_at: None,
            ack_ratio: DEFAULT_ACK_RATIO,
            rtt: DEFAULT_RTT,
            unacknowledged: 0,
            waiting_since: Instant::START,
            data_at: None,
            unreported: None,
            urgent: false,
            last_mark: None,
            on_all_data: false,
        }
    }

    /// Sets whether every data packet carries a vector, even without new information.
    pub(crate) fn on_all_data(self, on_all_data: bool) -> Self {
        Self {
            on_all_data,
            ..self
        }
    }

    /// Makes the receiver echo a nonce of zero. RFC 4340, 12.2: one that cannot read the ECN bits does so.
    pub(crate) fn without_ecn(mut self) -> Self {
        self.reads_ecn = false;
        self
    }

    /// Handles an acknowledgement of our packets: what they reported need not be reported again.
    fn on_ack(&mut self, ack: Ack<'_>) {
        self.on_acknowledged(ack.ackno);
        // RFC 4340, 11.4.2: a vector that shows our packet as arrived counts as much as the acknowledgement number.
        // With data in one direction only, that number is never that of one of our Acks.
        if let Some(ours) = self.records.newest_up_to(ack.ackno)
            && Report::of(ack.options, ack.ackno).is_some_and(|report| report.has_arrived(ours))
        {
            self.on_acknowledged(ours);
        }
    }

    /// Handles a packet from the peer.
    fn on_arrival(&mut self, now: Instant, arrival: Arrival) {
        let marked = arrival.ecn == Ecn::Ce;
        let order = self.note(arrival.seq, arrival.ecn);
        match order {
            Order::Next | Order::AfterGap => self.newest_at = Some(now),
            Order::Late => self.records.on_late(arrival.seq),
            // The sender knows all this already, or will learn it anyway.
            Order::Old => return,
        }
        if arrival.data.is_none() {
            // A packet without data causes no acknowledgement.
            return;
        }
        self.data_at = Some(now);
        self.unreported = Some(
            self.unreported
                .map_or(arrival.seq, |unreported| Seq::max(unreported, arrival.seq)),
        );
        if self.unacknowledged == 0 {
            self.waiting_since = now;
        }
        self.unacknowledged = self.unacknowledged.saturating_add(1);
        // RFC 4340, 11.3: a sign of loss is reported at once.
        self.urgent |= order != Order::Next;
        self.urgent |= marked && self.answers_mark_now(now);
    }

    /// Records a packet and its nonce.
    fn note(&mut self, seq: Seq, ecn: Ecn) -> Order {
        let before = self.history.newest();
        let order = self.history.note(seq, ecn == Ecn::Ce);
        let nonce = ecn == Ecn::Ect1 && self.reads_ecn;
        if nonce && order != Order::Old && self.nonces.is_none() {
            self.nonces = Some(Box::new(Nonces::new()));
        }
        let Some(nonces) = &mut self.nonces else {
            return order;
        };
        match order {
            Order::Next | Order::AfterGap => {
                nonces.advance(before.unwrap_or(seq.prev()), seq);
                nonces.set(seq, nonce);
            }
            // A mark removes the nonce of an earlier copy.
            Order::Late => nonces.set(seq, nonce),
            Order::Old => {}
        }
        order
    }

    /// Writes the vectors that begin with `ackno`. Nonces count whatever happened to the data (RFC 4340, section 11.4).
    fn write_vectors(&self, ackno: Seq, encoder: &mut Encoder<'_>) -> Result<(), NoRoom> {
        let mut entries = self.history.entries_from(ackno);
        let Some(nonces) = &self.nonces else {
            return encoder.ack_vector(entries);
        };
        let mut high = ackno;
        loop {
            let mut bytes = [0; OPTION_DATA];
            let (mut len, mut packets, mut echo) = (0, 0, false);
            for (byte, entry) in bytes.iter_mut().zip(&mut entries) {
                *byte = entry.byte();
                len += 1;
                let run = u64::from(entry.run());
                // RFC 4340, 12.2: the sum over packets reported as received and not marked.
                if entry.state() == EntryState::Received {
                    echo ^= nonces.sum(high.sub(packets), run);
                }
                packets += run;
            }
            if len == 0 {
                return Ok(());
            }
            let option_type = if echo {
                option_type::ACK_VECTOR_1
            } else {
                option_type::ACK_VECTOR_0
            };
            encoder.raw_option(option_type, &bytes[..len])?;
            high = high.sub(packets);
        }
    }

    /// Handles an acknowledgement of our packet `ours` by number only.
    #[cfg(test)]
    pub(crate) fn acknowledge(&mut self, ours: u64) {
        self.on_acknowledged(Seq::new(ours));
    }

    /// Handles the arrival of our packet `ours` at the peer: what that packet reported need not be reported again.
    fn on_acknowledged(&mut self, ours: Seq) {
        if let Some(covered) = self.records.acknowledge(ours) {
            self.history.omit_up_to(covered);
            self.unreported = self
                .unreported
                .filter(|unreported| unreported.is_after(covered));
        }
    }

    /// Returns whether a mark must be answered now. RFC 4340, 11.3: at once, but at most once per round trip.
    fn answers_mark_now(&mut self, now: Instant) -> bool {
        let recent = self
            .last_mark
            .is_some_and(|last| now.saturating_since(last) < self.rtt);
        if !recent {
            self.last_mark = Some(now);
        }
        !recent
    }

    /// Returns the Elapsed Time to report with an acknowledgement of `ackno`, if it is long enough.
    fn elapsed(&self, now: Instant, ackno: Seq) -> Option<u32> {
        if Some(ackno) != self.history.newest() {
            return None;
        }
        let elapsed = now.saturating_since(self.newest_at?);
        if elapsed < WORTH_TELLING {
            return None;
        }
        // RFC 4340, 13.2: never more than the true time, so it is rounded down.
        let units = elapsed.as_nanos() / ELAPSED_UNIT.as_nanos();
        Some(u32::try_from(units).unwrap_or(u32::MAX))
    }

    fn write(&self, now: Instant, ackno: Seq, encoder: &mut Encoder<'_>) -> Result<(), NoRoom> {
        self.write_vectors(ackno, encoder)?;
        match self.elapsed(now, ackno) {
            Some(units) => encoder.option(&DccpOption::ElapsedTime(units)),
            None => Ok(()),
        }
    }
}

impl Rx for Receiver {
    fn on_packet(&mut self, now: Instant, packet: Incoming<'_>) {
        if let Some(ack) = packet.ack {
            self.on_ack(ack);
        }
        if let Some(arrival) = packet.arrival {
            self.on_arrival(now, arrival);
        }
    }

    fn peer_data(&self, now: Instant, rtt: Duration) -> PeerData {
        let lately = |at| now.saturating_since(at) < quiescent_after(rtt);
        // RFC 4341, 6.2.1: silence is not enough; vectors that cover all data must have arrived, too.
        match self.data_at {
            Some(at) if lately(at) => PeerData::Flowing,
            _ if self.unreported.is_some() => PeerData::Paused,
            _ => PeerData::Quiescent,
        }
    }

    fn set_ack_ratio(&mut self, ratio: u16) {
        // RFC 4340, 11.3: zero means that the sender sets no ratio. Acknowledgements of CCID 2 still follow the data
        // (RFC 4341, 6).
        self.ack_ratio = if ratio == 0 { DEFAULT_ACK_RATIO } else { ratio };
    }

    fn set_rtt_hint(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    fn ack_due(&self, _now: Instant) -> AckDue {
        if self.unacknowledged == 0 && self.on_all_data && self.newest_at.is_some() {
            AckDue::WithData
        } else if self.unacknowledged == 0 {
            AckDue::No
        } else if self.urgent || self.unacknowledged >= u32::from(self.ack_ratio) {
            AckDue::Now
        } else {
            AckDue::At(self.waiting_since + ACK_DELAY)
        }
    }

    fn options_len(&self, now: Instant) -> usize {
        let entries = self.history.entry_count();
        let vectors = entries + entries.div_ceil(OPTION_DATA) * OPTION_HEAD;
        let elapsed = self
            .history
            .newest()
            .and_then(|newest| self.elapsed(now, newest));
        let elapsed = match elapsed {
            None => 0,
            Some(0..=0xFFFF) => OPTION_HEAD + 2,
            Some(_) => OPTION_HEAD + 4,
        };
        vectors + elapsed
    }

    fn shorten(&mut self, len: usize) {
        let vectors = len.saturating_sub(LONGEST_ELAPSED);
        let heads = vectors.div_ceil(OPTION_DATA + OPTION_HEAD) * OPTION_HEAD;
        // The newest packet is always reported.
        self.history.shorten(vectors.saturating_sub(heads).max(1));
    }

    fn write_options(
        &mut self,
        now: Instant,
        seq: Seq,
        ackno: Seq,
        encoder: &mut Encoder<'_>,
    ) -> Result<(), NoRoom> {
        if self
            .history
            .newest()
            .is_none_or(|newest| ackno.is_after(newest))
        {
            // The connection acknowledges a packet that was not passed to this half, so that packet did arrive.
            self.note(ackno, Ecn::NotEct);
            self.newest_at = Some(now);
        }
        let mark = encoder.mark();
        self.write(now, ackno, encoder)
            .inspect_err(|_| encoder.truncate(mark))?;
        self.records.push(seq, ackno);
        self.unacknowledged = 0;
        self.urgent = false;
        Ok(())
    }

    fn footprint(&self) -> usize {
        let nonces = self
            .nonces
            .as_ref()
            .map_or(0, |nonces| size_of_val(&**nonces));
        size_of::<Self>() + self.history.footprint() + self.records.footprint() + nonces
    }

    fn state_len(&self) -> usize {
        self.history.state_len() + self.records.state_len()
    }

    fn loss_events(&self) -> u64 {
        // CCID 2 receivers report packets, not events.
        0
    }
}

#[cfg(test)]
mod tests;
