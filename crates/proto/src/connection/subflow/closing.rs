//! How a connection ends (RFC 4340, section 8.3).

use fairwire_units::{Duration, Instant};
use fairwire_wire::{HeadBuf, Kind, PacketType, ResetCode, Seq};

use super::parts::backoff::Backoff;
use super::parts::close_code::CloseCode;
use super::{Call, State, Subflow};
use crate::connection::channel::Carrier;
use crate::error_text::ErrorText;
use crate::event::{CloseReason, Event, Fate};
use crate::feature::{Fatal, Role};
use crate::half::FeedbackOutcome;
use crate::payload::Arriving;
use crate::reply::Reset;
use crate::transmit::Outgoing;

/// Duration of three Closes with back-off, in round trips: they leave after none, two and six, and the third has eight
/// to be answered.
const THREE_CLOSES: u64 = 2 + 4 + 8;

impl Subflow {
    /// Closes the connection for the application; the send queue may drain until `until`.
    pub(crate) fn close(&mut self, call: &mut Call<'_, '_>, until: Instant) {
        if self.state == State::Closed {
            return;
        }
        let earlier = call.channel.drain_until;
        let until = earlier.map_or(until, |earlier| earlier.min(until));
        call.channel.drain_until = Some(until);
        let waits = match self.state {
            State::Invited | State::Listen1 | State::Respond => true,
            State::Request => call.channel.queue.is_empty() || until <= call.now,
            _ => false,
        };
        if waits {
            self.abort(call);
        }
    }

    /// Closes the connection for the application, which says this.
    pub(crate) fn close_with(&mut self, call: &mut Call<'_, '_>, until: Instant, said: CloseCode) {
        call.channel.say(said);
        self.close(call, until);
    }

    /// Resets the connection for the application, at once and without sending what is queued.
    pub(crate) fn abort(&mut self, call: &mut Call<'_, '_>) {
        self.abort_with(call, None);
    }

    /// Resets the connection with an Error Text. RFC 4340 lets no other packet carry one. Data on a Close is ignored
    /// (section 5.5), and the Reset for an abort has no data bytes for a number (section 5.6).
    pub(crate) fn abort_with(&mut self, call: &mut Call<'_, '_>, text: Option<ErrorText>) {
        self.abort_for(call, text, CloseReason::Aborted);
    }

    /// Resets the connection as for an abort, for another reason of this end's.
    pub(super) fn abort_for(
        &mut self,
        call: &mut Call<'_, '_>,
        text: Option<ErrorText>,
        reason: CloseReason,
    ) {
        self.reset_with(call, ResetCode::Aborted, [0; 3], text, reason);
    }

    /// Resets a connection that the application dropped, because nobody else can say that all went well. If it is
    /// already closing, the closing goes on.
    pub(crate) fn abandon(&mut self, call: &mut Call<'_, '_>) {
        if call.channel.drain_until.is_none() && self.state < State::CloseReq {
            self.abort(call);
        }
    }

    /// Discards the send queue and closes the connection.
    pub(crate) fn discard(&mut self, call: &mut Call<'_, '_>) {
        call.channel.refuse_queued(call.ctx);
        self.close(call, call.now);
    }

    /// Begins to close once all data has left that may leave.
    pub(super) fn begin_closing_if_drained(&mut self, call: &mut Call<'_, '_>) {
        let Some(until) = call.channel.drain_until else {
            return;
        };
        let open = matches!(self.state, State::PartOpen | State::Open);
        // What is in flight may have to be sent again.
        let channel = &mut *call.channel;
        let is_drained = channel.queue.is_empty() && !channel.keeps_copies(call.now);
        let is_late = until <= call.now;
        if !open || !(is_drained || is_late) {
            return;
        }
        // RFC 5238, 3.4: the session ends before the connection does, and after its handshake. A peer that lacks the end
        // of that could read nothing of what has left.
        if !is_late && call.channel.awaits_confirmation() {
            return;
        }
        // It may have acknowledged datagrams that it never reads, so nobody may take this end for a success.
        if call.channel.has_unconfirmed() {
            let reason = CloseReason::CloseTimeout;
            return self.reset(call, ResetCode::Aborted, [0; 3], reason);
        }
        if is_late {
            call.channel.refuse_queued(call.ctx);
        }
        let has_more_to_say = call.channel.announce_end(call.ctx, self);
        self.note_dropped(call.channel);
        if !has_more_to_say || (is_late && !self.is_data_permitted(call)) {
            self.begin_closing(call);
        }
    }

