//! The server: waits for clients, serves one measurement at a time, and prints.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use fairwire::ccids::{CcidProfile, ccid_profile};
use fairwire::tls::{Fingerprint, ServerConfig, SessionError};
use fairwire::{
    BindError, Config, DtlsRefusal, Endpoint, HandshakeError, Incoming, ListenError, ListenOptions,
    Listener, Security, ServiceCode,
};
use fairwire_measure::counted;
use socket2::Type;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::client::show;
use super::console::Console;
use super::defaults::PATIENCE;
use super::file::Sink;
use super::flow::Flow;
use super::link::{self, Link, Tcp, Udp, UdpListener};
use super::local;
use super::message::{DATA_HEADER, Message};
use super::meter::Meter;
use super::options::{MIN_INTERVAL, Protocol, ServerOptions};
use super::report::{ErrorReport, FlowReport, Outcome, Role};
use super::session::{Answer, Params, Stop, recv_params, refuse};
use super::ticker::Ticker;
use super::{PerfError, runtime, signals};
use crate::signals::Signals;

/// Serves measurements and prints them to `console`, until Ctrl-C, SIGTERM or SIGHUP, or after one client if the options
/// say so. Returns the exit status.
pub fn server(options: &ServerOptions, console: &mut Console) -> u8 {
    let served = runtime().and_then(|runtime| {
        runtime.block_on(async {
            let server = Server::bind(options.clone())?;
            Ok(server.run(console).await)
        })
    });
    served.unwrap_or_else(|error: PerfError| {
        console.failure(&ErrorReport::from(&error));
        error.exit_code()
    })
}

/// The largest number of clients whose parameters are awaited at the same time. Further clients wait; each has
/// [`PATIENCE`] to send its parameters.
const MAX_PENDING_CLIENTS: usize = 4_096;

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    options: ServerOptions,
    socket: Socket,
    /// The fingerprint of its certificate, with DTLS.
    fingerprint: Option<Fingerprint>,
}

#[derive(Debug)]
enum Socket {
    Dccp(Listener),
    Udp(UdpListener, VecDeque<(SocketAddr, Instant)>),
    Tcp(TcpListener),
}

/// The result of greeting a client.
enum Arrival {
    /// The client sent valid parameters.
    Accepted(Box<(Link, Params)>),
    /// The client was refused; the reason.
    Refused(String),
    /// The client sent nothing.
    Silent,
}

impl Server {
    /// Starts to listen. Needs a tokio runtime.
    ///
    /// # Errors
    /// [`PerfError::Local`] if the port is not available, or if files cannot be saved at the given path: its directory
    /// must exist.
    pub fn bind(options: ServerOptions) -> Result<Self, PerfError> {
        options.check()?;
        if let Some(path) = &options.save {
            Sink::check(path)?;
        }
        // Before the port is bound, so that an error in these files is not taken for one of the port.
        let (security, fingerprint) = options.dtls.server()?;
        let any6 = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let bind = |any| {
            let addr = options
                .bind
                .as_ref()
                .map(|bind| bind.addr(any, options.port));
            let addr = addr.unwrap_or(Ok(SocketAddr::new(any, options.port)))?;
            Socket::bind(&options, &security, addr)
        };
        let has_address = options.bind.as_ref().is_some_and(|bind| bind.ip.is_some());
        let bound = bind(any6);
        let socket = match bound {
            // The host has no IPv6.
            Err(Unbound::Other(_)) if !has_address => {
                let any4 = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
                bind(any4)
            }
            bound => bound,
        };
        let socket = socket.map_err(|error| {
            PerfError::Local(match error {
                Unbound::InUse => format!(
                    "port {} is in use: choose another with -p, or stop the program that has it",
                    options.port
                ),
                Unbound::Other(text) => text,
            })
        })?;
        Ok(Self {
            options,
            socket,
            fingerprint,
        })
    }

    /// Returns the port.
    ///
    /// # Errors
    /// The system's error.
    pub fn port(&self) -> io::Result<u16> {
        Ok(match &self.socket {
            Socket::Dccp(listener) => listener.dccp_port(),
            Socket::Udp(socket, _) => socket.port()?,
            Socket::Tcp(socket) => socket.local_addr()?.port(),
        })
    }

