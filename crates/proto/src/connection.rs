//! One connection: a [`Channel`] that an application fills and empties, and the [`Subflow`] that carries its datagrams
//! over a path.
//!
//! [`parts`] hold the state: which sequence numbers are valid, what is queued, what was dropped, what was agreed. They
//! do not know the connection. The files of [`channel`] and [`subflow`] say what these do, each for one concern;
//! [`footprint`] counts the memory of both.
//!
//! A connection never sends by itself. The endpoint asks it for packets, and the connection reports events and replies
//! through its [`Context`].

mod call;
mod channel;
mod context;
#[cfg(test)]
mod fingerprint;
mod footprint;
#[cfg(any(test, feature = "inspect"))]
mod inspection;
mod parts;
mod subflow;

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use fairwire_cc::TargetBitrate;
use fairwire_units::{Duration, Instant, Rate};
use fairwire_wire::{DropCode, Seq};

use crate::constants::DATAGRAM_OVERHEAD;
use crate::error::SendError;
use crate::event::Received;
use crate::flow::Flow;
use crate::id::{ConnectionId, DatagramId};
use crate::payload::Payload;
use crate::records::Records;
use crate::security::{Look, Security, Session};
use crate::sending::{SendOptions, Waiting};
use crate::stats::Stats;
use channel::Visibility;
use parts::counted::Counted;
use parts::secure::TAG;

pub(crate) use call::Call;
pub(crate) use channel::Channel;
pub(crate) use context::{Context, Origin, State};
pub(crate) use footprint::NEW as NEW_FOOTPRINT;
pub(crate) use parts::close_code::CloseCode;
pub(crate) use parts::draws::DrawKey;
pub(crate) use parts::migration::Standing;
pub(crate) use subflow::Subflow;

/// A DCCP connection.
#[derive(Debug)]
pub(crate) struct Connection {
    channel: Channel,
    subflow: Subflow,
    /// Bytes of memory in use, as last counted.
    counted: Counted,
}

/// How it begins.
impl Connection {
    fn new(channel: Channel, subflow: Subflow) -> Self {
        Self {
            channel,
            subflow,
            counted: Counted::default(),
        }
    }

    /// Creates a client that is about to send its Request.
    pub(crate) fn connect(now: Instant, origin: Origin) -> Self {
        Self::new(Channel::new(&origin), Subflow::connect(now, origin))
    }

    /// Creates a server that is about to handle the Request with number `isr` (step 3).
    pub(crate) fn respond(now: Instant, origin: Origin, isr: Seq) -> Self {
        Self::new(Channel::new(&origin), Subflow::respond(now, origin, isr))
    }

    /// Creates a server that is about to invite its client.
    pub(crate) fn invite(now: Instant, origin: Origin) -> Self {
        let mut channel = Channel::new(&origin);
        // The application asked for it and has its id.
        channel.known = Visibility::Invited;
        Self::new(channel, Subflow::invite(now, origin))
    }

    /// Takes it apart.
    #[cfg(test)]
    pub(crate) fn into_parts(self) -> (Channel, Subflow) {
        (self.channel, self.subflow)
    }

    /// Returns its id.
    pub(crate) fn id(&self) -> ConnectionId {
        self.channel.id
    }

    /// Returns its flow.
    pub(crate) fn flow(&self) -> Flow {
        self.subflow.flow()
    }

    /// Returns the state of its subflow.
    pub(crate) fn state(&self) -> State {
        self.subflow.state()
    }

    /// Returns whether it is over.
    pub(crate) fn is_closed(&self) -> bool {
        self.subflow.is_closed()
    }

    /// Returns its subflow.
    pub(crate) fn subflow(&self) -> &Subflow {
        &self.subflow
    }

    /// Returns its subflow, for what neither needs the channel nor tells the application anything.
    pub(crate) fn subflow_mut(&mut self) -> &mut Subflow {
        &mut self.subflow
    }

    /// Runs `act` on the subflow, with the channel that it serves.
    #[inline]
    pub(crate) fn with<T>(
        &mut self,
        ctx: &mut Context<'_>,
        act: impl FnOnce(&mut Subflow, &mut Call<'_, '_>) -> T,
    ) -> T {
        let mut call = Call {
            now: ctx.now,
            channel: &mut self.channel,
            ctx,
        };
        act(&mut self.subflow, &mut call)
    }

