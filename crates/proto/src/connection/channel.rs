//! The channel: what an application has of a connection, whatever path its packets take.
//!
//! It holds the queues, the groups, the datagrams that may be sent again, and the encryption, and it tells the
//! application what happens. It has no sequence number, window, timer of a round trip or address of its own: those
//! belong to the [`Subflow`](super::subflow::Subflow) that carries its datagrams. A subflow asks for the next datagram
//! when its controller lets one leave, and hands over what arrived. What the channel needs to know of it is a
//! [`Carrier`].
//!
//! - [`send`]: the calls that fill the send queue; [`queued`]: datagrams that leave it unsent; [`resend`]: those that
//!   are sent again; [`messages`]: messages of several datagrams.
//! - [`receive`]: the receive queue; [`secured`]: the encryption; [`close_code`]: what the applications say as they
//!   close.

mod close_code;
mod messages;
mod queued;
mod receive;
mod resend;
mod secured;
mod send;

use fairwire_units::{Duration, Instant};
use fairwire_wire::{Ccid, DropCode, Seq};

use super::context::{Context, Origin};
use super::parts;
use super::parts::assembly::Assembly;
use super::parts::cap::Cap;
use super::parts::close_code::CloseCodes;
use super::parts::groups::Groups;
use super::parts::queue::SendQueue;
use super::parts::receive_queue::ReceiveQueue;
use super::parts::secure::Secure;
use crate::config::Config;
use crate::event::Event;
use crate::feature::Role;
use crate::id::ConnectionId;
use crate::resend::{Missing, ResendBuffer, Window};
use crate::stats::Stats;

pub(super) use resend::Taking;

/// What a channel asks of the subflow that works for it.
pub(crate) trait Carrier {
    /// Returns whether its handshake is over and it is not closing.
    fn is_open(&self) -> bool;

    /// Returns whether it carries data, or will once its handshake is over.
    fn takes_data(&self) -> bool;

    /// Returns the most bytes that one of its packets carries.
    fn max_datagram(&self) -> usize;

    /// Returns the number of its next packet.
    fn next_seq(&self) -> Seq;

    /// Returns its round-trip time, if there is an estimate.
    fn round_trip(&self) -> Option<Duration>;

    /// Returns whether the peer reads the marks of datagrams that we send again.
    fn sends_copies(&self) -> bool;

    /// Returns whether the peer marks datagrams that it sends again.
    fn takes_copies(&self) -> bool;

    /// Returns whether the peer puts messages of several datagrams together.
    fn sends_parts(&self) -> bool;

    /// Returns whether the peer sends such messages.
    fn takes_parts(&self) -> bool;

    /// Returns the CCID of our data if it does not say which datagrams were lost.
    fn blind_ccid(&self) -> Option<Ccid>;
}

/// Whether the application knows the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Visibility {
    /// It does not.
    Unknown,
    /// It does not; the client waits for a place in the accept queue.
    AwaitingAccept,
    /// It has invited the client, and so knows the connection's id, but not that the client has come (RFC 5596).
    Invited,
    /// It knows the connection's id, so it will release the connection.
    Announced,
}

/// What one application has of a connection.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(super) id: ConnectionId,
    pub(super) known: Visibility,
    pub(super) queue: SendQueue,
    pub(super) groups: Groups,
    /// Datagrams in flight that may have to be sent again.
    pub(super) kept: Option<Box<ResendBuffer>>,
    /// The peer's datagrams that were delivered, by the number of the packet in which each was first sent; once the
    /// peer may send them again.
    pub(super) copies: Option<Window>,
    /// The number of our next message of several datagrams.
    pub(super) next_message: u32,
    /// The peer's messages that lack parts.
    pub(super) assembly: Option<Box<Assembly>>,
    pub(super) received: ReceiveQueue,
    /// Which of the peer's packets brought data that no application gets, and why; empty between calls.
    pub(super) dropped: Vec<(Seq, DropCode)>,
    /// What encrypts the connection, if anything does.
    pub(super) secure: Option<Box<Secure>>,
    /// Set once the application asked to close: until when the send queue may drain.
    pub(super) drain_until: Option<Instant>,
    /// What both applications say as they close.
    pub(super) codes: Option<Box<CloseCodes>>,
    /// The most that the application lets leave.
    pub(super) cap: Cap,
    pub(super) readers: Readers,
    pub(super) reports_fates: bool,
    pub(super) slow_receiver_percent: u8,
    pub(super) counts: Counts,
}