    /// Serves until Ctrl-C, SIGTERM or SIGHUP, or one client. Returns the exit status.
    pub async fn run(mut self, console: &mut Console) -> u8 {
        let port = self.port().unwrap_or(self.options.port);
        let bound = self.options.bind.as_ref();
        let bound = bound.map_or_else(String::new, |bound| format!(" of {bound}"));
        console.announce(&format!(
            "Server listening on port {port}{bound} ({}, {})",
            match self.options.protocol {
                Protocol::Dccp if self.options.native => "DCCP, native",
                Protocol::Dccp => "DCCP in UDP",
                Protocol::Udp => "UDP",
                Protocol::Tcp => "TCP",
            },
            self.options.dtls.words()
        ));
        if let Some(fingerprint) = self.fingerprint {
            console.note(&format!("Clients trust it with --dtls-pin {fingerprint}"));
            if self.options.dtls.restricts_clients() {
                console.note(
                    "It serves only clients that it trusts (--dtls-pin or --dtls-ca); these give --dtls, too",
                );
            }
        }
        let mut signals = match signals() {
            Ok(signals) => signals,
            Err(error) => {
                console.failure(&ErrorReport::from(&error));
                return error.exit_code();
            }
        };
        let mut greeting = JoinSet::new();
        loop {
            let arrival = tokio::select! {
                client = self.socket.accept(), if greeting.len() < MAX_PENDING_CLIENTS => {
                    greeting.spawn(receive_params(client));
                    continue;
                }
                Some(Ok(arrival)) = greeting.join_next() => arrival,
                () = signals.stop() => return 0,
            };
            let (link, params) = match arrival {
                Arrival::Accepted(client) => *client,
                Arrival::Refused(text) => {
                    console.note(&text);
                    continue;
                }
                Arrival::Silent => continue,
            };
            let serving = self.serve((link, params), &mut greeting, &mut signals, console);
            let outcome = serving.await;
            if let Some(note) = self.without_window(&outcome) {
                console.note(&note);
            }
            console.outcome(&outcome);
            let interrupted = outcome
                .error
                .as_ref()
                .is_some_and(|e| e.kind == "interrupted");
            if self.options.one_off || interrupted {
                return outcome.exit_code();
            }
        }
    }

    /// Serves one measurement with all its flows.
    async fn serve(
        &mut self,
        (link, params): (Link, Params),
        greeting: &mut JoinSet<Arrival>,
        signals: &mut Signals,
        console: &mut Console,
    ) -> Outcome {
        let mut outcome = self.begin(&link, &params);
        console.announce(&format!(
            "{} {} {}",
            outcome.protocol,
            if params.reverse { "to" } else { "from" },
            outcome.peer
        ));
        let mut test = Test {
            id: params.test,
            missing: params.flows,
            running: JoinSet::new(),
            ticker: Ticker::new(our_role(&params)),
        };
        let (stop, stopped) = Stop::new();
        self.join(&mut test, link, params, &stopped, &mut outcome)
            .await;
        let every = self.options.interval;
        let mut tick = interval(every.max(MIN_INTERVAL));
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        tick.tick().await;
        let all_here = sleep(PATIENCE);
        tokio::pin!(all_here);
        let mut interrupted = false;
        while test.missing > 0 || !test.running.is_empty() {
            tokio::select! {
                client = self.socket.accept(), if greeting.len() < MAX_PENDING_CLIENTS => {
                    greeting.spawn(receive_params(client));
                }
                Some(Ok(arrival)) = greeting.join_next() => match arrival {
                    Arrival::Accepted(client) if test.awaits(&client.1) => {
                        let (link, params) = *client;
                        self.join(&mut test, link, params, &stopped, &mut outcome).await;
                    }
                    Arrival::Accepted(client) => drop(greeting.spawn(busy(client.0))),
                    Arrival::Refused(text) => console.note(&text),
                    Arrival::Silent => {}
                },
                Some(Ok(flow)) = test.running.join_next() => outcome.flows.push(flow),
                _ = tick.tick(), if !every.is_zero() => {
                    show(test.ticker.lines(), &mut outcome, console);
                }
                () = &mut all_here, if test.missing > 0 => {
                    let text = format!("{} never arrived", counted(test.missing.into(), "flow"));
                    outcome.error = Some((&PerfError::Peer(text)).into());
                    test.missing = 0;
                }
                () = signals.stop() => {
                    test.missing = 0;
                    if std::mem::replace(&mut interrupted, true) {
                        break; // The second Ctrl-C: end without the other side's report.
                    }
                    let _ = stop.send(true);
                }
            }
        }
        if !every.is_zero() {
            show(test.ticker.last_lines(), &mut outcome, console);
        }
        outcome.flows.sort_by_key(|flow| flow.flow);
        if interrupted {
            outcome.error = Some((&PerfError::Interrupted).into());
        }
        outcome.conclude();
        outcome
    }

