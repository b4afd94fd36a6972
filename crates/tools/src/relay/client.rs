//! The near side: takes the datagrams of UDP programs, and has a connection to the far relay for each program.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use fairwire::{Connection, ConnectionClosed, Received};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::counters::Reason;
use super::dial::Dialer;
use super::lines::Lines;
use super::metrics::{Metrics, prometheus};
use super::options::{Options, reaches_itself};
use super::recurrence::Recurrence;
use super::report::Summary;
use super::session::Session;
use super::socket::{self, BATCH, Buffer};
use super::uplink::Uplinks;
use crate::perf::{Console, PerfError};

/// How long the connections may take to close at the end.
const CLOSING: Duration = Duration::from_secs(3);

/// A connection that lasted shorter than this has failed, if the peer did not close it.
const WORKED: Duration = Duration::from_secs(1);

/// The near side of a relay.
#[derive(Debug)]
pub(super) struct Client {
    shared: Arc<Shared>,
    local: SocketAddr,
    news: mpsc::Receiver<News>,
    metrics: Metrics,
    /// What went wrong with the first connection.
    first: Option<String>,
}

/// What the tasks of the sessions have in common.
#[derive(Debug)]
struct Shared {
    options: Options,
    socket: UdpSocket,
    dialer: Dialer,
    uplinks: Uplinks,
    sessions: Mutex<BTreeMap<SocketAddr, Arc<Session>>>,
    recurrence: Mutex<Recurrence>,
    news: mpsc::Sender<News>,
}

/// What a session tells the relay.
#[derive(Debug)]
enum News {
    /// Something went wrong, in words.
    Trouble(String),
    /// What the relay sent came back to it.
    Loop,
}

/// Why a session has no connection any more.
enum End {
    Idle,
    Closed(ConnectionClosed),
}

impl Client {
    /// Binds the UDP port and connects once.
    pub(super) async fn bind(options: Options) -> Result<Self, PerfError> {
        let config = options.configured()?;
        let metrics = Metrics::bind(options.metrics).await?;
        let socket = socket::listen(options.listen)?;
        let local = socket.local_addr();
        let local = local.map_err(|error| PerfError::Local(error.to_string()))?;
        let dialer = Dialer::bind(&options, config)?;
        if let Ok(remotes) = dialer.resolve().await
            && let Some(own) = (remotes.into_iter()).find(|addr| reaches_itself(local, *addr))
        {
            let text = format!("the relay would reach itself: --to {own} is where it listens");
            return Err(PerfError::Usage(text));
        }
        let first = match dialer.dial().await {
            Ok(connection) => {
                tokio::spawn(async move { connection.close().await });
                None
            }
            Err(error) if error.is_final => return Err(PerfError::Peer(error.text)),
            Err(error) => Some(error.text),
        };
        let (tell, news) = mpsc::channel(16);
        Ok(Self {
            shared: Arc::new(Shared {
                options,
                socket,
                dialer,
                uplinks: Uplinks::default(),
                sessions: Mutex::default(),
                recurrence: Mutex::default(),
                news: tell,
            }),
            local,
            metrics,
            news,
            first,
        })
    }

    pub(super) fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics.local_addr()
    }

    pub(super) fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Relays until `stop`, or until the relay reaches itself.
    pub(super) async fn run(
        mut self,
        console: &mut Console,
        stop: impl Future<Output = ()>,
    ) -> Summary {
        let shared = &self.shared;
        let options = &shared.options;
        console.announce(&options.first_line(self.local));
        let mut lines = Lines::new(options.interval);
        if let Some(first) = &self.first {
            lines.trouble(&later(first), console);
        }
        let mut ticks = lines.ticks();
        let mut tasks = JoinSet::new();
        let mut buffer = Buffer::new();
        tokio::pin!(stop);
        let error = loop {
            tokio::select! {
                ready = shared.socket.readable() => match ready {
                    Ok(()) => {
                        shared.read(&mut buffer, &mut tasks);
                        // The sessions have a turn even if the socket always has something.
                        tokio::task::yield_now().await;
                    }
                    Err(error) => break Some(PerfError::Local(format!("the UDP socket failed: {error}"))),
                },
                Some(_) = tasks.join_next() => {}
                Some(news) = self.news.recv() => match news {
                    News::Trouble(text) => lines.trouble(&text, console),
                    News::Loop => break Some(PerfError::Peer(format!(
                        "the relay reaches itself: what it sends to {} comes back to its own UDP port {}; let --to of \
                         the far relay name another program",
                        options.to,
                        self.local.port()
                    ))),
                },
                request = self.metrics.request() => {
                    let text = prometheus(&shared.uplinks.totals(), shared.uplinks.count());
                    self.metrics.answer(request, text);
                }
                _ = ticks.tick() => lines.tick(&shared.uplinks, console),
                () = &mut stop => break None,
            }
        };
        let _ = timeout(CLOSING, shared.dialer.close()).await;
        shared.uplinks.settled(&mut tasks).await;
        let totals = shared.uplinks.totals();
        if let Some(error) = &error {
            console.refuse_in_text(error);
        }
        let listen = self.local.to_string();
        Summary::new(options, listen, (lines.ran(), totals), error.as_ref())
    }
}