    /// Returns whether the application knows it and will release it.
    pub(crate) fn is_announced(&self) -> bool {
        self.channel.is_announced()
    }

    /// Returns the port whose listener began it, during the handshake.
    pub(crate) fn pending_port(&self) -> Option<u16> {
        let awaited = self.state() == State::Respond && !self.is_announced();
        awaited.then_some(self.flow().local_port)
    }

    /// Makes the client wait, because the accept queue is full.
    pub(crate) fn await_accept(&mut self) {
        self.channel.known = Visibility::AwaitingAccept;
    }

    /// Returns whether it waits for a place in the accept queue.
    pub(crate) fn awaits_accept(&self) -> bool {
        self.channel.known == Visibility::AwaitingAccept
    }

    /// Asks the client to continue, because the accept queue has room again.
    pub(crate) fn ask_to_continue(&mut self) {
        self.channel.known = Visibility::Unknown;
        self.subflow.ask_to_continue();
    }
}

/// The calls of the application.
impl Connection {
    /// Encrypts the connection from now on. RFC 5238, 3.4: a connection has one session, whatever its peer does.
    pub(crate) fn secure(
        &mut self,
        ctx: &mut Context<'_>,
        with: Arc<dyn Security>,
        tag: [u8; TAG],
    ) {
        if !self.subflow.is_closed() {
            self.channel.secure(ctx, &self.subflow, with, tag);
            self.subflow.note_dropped(&mut self.channel);
        }
    }

    /// Returns the session, if it has begun.
    pub(crate) fn session(&self) -> Option<&dyn Session> {
        self.channel.session()
    }

    /// Returns whether it follows its peer to another address now. Its session has to be complete, and not to end.
    pub(crate) fn follows(&self) -> bool {
        let secure = self.channel.secure.as_ref();
        self.subflow.follows() && secure.is_some_and(|secure| secure.can_speak())
    }

    /// Looks into a datagram that came from elsewhere.
    pub(crate) fn look_into(
        &mut self,
        now: Instant,
        datagram: &[u8],
        records: &mut Records,
    ) -> Look {
        let secure = self.channel.secure.as_mut();
        let Some(secure) = secure.filter(|_| self.subflow.may_look(now)) else {
            return Look::Useless;
        };
        let look = secure.look_into(datagram, records);
        if look == Look::Forged {
            self.subflow.note_forged(now);
        }
        look
    }

    /// Returns whether its application may take it to another address of this host.
    pub(crate) fn can_leave(&self) -> bool {
        let secure = self.channel.secure.as_ref();
        self.subflow.can_leave() && secure.is_some_and(|secure| secure.can_speak())
    }

    /// Returns whether the peer announced its end inside the session.
    pub(crate) fn is_end_announced(&self) -> bool {
        self.channel.is_end_announced()
    }

    /// Queues a datagram.
    #[inline]
    pub(crate) fn send(
        &mut self,
        ctx: &mut Context<'_>,
        payload: Payload,
        options: SendOptions,
    ) -> Result<DatagramId, SendError> {
        self.channel.send(ctx, &self.subflow, payload, options)
    }

    /// Queues a message, which may need several datagrams.
    pub(crate) fn send_message(
        &mut self,
        ctx: &mut Context<'_>,
        data: &Bytes,
        options: SendOptions,
    ) -> Result<Vec<DatagramId>, SendError> {
        self.channel.send_message(ctx, &self.subflow, data, options)
    }

