//! The sending half of a session: what its connection takes, and what became of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use fairwire::{Connection, SendError, TrySendError};

use super::counters::{Counters, Reason, Totals};

/// A connection that carries datagrams to the peer.
#[derive(Debug)]
pub(super) struct Uplink {
    pub connection: Connection,
    counters: Arc<Counters>,
    seen: Mutex<Seen>,
}

/// What the send queue had dropped when it was last looked at.
#[derive(Debug, Default)]
struct Seen {
    refused: u64,
    expired: u64,
}

impl Uplink {
    /// Sends a datagram, or counts why it was not sent.
    pub(super) fn send(&self, datagram: Bytes) {
        let bytes = datagram.len();
        match self.connection.try_send(datagram) {
            Ok(_) => self.counters.taken(bytes),
            Err(TrySendError::Full) => self.counters.drop_one(Reason::QueueFull),
            Err(TrySendError::Send(SendError::TooLarge { size, max })) => {
                self.counters.too_large(size, max);
            }
            Err(TrySendError::Send(SendError::DeadlinePassed)) => {
                self.counters.drop_one(Reason::Expired);
            }
            Err(_) => self.counters.drop_one(Reason::SessionLost),
        }
    }

    /// Counts what the send queue has dropped since the last time. Returns how many datagrams still wait in it.
    fn settle(&self) -> u64 {
        let stats = self.connection.stats();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = &mut *seen;
        for (reason, seen, now) in [
            (Reason::QueueFull, &mut seen.refused, stats.refused),
            (Reason::Expired, &mut seen.expired, stats.expired),
        ] {
            if now > *seen {
                self.counters.not_sent_after_all(reason, now - *seen);
                *seen = now;
            }
        }
        stats.queued_packets as u64
    }
}

/// The connections of a relay that are open.
#[derive(Debug, Default)]
pub(super) struct Uplinks {
    pub counters: Arc<Counters>,
    open: Mutex<BTreeMap<u64, Arc<Uplink>>>,
}

impl Uplinks {
    /// Adds a connection.
    pub(super) fn open(&self, connection: Connection) -> Arc<Uplink> {
        let id = connection.stable_id();
        let uplink = Arc::new(Uplink {
            connection,
            counters: self.counters.clone(),
            seen: Mutex::default(),
        });
        self.lock().insert(id, uplink.clone());
        uplink
    }

    /// Takes the accounts of a connection that is over. What is still in its queue is lost.
    pub(super) fn end(&self, uplink: &Uplink) {
        let queued = uplink.settle();
        self.counters
            .not_sent_after_all(Reason::SessionLost, queued);
        self.lock().remove(&uplink.connection.stable_id());
    }

    /// Returns the number of connections.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Returns the counters of all connections together.
    pub(super) fn totals(&self) -> Totals {
        for uplink in self.lock().values() {
            uplink.settle();
        }
        self.counters.totals()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Uplink>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
