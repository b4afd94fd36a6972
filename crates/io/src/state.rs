//! The state that the handles and the driver of one endpoint share; of one shard, if the endpoint has several.
//!
//! One lock guards the protocol's endpoint and the lists of waiting tasks. It is never held across an await or a system
//! call. Another lock guards what leaves next ([`crate::outbox`]). Endpoints share nothing with each other, nor do
//! shards.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, PoisonError};
use std::task::Waker;

use fairwire_proto::{CloseReason, ConnectionId, DatagramId, Endpoint, Event, Fate};
use fairwire_units::Instant;

use crate::clock::Clock;
use crate::error::ConnectionClosed;
use crate::event::ConnectionEvent;
use crate::outbox::Outbox;
use crate::sync::{Mutex, MutexGuard, Notify};
use crate::transport::{Claim, Facts, System, Transport};
use crate::wakers::Wakers;

/// The number of fates kept for an application that asked for them and does not read them; the oldest are dropped.
const MAX_FATES: usize = 65_536;

/// The number of events kept for an application that does not read them; the oldest are dropped.
const MAX_EVENTS: usize = 64;

/// Everything that an endpoint's handles share with its driver.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// What leaves next. `None` once the driver has ended.
    pub outbox: Mutex<Option<Outbox>>,
    /// Wakes the driver.
    pub notify: Notify,
    /// The endpoint's clock.
    pub clock: Clock,
    /// What does not change about its transport.
    pub facts: Facts,
    /// The system that it runs on.
    pub system: Arc<dyn System>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("local", &self.facts.local)
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(
        proto: Endpoint,
        transport: &impl Transport,
        system: Arc<dyn System>,
    ) -> Self {
        Self {
            outbox: Mutex::new(Some(Outbox::new(transport.outlet()))),
            state: Mutex::new(State {
                proto,
                connections: BTreeMap::new(),
                backlogs: BTreeMap::new(),
                idlers: Wakers::default(),
                handles: 0,
                changed: false,
                pushed: 0,
                sending: false,
                wakes_at: None,
                is_backlog_full: false,
                closing: false,
                driver_ended: false,
            }),
            notify: Notify::new(),
            clock: system.clock(),
            facts: transport.facts(),
            system,
        }
    }

    /// Locks the state. A panic elsewhere while the lock was held left the state consistent enough to continue.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks what leaves next; take it before the state.
    pub(crate) fn outbox(&self) -> MutexGuard<'_, Option<Outbox>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns false if a thread panicked while it held the lock.
    pub(crate) fn is_sound(&self) -> bool {
        !self.state.is_poisoned()
    }

    /// Resets a connection and tells the peer why.
    pub(crate) fn abort_with(&self, id: ConnectionId, text: &str) {
        let mut state = self.lock();
        state.proto.abort_with(self.clock.now(), id, text);
        self.wake_driver(&mut state);
    }

    /// Wakes the driver, because the application changed something.
    pub(crate) fn wake_driver(&self, state: &mut State) {
        if !state.changed {
            state.changed = true;
            self.notify.notify_one();
        }
    }
}

/// The protocol, and the tasks that wait for it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each for one reader"
)]
pub(crate) struct State {
    pub proto: Endpoint,
    pub connections: BTreeMap<ConnectionId, ConnectionState>,
    pub backlogs: BTreeMap<u16, Backlog>,
    /// Tasks that wait until no connection is left.
    pub idlers: Wakers,
    /// The number of live handles of all kinds.
    handles: usize,
    /// Whether the application has changed something since the driver last looked.
    pub changed: bool,
    /// How often handles have sent since the driver last looked.
    pub pushed: u8,
    /// Whether packets that may leave have not yet been given to the system.
    pub sending: bool,
    /// When the driver wakes by itself, if ever.
    pub wakes_at: Option<Instant>,
    /// Whether an accept queue has become full since the driver last looked.
    pub is_backlog_full: bool,
    /// Whether the application has closed the endpoint.
    pub closing: bool,
    /// Whether the driver has ended.
    pub driver_ended: bool,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Progress {
    #[default]
    Begun,
    Open,
    /// The peer of an encrypted connection has sent something.
    Heard,
    /// The encryption is complete.
    Secured,
}

/// The state of a connection for its handles.
#[derive(Default)]
pub(crate) struct ConnectionState {
    pub progress: Progress,
    pub closed: Option<CloseReason>,
    /// Whether the last handle has been dropped.
    pub orphan: bool,
    /// Until when the driver sends what handles queue.
    pub busy_until: Instant,
    pub fates: VecDeque<(DatagramId, Fate)>,
    pub events: VecDeque<ConnectionEvent>,
    pub readers: Wakers,
    pub writers: Wakers,
    /// Tasks that wait for the handshake, the end, a fate or an event.
    pub watchers: Wakers,
    /// Tasks that wait for another target bitrate.
    pub rate_watchers: Wakers,
}

impl ConnectionState {
    fn reach(&mut self, progress: Progress, wakes: &mut Vec<Waker>) {
        self.progress = self.progress.max(progress);
        self.watchers.take(wakes);
    }

    /// Returns a value once the connection has come so far, or is over.
    pub(crate) fn reached(&self, progress: Progress) -> Option<Result<(), CloseReason>> {
        if self.progress >= progress {
            return Some(Ok(()));
        }
        self.closed.clone().map(Err)
    }

