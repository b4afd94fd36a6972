//! Datagrams of s2n-quic. They are behind a feature that its authors call unstable.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::provider::datagram::default::{Endpoint, Receiver, Sender};
use s2n_quic::provider::io::tokio::{Builder, Provider as Io};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls;
use s2n_quic::{Client, Connection, Server};

use crate::socket::LOOPBACK;
use crate::tls::{Identity, NAME, Trusted};
use crate::transport::{BATCH, Result, SOCKET_BUFFER, Transport};

/// The size of IP packets, from the beginning and for ever. After many losses s2n-quic would go back to 1,228 bytes, and
/// drop all datagrams of 1,200.
const MTU: u16 = 1_500;
/// As many datagrams as Fairwire's queues hold.
const SEND_QUEUE: usize = 256;
const RECEIVE_QUEUE: usize = 4_096;

pub struct S2n;

fn io() -> Result<Io> {
    let io = Builder::default()
        .with_receive_address(LOOPBACK)?
        .with_send_buffer_size(SOCKET_BUFFER)?
        .with_recv_buffer_size(SOCKET_BUFFER)?
        .with_max_mtu(MTU)?
        .with_initial_mtu(MTU)?
        .with_base_mtu(MTU)?;
    Ok(io.build()?)
}

fn datagrams() -> Result<Endpoint> {
    let builder = Endpoint::builder().with_send_capacity(SEND_QUEUE)?;
    Ok(builder.with_recv_capacity(RECEIVE_QUEUE)?.build()?)
}

fn limits() -> Result<Limits> {
    Ok(Limits::new().with_max_idle_timeout(Duration::ZERO)?)
}

impl Transport for S2n {
    type Listener = Server;
    type Dialer = Client;
    type Connection = Connection;

    fn listen(&self, identity: &Identity) -> Result<(Server, SocketAddr)> {
        let server = Server::builder()
            .with_io(io()?)?
            .with_tls(rustls::Server::from(identity.rustls()?))?
            .with_datagram(datagrams()?)?
            .with_limits(limits()?)?
            .start()?;
        let addr = server.local_addr()?;
        Ok((server, addr))
    }

    async fn accept(server: &mut Server) -> Result<Connection> {
        Ok(server.accept().await.ok_or("the endpoint is closed")?)
    }

    fn dialer(&self, trusted: &Trusted) -> Result<Client> {
        Ok(Client::builder()
            .with_io(io()?)?
            .with_tls(rustls::Client::from(trusted.rustls()?))?
            .with_datagram(datagrams()?)?
            .with_limits(limits()?)?
            .start()?)
    }

    async fn dial(client: &Client, to: SocketAddr) -> Result<Connection> {
        let connect = Connect::new(to).with_server_name(NAME);
        Ok(client.connect(connect).await?)
    }
}

impl crate::transport::Connection for Connection {
    type Inbox = ();

    async fn send(&self, queue: &mut VecDeque<Bytes>) -> Result<()> {
        poll_fn(|context| {
            let polled = self.datagram_mut(|sender: &mut Sender| {
                let mut taken = false;
                while let Some(datagram) = queue.front_mut() {
                    match sender.poll_send_datagram(datagram, context) {
                        Poll::Ready(Ok(())) => {
                            queue.pop_front();
                            taken = true;
                        }
                        Poll::Ready(Err(error)) => {
                            return Poll::Ready(Err(error.to_string().into()));
                        }
                        Poll::Pending if !taken => return Poll::Pending,
                        Poll::Pending => break,
                    }
                }
                Poll::Ready(Ok(()))
            });
            polled.unwrap_or_else(|error| Poll::Ready(Err(error.to_string().into())))
        })
        .await
    }

    async fn receive(&self, (): &mut (), each: &mut (dyn FnMut(&[u8]) + Send)) -> Result<()> {
        poll_fn(|context| {
            let polled = self.datagram_mut(|receiver: &mut Receiver| {
                let Poll::Ready(first) = receiver.poll_recv_datagram(context) else {
                    return Poll::Pending;
                };
                match first {
                    Ok(first) => each(&first),
                    Err(error) => return Poll::Ready(Err(error.to_string().into())),
                }
                let rest = std::iter::from_fn(|| receiver.recv_datagram());
                rest.take(BATCH - 1).for_each(|datagram| each(&datagram));
                Poll::Ready(Ok(()))
            });
            polled.unwrap_or_else(|error| Poll::Ready(Err(error.to_string().into())))
        })
        .await
    }
}
