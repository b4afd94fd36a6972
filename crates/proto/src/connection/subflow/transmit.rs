//! The choice of the next packet to send.
//!
//! Answers and the handshake come first, then feedback that is due, then data as the controller permits. With bulk data
//! in one direction, every Data packet has a header of the same length: options that would lengthen it leave on an Ack.
//! If data flows in both directions, `DataAck`s carry the feedback.

use fairwire_cc::{DEFAULT_RTT, Permit};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{HeadBuf, Kind, PacketType};

use super::packet::Written;
use super::parts::dropped::Fit;
use super::{Call, State, Subflow};
use crate::connection::channel::Channel;
use crate::half::{AckDue, PeerData};
use crate::seal::seal;
use crate::sending::Waiting;
use crate::transmit::Outgoing;

/// Minimum time after an Ack until another one may leave, as a guard against endless sending at one moment.
const ACK_AGAIN: Duration = Duration::from_millis(1);

/// The reasons for an Ack.
#[expect(clippy::struct_excessive_bools, reason = "independent reasons")]
#[derive(Clone, Copy, Debug)]
struct AckReasons {
    feedback: bool,
    negotiation: bool,
    ack_of_ack: bool,
    echo: bool,
}

/// When the next datagram may leave, and what it waits for until then.
#[derive(Clone, Copy, Debug)]
enum Departure {
    Now,
    /// At this time.
    At(Instant, Waiting),
    /// Once something has arrived.
    Unknown(Waiting),
}

impl AckReasons {
    fn is_any(self) -> bool {
        self.feedback || self.negotiation || self.ack_of_ack || self.echo
    }
}

impl Subflow {
    /// Writes the next packet, if there is one to send now.
    pub(crate) fn poll_transmit(
        &mut self,
        call: &mut Call<'_, '_>,
        head: &mut HeadBuf,
    ) -> Option<Outgoing> {
        self.pace_at = None;
        call.channel.expire_queued(call.ctx);
        call.channel.drop_unwanted_copies(call.ctx, self);
        self.begin_closing_if_drained(call);
        let transmit = self.next_packet(call, head);
        self.end_if_insecure(call);
        transmit
    }

    fn next_packet(&mut self, call: &mut Call<'_, '_>, head: &mut HeadBuf) -> Option<Outgoing> {
        match self.state {
            State::Closed | State::Listen1 => None,
            State::Invited => self.transmit_listen(call, head),
            State::Request => self.transmit_request(call, head),
            State::Respond => self
                .transmit_response(call, head)
                .or_else(|| self.transmit_sync(call, head)),
            State::PartOpen | State::Open => self
                .transmit_sync(call, head)
                .or_else(|| self.transmit_check(call, head))
                .or_else(|| self.transmit_probe(call, head))
                .or_else(|| self.transmit_open(call, head)),
            State::CloseReq | State::Closing => self
                .transmit_sync(call, head)
                .or_else(|| self.transmit_close(call, head)),
        }
    }

    fn transmit_open(&mut self, call: &mut Call<'_, '_>, head: &mut HeadBuf) -> Option<Outgoing> {
        if self.due.ack {
            return Some(self.send_ack(call, head));
        }
        let now = call.now;
        let floor_passed = self.next_ack_at.is_none_or(|floor| floor <= now);
        let feedback = self.feedback_due(now);
        let overdue = floor_passed && is_due(feedback, now);
        let mut data = self.is_data_permitted(call);
        if data && self.skip_number(now) {
            // If packets are paced, the skipped number takes the place of one.
            data = self.is_data_permitted(call);
        }
        // RFC 4340, 4.3 and 8.1.5: in PARTOPEN every packet carries an acknowledgement. An NDP Count goes on a DataAck,
        // so that all Data packets have headers of one length.
        if data
            && (self.state == State::PartOpen || feedback != AckDue::No || self.is_ndp_due())
            && let Some(transmit) = self.send_data_ack(call, head, overdue)
        {
            return Some(transmit);
        }
        let wanted = AckReasons {
            // RFC 4340, 11.3: feedback that no data can carry leaves by itself.
            feedback: overdue,
            negotiation: self.agreed.due.is_some_and(|at| at <= now),
            ack_of_ack: self.owes_ack_of_ack(now),
            // An echo alone does not justify a packet, or two ends could echo each other for ever. Before data it does,
            // because a Data packet may not carry it.
            echo: data && self.timestamps.echo(now).is_some(),
        };
        if floor_passed && wanted.is_any() {
            let transmit = self.send_ack(call, head);
            self.pause_acks(now, wanted);
            return Some(transmit);
        }
        // RFC 4340, 8.1.5: no Data in PARTOPEN.
        if data && self.state == State::Open {
            return self.send_data(call, head);
        }
        self.transmit_keep_alive(call, head)
    }