/// Whether the applications read what arrives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readers {
    /// Whether this one has stopped, and whether the peer's has.
    pub(super) has_stopped: bool,
    pub(super) has_peer_stopped: bool,
    /// Whether this one has asked for no more data than now.
    pub(super) is_slow: bool,
}

/// The counters of a channel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    expired: u64,
    refused: u64,
    group_broken: u64,
    resent: u64,
    recovered: u64,
    resent_duplicates: u64,
    resent_too_old: u64,
    unread_close_codes: u64,
}

impl Channel {
    /// Returns a channel through which nothing has passed.
    pub(super) fn new(origin: &Origin) -> Self {
        let config: &Config = &origin.config;
        Self {
            id: origin.id,
            known: match origin.role {
                Role::Client => Visibility::Announced,
                Role::Server => Visibility::Unknown,
            },
            queue: SendQueue::new(config.send_queue),
            groups: Groups::default(),
            kept: config
                .resend
                .then(|| Box::new(ResendBuffer::new(config.send_queue.bytes))),
            copies: None,
            next_message: 0,
            assembly: None,
            received: ReceiveQueue::new(config),
            dropped: Vec::new(),
            secure: None,
            drain_until: None,
            codes: None,
            cap: Cap::new(config.max_rate),
            readers: Readers::default(),
            reports_fates: config.report_fates,
            slow_receiver_percent: config.slow_receiver_percent,
            counts: Counts::default(),
        }
    }

    /// Returns whether the application knows the connection and will release it.
    pub(crate) fn is_announced(&self) -> bool {
        matches!(self.known, Visibility::Invited | Visibility::Announced)
    }

    /// Tells the application, if it knows the connection.
    pub(super) fn emit(&self, ctx: &mut Context<'_>, event: Event) {
        if self.is_announced() {
            ctx.events.push_back((self.id, event));
        }
    }

    /// Returns the number of datagrams that wait for the controller. Those that the cap holds do not: whoever sets it
    /// limits itself, and a window that is not filled must not grow (RFC 7661, section 4.3).
    pub(super) fn waiting(&self, now: Instant) -> u32 {
        let own = self.secure.as_ref().map_or(0, |secure| secure.own_len());
        let queued = match self.cap.holds_until(now) {
            Some(_) => 0,
            None => self.queue.len(),
        };
        u32::try_from(queued + own).unwrap_or(u32::MAX)
    }

    /// Returns until when the cap holds the datagram that leaves next; it holds none of the session's own.
    #[inline]
    pub(super) fn held_until(&self, now: Instant) -> Option<Instant> {
        let until = self.cap.holds_until(now)?;
        let is_own = |secure: &Secure| secure.own().is_some();
        (!self.secure.as_deref().is_some_and(is_own)).then_some(until)
    }

    /// Returns the count of the peer's data that did not arrive.
    pub(super) fn missing(&mut self) -> &mut Missing {
        self.received.missing()
    }

    /// Fills in its counters and gauges.
    pub(super) fn add_to(&self, stats: &mut Stats) {
        let Counts {
            expired,
            refused,
            group_broken,
            resent,
            recovered,
            resent_duplicates,
            resent_too_old,
            unread_close_codes,
        } = self.counts;
        stats.expired = expired;
        stats.refused = refused;
        stats.group_broken = group_broken;
        stats.resent = resent;
        stats.recovered = recovered;
        stats.resent_duplicates = resent_duplicates;
        stats.resent_too_old = resent_too_old;
        stats.unread_close_codes = unread_close_codes;
        stats.incomplete_messages = self.assembly.as_ref().map_or(0, |all| all.given_up);
        stats.receive_drops = self.received.drops;
        stats.queued_packets = self.queue.len();
        stats.queued_bytes = self.queue.bytes();
        stats.queued_resends = self.queue.resends();
    }
}
