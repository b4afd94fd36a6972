//! What the handles and the driver of one endpoint share.
//!
//! One lock guards the protocol's endpoint and the lists of who waits for what. Nobody keeps it
//! across a wait or a system call. Endpoints share nothing with each other.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::task::Waker;

use fairwire_proto::{CloseReason, ConnectionId, DatagramId, Encapsulation, Endpoint, Event, Fate};
use fairwire_units::Instant;

use crate::clock::Clock;
use crate::error::ConnectionClosed;
use crate::event::ConnectionEvent;
use crate::socket::Claim;
use crate::sync::{Mutex, MutexGuard, Notify};
use crate::wakers::Wakers;

/// Fates kept for an application that asked for them and does not read; the oldest go first.
const MAX_FATES: usize = 65_536;

/// Events kept for an application that does not ask for them; the oldest go first.
const MAX_EVENTS: usize = 64;

/// Everything that an endpoint's handles share with its driver.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Wakes the driver.
    pub notify: Notify,
    /// The endpoint's time.
    pub clock: Clock,
    /// Where its socket is bound.
    pub local: SocketAddr,
    /// How its packets travel.
    pub encapsulation: Encapsulation,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("local", &self.local)
            .finish_non_exhaustive()
    }
}

impl Shared {
    pub(crate) fn new(proto: Endpoint, local: SocketAddr, encapsulation: Encapsulation) -> Self {
        Self {
            state: Mutex::new(State {
                proto,
                links: BTreeMap::new(),
                backlogs: BTreeMap::new(),
                idlers: Wakers::default(),
                handles: 0,
                dirty: false,
                sending: false,
                is_crowded: false,
                closing: false,
                gone: false,
            }),
            notify: Notify::new(),
            clock: Clock::start(),
            local,
            encapsulation,
        }
    }

    /// The state. A panic elsewhere while it was held left it consistent enough to go on.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False if somebody panicked in the middle of a change.
    pub(crate) fn is_sound(&self) -> bool {
        !self.state.is_poisoned()
    }

    /// Makes the driver look, because the application changed something.
    pub(crate) fn poke(&self, state: &mut State) {
        if !state.dirty {
            state.dirty = true;
            self.notify.notify_one();
        }
    }
}

/// The protocol, and who waits for it.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each for one reader"
)]
pub(crate) struct State {
    pub proto: Endpoint,
    pub links: BTreeMap<ConnectionId, Link>,
    pub backlogs: BTreeMap<u16, Backlog>,
    /// Who waits until no connection is left.
    pub idlers: Wakers,
    /// Handles of all kinds that are alive.
    handles: usize,
    /// Has the application changed something since the driver looked?
    pub dirty: bool,
    /// Have packets been taken from the protocol, or do they wait there, that did not leave yet?
    pub sending: bool,
    /// Has an accept queue become full since the driver looked?
    pub is_crowded: bool,
    /// Has the application closed the endpoint?
    pub closing: bool,
    /// Has the driver ended?
    pub gone: bool,
}

/// A connection as its handles see it.
#[derive(Default)]
pub(crate) struct Link {
    pub open: bool,
    pub closed: Option<CloseReason>,
    /// Has the last handle been dropped?
    pub orphan: bool,
    pub fates: VecDeque<(DatagramId, Fate)>,
    pub events: VecDeque<ConnectionEvent>,
    pub readers: Wakers,
    pub writers: Wakers,
    /// Who waits for the handshake, the end, a fate or an event.
    pub watchers: Wakers,
}

impl Link {
    /// The end, if it has come.
    pub(crate) fn end(&self) -> Option<ConnectionClosed> {
        let reason = self.closed.clone()?;
        Some(ConnectionClosed { reason })
    }
}

/// Connections that wait to be accepted.
pub(crate) struct Backlog {
    pub waiting: VecDeque<ConnectionId>,
    pub limit: usize,
    pub acceptors: Wakers,
    /// Keeps other programs from a native port.
    pub _claim: Option<Claim>,
}

impl Link {
    fn wake_all(&mut self, wakes: &mut Vec<Waker>) {
        self.readers.take(wakes);
        self.writers.take(wakes);
        self.watchers.take(wakes);
    }
}

impl State {
    /// Can the driver end: is nobody left who could want anything?
    pub(crate) fn is_finished(&self) -> bool {
        self.handles == 0 && self.is_idle()
    }

