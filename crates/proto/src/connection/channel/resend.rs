//! Datagrams that are sent again because they were lost (`docs/resend.md`): which ones leave again, and how the
//! receiver delivers each once.
//!
//! The packet in which a datagram was first sent names it. A copy has the option Copy Of with that packet's number. So
//! a datagram that is sent once costs nothing more, and a forged copy can do no more harm than forged data: it takes
//! the place of one datagram.
//!
//! Options are not authenticated. So on an encrypted connection the number stands inside the encrypted data instead,
//! which is sealed anew for each copy ([`secured`](super::secured)).

use fairwire_units::{Duration, Instant};
use fairwire_wire::{DropCode, Seq};

use super::parts::again::Again;
use super::parts::groups::is_missing;
use super::parts::queue::Taken;
use super::{Carrier, Channel, Context};
use crate::error::SendError;
use crate::event::{Event, Fate};
use crate::id::DatagramId;
use crate::marks::Marks;
use crate::resend::{Kept, Novelty, Window};
use crate::sending::Resend;

/// How far behind our newest packet the first one of a datagram may be for a copy to leave. The rest of the receiver's
/// window is for packets that overtake the copy.
const REACH: u64 = Window::SPAN - Window::SPAN / 8;

/// What the receiver does with arriving data.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::connection) enum Taking {
    /// It is delivered.
    Deliver,
    /// It was delivered before.
    Ignore,
    /// It may have been delivered before.
    TooOld,
}

/// Returns whether the peer takes a datagram that is sent again.
fn may_leave(carrier: &impl Carrier, again: Again) -> bool {
    carrier.sends_copies() && again.first.distance(carrier.next_seq()) < REACH
}

/// Sending.
impl Channel {
    /// Returns an error if datagrams cannot be sent again.
    pub(crate) fn check_resend(&self, carrier: &impl Carrier) -> Result<(), SendError> {
        if !carrier.sends_copies() {
            return Err(SendError::ResendNotAgreed);
        }
        if self
            .secure
            .as_ref()
            .is_some_and(|secure| !secure.takes_copies())
        {
            return Err(SendError::ResendNotAgreed);
        }
        match carrier.blind_ccid() {
            Some(ccid) => Err(SendError::ResendWithoutLosses { ccid }),
            None => Ok(()),
        }
    }

    /// Keeps a datagram that leaves now, if it may have to be sent again and the buffer has room. The peer knows it by
    /// the number `first`.
    pub(in crate::connection) fn keep_copy(
        &mut self,
        ctx: &mut Context<'_>,
        datagram: &Taken,
        first: Seq,
    ) {
        if datagram.again.is_some() {
            // It stays where it is.
            self.counts.resent += 1;
            return;
        }
        if datagram.options.resend == Resend::Never {
            return;
        }
        // It uses no more of the endpoint's memory than it did in the send queue.
        let kept = Kept {
            data: datagram.payload.clone(),
            options: datagram.options,
            first,
        };
        if let Some(buffer) = &mut self.kept {
            buffer.keep(ctx.now, datagram.id, kept);
        }
    }

    /// Returns what the packet of the datagram that leaves next says about it.
    pub(in crate::connection) fn marks(&self) -> Marks {
        // Options are not authenticated: where there is encryption, the number stands inside the data.
        let is_clear = self.secure.is_none();
        Marks {
            copy_of: self.queue.front_copy_of().filter(|_| is_clear),
            part: self.queue.front_part().filter(|_| is_clear),
        }
    }

    /// Queues a datagram that left and has this fate again, if that is of use. Returns whether it did. If not, the fate
    /// is final.
    #[inline]
    pub(in crate::connection) fn sends_again(
        &mut self,
        now: Instant,
        carrier: &impl Carrier,
        id: DatagramId,
        fate: Fate,
    ) -> bool {
        let keeps = self.kept.as_ref().is_some_and(|kept| !kept.is_empty());
        keeps && self.queue_again(now, carrier, id, fate)
    }

    fn queue_again(
        &mut self,
        now: Instant,
        carrier: &impl Carrier,
        id: DatagramId,
        fate: Fate,
    ) -> bool {
        let Some(kept) = self.kept.as_mut().and_then(|kept| kept.at(now, id)) else {
            return false;
        };
        let (data, options) = (kept.data.clone(), kept.options);
        let again = Again { first: kept.first };
        if self.is_of_use(carrier, fate, data.len(), options.group) && may_leave(carrier, again) {
            self.queue.push_again(now, id, data, options, again);
            return true;
        }
        self.forget_copy(id);
        false
    }

