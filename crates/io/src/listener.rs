//! Listeners, which accept connections.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use fairwire_proto::ConnectionId;
use fairwire_tls::ServerConfig;
use fairwire_wire::ServiceCode;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::address::DccpAddr;
use crate::connection::Connection;
use crate::error::{AcceptError, HandshakeError};
use crate::security::Security;
use crate::state::{Handle, State};
use crate::waiting::Place;

/// A DCCP port that accepts connections.
///
/// Dropping it stops listening and resets the connections that are not yet accepted (Reset 2, Aborted).
#[derive(Debug)]
pub struct Listener {
    handle: Handle,
    port: u16,
    security: Security<ServerConfig>,
    /// How long a DTLS handshake may last.
    limit: Duration,
    handshakes: Arc<Handshakes>,
}

/// The largest number of DTLS handshakes that [`Listener::accept`] serves at one time. More clients wait in the backlog.
const MAX_HANDSHAKES: usize = 256;

/// The DTLS handshakes that [`Listener::accept`] has begun.
#[derive(Debug)]
struct Handshakes {
    tasks: Mutex<JoinSet<()>>,
    done: Mutex<VecDeque<Connection>>,
    running: AtomicUsize,
    failed: AtomicU64,
    changed: Notify,
}

/// A connection whose DCCP handshake is complete and that the application has not yet accepted. Dropping it refuses it.
///
/// To turn a client away before any answer, use [`ListenOptions::admit`](crate::ListenOptions::admit).
#[derive(Debug)]
#[must_use = "a connection that is not accepted is refused"]
pub struct Incoming {
    connection: Connection,
    security: Security<ServerConfig>,
    limit: Duration,
}

impl Incoming {
    /// Returns the client's address.
    pub fn remote(&self) -> Option<DccpAddr> {
        self.connection.remote()
    }

    /// Returns the local address, as the client sees it unless a NAT is in between.
    pub fn local(&self) -> Option<DccpAddr> {
        self.connection.local()
    }

    /// Returns the service that the client asks for, among those that the listener offers.
    pub fn service(&self) -> ServiceCode {
        self.connection.service()
    }

    /// Accepts the connection. If the listener uses DTLS, this first does its handshake.
    ///
    /// The handshake lasts at most `Config::connect_timeout`. Cancelling resets the connection.
    ///
    /// # Errors
    /// [`HandshakeError`] if DTLS could not be set up; never without DTLS.
    pub async fn accept(self) -> Result<Connection, HandshakeError> {
        let role = self.security.server();
        self.connection.secure(role, self.limit).await?;
        Ok(self.connection)
    }

    /// Resets the connection (Reset 2, Aborted), as dropping it does.
    pub fn refuse(self) {
        self.connection.abort();
    }

    /// Resets the connection and sends the client a reason, as [`Connection::abort_with`] does.
    ///
    /// At this point the connection is already open at the client.
    pub fn refuse_with(self, text: &str) {
        self.connection.abort_with(text);
    }
}

impl Listener {
    pub(crate) fn new(
        handle: Handle,
        port: u16,
        security: Security<ServerConfig>,
        limit: Duration,
    ) -> Self {
        Self {
            handle,
            port,
            security,
            limit,
            handshakes: Arc::new(Handshakes {
                tasks: Mutex::new(JoinSet::new()),
                done: Mutex::new(VecDeque::new()),
                running: AtomicUsize::new(0),
                failed: AtomicU64::new(0),
                changed: Notify::new(),
            }),
        }
    }

    /// Waits for the next connection. Cancelling loses no connection.
    ///
    /// If the listener uses DTLS, this returns connections whose DTLS handshake is complete. It serves up to 256
    /// handshakes at one time, so no client delays another. Clients whose handshake fails are reset and counted
    /// ([`failed_handshakes`](Self::failed_handshakes)); to learn why, use [`incoming`](Self::incoming).
    ///
    /// # Errors
    /// [`AcceptError`] once the endpoint is closed.
    pub async fn accept(&self) -> Result<Connection, AcceptError> {
        if !self.security.is_encrypted() {
            return self.incoming().await.map(|incoming| incoming.connection);
        }
        loop {
            if let Some(connection) = self.handshakes.take() {
                return Ok(connection);
            }
            let has_room = self.handshakes.running.load(Ordering::Acquire) < MAX_HANDSHAKES;
            tokio::select! {
                biased; // A random order would make equal runs differ.
                () = self.handshakes.changed.notified() => {}
                incoming = self.incoming(), if has_room => self.handshakes.begin(incoming?),
            }
        }
    }