    /// Returns the end of the connection, if it is over.
    pub(crate) fn end(&self) -> Option<ConnectionClosed> {
        self.closed.clone().map(ConnectionClosed::of)
    }
}

/// Connections that wait to be accepted.
pub(crate) struct Backlog {
    pub waiting: VecDeque<ConnectionId>,
    pub limit: usize,
    pub acceptors: Wakers,
    /// Reserves a native port among the programs of this host.
    pub _claim: Option<Claim>,
}

impl ConnectionState {
    fn wake_all(&mut self, wakes: &mut Vec<Waker>) {
        self.readers.take(wakes);
        self.writers.take(wakes);
        self.watchers.take(wakes);
        self.rate_watchers.take(wakes);
    }
}

impl State {
    /// Returns whether the driver can end, because no handle and no connection is left.
    pub(crate) fn is_finished(&self) -> bool {
        self.handles == 0 && self.is_idle()
    }

    /// Processes the protocol's events and collects the tasks to wake. The caller wakes them after it has released the
    /// lock. Returns whether a connection was aborted, so that there is more to send.
    pub(crate) fn take_events(&mut self, now: Instant, wakes: &mut Vec<Waker>) -> bool {
        let mut acted = false;
        while let Some((id, event)) = self.proto.poll_event() {
            if let Event::Accepted { port } = event {
                acted |= self.accepted(now, id, port, wakes);
                continue;
            }
            let Some(connection) = self.connections.get_mut(&id) else {
                continue;
            };
            match event {
                Event::Connected => connection.reach(Progress::Open, wakes),
                Event::Heard => connection.reach(Progress::Heard, wakes),
                Event::Secured => connection.reach(Progress::Secured, wakes),
                Event::Readable => connection.readers.take(wakes),
                Event::Writable => connection.writers.take(wakes),
                Event::TargetBitrate => connection.rate_watchers.take(wakes),
                Event::Fate { id, fate } => {
                    if connection.fates.len() == MAX_FATES {
                        connection.fates.pop_front();
                    }
                    connection.fates.push_back((id, fate));
                    connection.watchers.take(wakes);
                }
                Event::Closed { reason } => {
                    connection.closed = Some(reason);
                    connection.wake_all(wakes);
                    if connection.orphan {
                        self.remove(id);
                    }
                }
                event => {
                    if let Some(event) = ConnectionEvent::of(&event) {
                        if connection.events.len() == MAX_EVENTS {
                            connection.events.pop_front();
                        }
                        connection.events.push_back(event);
                        connection.watchers.take(wakes);
                    }
                }
            }
        }
        acted
    }

    /// Queues a new connection at `port`. Returns whether it was aborted, because the listener is gone.
    fn accepted(
        &mut self,
        now: Instant,
        id: ConnectionId,
        port: u16,
        wakes: &mut Vec<Waker>,
    ) -> bool {
        let mut connection = ConnectionState {
            progress: Progress::Open,
            ..ConnectionState::default()
        };
        let backlog = self.backlogs.get_mut(&port);
        connection.orphan = backlog.is_none();
        match backlog {
            // The protocol completes no more handshakes than the backlog has places.
            Some(backlog) => {
                backlog.waiting.push_back(id);
                backlog.acceptors.take(wakes);
                self.is_backlog_full |= backlog.waiting.len() >= backlog.limit;
            }
            None => self.proto.abort(now, id),
        }
        let orphan = connection.orphan;
        self.connections.insert(id, connection);
        orphan
    }

    /// Handles the drop of a connection's last handle: resets the connection unless it is closing, or forgets it if it
    /// is over.
    pub(crate) fn abandon(&mut self, now: Instant, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        if connection.closed.is_some() {
            self.remove(id);
        } else {
            connection.orphan = true;
            self.proto.abandon(now, id);
        }
    }

    fn remove(&mut self, id: ConnectionId) {
        self.proto.release(id);
        self.connections.remove(&id);
        // The driver wakes the tasks that wait until nothing is left: the last packets have not left yet.
    }

    /// Returns whether no connection is left and all last packets have been given to the system.
    pub(crate) fn is_idle(&self) -> bool {
        self.connections.is_empty() && !self.sending
    }

    /// Returns whether every connection is over, including those that the application still holds, and all last packets
    /// have been given to the system.
    pub(crate) fn is_over(&self) -> bool {
        !self.sending
            && self
                .connections
                .values()
                .all(|connection| connection.closed.is_some())
    }

    /// Closes every connection and stops every listener, for good.
    pub(crate) fn close(&mut self, now: Instant, wakes: &mut Vec<Waker>) {
        self.closing = true;
        for (&port, backlog) in &mut self.backlogs {
            self.proto.unlisten(port);
            backlog.acceptors.take(wakes);
        }
        for (&id, connection) in &self.connections {
            if connection.closed.is_none() {
                self.proto.close(now, id);
            }
        }
    }

    /// Collects the tasks that wait until nothing is left, if nothing is left.
    pub(crate) fn wake_idlers(&mut self, wakes: &mut Vec<Waker>) {
        if self.is_idle() || (self.closing && self.is_over()) {
            self.idlers.take(wakes);
        }
    }

    /// Ends every wait, because the driver ends.
    pub(crate) fn shut_down(&mut self, wakes: &mut Vec<Waker>) {
        self.driver_ended = true;
        for connection in self.connections.values_mut() {
            connection.closed.get_or_insert(CloseReason::Aborted);
            connection.wake_all(wakes);
        }
        for backlog in self.backlogs.values_mut() {
            backlog.acceptors.take(wakes);
        }
        self.idlers.take(wakes);
    }
}

/// A reference to the shared state that keeps the driver running.
#[derive(Debug)]
pub(crate) struct Handle(Arc<Shared>);

impl Handle {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        shared.lock().handles += 1;
        Self(shared)
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.0))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.handles = state.handles.saturating_sub(1);
        if state.handles == 0 {
            self.0.wake_driver(&mut state);
        }
    }
}

impl std::ops::Deref for Handle {
    type Target = Shared;
    fn deref(&self) -> &Shared {
        &self.0
    }
}