    fn begin_closing(&mut self, call: &mut Call<'_, '_>) {
        call.channel.refuse_queued(call.ctx);
        // RFC 4340, 8.3: a server asks the client to close, so that the client holds TIMEWAIT.
        self.state = match self.role {
            Role::Server => State::CloseReq,
            Role::Client => State::Closing,
        };
        self.start_close_retry(call.now);
    }

    fn start_close_retry(&mut self, now: Instant) {
        self.due.handshake = true;
        // RFC 4340, 8.3: two round trips, then with back-off.
        self.retry = Backoff::new(self.rtt() * 2);
        // A peer can make us believe in any round trip. A false one keeps the connection no longer than silence does.
        let three = (self.rtt() * THREE_CLOSES).min(self.config.idle_timeout.into());
        let timeout = Duration::from(self.config.close_timeout);
        self.deadline = Some(now + timeout.max(three));
    }

    /// Writes the `CloseReq` or Close of the state.
    pub(super) fn transmit_close(
        &mut self,
        call: &mut Call<'_, '_>,
        head: &mut HeadBuf,
    ) -> Option<Outgoing> {
        if !std::mem::take(&mut self.due.handshake) {
            return None;
        }
        self.retry.start(call.now);
        let ack = self.sequence.acknowledgeable.into();
        let kind = match self.state {
            State::CloseReq => Kind::CloseReq { ack },
            _ => Kind::Close { ack },
        };
        Some(self.send_plain(call, head, &kind))
    }

    /// Step 13: handles the server's `CloseReq`.
    pub(super) fn on_close_req(&mut self, call: &mut Call<'_, '_>, said: Option<&[u8]>) {
        self.hear_close_code(call, said);
        if self.state >= State::CloseReq {
            return;
        }
        // RFC 8446, 6.1: the session ends before the connection does. Anybody on the path can make a CloseReq, and the
        // peer must not take that for our end: only its own announcement shows that it wants no more.
        if self.is_open() && call.channel.is_end_announced() {
            call.channel.refuse_queued(call.ctx);
            call.channel.drain_until = Some(call.now);
            return;
        }
        call.channel.refuse_queued(call.ctx);
        self.state = State::Closing;
        self.start_close_retry(call.now);
    }

    /// Step 14: answers the peer's Close with a Reset, which ends the connection.
    pub(super) fn on_close(&mut self, call: &mut Call<'_, '_>, said: Option<&[u8]>) {
        self.hear_close_code(call, said);
        self.reset(call, ResetCode::Closed, [0; 3], CloseReason::Closed);
    }

    /// Takes what the peer's application says as it closes.
    fn hear_close_code(&mut self, call: &mut Call<'_, '_>, said: Option<&[u8]>) {
        if let Some(value) = said {
            call.channel.hear_close_code(call.ctx, self, value);
        }
    }

    /// Step 9: handles the peer's Reset, which ends the connection and puts its flow into TIMEWAIT.
    pub(super) fn on_reset(
        &mut self,
        call: &mut Call<'_, '_>,
        (code, data): (ResetCode, [u8; 3]),
        payload: &Arriving<'_>,
    ) {
        // RFC 4340, 8.3: the Close is answered once, and the answer may be lost. A peer that is done has no connection
        // for our next Close; its Reset then is no failure.
        let repeated = self.state == State::Closing && self.retry.repeats();
        let reason = match code.effective() {
            ResetCode::Closed => CloseReason::Closed,
            ResetCode::NoConnection if repeated => CloseReason::Closed,
            code => CloseReason::Reset {
                code,
                data,
                text: ErrorText::of_data(payload.as_slice()),
            },
        };
        self.end(call, reason, true);
    }

    /// Resets the connection because of an error in what the peer sent.
    pub(super) fn fail(&mut self, call: &mut Call<'_, '_>, Fatal { code, data }: Fatal) {
        self.reset(call, code, data, CloseReason::PeerError { code, data });
    }

    /// Sends a Reset and ends the connection. `data` is zero if the code gives it no meaning. Code 0, which has no
    /// meaning, is never sent (RFC 4340, section 5.6).
    pub(super) fn reset(
        &mut self,
        call: &mut Call<'_, '_>,
        code: ResetCode,
        data: [u8; 3],
        reason: CloseReason,
    ) {
        self.reset_with(call, code, data, None, reason);
    }

