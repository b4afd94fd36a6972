//! The hosts of a model, and what must hold of each when all is over.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use shuttle::future::{JoinHandle, block_on, spawn};

use fairwire_proto::{Config, EndpointConfig};
use fairwire_wire::ServiceCode;

use crate::address::DccpAddr;
use crate::connection::Connection;
use crate::driver::Driver;
use crate::endpoint::Endpoint;
use crate::listener::Listener;
use crate::options::{ConnectOptions, ListenOptions};
use crate::socket::Network;
use crate::state::{Handle, Shared};

/// The service that the models' servers offer.
pub const SERVICE: ServiceCode = ServiceCode(42);

/// The DCCP port at which they do.
pub const PORT: u16 = 5_001;

/// An endpoint whose driver runs.
pub struct Host {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Its driver, and what is left of it.
    pub watch: Watch,
    /// Where it listens, if it does.
    pub remote: DccpAddr,
}

/// Looks at a driver and at what it shares with handles, and keeps neither alive.
pub struct Watch {
    driver: JoinHandle<()>,
    shared: Weak<Shared>,
}

/// A host at the address `number` of the network.
pub fn host(network: &Network, number: u8) -> Host {
    let local = SocketAddr::from(([192, 0, 2, number], 6_511));
    let socket = network.socket(local);
    let proto = fairwire_proto::Endpoint::new(EndpointConfig::default(), [number; 32]);
    let shared = Arc::new(Shared::new(proto, local, socket.encapsulation()));
    let endpoint = Endpoint::new(Handle::new(Arc::clone(&shared)));
    let watched = Arc::downgrade(&shared);
    let driver = spawn(Driver::new(shared, socket).run());
    Host {
        endpoint,
        watch: Watch {
            driver,
            shared: watched,
        },
        remote: DccpAddr {
            addr: local,
            dccp_port: PORT,
        },
    }
}

impl Host {
    /// Listens at [`PORT`].
    ///
    /// # Panics
    /// If somebody does so already.
    pub fn listen(&self) -> Listener {
        self.listen_with(ListenOptions::new())
    }

    /// The same with options.
    ///
    /// # Panics
    /// If somebody listens there already.
    pub fn listen_with(&self, options: ListenOptions) -> Listener {
        let listening = self.endpoint.listen_with(PORT, &[SERVICE], options);
        listening.expect("the port is free")
    }
}

impl Watch {
    /// Ends the driver wherever it waits, as a runtime does that shuts down.
    pub fn shut_down(&self) {
        self.driver.abort();
    }

    /// Waits until the driver ends by itself, which it does when no handle and no connection is left.
    ///
    /// # Panics
    /// If something is left.
    pub fn ends(self) {
        let Self { driver, shared } = self;
        let ended = block_on(driver);
        assert!(ended.is_ok(), "the driver was cancelled");
        assert!(shared.upgrade().is_none(), "somebody still holds the state");
    }

    /// Waits until the driver that was shut down is gone.
    ///
    /// # Panics
    /// If something is left.
    pub fn is_gone(self) {
        let Self { driver, shared } = self;
        // It may have ended by itself before.
        let _ended = block_on(driver);
        assert!(shared.upgrade().is_none(), "somebody still holds the state");
    }
}

/// A client's host and a server's.
pub struct Pair {
    /// Has address 1.
    pub client: Host,
    /// Has address 2.
    pub server: Host,
}

impl Pair {
    /// Two hosts on a network of their own.
    #[expect(
        clippy::new_without_default,
        reason = "a model says that it begins two hosts"
    )]
    pub fn new() -> Self {
        Self::on(&Network::new())
    }

    /// Two hosts on `network`.
    pub fn on(network: &Network) -> Self {
        Self {
            client: host(network, 1),
            server: host(network, 2),
        }
    }

    /// Connects: the client's end, and the server's. Nobody listens afterwards.
    ///
    /// # Panics
    /// If they do not connect.
    pub fn connect(&self, config: Config) -> (Connection, Connection) {
        let options = ListenOptions::new().config(config.clone());
        let listener = self.server.listen_with(options);
        let accepted = spawn(async move { listener.accept().await.expect("the driver runs") });
        let (client, server) = (&self.client.endpoint, self.server.remote);
        let options = ConnectOptions::new().config(config);
        let here = block_on(client.connect_with(server, SERVICE, options));
        let there = block_on(accepted).expect("not cancelled");
        (here.expect("the server listens"), there)
    }

    /// Drops the handles of both endpoints and waits until both drivers end.
    ///
    /// # Panics
    /// If something is left.
    pub fn ends(self) {
        let Self { client, server } = self;
        drop((client.endpoint, server.endpoint));
        client.watch.ends();
        server.watch.ends();
    }
}
