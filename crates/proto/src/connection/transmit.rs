//! What leaves next.
//!
//! Answers and the handshake first, then feedback that is due, then data as the controller
//! permits. In one direction of bulk every Data packet has a head of the same length: whatever
//! would lengthen it leaves on an Ack of its own. Where data flows both ways, feedback rides on
//! `DataAck`s.

use fairwire_cc::{DEFAULT_RTT, Permit};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{HeadBuf, Kind, PacketType};

use super::packet::Written;
use super::parts::dropped::Fit;
use super::{Connection, Context, State};
use crate::half::{AckDue, PeerData};
use crate::seal::seal;
use crate::transmit::Transmit;

/// How long whoever still wants an Ack after one has left has to wait for another: a guard
/// against sending for ever at one moment.
const ACK_AGAIN: Duration = Duration::from_millis(1);

/// What an Ack is wanted for.
#[expect(clippy::struct_excessive_bools, reason = "independent reasons")]
#[derive(Clone, Copy, Debug)]
struct Wanted {
    feedback: bool,
    negotiation: bool,
    ack_of_ack: bool,
    echo: bool,
}

impl Wanted {
    fn is_any(self) -> bool {
        self.feedback || self.negotiation || self.ack_of_ack || self.echo
    }
}

impl Connection {
    /// The next packet, if there is one to send now.
    pub(crate) fn poll_transmit(
        &mut self,
        ctx: &mut Context<'_>,
        head: &mut HeadBuf,
    ) -> Option<Transmit> {
        self.pace_at = None;
        self.expire_queued(ctx);
        self.begin_closing_if_drained(ctx);
        match self.state {
            State::Closed | State::Listen1 => None,
            State::Invited => self.transmit_listen(ctx, head),
            State::Request => self.transmit_request(ctx, head),
            State::Respond => self
                .transmit_response(ctx, head)
                .or_else(|| self.transmit_sync(ctx, head)),
            State::PartOpen | State::Open => self
                .transmit_sync(ctx, head)
                .or_else(|| self.transmit_probe(ctx, head))
                .or_else(|| self.transmit_open(ctx, head)),
            State::CloseReq | State::Closing => self
                .transmit_sync(ctx, head)
                .or_else(|| self.transmit_close(ctx, head)),
        }
    }

    fn transmit_open(&mut self, ctx: &mut Context<'_>, head: &mut HeadBuf) -> Option<Transmit> {
        if self.due.ack {
            return Some(self.send_ack(ctx, head));
        }
        let now = ctx.now;
        let floor_passed = self.ack_floor.is_none_or(|floor| floor <= now);
        let feedback = self.feedback_due(now);
        let overdue = floor_passed && is_due(feedback, now);
        let mut data = self.is_data_permitted(now);
        if data && self.skip_number(now) {
            // Where packets are paced the number takes the place of one.
            data = self.is_data_permitted(now);
        }
        // RFC 4340, 4.3 and 8.1.5: in PARTOPEN every packet acknowledges. An NDP Count rides on a
        // DataAck, so that all Data packets have heads of one length.
        if data
            && (self.state == State::PartOpen || feedback != AckDue::No || self.is_ndp_due())
            && let Some(transmit) = self.send_data_ack(ctx, head, overdue)
        {
            return Some(transmit);
        }
        let wanted = Wanted {
            // RFC 4340, 11.3: feedback that no data can carry leaves by itself.
            feedback: overdue,
            negotiation: self.agreed.due.is_some_and(|at| at <= now),
            ack_of_ack: self.owes_ack_of_ack(now),
            // An echo alone is not worth a packet, or two ends could echo each other for ever; before
            // data it is, for there it may not ride.
            echo: data && self.timestamps.echo(now).is_some(),
        };
        if floor_passed && wanted.is_any() {
            let transmit = self.send_ack(ctx, head);
            self.pause_acks(now, wanted);
            return Some(transmit);
        }
        // RFC 4340, 8.1.5: no Data in PARTOPEN.
        if data && self.state == State::Open {
            return self.send_data(ctx, head);
        }
        self.transmit_keep_alive(ctx, head)
    }

    /// An Ack has just left that `was` wanted. What it had no room for waits for a round trip, or for the 0.2 s of
    /// RFC 4340, 11.3, whatever arrives meanwhile: the next one might have no room for it either, and the peer
    /// would hear the same again and again.
    fn pause_acks(&mut self, now: Instant, was: Wanted) {
        let unsaid = (was.feedback && is_due(self.feedback_due(now), now))
            || (was.negotiation && self.agreed.due.is_some_and(|at| at <= now))
            || (was.echo && self.timestamps.echo(now).is_some())
            || (was.ack_of_ack && self.owes_ack_of_ack(now));
        self.unsaid_until = unsaid.then(|| now + self.rtt().clamp(ACK_AGAIN, DEFAULT_RTT));
        self.ack_floor = self.unsaid_until.or(Some(now + ACK_AGAIN));
    }

    /// Must the peer's acknowledgements be acknowledged by a packet made for it?
    ///
    /// RFC 4341, 6.2, and RFC 4340, 11.1: not while the peer sends data, whose acknowledgements do
    /// that too.
    pub(super) fn owes_ack_of_ack(&self, now: Instant) -> bool {
        let by_ccid = self.tx.as_ref().is_some_and(|tx| tx.wants_ack_of_ack())
            && self.peer_data(now) != PeerData::Flowing;
        // At once, so that it names the very packet that reported.
        by_ccid || self.reported.wants_ack(now, self.rtt())
    }

