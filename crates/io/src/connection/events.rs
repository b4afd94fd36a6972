//! The events of a connection.

use super::Connection;
use crate::error::ConnectionClosed;
use crate::event::ConnectionEvent;

impl Connection {
    /// Waits for the next event. At most the newest 64 are kept until the application reads them.
    ///
    /// Cancelling loses no event. If several tasks wait, each event goes to one of them.
    ///
    /// # Errors
    /// [`ConnectionClosed`] once the connection is over and all events have been read.
    pub async fn event(&self) -> Result<ConnectionEvent, ConnectionClosed> {
        self.wait(|connection| match connection.events.pop_front() {
            Some(event) => Some(Ok(event)),
            None => connection.end().map(Err),
        })
        .await
        .map_err(|closed| self.closed_for(closed.reason))
    }
}
