//! A link between UDP clients and one address, in real time.
//!
//! Each client has a socket of its own towards that address, so what comes back is known to be for it. One thread waits
//! for all sockets and for the link's next event.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fairwire_units::Instant;
use mio::Waker;

use crate::clock::Clock;
use crate::control::Control;
use crate::engine::{Datagram, Direction, Engine, Passed};
use crate::lateness::Lateness;
use crate::sockets::{Buffers, Came, Udp};
use crate::wait::Waiting;
use crate::words::{Words, WordsError};

/// The most clients at once.
pub const MAX_CLIENTS: usize = 4_096;
/// How often silent clients are looked for.
const SWEEP: Duration = Duration::from_secs(1);

const LISTENER: usize = 0;
const CONTROL: usize = 1;
const FIRST_CLIENT: usize = 2;

/// What a relay does.
#[derive(Clone, Debug)]
pub struct Options {
    /// The link.
    pub words: Words,
    /// Where clients send.
    pub listen: SocketAddr,
    /// Where their datagrams go.
    pub to: SocketAddr,
    /// The seed of everything random.
    pub seed: u64,
    /// How long a client may be silent before it is forgotten.
    pub idle: Duration,
    /// Changes of the link, each with its time after the start.
    pub changes: Vec<(Duration, String)>,
    /// How long the relay runs, if not for ever.
    pub time: Option<Duration>,
    /// The name by which the link can be changed, if not its port.
    pub name: Option<String>,
}

/// Why a relay could not be made, or ended.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The description of the link, or of a change, is not possible.
    #[error(transparent)]
    Words(#[from] WordsError),
    /// The address cannot be listened at.
    #[error("{addr} cannot be listened at: {error}")]
    Bind {
        /// The address.
        addr: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The relay would send to itself.
    #[error(
        "--to {0} is the address at which the link listens: its datagrams would go round for ever"
    )]
    Loop(SocketAddr),
    /// The socket for changes cannot be made.
    #[error("{0}")]
    Control(String),
    /// The sockets failed.
    #[error("the link's sockets failed: {0}")]
    Sockets(#[from] io::Error),
}

/// What a relay has done.
#[derive(Clone, Debug)]
pub struct Report {
    /// Since the start.
    pub time: Duration,
    /// Towards the other side.
    pub there: Passed,
    /// Back to the clients.
    pub back: Passed,
    /// Clients now.
    pub clients: usize,
    /// Datagrams of clients for which there was no room or no socket.
    pub refused: u64,
    /// Datagrams that the system did not send: its buffer was full, or the datagram too large.
    pub unsent: u64,
    /// Datagrams that others than the far side sent to the clients' sockets.
    pub strangers: u64,
    /// Changes that were not possible when their time came.
    pub problems: Vec<String>,
    /// How late datagrams left, against the link's time.
    pub lateness: Lateness,
}

/// Asks a relay to end, from another thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    waker: Arc<Waker>,
    is_stopped: Arc<AtomicBool>,
}

impl Stopper {
    /// Lets [`Relay::run`] return.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        // Without it the relay ends at its next event.
        let _ = self.waker.wake();
    }
}

#[derive(Debug)]
struct Client {
    addr: SocketAddr,
    /// The address of this host to which it sends.
    at: Option<IpAddr>,
    udp: Udp,
    /// When it was last heard, or answered.
    last: Duration,
}

/// A relay.
#[derive(Debug)]
pub struct Relay {
    options: Options,
    engine: Engine,
    waiting: Waiting,
    waker: Arc<Waker>,
    is_stopped: Arc<AtomicBool>,
    listener: Udp,
    local: SocketAddr,
    control: Option<Control>,
    /// By number. No number comes twice, because datagrams of a client that is forgotten may still be on the link.
    clients: BTreeMap<usize, Client>,
    next_client: usize,
    known: BTreeMap<SocketAddr, usize>,
    buffers: Buffers,
    clock: Clock,
    refused: u64,
    unsent: u64,
    strangers: u64,
    problems: Vec<String>,
    lateness: Lateness,
}

/// Bytes of the IP and UDP headers.
fn headers(addr: SocketAddr) -> u32 {
    match addr {
        SocketAddr::V4(_) => 28,
        SocketAddr::V6(_) => 48,
    }
}

/// Returns whether what is sent to `to` comes to a socket at `local`.
fn is_same(local: SocketAddr, to: SocketAddr) -> bool {
    // Only an address of this host can be bound.
    let is_ours = || Udp::bind((to.ip(), 0).into()).is_ok();
    to.port() == local.port()
        && (to.ip() == local.ip() || (local.ip().is_unspecified() && is_ours()))
}

