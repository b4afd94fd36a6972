//! A socket of the emulated network as quinn wants one.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use fairwire::Ecn;
use fairwire::emulated::Socket;
use quinn::udp::{EcnCodepoint, RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

#[derive(Debug)]
pub struct QuicSocket(Socket);

impl QuicSocket {
    pub fn new(socket: Socket) -> Self {
        Self(socket)
    }
}

/// The emulated socket never blocks.
#[derive(Debug)]
struct Writable;

impl UdpPoller for Writable {
    fn poll_writable(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncUdpSocket for QuicSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Writable)
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let ecn = transmit
            .ecn
            .map_or(Ecn::NotEct, |ecn| Ecn::from_bits(ecn as u8));
        self.0.send_to(transmit.contents, transmit.destination, ecn)
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let (Some(buffer), Some(meta)) = (buffers.first_mut(), meta.first_mut()) else {
            return Poll::Ready(Ok(0));
        };
        let arrival = ready!(self.0.poll_recv_from(context, buffer));
        *meta = RecvMeta {
            addr: arrival.from,
            len: arrival.len,
            stride: arrival.len,
            ecn: EcnCodepoint::from_bits(arrival.ecn.bits()),
            dst_ip: None,
        };
        Poll::Ready(Ok(1))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.0.local_addr())
    }

    fn may_fragment(&self) -> bool {
        false
    }
}
