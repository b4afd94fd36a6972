//! The hosts of a model, and what must hold of each when all is over.

use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use shuttle::future::{JoinHandle, block_on, spawn};

use fairwire_proto::{Config, EndpointConfig};
use fairwire_wire::ServiceCode;

use crate::connection::Connection;
use crate::driver::Driver;
use crate::endpoint::Endpoint;
use crate::listener::Listener;
use crate::options::{ConnectOptions, ListenOptions};
use crate::remote::Remote;
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
    pub remote: Remote,
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
        remote: Remote {
            addr: local,
            dccp_port: PORT,
        },
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

/// Two hosts and a connection between them: the client's end, and the server's.
///
/// # Panics
/// If they do not connect.
pub fn connected(client: &Host, server: &Host, config: Config) -> (Connection, Connection) {
    let options = ListenOptions::new().config(config.clone());
    let listener: Listener = server
        .endpoint
        .listen_with(PORT, &[SERVICE], options)
        .expect("the port is free");
    let accepted = spawn(async move { listener.accept().await.expect("the driver runs") });
    let options = ConnectOptions::new().config(config);
    let connecting = client
        .endpoint
        .connect_with(server.remote, SERVICE, options);
    let here = block_on(connecting).expect("the server listens");
    let there = block_on(accepted).expect("not cancelled");
    (here, there)
}
