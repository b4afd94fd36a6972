//! Listeners: where connections arrive.

use fairwire_proto::ConnectionId;

use crate::connection::Connection;
use crate::error::AcceptError;
use crate::state::{Handle, State};
use crate::waiting::Place;

/// A DCCP port that accepts connections; dropping it stops that and resets those not yet accepted
/// (Reset 2, Aborted), for nobody will ever serve them.
#[derive(Debug)]
pub struct Listener {
    handle: Handle,
    port: u16,
}

impl Listener {
    pub(crate) fn new(handle: Handle, port: u16) -> Self {
        Self { handle, port }
    }

    /// The next connection, its handshake done. Cancelling loses none.
    ///
    /// # Errors
    /// [`AcceptError`] once the endpoint is shut down.
    pub async fn accept(&self) -> Result<Connection, AcceptError> {
        let place = Place::Acceptable(self.port);
        let accepted = self.handle.wait(place, |state| self.take_over(state));
        let connection = Connection::new(self.handle.clone(), accepted.await?);
        connection.fit_route();
        Ok(connection)
    }

    /// The connection that has waited longest, if one waits.
    fn take_over(&self, state: &mut State) -> Option<Result<ConnectionId, AcceptError>> {
        let gone = state.gone;
        let Some(backlog) = state.backlogs.get_mut(&self.port) else {
            return Some(Err(AcceptError));
        };
        let Some(id) = backlog.waiting.pop_front() else {
            return gone.then_some(Err(AcceptError));
        };
        let now = self.handle.clock.now();
        state.proto.free_place(now, self.port);
        self.handle.poke(state);
        Some(Ok(id))
    }

    /// The DCCP port: the one asked for, or the one that was free.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let now = self.handle.clock.now();
        let mut state = self.handle.lock();
        state.proto.unlisten(self.port);
        if let Some(backlog) = state.backlogs.remove(&self.port) {
            for id in backlog.waiting {
                state.abandon(now, id);
            }
        }
        self.handle.poke(&mut state);
    }
}
