//! A UDP socket that tokio watches for what arrives, and for nothing else.
//!
//! Tokio's own socket is watched for room to send too. A UDP socket tells of room whenever a
//! datagram has left the host, so a paced sender would be woken twice for each one. Who finds no
//! room here looks again a little later.

use std::io;
use std::net::UdpSocket;

use tokio::io::{Interest, Ready};

/// The socket, registered with the current runtime.
#[derive(Debug)]
#[cfg(unix)]
pub(super) struct Watched(tokio::io::unix::AsyncFd<UdpSocket>);

#[cfg(unix)]
impl Watched {
    /// Watches `socket`, which does not block.
    pub(super) fn new(socket: UdpSocket) -> io::Result<Self> {
        use tokio::io::unix::AsyncFd;
        let interest = Interest::READABLE | Interest::ERROR;
        #[expect(unsafe_code, reason = "tokio asks for a promise about the descriptor")]
        // SAFETY: a `UdpSocket` is a valid, open descriptor, always the same one, until it is
        // dropped; the `AsyncFd` owns it and nobody takes it out.
        let registered = unsafe { AsyncFd::register_with_interest(socket, interest) };
        Ok(Self(registered?))
    }

    /// Waits until something arrived or an error is queued.
    pub(super) async fn ready(&self) -> io::Result<Ready> {
        let guard = self.0.ready(Interest::READABLE | Interest::ERROR).await?;
        Ok(guard.ready())
    }

    /// Tries what `ready` promised; `WouldBlock` makes it wait anew.
    pub(super) fn try_io<R>(
        &self,
        interest: Interest,
        act: impl FnOnce(&UdpSocket) -> io::Result<R>,
    ) -> io::Result<R> {
        self.0.try_io(interest, act)
    }

    /// The socket.
    pub(super) fn get(&self) -> &UdpSocket {
        self.0.get_ref()
    }
}

/// The socket, registered with the current runtime.
#[derive(Debug)]
#[cfg(not(unix))]
pub(super) struct Watched(tokio::net::UdpSocket);

#[cfg(not(unix))]
impl Watched {
    /// Watches `socket`, which does not block.
    pub(super) fn new(socket: UdpSocket) -> io::Result<Self> {
        tokio::net::UdpSocket::from_std(socket).map(Self)
    }

    /// Waits until something arrived or an error is queued.
    pub(super) async fn ready(&self) -> io::Result<Ready> {
        self.0.ready(Interest::READABLE | Interest::ERROR).await
    }

    /// Tries what `ready` promised; `WouldBlock` makes it wait anew.
    pub(super) fn try_io<R>(
        &self,
        interest: Interest,
        act: impl FnOnce(&tokio::net::UdpSocket) -> io::Result<R>,
    ) -> io::Result<R> {
        self.0.try_io(interest, || act(&self.0))
    }

    /// The socket.
    pub(super) fn get(&self) -> &tokio::net::UdpSocket {
        &self.0
    }
}