    /// Is the other direction idle, and does the peer know of all of its data?
    pub(crate) fn is_peer_quiescent(&self, now: Instant) -> bool {
        self.peer_data(now) == PeerData::Quiescent
    }

    /// Does the peer send data?
    fn peer_data(&self, now: Instant) -> PeerData {
        let rx = self.rx.as_ref();
        rx.map_or(PeerData::Quiescent, |rx| rx.peer_data(now, self.rtt()))
    }

    /// An Ack with everything that there is to say.
    fn send_ack(&mut self, ctx: &mut Context<'_>, head: &mut HeadBuf) -> Transmit {
        self.due.ack = false;
        // RFC 4340, 7.4: the greatest number of what was processed.
        let ack = self.sequence.acknowledgeable.into();
        let kind = Kind::Ack { ack };
        let mut encoder = self.start(head, &kind, (0, 0), 0);
        self.write_cookies(&mut encoder);
        self.write_ndp(&mut encoder);
        self.write_negotiation(ctx.now, PacketType::Ack, &mut encoder);
        self.write_echo(ctx.now, &mut encoder);
        self.write_feedback(ctx.now, Fit::Newest, &mut encoder);
        self.finish(ctx, encoder, PacketType::Ack)
    }

    /// Data with feedback. `None`, and nothing sent, if the feedback does not fit although it
    /// must leave now, or if without it plain Data would do.
    fn send_data_ack(
        &mut self,
        ctx: &mut Context<'_>,
        head: &mut HeadBuf,
        overdue: bool,
    ) -> Option<Transmit> {
        let size = self.queue.front_len()?;
        let ack = self.sequence.acknowledgeable.into();
        let kind = Kind::DataAck { ack };
        let (ccval, cscov) = self.data_fields(ctx.now, size);
        let mut encoder = self.start(head, &kind, (ccval, cscov), size);
        self.write_ndp(&mut encoder);
        self.write_rtt_estimate(&mut encoder);
        self.write_data_checksum(&mut encoder);
        let fits = self.write_feedback(ctx.now, Fit::Whole, &mut encoder);
        // RFC 4340, 11.2: feedback that is due and too long leaves on an Ack of its own.
        if !fits && (overdue || self.state == State::Open) {
            return None;
        }
        self.write_negotiation(ctx.now, PacketType::DataAck, &mut encoder);
        self.write_echo(ctx.now, &mut encoder);
        self.finish_data(ctx, encoder, PacketType::DataAck, cscov)
    }

    /// Plain Data. It acknowledges nothing, so no feedback rides on it (RFC 4340, section 11.4;
    /// RFC 4342, sections 8.3, 8.5, 8.6 and 8.6.1).
    fn send_data(&mut self, ctx: &mut Context<'_>, head: &mut HeadBuf) -> Option<Transmit> {
        let size = self.queue.front_len()?;
        let (ccval, cscov) = self.data_fields(ctx.now, size);
        let mut encoder = self.start(head, &Kind::Data, (ccval, cscov), size);
        self.write_ndp(&mut encoder);
        self.write_rtt_estimate(&mut encoder);
        self.write_data_checksum(&mut encoder);
        self.finish_data(ctx, encoder, PacketType::Data, cscov)
    }

    fn finish_data(
        &mut self,
        ctx: &mut Context<'_>,
        encoder: fairwire_wire::Encoder<'_>,
        packet_type: PacketType,
        cscov: u8,
    ) -> Option<Transmit> {
        let datagram = self.queue.pop()?;
        let head_len = seal(encoder, &self.flow.path, &datagram.payload, cscov);
        let written = Written {
            seq: self.next_seq(),
            packet_type,
            head_len,
            payload: datagram.payload,
            id: Some(datagram.id),
        };
        let transmit = self.sent(ctx, written);
        self.announce_room(ctx);
        Some(transmit)
    }

    /// `CCVal` and `CsCov` of a data packet of `size` bytes.
    fn data_fields(&mut self, now: Instant, size: usize) -> (u8, u8) {
        let ccval = self.tx.as_mut().map_or(0, |tx| tx.ccval(now));
        (ccval, self.coverage_of(size))
    }

    /// May the datagram at the head of the queue leave now? If a moment is known from which it
    /// may, notes it.
    #[inline]
    fn is_data_permitted(&mut self, now: Instant) -> bool {
        let Some(size) = self.queue.front_len() else {
            return false;
        };
        // RFC 4340, 8.1.4: with an Init Cookie to echo there is no room for data.
        if !self.agreed.may_send || !self.cookies.is_empty() {
            return false;
        }
        if let Some(until) = self.reported.refused_until.filter(|&until| now < until) {
            self.pace_at = Some(until);
            return false;
        }
        let waiting = self.waiting();
        let Some(tx) = &self.tx else {
            return false;
        };
        // RFC 4340, 7.5.2: never persistently more than the window in a round trip. Below half
        // of it, a burst of loss leaves the rest valid.
        if u64::from(tx.flight().packets) >= self.sequence.local_window / 2 {
            return false;
        }
        match tx.permit(now, waiting, u32::try_from(size).unwrap_or(u32::MAX)) {
            Permit::Now => true,
            Permit::At(at) if at <= now => true,
            Permit::At(at) => {
                self.pace_at = Some(at);
                false
            }
            Permit::AwaitFeedback => false,
        }
    }
}

/// Must feedback leave now?
fn is_due(feedback: AckDue, now: Instant) -> bool {
    match feedback {
        AckDue::No | AckDue::WithData => false,
        AckDue::Now => true,
        AckDue::At(at) => at <= now,
    }
}