impl Shared {
    /// Reads some datagrams of the programs.
    fn read(self: &Arc<Self>, buffer: &mut Buffer, tasks: &mut JoinSet<()>) {
        for _ in 0..BATCH {
            match buffer.read(&self.socket) {
                Ok((datagram, client)) => self.offer(client, datagram, tasks),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                // An ICMP error about a program that is gone, on systems that tell.
                Err(_) => {}
            }
        }
    }

    /// Gives a datagram to the session of its sender, or begins one.
    fn offer(self: &Arc<Self>, client: SocketAddr, datagram: Bytes, tasks: &mut JoinSet<()>) {
        let (now, counters) = (Instant::now(), &self.uplinks.counters);
        self.recurrence().came_from_a_client(now, &datagram);
        let mut sessions = self.sessions();
        if let Some(session) = sessions.get(&client) {
            session.offer(now, datagram, self.options.waiting, counters);
            return;
        }
        if sessions.len() >= self.options.sessions {
            counters.drop_one(Reason::SessionLimit);
            return;
        }
        let session = Arc::new(Session::new(client, now, datagram.clone()));
        let answered = session.answered.clone();
        let question = (self.recurrence()).began(now, client, &datagram, answered);
        if let Some(question) = question {
            // If it is lost, the next new client is asked.
            let _ = self.socket.try_send_to(&question, client);
        }
        counters.change(|totals| totals.sessions_begun += 1);
        sessions.insert(client, session.clone());
        tasks.spawn(self.clone().serve(session));
    }

    /// Keeps a session until it ends.
    async fn serve(self: Arc<Self>, session: Arc<Session>) {
        let counters = &self.uplinks.counters;
        loop {
            match self.dialer.dial().await {
                Ok(connection) => match self.carry(&session, connection).await {
                    End::Idle => return,
                    End::Closed(closed) if closed.is_orderly() => {
                        if self.forget(&session, |_| true) {
                            counters.change(|totals| totals.sessions_ended += 1);
                        }
                        // Counts what came in between.
                        session.closed(Instant::now(), false, counters);
                        return;
                    }
                    End::Closed(closed) => {
                        counters.change(|totals| totals.sessions_lost += 1);
                        self.trouble(&closed.to_string());
                    }
                },
                Err(error) => {
                    counters.change(|totals| totals.failed_attempts += 1);
                    session.closed(Instant::now(), true, counters);
                    self.trouble(&error.text);
                }
            }
            if !self.wait(&session).await {
                return;
            }
        }
    }

    /// Waits until a datagram asks for a connection. Returns false if the session has ended before.
    async fn wait(&self, session: &Session) -> bool {
        loop {
            let ends = session.ends_at(self.options.idle);
            tokio::select! {
                () = session.wanted.notified() => return true,
                () = sleep_until(ends) => if self.ends(session) {
                    return false;
                },
            }
        }
    }

    /// Carries datagrams in both directions until the connection is over, or the session ends after silence.
    async fn carry(&self, session: &Session, connection: Connection) -> End {
        let options = &self.options;
        let counters = &self.uplinks.counters;
        let began = Instant::now();
        let uplink = self.uplinks.open(connection);
        session.opened(began, &uplink, options.within, counters);
        let mut batch = Vec::with_capacity(BATCH);
        let end = loop {
            let ends = session.ends_at(options.idle);
            tokio::select! {
                taken = uplink.connection.recv_many(&mut batch, BATCH) => match taken {
                    Ok(_) => self.deliver(session, &mut batch).await,
                    Err(closed) => break End::Closed(closed),
                },
                () = sleep_until(ends) => if self.ends(session) {
                    break End::Idle;
                },
            }
        };
        match &end {
            End::Idle => drop(uplink.connection.close().await),
            End::Closed(closed) => {
                let now = Instant::now();
                let failed = !closed.is_orderly() && now.duration_since(began) < WORKED;
                session.closed(now, failed, counters);
            }
        }
        self.uplinks.end(&uplink);
        end
    }

    /// Sends what the peer sent to the program.
    async fn deliver(&self, session: &Session, batch: &mut Vec<Received>) {
        session.touch(Instant::now());
        for received in batch.drain(..) {
            let data = received.data;
            if self.recurrence().is_question(&data) {
                let _ = self.news.try_send(News::Loop);
                continue;
            }
            match self.socket.send_to(&data, session.client).await {
                Ok(_) => self.uplinks.counters.delivered(data.len()),
                Err(_) => self.uplinks.counters.drop_one(Reason::NotSent),
            }
        }
    }

    /// Returns whether the session has ended after silence; it is forgotten then.
    fn ends(&self, session: &Session) -> bool {
        let now = Instant::now();
        let is_over = |session: &Session| session.ends_at(self.options.idle) <= now;
        let ended = self.forget(session, is_over);
        if ended {
            let counters = &self.uplinks.counters;
            counters.change(|totals| totals.sessions_ended += 1);
        }
        ended
    }

    /// Forgets a session if `when` says so while no datagram can come.
    fn forget(&self, session: &Session, when: impl FnOnce(&Session) -> bool) -> bool {
        let mut sessions = self.sessions();
        when(session) && sessions.remove(&session.client).is_some()
    }

    fn trouble(&self, text: &str) {
        // If many sessions have trouble at the same time, one of them is enough.
        let _ = self.news.try_send(News::Trouble(later(text)));
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recurrence(&self) -> MutexGuard<'_, Recurrence> {
        let locked = self.recurrence.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the note about a session that has no connection.
fn later(text: &str) -> String {
    format!("no session: {text}; the next datagram tries again")
}
