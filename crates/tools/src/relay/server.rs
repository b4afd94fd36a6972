//! The far side: accepts connections, and has a UDP socket for each.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fairwire::tls::Fingerprint;
use fairwire::{
    Connection, ConnectionClosed, Endpoint, EndpointConfig, ListenOptions, Listener, Received,
};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::counters::{Counters, Reason};
use super::lines::Lines;
use super::metrics::{Metrics, prometheus};
use super::options::{Options, reaches_itself};
use super::report::Summary;
use super::socket::{self, BATCH, Buffer, SOCKET_BUFFER};
use super::uplink::{Uplink, Uplinks};
use crate::perf::{Console, PerfError};

/// How long the connections may take to close at the end.
const CLOSING: Duration = Duration::from_secs(3);

/// How long a connection may take until its first datagram: a near relay connects when it has one.
const FIRST: Duration = Duration::from_secs(10);

/// The far side of a relay.
#[derive(Debug)]
pub(super) struct Server {
    shared: Arc<Shared>,
    endpoint: Endpoint,
    listener: Listener,
    fingerprint: Option<Fingerprint>,
    trouble: mpsc::Receiver<String>,
    metrics: Metrics,
}

/// What the tasks of the sessions have in common.
#[derive(Debug)]
struct Shared {
    options: Options,
    uplinks: Uplinks,
    buffer: Mutex<Buffer>,
    trouble: mpsc::Sender<String>,
}

impl Server {
    /// Listens.
    pub(super) async fn bind(options: Options) -> Result<Self, PerfError> {
        let config = options.configured()?;
        let metrics = Metrics::bind(options.metrics).await?;
        // Before the port is bound, so that an error in these files is not taken for one of the port.
        let (security, fingerprint) = options.dtls.server()?;
        let to = socket::resolve_one(&options.to).await;
        let to = to.map_err(PerfError::Local)?;
        if reaches_itself(options.listen, to) {
            let text = format!("the relay would reach itself: --to {to} is where it listens");
            return Err(PerfError::Usage(text));
        }
        let mut limits = EndpointConfig::default();
        limits.max_connections = limits.max_connections.max(options.sessions * 2);
        // All clients of a near relay have one address.
        let each = &mut limits.max_connections_per_source;
        *each = options.sessions.saturating_mul(2).max(*each);
        let endpoint = socket::endpoint(options.listen, || {
            let builder = Endpoint::builder().socket_buffer(SOCKET_BUFFER);
            builder.config(limits.clone())
        })?;
        let local = endpoint.local_addr();
        let listen = ListenOptions::new().config(config);
        let listener = endpoint
            .listen_with(local.port(), &[options.service()], security, listen)
            .map_err(|error| PerfError::Local(error.to_string()))?;
        let (tell, trouble) = mpsc::channel(16);
        Ok(Self {
            shared: Arc::new(Shared {
                options,
                uplinks: Uplinks::default(),
                buffer: Mutex::new(Buffer::new()),
                trouble: tell,
            }),
            endpoint,
            listener,
            fingerprint,
            trouble,
            metrics,
        })
    }

    pub(super) fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics.local_addr()
    }

    pub(super) fn local_addr(&self) -> SocketAddr {
        self.endpoint.local_addr()
    }

    /// Relays until `stop`.
    pub(super) async fn run(
        mut self,
        console: &mut Console,
        stop: impl Future<Output = ()>,
    ) -> Summary {
        let shared = &self.shared;
        let options = &shared.options;
        let local = self.endpoint.local_addr();
        console.announce(&options.first_line(local));
        if let Some(fingerprint) = self.fingerprint {
            console.note(&format!("Clients trust it with --dtls-pin {fingerprint}"));
        }
        let mut lines = Lines::new(options.interval);
        let mut ticks = lines.ticks();
        let mut tasks = JoinSet::new();
        tokio::pin!(stop);
        let error = loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok(connection) => shared.begin(connection, &mut tasks),
                    Err(error) => break Some(PerfError::Local(error.to_string())),
                },
                Some(_) = tasks.join_next() => {}
                Some(text) = self.trouble.recv() => lines.trouble(&text, console),
                request = self.metrics.request() => {
                    let text = prometheus(&shared.uplinks.totals(), shared.uplinks.count());
                    self.metrics.answer(request, text);
                }
                _ = ticks.tick() => lines.tick(&shared.uplinks, console),
                () = &mut stop => break None,
            }
        };
        let _ = timeout(CLOSING, self.endpoint.close()).await;
        shared.uplinks.settled(&mut tasks).await;
        let failed = self.listener.failed_handshakes();
        let counters = &shared.uplinks.counters;
        counters.change(|totals| totals.failed_attempts += failed);
        let totals = shared.uplinks.totals();
        if let Some(error) = &error {
            console.refuse_in_text(error);
        }
        let listen = local.to_string();
        Summary::new(options, listen, (lines.ran(), totals), error.as_ref())
    }
}

