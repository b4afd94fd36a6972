//! What the works need of a peer: listening, dialling, and connections that carry datagrams.

use std::collections::VecDeque;
use std::error::Error;
use std::future::Future;
use std::net::SocketAddr;

use bytes::Bytes;

use crate::tls::{Identity, Trusted};

pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// How many datagrams an application hands over, or takes, in one call, where the peer has such calls.
pub const BATCH: usize = 32;

/// The size of the kernel's buffers of every socket, bytes each. The system may give less.
pub const SOCKET_BUFFER: usize = 4 << 20;

/// A library that carries datagrams over connections. Its methods run inside a tokio runtime.
pub trait Transport: Sync + 'static {
    type Listener: Send + 'static;
    type Dialer: Clone + Send + Sync + 'static;
    type Connection: Connection;

    /// Listens on loopback, on a port that the kernel chooses.
    fn listen(&self, identity: &Identity) -> Result<(Self::Listener, SocketAddr)>;

    fn accept(
        listener: &mut Self::Listener,
    ) -> impl Future<Output = Result<Self::Connection>> + Send;

    /// Makes a socket for connections to a server that is trusted.
    fn dialer(&self, trusted: &Trusted) -> Result<Self::Dialer>;

    fn dial(
        dialer: &Self::Dialer,
        to: SocketAddr,
    ) -> impl Future<Output = Result<Self::Connection>> + Send;
}

/// A connection. Dropping it ends it.
pub trait Connection: Send + Sync + 'static {
    /// What is kept between two calls of [`receive`](Self::receive), so that nothing is allocated for each.
    type Inbox: Default + Send;

    /// Takes datagrams from the front of `queue`, at least one. Waits while there is no room.
    fn send(&self, queue: &mut VecDeque<Bytes>) -> impl Future<Output = Result<()>> + Send;

    /// Waits for a datagram and calls `each` for it, and for up to [`BATCH`] that arrived after it where the peer has
    /// such a call.
    fn receive(
        &self,
        inbox: &mut Self::Inbox,
        each: &mut (dyn FnMut(&[u8]) + Send),
    ) -> impl Future<Output = Result<()>> + Send;
}

/// Sends one datagram.
pub async fn send_one(connection: &impl Connection, datagram: Bytes) -> Result<()> {
    let mut queue = VecDeque::from([datagram]);
    connection.send(&mut queue).await
}
