//! The system of a simulated host.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use fairwire_net::Stream;

use super::network::Network;
use super::wire::MTU;
use crate::clock::Clock;
use crate::transport::{Claim, Route, System};

/// What an endpoint on a simulated host asks of its system.
#[derive(Debug)]
pub(super) struct HostSystem {
    network: Network,
    random: Mutex<Stream>,
}

impl HostSystem {
    /// Makes the system of the endpoint at `local`.
    pub(super) fn new(network: Network, local: SocketAddr) -> Self {
        let random = network.streams().stream(&format!("endpoint/{local}"));
        Self {
            network,
            random: Mutex::new(random),
        }
    }
}

impl System for HostSystem {
    fn clock(&self) -> Clock {
        Clock::start_with_tokio()
    }

    fn route(&self, local: SocketAddr, remote: SocketAddr) -> io::Result<Route> {
        let known = match remote.ip() {
            IpAddr::V4(ip) => self.network.node(ip),
            IpAddr::V6(_) => None,
        };
        let mtu = Some(MTU);
        known
            .map(|_| Route { local, mtu })
            .ok_or_else(|| io::ErrorKind::NetworkUnreachable.into())
    }

    fn claim(&self, _ip: IpAddr, _port: u16) -> io::Result<Claim> {
        Ok(Box::new(())) // Each endpoint has its UDP port to itself.
    }

    fn draw(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        for chunk in bytes.chunks_mut(8) {
            let drawn = random.bits().to_le_bytes();
            chunk.copy_from_slice(&drawn[..chunk.len()]);
        }
        Ok(())
    }
}