    /// Returns whether a datagram in flight may have to be sent again.
    pub(in crate::connection) fn keeps_copy(&mut self, now: Instant, id: DatagramId) -> bool {
        let kept = self.kept.as_mut().and_then(|kept| kept.at(now, id));
        kept.is_some()
    }

    fn forget_copy(&mut self, id: DatagramId) {
        if let Some(kept) = &mut self.kept {
            kept.remove(id);
        }
    }

    /// Returns whether datagrams in flight may have to be sent again.
    pub(in crate::connection) fn keeps_copies(&mut self, now: Instant) -> bool {
        let Some(kept) = &mut self.kept else {
            return false;
        };
        kept.expire(now);
        !kept.is_empty()
    }

    /// Returns whether a copy of a datagram of `size` bytes with this fate may be of use.
    fn is_of_use(
        &self,
        carrier: &impl Carrier,
        fate: Fate,
        size: usize,
        group: Option<u64>,
    ) -> bool {
        // RFC 4340, 11.7.2: an application that has stopped reading gets no more data.
        let not_listening = Fate::Dropped {
            code: DropCode::NotListening,
        };
        let is_broken = |group| self.groups.is_broken(group);
        is_missing(fate)
            && fate != not_listening
            && !self.readers.has_peer_stopped
            && carrier.is_open()
            && size <= self.max_datagram(carrier)
            && !group.is_some_and(is_broken)
    }

    /// Drops copies that the peer would not take from the head of the queue.
    #[inline]
    pub(in crate::connection) fn drop_unwanted_copies(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
    ) {
        while let Some(first) = self.queue.front_copy_of()
            && !may_leave(carrier, Again { first })
            && let Some(datagram) = self.queue.pop()
        {
            self.drop_queued(ctx, &datagram, Fate::Lost);
            self.announce_room(ctx);
        }
    }

    /// Records that a datagram that was lost is not sent again.
    pub(in crate::connection) fn give_up_copy(&mut self, ctx: &mut Context<'_>, id: DatagramId) {
        self.forget_copy(id);
        self.groups.forget(id);
        if self.reports_fates {
            let fate = Fate::Lost;
            self.emit(ctx, Event::Fate { id, fate });
        }
    }

    /// Returns when the next datagram in flight may no longer be sent again.
    pub(in crate::connection) fn copies_end_at(&self) -> Option<Instant> {
        let until = self.kept.as_ref()?.next_expiry()?;
        Some(until + Duration::from_nanos(1))
    }
}

/// Receiving.
impl Channel {
    /// Returns what to do with the data that the peer first sent in packet `first`; whether this is a copy of it.
    pub(in crate::connection) fn taking(
        &mut self,
        carrier: &impl Carrier,
        first: Seq,
        resent: bool,
    ) -> Taking {
        if carrier.takes_copies() && self.copies.is_none() {
            self.copies = Some(Window::default());
        }
        let Some(copies) = &self.copies else {
            return Taking::Deliver;
        };
        match (copies.check(first), resent) {
            (Novelty::New, _) | (Novelty::TooOld, false) => Taking::Deliver,
            (Novelty::Delivered, true) => {
                self.counts.resent_duplicates += 1;
                Taking::Ignore
            }
            (Novelty::Delivered, false) => {
                self.counts.resent_duplicates += 1;
                // It counted as missing until its copy came.
                self.received.came_late();
                Taking::Ignore
            }
            (Novelty::TooOld, true) => {
                self.counts.resent_too_old += 1;
                Taking::TooOld
            }
        }
    }

    /// Notes that the data of packet `seq` was delivered, which the peer first sent in packet `first`; whether this is a
    /// copy of it.
    pub(in crate::connection) fn delivered(&mut self, seq: Seq, first: Seq, resent: bool) {
        let Some(copies) = &mut self.copies else {
            return;
        };
        if first == seq {
            copies.deliver(seq);
        } else {
            copies.deliver_copy(seq, first);
        }
        if resent {
            self.counts.recovered += 1;
            self.received.recover();
        }
    }

    /// Notes that the data of packet `seq` was dropped after it had been delivered.
    pub(in crate::connection) fn undelivered(&mut self, seq: Seq) {
        if let Some(copies) = &mut self.copies {
            copies.take_back_packet(seq);
        }
    }
}
