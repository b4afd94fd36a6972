//! Fairwire.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use fairwire::tls::{self, ClientConfig, Fingerprint, ServerConfig};
use fairwire::{
    Ccid, Config, ConnectOptions, DccpAddr, Endpoint, EndpointConfig, ListenOptions, Listener,
    Received, Security, ServiceCode,
};

use crate::socket::LOOPBACK;
use crate::tls::{Identity, Trusted};
use crate::transport::{BATCH, Connection, Result, Transport};

const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"race");
const PORT: u16 = 5_001;

/// Limits that are high enough for ten thousand connections from one address.
const MANY: usize = 20_000;
const MEMORY: usize = 8 << 30;

/// Connections from one socket. It has 16,384 ports of DCCP for them, and a port rests for minutes after its use.
const DIALS: u32 = 15_500;

#[derive(Clone, Copy)]
pub struct Dccp {
    pub ccid: Ccid,
    pub encrypted: bool,
}

#[derive(Clone)]
pub struct Dialer {
    /// A socket, and how many connections were made from it.
    from: Arc<Mutex<(Endpoint, u32)>>,
    security: Security<ClientConfig>,
    options: ConnectOptions,
}

impl Dialer {
    fn endpoint(&self) -> Result<Endpoint> {
        let mut from = self.from.lock().unwrap_or_else(PoisonError::into_inner);
        if from.1 == DIALS {
            *from = (endpoint()?, 0);
        }
        from.1 += 1;
        Ok(from.0.clone())
    }
}

impl Dccp {
    fn config(self) -> Config {
        let mut config = Config::default();
        config.send_ccids = vec![self.ccid];
        config.receive_ccids = vec![self.ccid];
        // As for the peers, whose idle connections send nothing.
        config.keep_alive = None;
        config
    }
}

fn endpoint() -> Result<Endpoint> {
    let mut config = EndpointConfig::default();
    config.max_connections = MANY;
    config.max_connections_per_source = MANY;
    config.max_memory = MEMORY;
    Ok(Endpoint::builder().config(config).bind(LOOPBACK)?)
}

impl Transport for Dccp {
    type Listener = Listener;
    type Dialer = Dialer;
    type Connection = fairwire::Connection;

    fn listen(&self, identity: &Identity) -> Result<(Listener, SocketAddr)> {
        let security = if self.encrypted {
            let identity = tls::Identity::from_pem(&identity.certificate_pem, &identity.key_pem)?;
            Security::dtls(ServerConfig::new(identity))
        } else {
            Security::None
        };
        let options = ListenOptions::new().config(self.config()).backlog(MANY);
        let endpoint = endpoint()?;
        let listener = endpoint.listen_with(PORT, &[SERVICE], security, options)?;
        Ok((listener, endpoint.local_addr()))
    }

    async fn accept(listener: &mut Listener) -> Result<fairwire::Connection> {
        Ok(listener.accept().await?)
    }

    fn dialer(&self, trusted: &Trusted) -> Result<Dialer> {
        let security = if self.encrypted {
            let pinned = Fingerprint::of(&trusted.certificate);
            Security::dtls(ClientConfig::pinned([pinned]))
        } else {
            Security::None
        };
        Ok(Dialer {
            from: Arc::new(Mutex::new((endpoint()?, 0))),
            security,
            options: ConnectOptions::new().config(self.config()),
        })
    }

    async fn dial(dialer: &Dialer, addr: SocketAddr) -> Result<fairwire::Connection> {
        let remote = DccpAddr {
            addr,
            dccp_port: PORT,
        };
        let (security, options) = (dialer.security.clone(), dialer.options.clone());
        let endpoint = dialer.endpoint()?;
        let connecting = endpoint.connect_with(remote, SERVICE, security, options);
        Ok(connecting.await?)
    }
}

impl Connection for fairwire::Connection {
    type Inbox = Vec<Received>;

    async fn send(&self, queue: &mut VecDeque<Bytes>) -> Result<()> {
        self.send_many(queue).await?;
        Ok(())
    }

    async fn receive(
        &self,
        inbox: &mut Vec<Received>,
        each: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<()> {
        self.recv_many(inbox, BATCH).await?;
        for received in inbox.drain(..) {
            each(&received.data);
        }
        Ok(())
    }
}