    /// Returns a note if we sent without the requested window law: the client chooses the CCID.
    fn without_window(&self, outcome: &Outcome) -> Option<String> {
        let law = self.options.law.as_ref().filter(|_| outcome.reverse)?;
        let senders = outcome.flows.iter().filter_map(|it| it.sender.as_ref());
        let mut ccids = senders.filter_map(|it| it.path.as_ref()?.ccid);
        let has_law = |ccid: u8| ccid_profile(ccid.into()).is_some_and(CcidProfile::has_window_law);
        let ccid = ccids.find(|ccid| !has_law(*ccid))?;
        Some(format!(
            "note: --cc {} had no effect, because the client asked for CCID {ccid}, which has no window law",
            law.kind()
        ))
    }

    fn begin(&self, link: &Link, params: &Params) -> Outcome {
        Outcome {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            side: "server".to_owned(),
            protocol: self.options.protocol.name().to_owned(),
            native: self.options.native,
            encrypted: self.options.dtls.is_on(),
            peer: link
                .peer()
                .map_or_else(String::new, |peer| peer.to_string()),
            length: params.length,
            rate_limit: params.rate,
            reverse: params.reverse,
            file_size: params.file_size,
            intervals: Vec::new(),
            flows: Vec::new(),
            error: None,
        }
    }

    /// Starts one more flow.
    async fn join(
        &self,
        test: &mut Test,
        link: Link,
        mut params: Params,
        stop: &Stop,
        outcome: &mut Outcome,
    ) {
        test.missing = test.missing.saturating_sub(1);
        let sink = match params.file_size {
            Some(size) => match Sink::new(size, self.options.save.as_deref()) {
                Ok(sink) => Some(sink),
                Err(error) => {
                    test.running.spawn(async move {
                        refuse(&link, &error.to_string()).await;
                        let flow = FlowReport {
                            flow: params.flow,
                            ..FlowReport::default()
                        };
                        flow.failed(&error)
                    });
                    return;
                }
            },
            None => None,
        };
        let max = u32::try_from(link.max_message()).unwrap_or(u32::MAX);
        params.length = params.length.clamp(DATA_HEADER, max.max(DATA_HEADER));
        outcome.length = params.length;
        // If it is lost, the client asks again.
        let _ = link.send(Answer::of(sink.as_ref()).encode()).await;
        let flow = Flow {
            role: our_role(&params),
            meter: Meter::of(&link),
            stop: stop.clone(),
            law: link::server_config(&self.options).ccid2.law.kind(),
            source: None,
            sink,
            early: None,
            link,
            params,
        };
        test.ticker.watch(flow.params.flow, flow.meter.clone());
        if test.missing == 0 && flow.role == Role::Receiver {
            // The client begins to send when it has agreed on the last flow.
            test.ticker.start_flows();
        }
        test.running.spawn(flow.run());
    }
}

/// Returns the end of the flows that the server is.
fn our_role(params: &Params) -> Role {
    if params.reverse {
        Role::Sender
    } else {
        Role::Receiver
    }
}

/// A measurement that runs.
struct Test {
    id: u64,
    /// The number of flows that have not arrived yet.
    missing: u32,
    running: JoinSet<FlowReport>,
    ticker: Ticker,
}

impl Test {
    /// Returns whether the parameters are those of a flow that has not arrived yet.
    fn awaits(&self, params: &Params) -> bool {
        params.test == self.id && self.missing > 0
    }
}

/// A client that has arrived.
enum Client {
    /// Its link can be used.
    Linked(Link),
    /// Its DCCP connection is not accepted yet; DTLS is set up then.
    Dccp(Incoming),
    /// This host could not take it; why.
    Lost(String),
}

async fn receive_params(client: Client) -> Arrival {
    let link = match client {
        Client::Linked(link) => link,
        Client::Lost(why) => return Arrival::Refused(why),
        Client::Dccp(incoming) => {
            let peer = incoming.remote().map(|remote| remote.user_addr());
            match incoming.accept().await {
                Ok(connection) => Link::Dccp(connection),
                Err(error) => {
                    let peer = peer.map_or_else(|| "a client".to_owned(), |peer| peer.to_string());
                    return Arrival::Refused(failed_handshake(&peer, &error));
                }
            }
        }
    };
    match recv_params(&link).await {
        Some(Ok(params)) => Arrival::Accepted(Box::new((link, params))),
        Some(Err(why)) => Arrival::Refused(refused(&link, &why)),
        None => Arrival::Silent,
    }
}

/// Returns the text about a client with which no encrypted connection came about, for the server's own output.
fn failed_handshake(peer: &str, error: &HandshakeError) -> String {
    match error {
        HandshakeError::Dtls(SessionError::NotDtls { .. }) => {
            format!("refused {peer}: it does not encrypt; clients need --dtls-pin or --dtls-ca")
        }
        HandshakeError::Closed(closed) => match closed.dtls_refusal() {
            Some(DtlsRefusal::Certificate) => {
                format!("{peer} does not trust this server's certificate")
            }
            _ => format!("{peer} left during the DTLS handshake: {closed}"),
        },
        error => format!("refused {peer}: {error}"),
    }
}

