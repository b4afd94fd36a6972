//! What the applications say as they close: on an encrypted connection it is sealed, and so is authentic.
//!
//! It is sealed before the announcement of the end, because nothing is sealed after that. Each Close carries the same
//! record. The peer opens the first that arrives, and it shows, as the announcement would, that the peer has closed.

use super::parts::close_code::{CloseCode, CloseCodes};
use super::{Carrier, Channel, Context};
use crate::event::CloseReason;

impl Channel {
    /// Takes what the application says as it closes.
    pub(in crate::connection) fn say(&mut self, own: CloseCode) {
        self.codes.get_or_insert_default().say(own);
    }

    /// Seals it, if the session can still seal something.
    pub(super) fn seal_close_code(&mut self, ctx: &mut Context<'_>, carrier: &impl Carrier) {
        let (Some(codes), Some(secure)) = (&mut self.codes, &mut self.secure) else {
            return;
        };
        if let Some(own) = codes.unsealed()
            && let Some(sealed) =
                secure.seal_close_code(ctx.now, own, carrier.max_datagram(), ctx.records)
        {
            codes.set_sealed(sealed);
        }
    }

    /// Returns what to write into a Close, if there is something.
    pub(in crate::connection) fn close_codes(&self) -> Option<&CloseCodes> {
        self.codes.as_deref()
    }

    /// Takes what the peer says on a Close. What does not open says nothing.
    pub(in crate::connection) fn hear_close_code(
        &mut self,
        ctx: &mut Context<'_>,
        carrier: &impl Carrier,
        value: &[u8],
    ) {
        // A packet that is repeated has the same record, which opens once.
        if self.theirs().is_some() {
            return;
        }
        let said = match &mut self.secure {
            None => CloseCode::read(value),
            Some(secure) => {
                let said = secure.open_close_code(ctx.now, value, ctx.records);
                self.poll_session(ctx, carrier, None);
                said
            }
        };
        match said {
            Some(said) => self.codes.get_or_insert_default().hear(said),
            None => self.counts.unread_close_codes += 1,
        }
    }

    fn theirs(&self) -> Option<&CloseCode> {
        self.codes.as_ref()?.theirs()
    }

    /// Returns the reason of an orderly end: with what the peer has said, if it has said something.
    pub(in crate::connection) fn closed(&self) -> CloseReason {
        match self.theirs().cloned() {
            Some(CloseCode { code, text }) => CloseReason::ApplicationClosed { code, text },
            None => CloseReason::Closed,
        }
    }
}
