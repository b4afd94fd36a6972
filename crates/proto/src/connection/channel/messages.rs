//! Messages of several datagrams, which arrive whole or not at all (`docs/messages.md`).
//!
//! A part is a datagram like any other. It waits in the send queue with its place in the message, and with the other
//! parts as a group, so the rest of a message does not leave once a part is lost. In clear text the option Part Of
//! carries the place. On an encrypted connection it stands inside the record, because options are not authenticated.

use bytes::Bytes;
use fairwire_units::Instant;
use fairwire_wire::DropCode;

use super::parts::assembly::{Arrival, Assembly, Placed};
use super::parts::receive_queue::Datagram;
use super::{Carrier, Channel, Context};
use crate::connection::footprint;
use crate::error::SendError;
use crate::id::DatagramId;
use crate::part::{MAX_MESSAGE, MAX_PARTS, Part};
use crate::payload::Payload;
use crate::sending::SendOptions;

/// Sending.
impl Channel {
    /// Queues a message, all of it or nothing. Returns the ids of its parts.
    pub(crate) fn send_message(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
        data: &Bytes,
        mut options: SendOptions,
    ) -> Result<Vec<DatagramId>, SendError> {
        let (size, most) = (data.len(), self.max_datagram(carrier));
        if size <= most {
            let id = self.send(ctx, carrier, data.clone().into(), options)?;
            return Ok(vec![id]);
        }
        self.check_messages(carrier)?;
        let max = self.queue.most_in(most.max(1), MAX_PARTS).min(MAX_MESSAGE);
        if size > max {
            return Err(SendError::TooLarge { size, max });
        }
        let count = size.div_ceil(most.max(1));
        let each = size.div_ceil(count);
        self.expire_queued(ctx);
        if self.queue.is_empty() {
            // As for a datagram: memory is reserved for one message, so that nobody waits for room that others have.
            ctx.room = ctx.room.max(count * footprint_of_part(each, options));
        }
        if !self.has_room_for(ctx, count, each, options) {
            self.queue.refuse();
            return Err(SendError::Full);
        }
        let message = self.next_message;
        self.next_message = message.wrapping_add(1);
        let group = *options.group.get_or_insert(Part::group(message));
        let last = u8::try_from(count - 1).unwrap_or(u8::MAX);
        let mut ids = Vec::with_capacity(count);
        for index in 0..=last {
            let from = (usize::from(index) * each).min(size);
            options.part = Some(Part {
                message,
                index,
                last,
            });
            let part = data.slice(from..(from + each).min(size));
            let taken = footprint::of_queued(part.len(), options);
            match self.send(ctx, carrier, part.into(), options) {
                Ok(id) => ids.push(id),
                // A part made room for what is more important, and its fate says so.
                Err(SendError::GroupBroken { .. }) if !ids.is_empty() => break,
                Err(error) => {
                    self.break_group(ctx, group);
                    return Err(error);
                }
            }
            ctx.room = ctx.room.saturating_sub(taken);
        }
        Ok(ids)
    }

    /// Returns whether all parts have room. Where older datagrams make room, it shows when they are queued.
    fn has_room_for(
        &self,
        ctx: &Context<'_>,
        count: usize,
        each: usize,
        options: SendOptions,
    ) -> bool {
        self.queue.drops_oldest()
            || (self.queue.has_room_for(count, count * each)
                && count * footprint_of_part(each, options) <= ctx.room)
    }

    fn check_messages(&self, carrier: &impl Carrier) -> Result<(), SendError> {
        let secure = self.secure.as_ref();
        if carrier.sends_parts() && secure.is_none_or(|secure| secure.takes_parts()) {
            return Ok(());
        }
        // What is over takes nothing, whatever was agreed.
        Err(if self.takes_data(carrier) {
            SendError::MessagesNotAgreed
        } else {
            SendError::Closed
        })
    }
}

/// Returns the memory of a part of `size` bytes in the send queue.
fn footprint_of_part(size: usize, options: SendOptions) -> usize {
    let part = Some(Part {
        message: 0,
        index: 0,
        last: 1,
    });
    footprint::of_queued(size, SendOptions { part, ..options })
}

/// Receiving.
impl Channel {
    /// Takes a part of a message, and queues the message if that was the last one.
    pub(super) fn take_part(&mut self, ctx: &mut Context<'_>, datagram: Datagram<'_>, part: Part) {
        let Datagram {
            payload,
            ecn,
            at,
            seq,
            corrupt,
            number,
            resent,
            part: _,
        } = datagram;
        let assembly = self.assembly.get_or_insert_default();
        let data = payload.as_slice();
        let completes = assembly.completes(part, data.len());
        let has_room = match completes {
            // What its parts hold becomes the message. One that never fits is given up in the receive queue.
            Some((size, _)) => self.received.takes(size) || self.received.is_empty(),
            None => ctx.room >= Assembly::cost(part, data.len()),
        };
        if !has_room {
            self.received.refuse();
            return self.drop_data(seq, DropCode::ReceiveBuffer);
        }
        let arrival = Arrival {
            part,
            data,
            ecn,
            corrupt,
            resent,
        };
        let placed = assembly.add(ctx.now, arrival);
        self.count_vain();
        if placed == Placed::Wrong {
            // RFC 4340, 11.7: its packet is acknowledged, and its data is not delivered.
            return self.drop_data(seq, DropCode::ProtocolConstraints);
        }
        if let Some(number) = number {
            self.delivered(seq, number, resent);
        }
        if corrupt {
            // RFC 4340, 9.3: reported, although it was delivered.
            self.drop_data(seq, DropCode::DeliveredCorrupt);
        }
        if let Placed::Whole(whole) = placed {
            let message = Datagram {
                payload: Payload::Bytes(whole.data).into(),
                ecn: whole.ecn,
                at,
                seq,
                corrupt: whole.corrupt,
                number: None,
                resent: whole.resent,
                part: None,
            };
            ctx.room += completes.map_or(0, |(_, held)| held);
            if !self.push_whole(ctx, message) {
                // The packet's own datagram is counted there.
                self.received.count_missing(part.last.into());
            }
        }
    }

    /// Counts the parts of messages that were given up as missing.
    fn count_vain(&mut self) {
        if let Some(assembly) = &mut self.assembly {
            let vain = assembly.take_vain();
            self.received.count_missing(vain);
        }
    }

    /// Gives up messages that have waited for a part for too long.
    pub(in crate::connection) fn expire_messages(&mut self, now: Instant) {
        if let Some(assembly) = &mut self.assembly {
            assembly.expire(now);
            self.count_vain();
        }
    }

    /// Gives up all messages that lack parts: nothing more comes.
    pub(in crate::connection) fn give_up_messages(&mut self) {
        if let Some(assembly) = &mut self.assembly {
            assembly.give_up_all();
            self.count_vain();
        }
    }

    /// Returns when the next message is given up.
    pub(in crate::connection) fn messages_end_at(&self) -> Option<Instant> {
        self.assembly.as_ref()?.next_expiry()
    }
}
