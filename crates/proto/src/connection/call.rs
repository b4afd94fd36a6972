//! A call of the endpoint, as a subflow sees it.

use fairwire_units::Instant;

use super::channel::Channel;
use super::context::Context;
use crate::event::Event;

/// The context of the call, and the channel that the subflow serves.
#[derive(Debug)]
pub(crate) struct Call<'a, 'c> {
    pub(crate) now: Instant,
    pub(crate) channel: &'a mut Channel,
    pub(crate) ctx: &'a mut Context<'c>,
}

impl Call<'_, '_> {
    /// Tells the application, if it knows the connection.
    pub(super) fn emit(&mut self, event: Event) {
        self.channel.emit(self.ctx, event);
    }
}
