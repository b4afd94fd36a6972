//! Datagrams that leave the send queue unsent: they expire, make room, belong to a broken group, or are purged.

use super::{Carrier, Channel, Context};
use crate::connection::parts::queue::Taken;
use crate::event::{Event, Fate};
use crate::id::DatagramId;

impl Channel {
    /// Drops datagrams that have waited too long.
    pub(in crate::connection) fn expire_queued(&mut self, ctx: &mut Context<'_>) {
        let mut expired = false;
        while let Some(datagram) = self.queue.pop_expired(ctx.now) {
            self.drop_queued(ctx, &datagram, Fate::Expired);
            expired = true;
        }
        if expired {
            self.announce_room(ctx);
        }
    }

    /// Drops every datagram in the send queue; returns how many there were.
    pub(crate) fn purge(&mut self, ctx: &mut Context<'_>) -> usize {
        let purged = self.queue.len();
        while let Some(datagram) = self.queue.pop() {
            if let Some(group) = datagram.options.group {
                self.groups.break_up(group);
            }
            self.discard_queued(ctx, &datagram, Fate::Refused);
        }
        self.announce_room(ctx);
        purged
    }

    /// Refuses every datagram in the send queue, because nothing is sent any more.
    pub(in crate::connection) fn refuse_queued(&mut self, ctx: &mut Context<'_>) {
        while let Some(datagram) = self.queue.pop() {
            self.discard_queued(ctx, &datagram, Fate::Refused);
        }
    }

    /// Drops the datagrams in the send queue that are larger than `size` bytes.
    pub(in crate::connection) fn drop_larger(&mut self, ctx: &mut Context<'_>, size: usize) {
        for datagram in self.queue.take_larger(size) {
            self.drop_queued(ctx, &datagram, Fate::TooLarge);
        }
    }

    /// Takes the fate of a datagram that left: it leaves again, or the application learns of its fate.
    #[inline]
    pub(in crate::connection) fn settle(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
        id: DatagramId,
        fate: Fate,
    ) {
        if self.sends_again(ctx.now, carrier, id, fate) {
            return;
        }
        self.groups.on_fate(id, fate);
        if self.reports_fates {
            self.emit(ctx, Event::Fate { id, fate });
        }
    }

    /// Records the fate of a datagram that was taken out of the queue and never leaves. This breaks its group.
    pub(in crate::connection) fn drop_queued(
        &mut self,
        ctx: &mut Context<'_>,
        datagram: &Taken,
        fate: Fate,
    ) {
        self.discard_queued(ctx, datagram, fate);
        if let Some(group) = datagram.options.group {
            self.break_group(ctx, group);
        }
    }

    /// Drops the waiting members of groups whose members were lost.
    #[inline]
    pub(in crate::connection) fn drop_fallen_groups(&mut self, ctx: &mut Context<'_>) {
        while let Some(group) = self.groups.take_fallen() {
            self.break_group(ctx, group);
            self.announce_room(ctx);
        }
    }

    /// Drops the waiting members of a group, and remembers to refuse further ones.
    pub(in crate::connection) fn break_group(&mut self, ctx: &mut Context<'_>, group: u64) {
        self.groups.break_up(group);
        while let Some(member) = self.queue.take_member(group) {
            self.discard_queued(ctx, &member, Fate::GroupBroken);
        }
    }

    /// Records the fate of a datagram that was taken out of the queue: `fate` if it never left, otherwise that it was
    /// lost.
    fn discard_queued(&mut self, ctx: &mut Context<'_>, datagram: &Taken, fate: Fate) {
        if datagram.again.is_some() {
            self.give_up_copy(ctx, datagram.id);
        } else {
            self.never_sent(ctx, datagram.id, fate);
        }
    }

    /// Records the fate of a datagram that never leaves.
    pub(in crate::connection) fn never_sent(
        &mut self,
        ctx: &mut Context<'_>,
        id: DatagramId,
        fate: Fate,
    ) {
        match fate {
            Fate::Expired => self.counts.expired += 1,
            Fate::GroupBroken => self.counts.group_broken += 1,
            _ => self.counts.refused += 1,
        }
        if self.reports_fates {
            self.emit(ctx, Event::Fate { id, fate });
        }
    }

    /// Tells an application whose datagram was refused that there is room again.
    pub(in crate::connection) fn announce_room(&mut self, ctx: &mut Context<'_>) {
        if self.queue.take_writable() {
            self.emit(ctx, Event::Writable);
        }
    }
}
