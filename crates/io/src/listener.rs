//! Listeners, which accept connections.

use std::net::SocketAddr;
use std::task::{Context, Poll};

use fairwire_proto::ConnectionId;
use fairwire_wire::ServiceCode;

use crate::address::DccpAddr;
use crate::connection::Connection;
use crate::error::AcceptError;
use crate::state::{Handle, State};
use crate::waiting::Place;

/// A DCCP port that accepts connections.
///
/// Dropping it stops listening and resets the connections that are not yet accepted (Reset 2, Aborted).
#[derive(Debug)]
pub struct Listener {
    handle: Handle,
    port: u16,
}

/// A connection whose handshake is complete and that the application has not yet accepted. Dropping it refuses it.
///
/// To turn a client away before any answer, use [`ListenOptions::admit`](crate::ListenOptions::admit).
#[derive(Debug)]
#[must_use = "a connection that is not accepted is refused"]
pub struct Incoming(Connection);

impl Incoming {
    /// Returns the client's address.
    pub fn remote(&self) -> Option<DccpAddr> {
        self.0.remote()
    }

    /// Returns the local address, as the client sees it unless a NAT is in between.
    pub fn local(&self) -> Option<DccpAddr> {
        self.0.local()
    }

    /// Returns the service that the client asks for, among those that the listener offers.
    pub fn service(&self) -> ServiceCode {
        self.0.service()
    }

    /// Accepts the connection.
    pub fn accept(self) -> Connection {
        self.0
    }

    /// Resets the connection (Reset 2, Aborted), as dropping it does.
    pub fn refuse(self) {
        self.0.abort();
    }

    /// Resets the connection and sends the client a reason, as [`Connection::abort_with`] does.
    ///
    /// At this point the connection is already open at the client.
    pub fn refuse_with(self, text: &str) {
        self.0.abort_with(text);
    }
}

impl Listener {
    pub(crate) fn new(handle: Handle, port: u16) -> Self {
        Self { handle, port }
    }

    /// Waits for the next connection. Cancelling loses no connection.
    ///
    /// # Errors
    /// [`AcceptError`] once the endpoint is closed.
    pub async fn accept(&self) -> Result<Connection, AcceptError> {
        self.incoming().await.map(Incoming::accept)
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
        Incoming(connection)
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
            addr: self.handle.local,
            dccp_port: self.port,
        };
        local.user_addr()
    }

    /// Returns the DCCP port: the one that was asked for, or the free one that was taken.
    pub fn dccp_port(&self) -> u16 {
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
        self.handle.wake_driver(&mut state);
    }
}