impl Shared {
    /// Begins a session with a connection, unless there are as many as may be.
    fn begin(self: &Arc<Self>, connection: Connection, tasks: &mut JoinSet<()>) {
        let limit = self.options.sessions;
        if tasks.len() < limit {
            tasks.spawn(self.clone().serve(connection));
            return;
        }
        connection.abort_with(&format!("the relay has its limit of {limit} sessions"));
        let counters = &self.uplinks.counters;
        counters.change(|totals| totals.sessions_refused += 1);
        self.trouble("a connection was refused: there are as many sessions as --sessions allows");
    }

    async fn serve(self: Arc<Self>, connection: Connection) {
        let uplink = self.uplinks.open(connection);
        let ended = self.first(&uplink).await;
        self.uplinks.end(&uplink);
        let counters = &self.uplinks.counters;
        match ended {
            // It never carried anything: a near relay that looks whether we are there.
            None => {}
            Some(Ok(())) => counters.change(|totals| totals.sessions_ended += 1),
            Some(Err(closed)) if closed.is_orderly() => {
                counters.change(|totals| totals.sessions_ended += 1);
            }
            Some(Err(closed)) => {
                counters.change(|totals| totals.sessions_lost += 1);
                self.trouble(&format!("a session was lost: {closed}"));
            }
        }
    }

    /// Waits for the first datagram, opens a socket and carries. Returns `None` if no datagram came.
    async fn first(&self, uplink: &Uplink) -> Option<Result<(), ConnectionClosed>> {
        let mut batch = Vec::with_capacity(BATCH);
        let receiving = uplink.connection.recv_many(&mut batch, BATCH);
        let patience = self.options.idle.min(FIRST);
        if !matches!(timeout(patience, receiving).await, Ok(Ok(_))) {
            let _ = uplink.connection.close().await;
            return None;
        }
        self.uplinks
            .counters
            .change(|totals| totals.sessions_begun += 1);
        let opened = match socket::resolve_one(&self.options.to).await {
            Ok(to) => socket::connected(to)
                .await
                .map_err(|error| format!("{to}: {error}")),
            Err(text) => Err(text),
        };
        let socket = match opened {
            Ok(socket) => socket,
            Err(text) => {
                let counters = &self.uplinks.counters;
                counters.drop_many(Reason::NotSent, batch.len() as u64);
                self.trouble(&format!("a session was refused: no UDP socket to {text}"));
                uplink
                    .connection
                    .abort_with("the relay has no UDP socket for it");
                return Some(Ok(()));
            }
        };
        Some(self.carry(uplink, &socket, batch).await)
    }

    /// Carries datagrams in both directions until the connection is over, or nothing has passed for long.
    async fn carry(
        &self,
        uplink: &Uplink,
        socket: &UdpSocket,
        mut batch: Vec<Received>,
    ) -> Result<(), ConnectionClosed> {
        let counters = &self.uplinks.counters;
        deliver(socket, &mut batch, counters).await;
        let mut last = Instant::now();
        loop {
            tokio::select! {
                taken = uplink.connection.recv_many(&mut batch, BATCH) => {
                    taken?;
                    deliver(socket, &mut batch, counters).await;
                }
                // An error is read as a datagram is.
                _ = socket.readable() => self.read(socket, uplink),
                () = sleep_until(last + self.options.idle) => {
                    let _ = uplink.connection.close().await;
                    return Ok(());
                }
            }
            last = Instant::now();
        }
    }

    /// Reads some datagrams of the program, and what its host says about ours.
    fn read(&self, socket: &UdpSocket, uplink: &Uplink) {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..BATCH {
            match buffer.read(socket) {
                Ok((datagram, _)) => uplink.send(datagram, None),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.uplinks.counters.refused_after_all(),
            }
        }
    }

    fn trouble(&self, text: &str) {
        // If many sessions have trouble at the same time, one of them is enough.
        let _ = self.trouble.try_send(text.to_owned());
    }
}

/// Sends what the peer sent to the program.
async fn deliver(socket: &UdpSocket, batch: &mut Vec<Received>, counters: &Counters) {
    for received in batch.drain(..) {
        let data = received.data;
        let mut sent = socket.send(&data).await;
        if sent
            .as_ref()
            .is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
        {
            // This is what became of an earlier datagram; this one has not been sent.
            counters.refused_after_all();
            sent = socket.send(&data).await;
        }
        match sent {
            Ok(_) => counters.delivered(data.len()),
            Err(_) => counters.drop_one(Reason::NotSent),
        }
    }
}