/// Refuses a client that arrives while another is served.
async fn busy(link: Link) -> Arrival {
    let text = refused(&link, "busy with another client");
    let why = "the server is busy with another client, try again later";
    refuse(&link, why).await;
    Arrival::Refused(text)
}

/// Returns the text about a refusal for the server's own output.
fn refused(link: &Link, why: &str) -> String {
    let peer = link.peer();
    let peer = peer.map_or_else(|| "a client".to_owned(), |peer| peer.to_string());
    format!("refused {peer}: {why}")
}

/// Why a port could not be bound.
enum Unbound {
    InUse,
    Other(String),
}

impl From<io::Error> for Unbound {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::InUse,
            _ => Self::Other(error.to_string()),
        }
    }
}

impl Socket {
    fn bind(
        server: &ServerOptions,
        security: &Security<ServerConfig>,
        addr: SocketAddr,
    ) -> Result<Self, Unbound> {
        Ok(match server.protocol {
            Protocol::Dccp => {
                let endpoint = link::builder(server.bind.as_ref());
                let bound = if server.native {
                    endpoint.bind_native(addr.ip())
                } else {
                    endpoint.bind(addr)
                };
                let endpoint = bound.map_err(|error| match error {
                    BindError::PortInUse { .. } => Unbound::InUse,
                    other => Unbound::Other(other.to_string()),
                })?;
                let config = link::server_config(server);
                Self::Dccp(listen(
                    &endpoint,
                    addr.port(),
                    server.service,
                    security.clone(),
                    &config,
                )?)
            }
            Protocol::Udp => Self::Udp(
                UdpListener::bind(addr, server.bind.as_ref())?,
                VecDeque::new(),
            ),
            Protocol::Tcp => {
                let socket = local::socket(addr, Type::STREAM, server.bind.as_ref())?;
                // As the standard library does: a port whose last connections are being forgotten is free.
                socket.set_reuse_address(cfg!(unix))?;
                socket.bind(&addr.into())?;
                socket.listen(1_024)?;
                Self::Tcp(TcpListener::from_std(socket.into())?)
            }
        })
    }

    /// Returns the next client. Errors that concern only one client are ignored.
    async fn accept(&mut self) -> Client {
        loop {
            match self {
                Self::Dccp(listener) => match listener.incoming().await {
                    Ok(incoming) => return Client::Dccp(incoming),
                    Err(_) => std::future::pending().await, // The runtime shuts down.
                },
                Self::Tcp(listener) => match listener.accept().await {
                    Ok((stream, _)) => return Client::Linked(Link::Tcp(Tcp::new(stream))),
                    Err(_) => sleep(Duration::from_millis(50)).await,
                },
                Self::Udp(socket, recent) => {
                    if let Some(client) = accept_udp(socket, recent).await {
                        return client;
                    }
                }
            }
        }
    }
}

/// Listens on `port`. If it is zero: in UDP on the port that the system gave to the socket, natively on a free dynamic
/// port.
fn listen(
    endpoint: &Endpoint,
    port: u16,
    service: ServiceCode,
    security: Security<ServerConfig>,
    config: &Config,
) -> Result<Listener, Unbound> {
    let port = match port {
        // A client that knows only one port number must be able to connect.
        0 if !endpoint.is_native() => endpoint.local_addr().port(),
        port => port,
    };
    let options = ListenOptions::new().config(config.clone());
    endpoint
        .listen_with(port, &[service], security, options)
        .map_err(|error| match error {
            ListenError::PortInUse { .. } => Unbound::InUse,
            error => Unbound::Other(error.to_string()),
        })
}

/// Accepts a client over UDP, which has no connections: its first parameters make one.
async fn accept_udp(
    socket: &UdpListener,
    recent: &mut VecDeque<(SocketAddr, Instant)>,
) -> Option<Client> {
    let (first, peer, local) = socket.recv().await.ok()?;
    let now = Instant::now();
    while recent
        .front()
        .is_some_and(|(_, at)| now.saturating_duration_since(*at) > PATIENCE)
    {
        recent.pop_front();
    }
    // A message that a client repeated before its own socket was made is not another client.
    let known = recent.iter().any(|(other, _)| *other == peer);
    let is_hello = matches!(Message::decode(&first), Some(Message::Params(_)));
    if known || !is_hello || recent.len() >= 1_024 {
        return None;
    }
    recent.push_back((peer, now));
    Some(match Udp::accept(local, peer, first).await {
        Ok(udp) => Client::Linked(Link::Udp(udp)),
        Err(error) => Client::Lost(format!("lost {peer}: cannot open a socket for it: {error}")),
    })
}
