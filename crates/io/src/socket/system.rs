//! The operating system below an endpoint on sockets.

use std::io;
use std::net::{IpAddr, SocketAddr};

use super::{changes, claim, lost, route};
use crate::clock::Clock;
use crate::transport::{Changes, Claim, Route, System};

/// The operating system of this host.
#[derive(Clone, Debug)]
pub(crate) struct OperatingSystem {
    /// The only interface that the endpoint uses.
    pub(crate) interface: Option<String>,
}

impl System for OperatingSystem {
    fn clock(&self) -> Clock {
        Clock::start()
    }

    fn route(&self, bound: SocketAddr, remote: SocketAddr) -> io::Result<Route> {
        route::find(bound, remote, self.interface.as_deref())
    }

    fn is_lost(&self, ip: IpAddr) -> bool {
        lost::is_lost(ip)
    }

    fn changes(&self) -> Option<Box<dyn Changes>> {
        Some(changes::watch())
    }

    fn claim(&self, ip: IpAddr, port: u16) -> io::Result<Claim> {
        claim::take(ip, port)
    }

    fn draw(&self, bytes: &mut [u8]) -> io::Result<()> {
        getrandom::fill(bytes).map_err(io::Error::other)
    }
}