    /// Takes the protocol's events to those who wait for them, whom the caller wakes after
    /// letting go of the lock. Says whether the protocol was told something in turn.
    pub(crate) fn take_events(&mut self, now: Instant, wakes: &mut Vec<Waker>) -> bool {
        let mut acted = false;
        while let Some((id, event)) = self.proto.poll_event() {
            if let Event::Accepted { port } = event {
                acted |= self.accepted(now, id, port, wakes);
                continue;
            }
            let Some(link) = self.links.get_mut(&id) else {
                continue;
            };
            match event {
                Event::Connected => {
                    link.open = true;
                    link.watchers.take(wakes);
                }
                Event::Readable => link.readers.take(wakes),
                Event::Writable => link.writers.take(wakes),
                Event::Fate { id, fate } => {
                    if link.fates.len() == MAX_FATES {
                        link.fates.pop_front();
                    }
                    link.fates.push_back((id, fate));
                    link.watchers.take(wakes);
                }
                Event::Closed { reason } => {
                    link.closed = Some(reason);
                    link.wake_all(wakes);
                    if link.orphan {
                        self.remove(id);
                    }
                }
                event => {
                    if let Some(event) = ConnectionEvent::of(&event) {
                        if link.events.len() == MAX_EVENTS {
                            link.events.pop_front();
                        }
                        link.events.push_back(event);
                        link.watchers.take(wakes);
                    }
                }
            }
        }
        acted
    }

    /// A connection came to `port`. Says whether it had to be aborted, because nobody listens any more.
    fn accepted(
        &mut self,
        now: Instant,
        id: ConnectionId,
        port: u16,
        wakes: &mut Vec<Waker>,
    ) -> bool {
        let mut link = Link {
            open: true,
            ..Link::default()
        };
        let backlog = self.backlogs.get_mut(&port);
        link.orphan = backlog.is_none();
        match backlog {
            // The protocol completes no more handshakes than there are places.
            Some(backlog) => {
                backlog.waiting.push_back(id);
                backlog.acceptors.take(wakes);
                self.is_crowded |= backlog.waiting.len() >= backlog.limit;
            }
            None => self.proto.abort(now, id),
        }
        let orphan = link.orphan;
        self.links.insert(id, link);
        orphan
    }

    /// The last handle of a connection was dropped: resets it unless it is closing, or forgets
    /// it if it is over already.
    pub(crate) fn abandon(&mut self, now: Instant, id: ConnectionId) {
        let Some(link) = self.links.get_mut(&id) else {
            return;
        };
        if link.closed.is_some() {
            self.remove(id);
        } else {
            link.orphan = true;
            self.proto.abandon(now, id);
        }
    }

    fn remove(&mut self, id: ConnectionId) {
        self.proto.release(id);
        self.links.remove(&id);
        // The driver wakes who waits until nothing is left: the last packets have not left yet.
    }

    /// Is no connection left, and has the last packet of each been given to the system?
    pub(crate) fn is_idle(&self) -> bool {
        self.links.is_empty() && !self.sending
    }

    /// Is every connection over, those included that the application still holds, and has the last packet of each
    /// been given to the system?
    pub(crate) fn is_over(&self) -> bool {
        !self.sending && self.links.values().all(|link| link.closed.is_some())
    }

    /// Closes every connection and stops every listener, for good.
    pub(crate) fn close(&mut self, now: Instant, wakes: &mut Vec<Waker>) {
        self.closing = true;
        for (&port, backlog) in &mut self.backlogs {
            self.proto.unlisten(port);
            backlog.acceptors.take(wakes);
        }
        for (&id, link) in &self.links {
            if link.closed.is_none() {
                self.proto.close(now, id);
            }
        }
    }

    /// Wakes those who wait until nothing is left, if nothing is.
    pub(crate) fn wake_idlers(&mut self, wakes: &mut Vec<Waker>) {
        if self.is_idle() || (self.closing && self.is_over()) {
            self.idlers.take(wakes);
        }
    }

    /// The driver ends: nobody must wait for it any more.
    pub(crate) fn shut_down(&mut self, wakes: &mut Vec<Waker>) {
        self.gone = true;
        for link in self.links.values_mut() {
            link.closed.get_or_insert(CloseReason::Aborted);
            link.wake_all(wakes);
        }
        for backlog in self.backlogs.values_mut() {
            backlog.acceptors.take(wakes);
        }
        self.idlers.take(wakes);
    }
}

/// Keeps the driver running.
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
            self.0.poke(&mut state);
        }
    }
}

impl std::ops::Deref for Handle {
    type Target = Shared;
    fn deref(&self) -> &Shared {
        &self.0
    }
}
