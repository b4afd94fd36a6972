//! The sending half of a session: what its connection takes, and what became of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fairwire::{Connection, SendError, SendOptions, TrySendError};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::counters::{Counters, Reason, Totals};

/// A connection that carries datagrams to the peer.
#[derive(Debug)]
pub(super) struct Uplink {
    pub connection: Connection,
    counters: Arc<Counters>,
    seen: Mutex<Seen>,
}

/// What the connection has taken, and what its send queue had dropped when it was last looked at.
#[derive(Debug, Default)]
struct Seen {
    datagrams: u64,
    bytes: u64,
    refused: u64,
    expired: u64,
}

impl Seen {
    /// Returns the bytes of some datagrams that were dropped; nobody knows which, so they have the mean size.
    fn bytes_of(&self, datagrams: u64) -> u64 {
        let each = self.bytes.checked_div(self.datagrams).unwrap_or(0);
        each.saturating_mul(datagrams)
    }
}

impl Uplink {
    /// Sends a datagram, or counts why it was not sent. It leaves `within` this time, if it is given and no shorter one
    /// is set.
    pub(super) fn send(&self, datagram: Bytes, within: Option<Duration>) {
        let bytes = datagram.len();
        let options =
            within.map_or_else(SendOptions::new, |within| SendOptions::new().within(within));
        match self.connection.try_send_with(datagram, options) {
            Ok(_) => {
                self.counters.taken(bytes);
                let mut seen = self.seen();
                seen.datagrams += 1;
                seen.bytes += bytes as u64;
            }
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
        let mut seen = self.seen();
        for (reason, datagrams) in [
            (
                Reason::QueueFull,
                stats.refused.saturating_sub(seen.refused),
            ),
            (Reason::Expired, stats.expired.saturating_sub(seen.expired)),
        ] {
            let bytes = seen.bytes_of(datagrams);
            (self.counters).not_sent_after_all(reason, datagrams, bytes);
        }
        seen.refused = seen.refused.max(stats.refused);
        seen.expired = seen.expired.max(stats.expired);
        stats.queued_packets as u64
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
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
        let bytes = uplink.seen().bytes_of(queued);
        (self.counters).not_sent_after_all(Reason::SessionLost, queued, bytes);
        self.lock().remove(&uplink.connection.stable_id());
    }

    /// Waits until the sessions whose connections are closed have ended, but not for long; then ends the others.
    pub(super) async fn settled(&self, tasks: &mut JoinSet<()>) {
        let ending = async { while self.count() > 0 && tasks.join_next().await.is_some() {} };
        let _ = timeout(Duration::from_secs(1), ending).await;
        tasks.shutdown().await;
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
