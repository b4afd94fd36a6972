//! Syncs and `SyncAck`s to send (RFC 4340, section 7.5.4).

use fairwire_wire::{HeadBuf, Kind};

use super::{Call, State, Subflow};
use crate::transmit::Outgoing;

impl Subflow {
    /// Writes the next Sync or `SyncAck`.
    pub(super) fn transmit_sync(
        &mut self,
        call: &mut Call<'_, '_>,
        head: &mut HeadBuf,
    ) -> Option<Outgoing> {
        let kind = if let Some(seq) = self.syncs.answer.take() {
            Kind::SyncAck { ack: seq.into() }
        } else if let Some(seq) = self.syncs.ask.take() {
            Kind::Sync { ack: seq.into() }
        } else {
            return None;
        };
        Some(self.send_plain(call, head, &kind))
    }

    /// Writes a keep-alive Sync, if one is due.
    pub(super) fn transmit_keep_alive(
        &mut self,
        call: &mut Call<'_, '_>,
        head: &mut HeadBuf,
    ) -> Option<Outgoing> {
        let due = self
            .liveness
            .keep_alive_at()
            .is_some_and(|at| at <= call.now);
        if !due || self.state != State::Open {
            return None;
        }
        let ack = self.sequence.acknowledgeable.into();
        Some(self.send_plain(call, head, &Kind::Sync { ack }))
    }
}