    /// Delays the next Ack after one has left that `was` wanted. Options for which it had no room wait for a round
    /// trip, or for the 0.2 s of RFC 4340, 11.3, whatever arrives meanwhile. Otherwise the next Ack might have no room
    /// for them either, and the peer would get the same feedback again and again.
    fn pause_acks(&mut self, now: Instant, was: AckReasons) {
        let unsaid = (was.feedback && is_due(self.feedback_due(now), now))
            || (was.negotiation && self.agreed.due.is_some_and(|at| at <= now))
            || (was.echo && self.timestamps.echo(now).is_some())
            || (was.ack_of_ack && self.owes_ack_of_ack(now));
        self.rest_deferred_until = unsaid.then(|| now + self.rtt().clamp(ACK_AGAIN, DEFAULT_RTT));
        self.next_ack_at = self.rest_deferred_until.or(Some(now + ACK_AGAIN));
    }

    /// Returns whether the peer's acknowledgements need an acknowledgement in a packet of its own.
    ///
    /// RFC 4341, 6.2, and RFC 4340, 11.1: not while the peer sends data, because the acknowledgements of that data
    /// serve the same purpose.
    pub(super) fn owes_ack_of_ack(&self, now: Instant) -> bool {
        let by_ccid = self.tx.as_ref().is_some_and(|tx| tx.wants_ack_of_ack())
            && self.peer_data(now) != PeerData::Flowing;
        // At once, so that it acknowledges the packet that carried the report.
        by_ccid || self.reported.wants_ack(now, self.rtt())
    }

    /// Returns whether the peer sends no data and knows that all of its data was received.
    pub(crate) fn is_peer_quiescent(&self, now: Instant) -> bool {
        self.peer_data(now) == PeerData::Quiescent
    }

    /// Returns whether the peer sends data.
    fn peer_data(&self, now: Instant) -> PeerData {
        let rx = self.rx.as_ref();
        rx.map_or(PeerData::Quiescent, |rx| rx.peer_data(now, self.rtt()))
    }

    /// Writes an Ack with everything that is due.
    fn send_ack(&mut self, call: &mut Call<'_, '_>, head: &mut HeadBuf) -> Outgoing {
        self.due.ack = false;
        // RFC 4340, 7.4: the greatest number of a processed packet.
        let ack = self.sequence.acknowledgeable.into();
        let kind = Kind::Ack { ack };
        let mut encoder = self.start(head, &kind, (0, 0), 0);
        self.write_cookies(&mut encoder);
        self.write_ndp(&mut encoder);
        self.write_negotiation(call.now, PacketType::Ack, &mut encoder);
        self.write_echo(call.now, &mut encoder);
        self.write_feedback(call.channel, call.now, Fit::Newest, &mut encoder);
        self.finish(call, encoder, PacketType::Ack)
    }

    /// Writes data with feedback. Returns `None`, and sends nothing, if the feedback does not fit although it must
    /// leave now, or if plain Data is possible without it.
    fn send_data_ack(
        &mut self,
        call: &mut Call<'_, '_>,
        head: &mut HeadBuf,
        overdue: bool,
    ) -> Option<Outgoing> {
        call.channel.seal_next(call.ctx, self);
        self.note_dropped(call.channel);
        let size = call.channel.leaving()?.len();
        let ack = self.sequence.acknowledgeable.into();
        let kind = Kind::DataAck { ack };
        let (ccval, cscov) = self.data_fields(call.now, size);
        let mut encoder = self.start(head, &kind, (ccval, cscov), size);
        self.write_ndp(&mut encoder);
        self.write_rtt_estimate(&mut encoder);
        self.write_data_checksum(call.channel.leaving()?, &mut encoder);
        call.channel.marks().write(&mut encoder);
        let fits = self.write_feedback(call.channel, call.now, Fit::Whole, &mut encoder);
        // RFC 4340, 11.2: feedback that is due and too long leaves on an Ack.
        if !fits && (overdue || self.state == State::Open) {
            return None;
        }
        self.write_negotiation(call.now, PacketType::DataAck, &mut encoder);
        self.write_echo(call.now, &mut encoder);
        self.finish_data(call, encoder, PacketType::DataAck, cscov)
    }