/// Returns the address from which answers come if datagrams go to `to`: an address that is none is this host's.
fn real(to: SocketAddr) -> SocketAddr {
    let ip = match to.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip.to_canonical(),
    };
    if ip == to.ip() {
        to
    } else {
        (ip, to.port()).into()
    }
}

impl Relay {
    /// Opens the sockets.
    ///
    /// # Errors
    /// See [`RelayError`].
    pub fn bind(mut options: Options) -> Result<Self, RelayError> {
        options.to = real(options.to);
        let mut after = options.words.clone();
        options.changes.sort_by_key(|(at, _)| *at);
        for (_, change) in &options.changes {
            after.change(change)?;
        }
        let bind = |addr| Udp::bind(addr).map_err(|error| RelayError::Bind { addr, error });
        if is_same(options.listen, options.to) {
            return Err(RelayError::Loop(options.to));
        }
        let mut listener = bind(options.listen)?;
        let local = listener.local_addr()?;
        if is_same(local, options.to) {
            return Err(RelayError::Loop(options.to));
        }
        let waiting = Waiting::new()?;
        waiting.add(listener.socket(), LISTENER)?;
        let name = options.name.clone().unwrap_or(local.port().to_string());
        let mut control = Control::open(&name).map_err(RelayError::Control)?;
        if let Some(control) = &mut control {
            waiting.add(control.listener(), CONTROL)?;
        }
        Ok(Self {
            engine: Engine::new(options.words.clone(), options.seed),
            options,
            waker: Arc::new(waiting.waker()?),
            waiting,
            is_stopped: Arc::default(),
            listener,
            local,
            control,
            clients: BTreeMap::new(),
            next_client: 0,
            known: BTreeMap::new(),
            buffers: Buffers::new(),
            clock: Clock::start(),
            refused: 0,
            unsent: 0,
            strangers: 0,
            problems: Vec::new(),
            lateness: Lateness::default(),
        })
    }