    fn reset_with(
        &mut self,
        call: &mut Call<'_, '_>,
        code: ResetCode,
        data: [u8; 3],
        text: Option<ErrorText>,
        reason: CloseReason,
    ) {
        if self.state == State::Closed {
            return;
        }
        if matches!(self.state, State::Invited | State::Listen1) {
            // The peer has not seen any of our sequence numbers.
            return self.end(call, reason, false);
        }
        let unheard = self.state == State::Request && self.sequence.heard_at.is_none();
        // A Request that was never sent needs no Reset.
        let sent = self.stats.packets_sent > 0;
        // RFC 4340, 8.1.3: refusing a Request for its options counts against the same limit as any other refusal.
        let may_answer = sent
            || match self.state {
                State::Respond => call.ctx.replies.may_answer(call.now),
                _ => !unheard,
            };
        if may_answer {
            let ndp = self.agreed.ndp;
            call.ctx.replies.end(Reset {
                flow: self.flow,
                seq: self.sequence.next_sent(),
                // RFC 4340, 8.1.1: in REQUEST there is no number to acknowledge.
                ack: if unheard {
                    Seq::ZERO
                } else {
                    self.sequence.acknowledgeable
                },
                code,
                data,
                text,
                ndp_count: if ndp { self.ndp_run } else { 0 },
                connection: Some(call.channel.id),
            });
            self.stats.packets_sent += 1;
        }
        self.end(call, reason, false);
    }

    /// Ends the connection: every datagram gets its fate, and the application gets the reason.
    pub(super) fn end(&mut self, call: &mut Call<'_, '_>, reason: CloseReason, time_wait: bool) {
        if let Some(tx) = &mut self.tx {
            tx.finish(call.ctx.outcome);
        }
        self.settle_outcome(call);
        call.channel.refuse_queued(call.ctx);
        call.channel.kept = None;
        call.channel.give_up_messages();
        call.channel.discard_early();
        call.channel.discard_unopened();
        self.state = State::Closed;
        self.ended = Some(time_wait);
        let reason = match reason {
            CloseReason::Closed => call.channel.closed(),
            reason => reason,
        };
        call.emit(Event::Closed { reason });
    }

    /// Ends the connection because the timer of its state ran out.
    pub(super) fn give_up(&mut self, call: &mut Call<'_, '_>) {
        let reason = match self.state {
            // RFC 4340, 8.1.1: the Reset cleans up what a Request may have left behind.
            State::Invited | State::Listen1 => CloseReason::ConnectTimeout,
            State::Request if self.echoed.is_some() => CloseReason::Reflected,
            State::Request => self.icmp_errors.timeout_reason(),
            State::CloseReq | State::Closing => CloseReason::CloseTimeout,
            // RFC 4340, 8.1.3 and 8.1.5: the handshake was never completed.
            _ => CloseReason::IdleTimeout,
        };
        self.reset(call, ResetCode::Aborted, [0; 3], reason);
    }

    /// Turns the results that a half reported into counters and events.
    pub(super) fn settle_outcome(&mut self, call: &mut Call<'_, '_>) {
        let mut losses = call.ctx.outcome.loss_events;
        let mut fates = std::mem::take(&mut call.ctx.outcome.fates);
        for (id, fate) in fates.drain(..) {
            match fate {
                Fate::Acknowledged | Fate::Dropped { .. } => self.stats.acknowledged += 1,
                Fate::Marked => {
                    self.stats.acknowledged += 1;
                    self.stats.marked += 1;
                }
                Fate::Lost => {
                    self.stats.lost += 1;
                    losses = losses.saturating_add(1);
                }
                Fate::Expired | Fate::Refused | Fate::GroupBroken | Fate::TooLarge | Fate::Sent => {
                }
            }
            let Some(id) = id else { continue };
            call.channel.settle(call.ctx, self, id, fate);
        }
        call.channel.drop_fallen_groups(call.ctx);
        self.note_losses(call.now, losses, call.ctx.outcome.largest_arrived);
        *call.ctx.outcome = FeedbackOutcome {
            fates,
            ..FeedbackOutcome::default()
        };
    }

    /// Returns whether step 7 answers a packet of this type with a Sync in the present state.
    pub(super) fn is_unexpected(&self, packet_type: PacketType, seq: Seq) -> bool {
        let open = self.state >= State::Open;
        let new = open && !seq.is_before(self.sequence.osr);
        match packet_type {
            PacketType::Request => self.role == Role::Client || new,
            PacketType::Response => self.role == Role::Server || new,
            PacketType::CloseReq => self.role == Role::Server,
            PacketType::Data => self.state == State::Respond,
            _ => false,
        }
    }
}
