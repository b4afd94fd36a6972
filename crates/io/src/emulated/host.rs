//! Hosts: where endpoints and sockets are bound.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use fairwire_net::NodeId;

use super::network::Network;
use super::socket::Socket;
use super::system::HostSystem;
use crate::bind::EndpointBuilder;
use crate::endpoint::Endpoint;
use crate::error::BindError;
use crate::transport::System;

/// A host of a simulated network.
#[derive(Clone, Debug)]
pub struct Host {
    network: Network,
    node: NodeId,
    ip: Ipv4Addr,
}

impl Network {
    /// Returns the host at a node, or `None` if there is no such node.
    pub fn host(&self, node: NodeId) -> Option<Host> {
        let ip = self.ip(node)?;
        let network = self.clone();
        Some(Host { network, node, ip })
    }
}

impl Host {
    /// Returns its address.
    pub fn ip(&self) -> IpAddr {
        self.ip.into()
    }

    /// Returns its node in the topology.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Returns the network that it belongs to.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Makes an endpoint on a UDP port, with the default options. Port zero takes a free port, from 49152 up.
    ///
    /// # Errors
    /// [`BindError::PortInUse`] or [`BindError::NoRuntime`].
    pub fn bind(&self, port: u16) -> Result<Endpoint, BindError> {
        Endpoint::builder().bind_emulated(self, port)
    }

    /// Opens a plain datagram socket on a UDP port, for another protocol. Port zero takes a free port, from 49152 up.
    ///
    /// # Errors
    /// [`BindError::PortInUse`].
    pub fn socket(&self, port: u16) -> Result<Socket, BindError> {
        let claimed = self.network.claim(self.ip, port);
        let (local, port) = claimed.ok_or(BindError::PortInUse {
            addr: SocketAddr::from((self.ip, port)),
        })?;
        Ok(Socket::new(self.network.clone(), local, port))
    }
}

impl EndpointBuilder {
    /// Makes an endpoint on a UDP port of a simulated host, and starts its driver on the current tokio runtime.
    ///
    /// The secret of the endpoint follows from the network's seed and from its address, and its time is tokio's. Port
    /// zero takes a free port, from 49152 up. Options of a system's socket have no effect, and there is always one shard.
    ///
    /// # Errors
    /// [`BindError::PortInUse`] or [`BindError::NoRuntime`].
    pub fn bind_emulated(self, host: &Host, port: u16) -> Result<Endpoint, BindError> {
        let socket = host.socket(port)?;
        let system = HostSystem::new(host.network.clone(), socket.local_addr());
        let system: Arc<dyn System> = Arc::new(system);
        let started = self.start(&system, || Ok(vec![socket]));
        started.map(|(endpoint, _)| endpoint)
    }
}