    /// Queues datagrams from the front of `datagrams` until one is refused, which stays there.
    pub(crate) fn send_many(
        &mut self,
        ctx: &mut Context<'_>,
        datagrams: &mut VecDeque<Bytes>,
        ids: &mut Vec<DatagramId>,
    ) -> Result<(), SendError> {
        while let Some(data) = datagrams.front() {
            let size = data.len();
            // Then it is not refused, and no copy of the handle is needed.
            let fits = self.channel.secure.is_none() && self.can_send(size, ctx.room);
            let data = if fits {
                datagrams.pop_front().unwrap_or_default()
            } else {
                data.clone()
            };
            ids.push(self.send(ctx, data.into(), SendOptions::default())?);
            if !fits {
                datagrams.pop_front();
            }
            // As if it had been counted: `Endpoint::room_of` shrinks by a share of what was taken, too.
            let taken = size.saturating_add(DATAGRAM_OVERHEAD);
            ctx.room = ctx.room.saturating_sub(taken + taken / 16);
        }
        Ok(())
    }

    /// Returns whether there is room for a datagram of `size` bytes, with `room` bytes left of the endpoint's memory.
    #[inline]
    pub(crate) fn can_send(&self, size: usize, room: usize) -> bool {
        self.channel.can_send(&self.subflow, size, room)
    }

    /// Returns an error if datagrams cannot be sent again.
    pub(crate) fn check_resend(&self) -> Result<(), SendError> {
        self.channel.check_resend(&self.subflow)
    }

    /// Returns the size of the largest datagram of the application, in bytes.
    #[inline]
    pub(crate) fn max_datagram(&self) -> usize {
        self.channel.max_datagram(&self.subflow)
    }

    /// Returns what the datagram at the head of the queue waits for.
    pub(crate) fn waits_for(&self, now: Instant) -> Waiting {
        self.subflow.waits_for(&self.channel, now)
    }

    /// Returns how long the oldest datagram has waited in the send queue.
    pub(crate) fn queue_age(&self, now: Instant) -> Option<Duration> {
        self.channel.queue_age(now)
    }

    /// Drops every datagram in the send queue; returns how many there were.
    pub(crate) fn purge(&mut self, ctx: &mut Context<'_>) -> usize {
        self.channel.purge(ctx)
    }

    /// Takes the next datagram out of the receive queue.
    #[inline]
    pub(crate) fn recv(&mut self) -> Option<Received> {
        self.channel.recv()
    }

    /// Stops delivering data for good (RFC 4340, section 11.7.2).
    pub(crate) fn stop_reading(&mut self) {
        self.channel.stop_reading();
        self.subflow.note_dropped(&mut self.channel);
    }

    /// Records that the application dropped a datagram it had read. Returns whether the peer will be told.
    pub(crate) fn report_dropped(&mut self, seq: Seq, code: DropCode) -> bool {
        self.subflow.report_dropped(&mut self.channel, seq, code)
    }

    /// Returns whether the fates of datagrams are reported.
    pub(crate) fn reports_fates(&self) -> bool {
        self.channel.reports_fates
    }

    /// Sets whether the application asks for no more data than now.
    pub(crate) fn set_slow(&mut self, slow: bool) {
        self.channel.set_slow(slow);
    }

    /// Sets the most that the application lets leave.
    pub(crate) fn set_max_rate(&mut self, now: Instant, rate: Option<Rate>) {
        self.channel.cap.set(now, rate);
    }

    /// Returns the bitrate that the application can follow.
    pub(crate) fn target_bitrate(&self) -> Option<TargetBitrate> {
        self.subflow.target_bitrate(&self.channel)
    }

    /// Takes that bitrate, if it has changed since it was last taken.
    pub(crate) fn take_target_change(&mut self) -> Option<TargetBitrate> {
        self.subflow.take_target_change(&self.channel)
    }

    /// Returns the counters and gauges.
    pub(crate) fn stats(&self) -> Stats {
        self.subflow.stats(&self.channel)
    }

    /// Returns when to call [`Subflow::handle_timeout`]; valid once every packet that may leave has left.
    #[inline]
    pub(crate) fn next_timeout(&self, now: Instant) -> Option<Instant> {
        self.subflow.next_timeout(&self.channel, now)
    }
}

#[cfg(test)]
mod tests {
    use super::Connection;

    /// A hundred thousand connections fit into half a gibibyte, without the memory that they hold elsewhere.
    #[test]
    fn not_too_large() {
        assert!(
            size_of::<Connection>() <= (512 << 20) / 100_000,
            "{}",
            size_of::<Connection>()
        );
    }
}
