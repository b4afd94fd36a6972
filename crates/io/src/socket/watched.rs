//! A UDP socket that tokio watches for received data and errors only.
//!
//! Tokio's own socket is also watched for room to send. A UDP socket reports room whenever a datagram has left the
//! host, so a paced sender would be woken twice for each datagram. When there is no room here, the driver tries again a
//! little later.

use std::error::Error;
use std::io;
use std::net::UdpSocket;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::io::{Interest, Ready};

/// The current runtime has no I/O.
#[derive(Debug, thiserror::Error)]
#[error("the tokio runtime has no I/O")]
struct WithoutRuntime;

/// Registers a socket. Tokio tells only by a panic that the runtime has no I/O.
fn inside_runtime<T>(register: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    catch_unwind(AssertUnwindSafe(register))
        .unwrap_or_else(|_| Err(io::Error::other(WithoutRuntime)))
}

/// Returns whether an error says that the runtime has no I/O.
pub(crate) fn is_without_runtime(error: &(dyn Error + 'static)) -> bool {
    let inner = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    inner.is_some_and(<dyn Error + Send + Sync>::is::<WithoutRuntime>)
}

/// The socket, registered with the current runtime.
#[derive(Debug)]
#[cfg(unix)]
pub(super) struct Watched(tokio::io::unix::AsyncFd<UdpSocket>);

#[cfg(unix)]
impl Watched {
    /// Registers `socket`, which must be non-blocking.
    pub(super) fn new(socket: UdpSocket) -> io::Result<Self> {
        use tokio::io::unix::AsyncFd;
        let interest = Interest::READABLE | Interest::ERROR;
        #[expect(unsafe_code, reason = "tokio asks for a promise about the descriptor")]
        // SAFETY: until it is dropped, a `UdpSocket` is one valid, open descriptor, which does not change. The
        // `AsyncFd` owns the socket and nobody takes it out.
        let register = || unsafe { AsyncFd::register_with_interest(socket, interest) };
        let registered = inside_runtime(|| Ok(register()?))?;
        Ok(Self(registered))
    }

    /// Waits until a datagram has arrived or an error is queued.
    pub(super) async fn ready(&self) -> io::Result<Ready> {
        let guard = self.0.ready(Interest::READABLE | Interest::ERROR).await?;
        Ok(guard.ready())
    }

    /// Runs `act`, for which `ready` reported readiness. On `WouldBlock`, `ready` waits again.
    pub(super) fn try_io<R>(
        &self,
        interest: Interest,
        act: impl FnOnce(&UdpSocket) -> io::Result<R>,
    ) -> io::Result<R> {
        self.0.try_io(interest, act)
    }

    /// Returns the socket.
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
    /// Registers `socket`, which must be non-blocking.
    pub(super) fn new(socket: UdpSocket) -> io::Result<Self> {
        inside_runtime(|| tokio::net::UdpSocket::from_std(socket)).map(Self)
    }

    /// Waits until a datagram has arrived or an error is queued.
    pub(super) async fn ready(&self) -> io::Result<Ready> {
        self.0.ready(Interest::READABLE | Interest::ERROR).await
    }

    /// Runs `act`, for which `ready` reported readiness. On `WouldBlock`, `ready` waits again.
    pub(super) fn try_io<R>(
        &self,
        interest: Interest,
        act: impl FnOnce(&tokio::net::UdpSocket) -> io::Result<R>,
    ) -> io::Result<R> {
        self.0.try_io(interest, || act(&self.0))
    }

    /// Returns the socket.
    pub(super) fn get(&self) -> &tokio::net::UdpSocket {
        &self.0
    }
}
