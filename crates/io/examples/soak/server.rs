//! The server: the first byte of each datagram says what the client wants.

use std::time::Duration;

use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use fairwire::{
    Ccid, Config, Connection, DccpAddr, Endpoint, EndpointConfig, EndpointStats, ListenOptions,
    Listener, Security, ServiceCode,
};

pub(crate) const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"soak");
pub(crate) const PORT: u16 = 5_001;

/// The requests of clients.
pub(crate) const ECHO: u8 = 0;
pub(crate) const CLOSE: u8 = 1;
pub(crate) const ABORT: u8 = 2;

/// Returns the parameters of both sides: a peer that vanishes is detected within 13 seconds.
pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.send_ccids = vec![Ccid::TCP_LIKE, Ccid::TFRC];
    config.receive_ccids = vec![Ccid::TCP_LIKE, Ccid::TFRC];
    config.keep_alive = Some(Duration::from_secs(3));
    config.idle_timeout = Duration::from_secs(10);
    config.drain_timeout = Duration::from_secs(5);
    config.close_timeout = Duration::from_secs(5);
    config
}

/// An endpoint with a listener and the task that accepts.
pub(crate) struct Server {
    endpoint: Endpoint,
    accepting: JoinHandle<()>,
}

/// A server whose connections are over.
pub(crate) struct Rested {
    pub(crate) stats: EndpointStats,
    pub(crate) heap: isize,
}

impl Server {
    pub(crate) fn start() -> Self {
        // All clients have one address here; the default limits are not meant for that.
        let mut limits = EndpointConfig::default();
        limits.max_connections_per_source = 20_000;
        limits.max_answers_per_source_per_s = 100_000;
        limits.max_resets_per_s = 100_000;
        let endpoint = Endpoint::builder().config(limits);
        let endpoint = endpoint
            .bind(([127, 0, 0, 1], 0).into())
            .expect("a free port");
        let options = ListenOptions::new().config(config());
        let listener = endpoint
            .listen_with(PORT, &[SERVICE], Security::None, options)
            .expect("a free port");
        let accepting = tokio::spawn(accept(listener));
        Self {
            endpoint,
            accepting,
        }
    }

    pub(crate) fn remote(&self) -> DccpAddr {
        DccpAddr {
            addr: self.endpoint.local_addr(),
            dccp_port: PORT,
        }
    }

    pub(crate) fn stats(&self) -> EndpointStats {
        self.endpoint.stats()
    }

    /// Waits until all connections are over, records what is left, and shuts down.
    pub(crate) async fn rest(self, complaints: &mut Vec<String>) -> Rested {
        let stats = loop {
            let stats = self.stats();
            if stats.connections == stats.half_open {
                break stats;
            }
            if timeout(Duration::from_secs(30), self.endpoint.wait_idle())
                .await
                .is_err()
            {
                let stats = self.stats();
                let left = stats.connections - stats.half_open;
                complaints.push(format!("the server keeps {left} connections"));
                break stats;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        self.accepting.abort();
        let _cancelled = self.accepting.await;
        // The serving tasks end with their connections.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let heap = fairwire_held::bytes();
        Rested { stats, heap }
    }
}

async fn accept(listener: Listener) {
    let mut serving = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(connection) => drop(serving.spawn(serve(connection))),
                Err(_) => return,
            },
            Some(_) = serving.join_next() => {}
        }
    }
}

/// Serves one client until its connection is over.
async fn serve(connection: Connection) {
    while let Ok(received) = connection.recv().await {
        match received.data.first() {
            Some(&CLOSE) => {
                let _either_way = connection.close().await;
                return;
            }
            Some(&ABORT) => {
                connection.abort();
                return;
            }
            _ => {
                // The client may have gone, or may not read.
                let _ = connection.try_send(received.data);
            }
        }
    }
}