    /// Writes plain Data. It has no acknowledgement, so it carries no feedback (RFC 4340, section 11.4; RFC 4342,
    /// sections 8.3, 8.5, 8.6 and 8.6.1).
    fn send_data(&mut self, call: &mut Call<'_, '_>, head: &mut HeadBuf) -> Option<Outgoing> {
        call.channel.seal_next(call.ctx, self);
        self.note_dropped(call.channel);
        let size = call.channel.leaving()?.len();
        let (ccval, cscov) = self.data_fields(call.now, size);
        let mut encoder = self.start(head, &Kind::Data, (ccval, cscov), size);
        self.write_ndp(&mut encoder);
        self.write_rtt_estimate(&mut encoder);
        self.write_data_checksum(call.channel.leaving()?, &mut encoder);
        call.channel.marks().write(&mut encoder);
        self.finish_data(call, encoder, PacketType::Data, cscov)
    }

    fn finish_data(
        &mut self,
        call: &mut Call<'_, '_>,
        encoder: fairwire_wire::Encoder<'_>,
        packet_type: PacketType,
        cscov: u8,
    ) -> Option<Outgoing> {
        let (payload, id) = call.channel.take_leaving(call.ctx, self)?;
        let head_len = seal(encoder, &self.flow.path, &payload, cscov);
        let written = Written {
            seq: self.next_seq(),
            packet_type,
            head_len,
            payload,
            id,
        };
        let transmit = self.sent(call, written);
        call.channel.announce_room(call.ctx);
        Some(transmit)
    }

    /// Returns `CCVal` and `CsCov` of a data packet of `size` bytes.
    pub(super) fn data_fields(&mut self, now: Instant, size: usize) -> (u8, u8) {
        let ccval = self.tx.as_mut().map_or(0, |tx| tx.ccval(now));
        (ccval, self.coverage_of(size))
    }

    /// Returns whether the datagram at the head of the queue may leave now. If it is known when it may, stores that
    /// time.
    #[inline]
    pub(super) fn is_data_permitted(&mut self, call: &Call<'_, '_>) -> bool {
        let Some(size) = call.channel.leaving_len() else {
            return false;
        };
        match self.departure(call.channel, call.now, size) {
            Departure::Now => true,
            Departure::At(at, _) => {
                self.pace_at = Some(at);
                false
            }
            Departure::Unknown(_) => false,
        }
    }

    /// Returns what the datagram at the head of the queue waits for.
    pub(crate) fn waits_for(&self, channel: &Channel, now: Instant) -> Waiting {
        let Some(size) = channel.leaving_len() else {
            return if channel.queue.is_empty() {
                Waiting::Nothing
            } else {
                Waiting::Peer
            };
        };
        if !matches!(self.state, State::PartOpen | State::Open) {
            return Waiting::Peer;
        }
        match self.departure(channel, now, size) {
            Departure::Now => Waiting::Nothing,
            Departure::At(_, waiting) | Departure::Unknown(waiting) => waiting,
        }
    }

    /// Returns when a datagram of `size` bytes may leave.
    #[inline]
    fn departure(&self, channel: &Channel, now: Instant, size: usize) -> Departure {
        // RFC 4340, 8.1.4: with an Init Cookie to echo there is no room for data.
        if !self.agreed.may_send || !self.cookies.is_empty() {
            return Departure::Unknown(Waiting::Peer);
        }
        if let Some(until) = self.reported.refused_until.filter(|&until| now < until) {
            return Departure::At(until, Waiting::Peer);
        }
        let waiting = channel.waiting(now);
        let Some(tx) = &self.tx else {
            return Departure::Unknown(Waiting::Peer);
        };
        // RFC 4340, 7.5.2: never persistently more than the window in a round trip. Below half of it, the rest stays
        // valid after a burst of loss.
        let flight = u64::from(tx.flight().packets);
        if tx.heeds_window() && flight >= self.sequence.local_window / 2 {
            return Departure::Unknown(Waiting::Window);
        }
        let at = match tx.permit(now, waiting, u32::try_from(size).unwrap_or(u32::MAX)) {
            Permit::Now => now,
            Permit::At(at) => at,
            Permit::AwaitFeedback => return Departure::Unknown(Waiting::Window),
        };
        match channel.held_until(now) {
            Some(until) => Departure::At(at.max(until), Waiting::Pacing),
            None if at <= now => Departure::Now,
            None => Departure::At(at, Waiting::Pacing),
        }
    }
}

/// Returns whether feedback must leave now.
fn is_due(feedback: AckDue, now: Instant) -> bool {
    match feedback {
        AckDue::No | AckDue::WithData => false,
        AckDue::Now => true,
        AckDue::At(at) => at <= now,
    }
}
