//! What a connection tells its application unasked.

use super::Connection;
use crate::error::ConnectionClosed;
use crate::event::ConnectionEvent;

impl Connection {
    /// Waits for the next event. The newest 64 are kept for an application that does not ask. Cancelling
    /// loses none; with several tasks that wait, each event goes to one of them.
    ///
    /// # Errors
    /// [`ConnectionClosed`] once the connection is over and all events are told.
    pub async fn event(&self) -> Result<ConnectionEvent, ConnectionClosed> {
        self.wait(|link| match link.events.pop_front() {
            Some(event) => Some(Ok(event)),
            None => link.end().map(Err),
        })
        .await
    }
}
