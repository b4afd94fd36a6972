//! The sockets of one endpoint or shard: one UDP socket, or natively one raw socket per family.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use tokio::io::Ready;

use fairwire_proto::Encapsulation;

use super::{MESSAGE, Socket, SocketOptions, native};
use crate::error::BindError;
use crate::transport::{Arrived, Batch, Facts, Inbox, NetworkError, Outlet, Transport};

/// One or two sockets that behave as one.
#[derive(Debug)]
pub(crate) struct Sockets {
    encapsulation: Encapsulation,
    pair: Arc<Pair>,
    /// Whether the second socket is read first. It alternates, so that neither socket starves the other.
    second_first: bool,
}

#[derive(Debug)]
struct Pair {
    first: Socket,
    /// The IPv4 socket of a native endpoint that is bound to every address.
    second: Option<Socket>,
}

impl Sockets {
    fn new(encapsulation: Encapsulation, first: Socket, second: Option<Socket>) -> Self {
        Self {
            encapsulation,
            pair: Arc::new(Pair { first, second }),
            second_first: false,
        }
    }

    /// Opens `count` UDP sockets on one port, one for each shard of an endpoint.
    pub(crate) fn udp_shards(
        addr: SocketAddr,
        options: &SocketOptions,
        count: u16,
    ) -> Result<Vec<Self>, BindError> {
        let mut sockets = vec![Socket::bind(addr, options)?];
        if count > 1 {
            let addr = sockets[0].local();
            let shared = sockets[0].share(count, options);
            sockets.extend(shared.map_err(|source| BindError::Socket { addr, source })?);
        }
        let of = |socket| Self::new(Encapsulation::Udp, socket, None);
        Ok(sockets.into_iter().map(of).collect())
    }

    /// Takes a UDP socket that the program has bound.
    pub(crate) fn own(socket: UdpSocket) -> Result<Self, BindError> {
        Ok(Self::new(Encapsulation::Udp, Socket::own(socket)?, None))
    }

    /// Opens raw sockets: `::` means every address of both families, if the host has both.
    pub(crate) fn native(ip: IpAddr, options: &SocketOptions) -> Result<Self, BindError> {
        let refusal = |source| native::refusal(ip, source);
        let open = |ip| Socket::native(ip, options);
        let any4 = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let (first, second) = if ip == Ipv6Addr::UNSPECIFIED {
            match (open(ip), open(any4)) {
                (Ok(first), second) => (first, second.ok()),
                // The host has no IPv6.
                (Err(_), Ok(second)) => (second, None),
                (Err(error), Err(_)) => return Err(refusal(error)),
            }
        } else {
            (open(ip).map_err(refusal)?, None)
        };
        Ok(Self::new(Encapsulation::Native, first, second))
    }
}

impl Pair {
    /// Returns the socket for the batch's destination.
    fn towards(&self, batch: &Batch) -> &Socket {
        match &self.second {
            Some(second) if batch.path().remote.is_ipv4() => second,
            _ => &self.first,
        }
    }
}

impl Outlet for Pair {
    fn max_segments(&self) -> usize {
        self.first.max_segments()
    }

    fn send(&self, batch: &Batch) -> io::Result<()> {
        self.towards(batch).send(batch)
    }

    fn send_singly(&self, batch: &Batch) -> usize {
        self.towards(batch).send_singly(batch)
    }
}

impl Transport for Sockets {
    fn facts(&self) -> Facts {
        Facts {
            encapsulation: self.encapsulation,
            local: self.pair.first.local(),
            ecn: true,
            message: MESSAGE,
        }
    }

    fn outlet(&self) -> Arc<dyn Outlet> {
        Arc::clone(&self.pair) as _
    }

    async fn ready(&self) -> io::Result<Ready> {
        let Pair { first, second } = &*self.pair;
        match second {
            None => first.ready().await,
            Some(second) => tokio::select! {
                ready = first.ready() => ready,
                ready = second.ready() => ready,
            },
        }
    }

    fn receive(&mut self, inbox: &mut Inbox) -> io::Result<()> {
        let Pair { first, second } = &*self.pair;
        let Some(second) = second else {
            return first.receive(inbox);
        };
        let mut turns = [first, second];
        if self.second_first {
            turns.reverse();
        }
        self.second_first = !self.second_first;
        match turns[0].receive(inbox) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => turns[1].receive(inbox),
            received => received,
        }
    }

    fn unwrap<'a>(&self, arrived: Arrived<'a>) -> Option<Arrived<'a>> {
        match self.encapsulation {
            Encapsulation::Udp => Some(arrived),
            Encapsulation::Native => native::unwrap(arrived),
        }
    }

    fn drain_errors(&self, mut each: impl FnMut(NetworkError<'_>)) {
        self.pair.first.drain_errors(&mut each);
        if let Some(second) = &self.pair.second {
            second.drain_errors(each);
        }
    }
}