    /// Returns how many DTLS handshakes failed in [`accept`](Self::accept).
    pub fn failed_handshakes(&self) -> u64 {
        self.handshakes.failed.load(Ordering::Relaxed)
    }

    /// Waits for the next connection and returns it before it is accepted. Cancelling loses no connection.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
    pub async fn incoming(&self) -> Result<Incoming, AcceptError> {
        let place = Place::Acceptable(self.port);
        let taken = self.handle.wait(place, |state| self.take_over(state)).await;
        taken.map(|id| self.connection(id))
    }

    /// Returns the next connection, or registers the task of `context` to be woken when there is one.
    ///
    /// This is [`incoming`](Self::incoming) for futures written by hand. Only the task of the last call is woken.
    ///
    /// # Errors
    /// As for [`accept`](Self::accept).
    pub fn poll_incoming(&self, context: &mut Context<'_>) -> Poll<Result<Incoming, AcceptError>> {
        let place = Place::Acceptable(self.port);
        let polled = self
            .handle
            .poll(place, context, |state| self.take_over(state));
        polled.map(|taken| taken.map(|id| self.connection(id)))
    }

    fn connection(&self, id: ConnectionId) -> Incoming {
        let connection = Connection::new(self.handle.clone(), id);
        connection.limit_mtu_to_route();
        Incoming {
            connection,
            security: self.security.clone(),
            limit: self.limit,
        }
    }

    /// Takes the connection that has waited longest, if there is one.
    fn take_over(&self, state: &mut State) -> Option<Result<ConnectionId, AcceptError>> {
        if state.closing {
            return Some(Err(AcceptError));
        }
        let gone = state.driver_ended;
        let Some(backlog) = state.backlogs.get_mut(&self.port) else {
            return Some(Err(AcceptError));
        };
        let Some(id) = backlog.waiting.pop_front() else {
            return gone.then_some(Err(AcceptError));
        };
        let now = self.handle.clock.now();
        state.proto.free_place(now, self.port);
        self.handle.wake_driver(state);
        Some(Ok(id))
    }

    /// Returns the address that clients connect to: the endpoint's, with the UDP port, or natively the DCCP port.
    ///
    /// If [`dccp_port`](Self::dccp_port) is a different number, clients need it too.
    pub fn local_addr(&self) -> SocketAddr {
        let local = DccpAddr {
            addr: self.handle.facts.local,
            dccp_port: self.port,
        };
        local.user_addr()
    }

    /// Returns the DCCP port: the one that was asked for, or the free one that was taken.
    pub fn dccp_port(&self) -> u16 {
        self.port
    }
}

impl Handshakes {
    /// Begins the handshake of a client in a task of its own.
    fn begin(self: &Arc<Self>, incoming: Incoming) {
        let this = Arc::clone(self);
        self.running.fetch_add(1, Ordering::AcqRel);
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let accepted = incoming.accept().await;
            match accepted {
                Ok(connection) => this.done().push_back(connection),
                Err(_) => drop(this.failed.fetch_add(1, Ordering::Relaxed)),
            }
            this.running.fetch_sub(1, Ordering::AcqRel);
            this.changed.notify_one();
        });
    }

    fn done(&self) -> MutexGuard<'_, VecDeque<Connection>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection whose handshake was complete first. Wakes another task if there are more.
    fn take(&self) -> Option<Connection> {
        let mut done = self.done();
        let taken = done.pop_front();
        if !done.is_empty() {
            self.changed.notify_one();
        }
        taken
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Handshakes under way end here, and reset their connections.
        let tasks = &self.handshakes.tasks;
        tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .abort_all();
        self.handshakes.done().clear();
        let now = self.handle.clock.now();
        let mut state = self.handle.lock();
        state.proto.unlisten(self.port);
        if let Some(backlog) = state.backlogs.remove(&self.port) {
            for id in backlog.waiting {
                state.abandon(now, id);
            }
        }
        self.handle.wake_driver(&mut state);
    }
}
