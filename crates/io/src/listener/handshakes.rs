//! The DTLS handshakes that a listener has begun.
//!
//! Clients that stall must keep nobody out. So every client gets a handshake at once, and when there are too many, one
//! ends: of the source network that has most of them, because whoever has many places is no single client.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};

use super::incoming::Incoming;
use crate::connection::Connection;

/// The largest number of DTLS handshakes at one time. A flood of 1,000 clients a second leaves each a second.
const MAX_HANDSHAKES: usize = 1_024;

/// Handshakes under way, and connections whose handshake is complete.
#[derive(Debug, Default)]
pub(super) struct Handshakes {
    tasks: Mutex<JoinSet<()>>,
    running: Mutex<Running>,
    done: Mutex<VecDeque<Connection>>,
    failed: AtomicU64,
    changed: Notify,
}

/// Handshakes under way.
#[derive(Debug, Default)]
struct Running {
    /// By their order.
    places: BTreeMap<u64, Place>,
    next: u64,
}

/// A handshake under way.
#[derive(Debug)]
struct Place {
    source: Source,
    seen: Arc<Seen>,
    task: AbortHandle,
}

/// What a handshake tells about itself.
#[derive(Debug)]
struct Seen {
    /// Whether the client has said nothing yet.
    is_silent: AtomicBool,
    /// Whether it is over. Changes under the lock of [`Running`].
    is_over: AtomicBool,
}

/// The network that a client is in: an IPv4 address, or an IPv6 /64.
type Source = Option<IpAddr>;

fn source(incoming: &Incoming) -> Source {
    let ip = incoming.remote()?.user_addr().ip().to_canonical();
    Some(match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    })
}

impl Handshakes {
    /// Begins the handshake of a client in a task of its own.
    pub(super) fn begin(self: &Arc<Self>, incoming: Incoming) {
        let source = source(&incoming);
        let seen = Arc::new(Seen {
            is_silent: AtomicBool::new(true),
            is_over: AtomicBool::new(false),
        });
        let mut running = self.running();
        let evicted = running.make_room(source);
        let number = running.next;
        running.next += 1;
        drop(running);
        let leaves = Leaves {
            handshakes: Arc::clone(self),
            number,
            seen: Arc::clone(&seen),
        };
        let task = self.spawn(async move {
            let accepted = incoming.accept_noting(&leaves.seen.is_silent).await;
            match accepted {
                Ok(connection) => leaves.handshakes.done().push_back(connection),
                Err(_) => leaves.handshakes.count_failure(),
            }
        });
        let mut running = self.running();
        if !seen.is_over.load(Ordering::Relaxed) {
            running.places.insert(number, Place { source, seen, task });
        }
        drop(running);
        if let Some(evicted) = evicted {
            self.count_failure();
            evicted.task.abort();
        }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task)
    }

    /// Returns the connection whose handshake was complete first. Wakes another task if there are more.
    pub(super) fn take(&self) -> Option<Connection> {
        let mut done = self.done();
        let taken = done.pop_front();
        if !done.is_empty() {
            self.changed.notify_one();
        }
        taken
    }

    /// Waits until a handshake is over.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Returns how many handshakes failed.
    pub(super) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Ends all handshakes, and drops the connections that nobody has taken.
    pub(super) fn end(&self) {
        self.tasks().abort_all();
        let done = std::mem::take(&mut *self.done());
        drop(done);
    }

    fn count_failure(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self) -> MutexGuard<'_, VecDeque<Connection>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// Takes a place away if none is left for a client of `source`.
    fn make_room(&mut self, source: Source) -> Option<Place> {
        if self.places.len() < MAX_HANDSHAKES {
            return None;
        }
        let mut shares = BTreeMap::from([(source, 1_usize)]);
        for place in self.places.values() {
            *shares.entry(place.source).or_default() += 1;
        }
        let most = shares.values().copied().max()?;
        let of_most = |place: &Place| shares.get(&place.source) == Some(&most);
        let victims = self.places.iter().filter(|(_, place)| of_most(place));
        let speaks = |place: &Place| !place.seen.is_silent.load(Ordering::Relaxed);
        let (&victim, _) = victims.min_by_key(|(number, place)| (speaks(place), **number))?;
        self.places.remove(&victim)
    }
}

/// Gives the place of a handshake back when its task ends, in whatever way.
struct Leaves {
    handshakes: Arc<Handshakes>,
    number: u64,
    seen: Arc<Seen>,
}

impl Drop for Leaves {
    fn drop(&mut self) {
        let mut running = self.handshakes.running();
        self.seen.is_over.store(true, Ordering::Relaxed);
        let place = running.places.remove(&self.number);
        drop(running);
        drop(place);
        self.handshakes.changed.notify_one();
    }
}