    /// Returns the address at which clients arrive.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Returns what ends the relay from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper {
            waker: Arc::clone(&self.waker),
            is_stopped: Arc::clone(&self.is_stopped),
        }
    }

    /// Carries datagrams until it is stopped or its time is over, and calls `told` with what passed, each `interval`.
    /// Returns what passed in all.
    ///
    /// # Errors
    /// If the system does not let it wait or read.
    pub fn run(
        &mut self,
        interval: Duration,
        mut told: impl FnMut(&Report),
    ) -> Result<Report, RelayError> {
        self.clock = Clock::start();
        let mut next_report = interval;
        let mut next_sweep = SWEEP;
        let mut ready = Vec::new();
        loop {
            let now = self.clock.now();
            self.deliver(now);
            self.change(now);
            if now >= next_sweep {
                self.forget_silent()?;
                next_sweep = now + SWEEP;
            }
            if !interval.is_zero() && now >= next_report {
                told(&self.report());
                next_report = now + interval;
            }
            let is_over = self.options.time.is_some_and(|time| now >= time);
            if is_over || self.is_stopped.load(Ordering::Relaxed) {
                return Ok(self.report());
            }
            let report = (!interval.is_zero()).then_some(next_report);
            let change = self.options.changes.first().map(|(at, _)| *at);
            let event = self.engine.next_event();
            let event = event.map(|at| at.saturating_since(Instant::START).into());
            let moments = [Some(next_sweep), report, change, event, self.options.time];
            let until = moments.into_iter().flatten().min().unwrap_or(next_sweep);
            let wait = if ready.is_empty() {
                until.saturating_sub(self.clock.now())
            } else {
                Duration::ZERO
            };
            ready.extend(self.waiting.wait(wait)?);
            ready.sort_unstable();
            ready.dedup();
            let mut left = Vec::new();
            for key in ready {
                if self.take(key)? {
                    left.push(key);
                }
            }
            ready = left;
        }
    }

    /// Makes the changes whose time has come.
    fn change(&mut self, now: Duration) {
        let due = self.options.changes.iter().take_while(|(at, _)| *at <= now);
        let due = due.count();
        for (_, words) in self.options.changes.drain(..due) {
            if let Err(error) = self.engine.change(moment(now), &words) {
                self.problems.push(format!("'{words}': {error}"));
            }
        }
    }

    /// Reads what has come to a socket. Returns whether more may be there.
    fn take(&mut self, key: usize) -> Result<bool, RelayError> {
        match key {
            LISTENER => self.take_from_clients(),
            CONTROL => {
                self.take_commands();
                Ok(false)
            }
            _ => self.take_from_target(key - FIRST_CLIENT),
        }
    }

    fn take_from_clients(&mut self) -> Result<bool, RelayError> {
        let mut came = Vec::new();
        let more = self.listener.recv(&mut self.buffers, |one, bytes| {
            came.push((one, bytes.into()));
        })?;
        let now = self.clock.now();
        for (one, bytes) in came {
            match self.client(one.from, one.to) {
                Some(client) => self.offer(now, client, Direction::There, (one, bytes)),
                None => self.refused += 1,
            }
        }
        Ok(more)
    }

    fn take_from_target(&mut self, client: usize) -> Result<bool, RelayError> {
        let Some(of) = self.clients.get_mut(&client) else {
            return Ok(false);
        };
        let mut came = Vec::new();
        let more = of.udp.recv(&mut self.buffers, |one, bytes| {
            // Anybody can send to this socket.
            if one.from == self.options.to {
                came.push((one, bytes.into()));
            } else {
                self.strangers += 1;
            }
        })?;
        if !came.is_empty() {
            of.last = self.clock.now();
        }
        let now = self.clock.now();
        for one in came {
            self.offer(now, client, Direction::Back, one);
        }
        Ok(more)
    }

    /// Puts a datagram on the link, at the moment at which the kernel had it.
    fn offer(
        &mut self,
        now: Duration,
        client: usize,
        direction: Direction,
        (came, bytes): (Came, Box<[u8]>),
    ) {
        let datagram = Datagram {
            client,
            direction,
            ecn: came.ecn,
            bytes,
            due: Instant::START,
        };
        let at = moment(now.saturating_sub(came.ago));
        self.engine.offer(at, datagram, headers(self.options.to));
    }

    /// Returns the client at an address, which may be new; none if there are too many.
    fn client(&mut self, addr: SocketAddr, at: Option<IpAddr>) -> Option<usize> {
        if let Some(&client) = self.known.get(&addr) {
            let known = self.clients.get_mut(&client)?;
            (known.last, known.at) = (self.clock.now(), at);
            return Some(client);
        }
        if self.clients.len() >= MAX_CLIENTS {
            return None;
        }
        let mut udp = Udp::towards(self.options.to).ok()?;
        let client = self.next_client;
        let added = self.waiting.add(udp.socket(), client + FIRST_CLIENT);
        added.ok()?;
        self.next_client += 1;
        let last = self.clock.now();
        let known = Client {
            addr,
            at,
            udp,
            last,
        };
        self.clients.insert(client, known);
        self.known.insert(addr, client);
        Some(client)
    }

    /// Sends what has arrived at an end of the link.
    fn deliver(&mut self, now: Duration) {
        self.engine.advance(moment(now));
        while let Some(datagram) = self.engine.arrived() {
            let Some(client) = self.clients.get(&datagram.client) else {
                self.unsent += 1;
                continue;
            };
            let sent = match datagram.direction {
                Direction::There => {
                    let way = (None, self.options.to);
                    client.udp.send(way, datagram.ecn, &datagram.bytes)
                }
                Direction::Back => {
                    let way = (client.at, client.addr);
                    self.listener.send(way, datagram.ecn, &datagram.bytes)
                }
            };
            if sent.is_err() {
                self.unsent += 1;
            }
            let due: Duration = datagram.due.saturating_since(Instant::START).into();
            self.lateness.note(self.clock.now().saturating_sub(due));
        }
    }

    /// Forgets the clients that have been silent for too long.
    fn forget_silent(&mut self) -> io::Result<()> {
        let (idle, now) = (self.options.idle, self.clock.now());
        let silent: Vec<usize> = self
            .clients
            .iter()
            .filter(|(_, client)| now.saturating_sub(client.last) > idle)
            .map(|(client, _)| *client)
            .collect();
        for key in silent {
            if let Some(mut client) = self.clients.remove(&key) {
                self.known.remove(&client.addr);
                self.waiting.remove(client.udp.socket())?;
            }
        }
        Ok(())
    }

    /// Answers whoever asked at the control socket.
    fn take_commands(&mut self) {
        let mut commands = Vec::new();
        while let Some(command) = self.control.as_ref().and_then(Control::next) {
            commands.push(command);
        }
        for command in commands {
            let now = moment(self.clock.now());
            let answer = match command.text().split_once(' ') {
                Some(("set", words)) => match self.engine.change(now, words) {
                    Ok(()) => "ok".to_owned(),
                    Err(error) => error.to_string(),
                },
                _ if command.text() == "show" => self.report().json().to_string(),
                _ => "unknown: this link understands 'set WORDS' and 'show'".to_owned(),
            };
            command.answer(&answer);
        }
    }

    fn report(&self) -> Report {
        Report {
            time: self.clock.now(),
            there: self.engine.passed(Direction::There),
            back: self.engine.passed(Direction::Back),
            clients: self.clients.len(),
            refused: self.refused,
            unsent: self.unsent,
            strangers: self.strangers,
            problems: self.problems.clone(),
            lateness: self.lateness.clone(),
        }
    }
}

/// Returns the link's time, which begins with the relay.
fn moment(since_start: Duration) -> Instant {
    Instant::START + since_start.into()
}
