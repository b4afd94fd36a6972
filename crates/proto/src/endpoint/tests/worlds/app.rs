//! An application: it records its events and checks their order.

use std::collections::BTreeMap;

use crate::{CloseReason, ConnectionId, Event};

/// What one application knows of one connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) is_open: bool,
    /// Whether the application's datagrams may leave encrypted.
    pub(super) is_secured: bool,
    pub(super) closed: Option<CloseReason>,
    /// Whether the application closed or aborted it.
    pub(super) asked: bool,
    /// The tags of the received datagrams.
    got: Vec<u64>,
}

/// One application.
#[derive(Debug, Default)]
pub(super) struct App {
    /// The known connections by id.
    pub(super) known: BTreeMap<ConnectionId, Known>,
    /// The connection that the script's calls refer to.
    pub(super) current: Option<ConnectionId>,
    /// The number of calls of its script that were made, or skipped because their connection had ended.
    pub(super) called: usize,
}

impl App {
    /// Returns the connection that the calls refer to, while it is live.
    pub(super) fn live(&self) -> Option<(ConnectionId, &Known)> {
        let id = self.current?;
        let known = self.known.get(&id)?;
        known.closed.is_none().then_some((id, known))
    }

    /// Records that the application began or accepted `id`.
    pub(super) fn began(&mut self, id: ConnectionId) {
        self.known.insert(id, Known::default());
        self.current = Some(id);
    }

    /// Records an event.
    ///
    /// # Errors
    /// The event is repeated or in the wrong order.
    pub(super) fn told(&mut self, id: ConnectionId, event: &Event) -> Result<(), String> {
        if let Event::Accepted { .. } = event {
            if self.known.contains_key(&id) {
                return Err(format!("{id:?} was accepted twice"));
            }
            self.began(id);
        }
        let Some(known) = self.known.get_mut(&id) else {
            return Err(format!("{event:?} of {id:?} before it was accepted"));
        };
        // `Closed` is the last event of a connection.
        if let Some(reason) = &known.closed {
            return Err(format!("{event:?} of {id:?} after {reason:?}"));
        }
        match event {
            Event::Connected | Event::Accepted { .. } if known.is_open => {
                return Err(format!("{id:?} was opened twice"));
            }
            Event::Connected | Event::Accepted { .. } => known.is_open = true,
            Event::Secured if known.is_secured => {
                return Err(format!("{id:?} was secured twice"));
            }
            Event::Secured => known.is_secured = true,
            Event::Closed { reason } => known.closed = Some(reason.clone()),
            Event::Readable | Event::Ccid { .. } if !known.is_open => {
                return Err(format!("{event:?} of {id:?} before it was open"));
            }
            _ => {}
        }
        Ok(())
    }

    /// Records a datagram.
    ///
    /// # Errors
    /// It was received before (RFC 4340, 7: numbers identify copies), or before the connection was open.
    pub(super) fn got(&mut self, id: ConnectionId, tag: u64) -> Result<(), String> {
        let Some(known) = self.known.get_mut(&id) else {
            return Err(format!("data of {id:?}, of which nothing was told"));
        };
        if !known.is_open {
            return Err(format!("data of {id:?} before it was open"));
        }
        if known.got.contains(&tag) {
            return Err(format!("datagram {tag} of {id:?} came twice"));
        }
        known.got.push(tag);
        Ok(())
    }
}
