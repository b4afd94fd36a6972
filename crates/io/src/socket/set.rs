//! The sockets of one endpoint or shard: one UDP socket, or natively one raw socket per family.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::io::Ready;

use fairwire_proto::Encapsulation;

use super::{MESSAGE, Socket, SocketOptions, native};
use crate::error::BindError;
use crate::transport::{Arrived, Batch, Facts, Inbox, NetworkError, Transport};

/// One or two sockets that behave as one.
#[derive(Debug)]
pub(crate) struct Sockets {
    encapsulation: Encapsulation,
    first: Socket,
    /// The IPv4 socket of a native endpoint that is bound to every address.
    second: Option<Socket>,
    /// Whether the second socket is read first. It alternates, so that neither socket starves the other.
    second_first: bool,
}

impl Sockets {
    /// Opens a UDP socket.
    pub(crate) fn udp(addr: SocketAddr, options: &SocketOptions) -> Result<Self, BindError> {
        Ok(Self {
            encapsulation: Encapsulation::Udp,
            first: Socket::bind(addr, options)?,
            second: None,
            second_first: false,
        })
    }

    /// Opens `count` UDP sockets on one port, one for each shard of an endpoint.
    pub(crate) fn udp_shards(
        addr: SocketAddr,
        options: &SocketOptions,
        count: u16,
    ) -> Result<Vec<Self>, BindError> {
        let first = Self::udp(addr, options)?;
        if count <= 1 {
            return Ok(vec![first]);
        }
        let addr = first.first.local();
        let shared = first.first.share(count, options);
        let shared = shared.map_err(|source| BindError::Socket { addr, source })?;
        let of = |socket| Self {
            encapsulation: Encapsulation::Udp,
            first: socket,
            second: None,
            second_first: false,
        };
        let others = shared.into_iter().map(of);
        Ok(std::iter::once(first).chain(others).collect())
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
        Ok(Self {
            encapsulation: Encapsulation::Native,
            first,
            second,
            second_first: false,
        })
    }

    /// Returns the socket for the batch's destination.
    fn towards(&self, batch: &Batch) -> &Socket {
        match &self.second {
            Some(second) if batch.path().remote.is_ipv4() => second,
            _ => &self.first,
        }
    }
}

impl Transport for Sockets {
    fn facts(&self) -> Facts {
        Facts {
            encapsulation: self.encapsulation,
            local: self.first.local(),
            ecn: true,
            message: MESSAGE,
        }
    }

    fn max_segments(&self) -> usize {
        self.first.max_segments()
    }

    async fn ready(&self) -> io::Result<Ready> {
        match &self.second {
            None => self.first.ready().await,
            Some(second) => tokio::select! {
                ready = self.first.ready() => ready,
                ready = second.ready() => ready,
            },
        }
    }

    fn send(&self, batch: &Batch) -> io::Result<()> {
        self.towards(batch).send(batch)
    }

    fn send_singly(&self, batch: &Batch) -> usize {
        self.towards(batch).send_singly(batch)
    }

    fn receive(&mut self, inbox: &mut Inbox) -> io::Result<()> {
        let Some(second) = &self.second else {
            return self.first.receive(inbox);
        };
        let mut turns = [&self.first, second];
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
        for socket in [Some(&self.first), self.second.as_ref()]
            .into_iter()
            .flatten()
        {
            socket.drain_errors(&mut each);
        }
    }
}
