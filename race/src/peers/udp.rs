//! Plain UDP through tokio: no connection, no congestion control, no encryption.

use std::collections::VecDeque;
use std::net::SocketAddr;

use bytes::Bytes;
use tokio::net::UdpSocket;

use crate::socket;
use crate::tls::{Identity, Trusted};
use crate::transport::{Connection, Result, Transport};

/// The largest datagram of a work, bytes.
const LARGEST: usize = 2_048;

pub struct Udp;

fn bind() -> Result<UdpSocket> {
    let socket = socket::bind()?;
    socket.set_nonblocking(true)?;
    Ok(UdpSocket::from_std(socket)?)
}

impl Transport for Udp {
    /// The socket, until its only client has called.
    type Listener = Option<UdpSocket>;
    type Dialer = ();
    type Connection = UdpSocket;

    fn listen(&self, _identity: &Identity) -> Result<(Self::Listener, SocketAddr)> {
        let socket = bind()?;
        let addr = socket.local_addr()?;
        Ok((Some(socket), addr))
    }

    async fn accept(listener: &mut Self::Listener) -> Result<UdpSocket> {
        let Some(socket) = listener.take() else {
            return std::future::pending().await;
        };
        let (_, client) = socket.recv_from(&mut [0]).await?;
        socket.connect(client).await?;
        Ok(socket)
    }

    fn dialer(&self, _trusted: &Trusted) -> Result<()> {
        Ok(())
    }

    async fn dial((): &(), to: SocketAddr) -> Result<UdpSocket> {
        let socket = bind()?;
        socket.connect(to).await?;
        socket.send(&[0]).await?;
        Ok(socket)
    }
}

impl Connection for UdpSocket {
    type Inbox = Vec<u8>;

    async fn send(&self, queue: &mut VecDeque<Bytes>) -> Result<()> {
        while let Some(datagram) = queue.pop_front() {
            self.send(&datagram).await?;
        }
        Ok(())
    }

    async fn receive(
        &self,
        inbox: &mut Vec<u8>,
        each: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<()> {
        inbox.resize(LARGEST, 0);
        let length = self.recv(inbox).await?;
        each(&inbox[..length]);
        Ok(())
    }
}
