//! The hosts of a model, and the checks that nothing of them is left at the end.

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
use crate::security::Security;
use crate::shards::Shards;
use crate::socket::{Model, Network};
use crate::state::Shared;

/// The service that the servers of the models offer.
pub const SERVICE: ServiceCode = ServiceCode(42);

/// The DCCP port that the servers of the models listen on.
pub const PORT: u16 = 5_001;

/// An endpoint whose driver runs.
pub struct Host {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Observes its driver and the state that the driver shares.
    pub watch: Watch,
    /// The address to connect to, if it listens.
    pub remote: DccpAddr,
}

/// Observes a driver and the state that it shares with handles; keeps neither alive.
pub struct Watch {
    driver: JoinHandle<()>,
    shared: Weak<Shared>,
}

/// Makes a host with address `number` on the network.
pub fn host(network: &Network, number: u8) -> Host {
    let local = SocketAddr::from(([192, 0, 2, number], 6_511));
    let socket = network.socket(local);
    let proto = fairwire_proto::Endpoint::new(EndpointConfig::default(), [number; 32]);
    let shared = Arc::new(Shared::new(proto, &socket, Arc::new(Model)));
    let watched = Arc::downgrade(&shared);
    let shards = [shared];
    let endpoint = Endpoint::new(Shards::new(&shards));
    let driver = spawn(Driver::new(&shards.into(), 0, socket, None).run());
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
    /// If the port already has a listener.
    pub fn listen(&self) -> Listener {
        self.listen_with(ListenOptions::new())
    }

    /// Listens at [`PORT`] with options.
    ///
    /// # Panics
    /// If the port already has a listener.
    pub fn listen_with(&self, options: ListenOptions) -> Listener {
        let listening = self
            .endpoint
            .listen_with(PORT, &[SERVICE], Security::None, options);
        listening.expect("the port is free")
    }
}

impl Watch {
    /// Ends the driver wherever it waits, as a runtime does when it shuts down.
    pub fn shut_down(&self) {
        self.driver.abort();
    }

    /// Waits until the driver ends by itself, when no handle and no connection is left.
    ///
    /// # Panics
    /// If something is left.
    pub fn assert_ended(self) {
        let Self { driver, shared } = self;
        let ended = block_on(driver);
        assert!(ended.is_ok(), "the driver was cancelled");
        assert!(shared.upgrade().is_none(), "somebody still holds the state");
    }

    /// Waits until a driver that was shut down is gone.
    ///
    /// # Panics
    /// If something is left.
    pub fn assert_gone(self) {
        let Self { driver, shared } = self;
        // The driver may have ended by itself before.
        let _ended = block_on(driver);
        assert!(shared.upgrade().is_none(), "somebody still holds the state");
    }
}

/// A client's host and a server's host.
pub struct Pair {
    /// The host with address 1.
    pub client: Host,
    /// The host with address 2.
    pub server: Host,
}

impl Pair {
    /// Makes two hosts on a new network.
    #[expect(
        clippy::new_without_default,
        reason = "a model says that it begins two hosts"
    )]
    pub fn new() -> Self {
        Self::on(&Network::new())
    }

    /// Makes two hosts on `network`.
    pub fn on(network: &Network) -> Self {
        Self {
            client: host(network, 1),
            server: host(network, 2),
        }
    }

    /// Connects, and returns the client's end and the server's end. The listener is dropped afterwards.
    ///
    /// # Panics
    /// If they do not connect.
    pub fn connect(&self, config: Config) -> (Connection, Connection) {
        let options = ListenOptions::new().config(config.clone());
        let listener = self.server.listen_with(options);
        let accepted = spawn(async move { listener.accept().await.expect("the driver runs") });
        let (client, server) = (&self.client.endpoint, self.server.remote);
        let options = ConnectOptions::new().config(config);
        let here = block_on(client.connect_with(server, SERVICE, Security::None, options));
        let there = block_on(accepted).expect("not cancelled");
        (here.expect("the server listens"), there)
    }

    /// Drops the handles of both endpoints and waits until both drivers end.
    ///
    /// # Panics
    /// If something is left.
    pub fn assert_ended(self) {
        let Self { client, server } = self;
        drop((client.endpoint, server.endpoint));
        client.watch.assert_ended();
        server.watch.assert_ended();
    }
}
