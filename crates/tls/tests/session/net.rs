//! Two sessions and the path between them.

use bytes::Bytes;
use fairwire_proto::{Opened, Rest};
use fairwire_tls::{
    ClientConfig, Date, Fingerprint, Identity, Output, ServerConfig, Session, SessionError,
    Validity,
};
use fairwire_units::{Duration, Instant};

/// The date of all tests: in November 2026.
pub(crate) const TODAY: Date = Date::from_unix_seconds(1_795_000_000);
/// The largest datagram, unless a test says otherwise.
pub(crate) const MAX_DATAGRAM: usize = 1_400;
/// How long a datagram travels on a path without disturbances.
pub(crate) const DELAY: Duration = Duration::from_millis(20);

pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

/// Returns an identity that is valid today, for `example.org`.
pub(crate) fn identity() -> Identity {
    let yesterday = Date::from_unix_seconds(TODAY.as_unix_seconds() - 86_400);
    Identity::generate(&["example.org"], Validity::days(yesterday, 30)).expect("an identity")
}

/// Says after which delays copies of a datagram arrive. It gets the sender and the datagram.
pub(crate) type Path = Box<dyn FnMut(usize, &[u8]) -> Vec<Duration>>;

/// A path that delivers each datagram once, in order.
pub(crate) fn clean() -> Path {
    Box::new(|_, _| vec![DELAY])
}

/// Both ends, the datagrams on their way, and what the ends have done.
pub(crate) struct Net {
    pub(crate) ends: [Session; 2],
    pub(crate) now: Instant,
    pub(crate) path: Path,
    /// What each end did, without what it sent.
    pub(crate) done: [Vec<Output>; 2],
    /// Every datagram that was sent: sender, datagram.
    pub(crate) sent: Vec<(usize, Bytes)>,
    pub(crate) failed: [Option<SessionError>; 2],
    /// What each end keeps until its handshake is complete.
    pub(crate) early: [Vec<Vec<u8>>; 2],
    /// Arrival, order of sending, receiver, datagram.
    on_the_way: Vec<(Instant, usize, usize, Bytes)>,
}

impl Net {
    pub(crate) fn new(client: &ClientConfig, server: &ServerConfig) -> Self {
        Self::with_datagrams(client, server, MAX_DATAGRAM)
    }

    pub(crate) fn with_datagrams(client: &ClientConfig, server: &ServerConfig, max: usize) -> Self {
        let now = Instant::START + Duration::from_secs(5);
        let ends = [
            Session::client(client, max, now, TODAY).expect("a client"),
            Session::server(server, max, now, TODAY).expect("a server"),
        ];
        Self {
            ends,
            now,
            path: clean(),
            done: [Vec::new(), Vec::new()],
            sent: Vec::new(),
            failed: [None, None],
            early: [Vec::new(), Vec::new()],
            on_the_way: Vec::new(),
        }
    }

    /// A client that accepts the server by its fingerprint, and both connected.
    pub(crate) fn connected() -> Self {
        let (client, server) = pinned();
        let mut net = Self::new(&client, &server);
        net.run_for(Duration::from_secs(2));
        net.expect_connected();
        net
    }

    pub(crate) fn expect_connected(&self) {
        assert_eq!(self.failed, [None, None]);
        for end in &self.ends {
            assert!(end.is_connected(), "{end:?}");
        }
        for done in &self.done {
            let connected = |out: &&Output| matches!(out, Output::Connected { .. });
            assert_eq!(done.iter().filter(connected).count(), 1, "{done:?}");
        }
    }

    /// Lets time pass and datagrams arrive until nothing is left to do, or `time` has passed.
    pub(crate) fn run_for(&mut self, time: Duration) {
        let end = self.now + time;
        self.take_outputs();
        let mut steps = 0;
        while let Some((at, arrives)) = self.next().filter(|(at, _)| *at <= end) {
            steps += 1;
            assert!(steps < 10_000, "the ends never rest: {:?}", self.ends);
            self.now = self.now.max(at);
            if let Some(index) = arrives {
                let (_, _, to, datagram) = self.on_the_way.remove(index);
                self.arrive(to, &datagram);
            } else {
                for end in [CLIENT, SERVER] {
                    if self.ends[end]
                        .next_timeout()
                        .is_some_and(|at| at <= self.now)
                    {
                        let result = self.ends[end].handle_timeout(self.now);
                        self.note(end, result);
                    }
                }
            }
            self.take_outputs();
        }
        self.now = end;
    }

    /// Gives a datagram to an end, now.
    pub(crate) fn arrive(&mut self, to: usize, datagram: &[u8]) {
        self.open(to, datagram);
        self.take_outputs();
        if self.ends[to].is_connected() {
            for early in std::mem::take(&mut self.early[to]) {
                self.open(to, &early);
                self.take_outputs();
            }
        }
    }

    /// Opens a datagram, and keeps what came early.
    fn open(&mut self, to: usize, datagram: &[u8]) {
        let mut opened = datagram.to_vec();
        match self.ends[to].open(self.now, &mut opened) {
            Ok(Opened { data, rest }) => {
                let data = data.map(|data| Bytes::copy_from_slice(&opened[data]));
                self.done[to].extend(data.map(Output::Data));
                if let Rest::Early { place, .. } = rest {
                    self.early[to].push(datagram[place].to_vec());
                }
            }
            Err(error) => self.note(to, Err(error)),
        }
    }

    /// Sends data from an end over the path.
    pub(crate) fn send(&mut self, from: usize, data: &[u8]) -> Bytes {
        let datagram = self.ends[from].seal(data).expect("it is connected");
        self.depart(from, &datagram);
        datagram
    }

    /// Returns the data that an end received.
    pub(crate) fn data(&self, end: usize) -> Vec<&[u8]> {
        let mut found = Vec::new();
        for out in &self.done[end] {
            if let Output::Data(data) = out {
                found.push(&data[..]);
            }
        }
        found
    }

    pub(crate) fn error(&self, end: usize) -> &SessionError {
        self.failed[end].as_ref().expect("it failed")
    }

    /// Takes what the ends want to do; their datagrams depart.
    pub(crate) fn take_outputs(&mut self) {
        for end in [CLIENT, SERVER] {
            loop {
                match self.ends[end].poll() {
                    Output::Idle => break,
                    Output::Send(datagram) => self.depart(end, &datagram),
                    out => self.done[end].push(out),
                }
            }
        }
    }

    fn depart(&mut self, from: usize, datagram: &Bytes) {
        self.sent.push((from, datagram.clone()));
        for delay in (self.path)(from, datagram) {
            let order = self.sent.len();
            self.on_the_way
                .push((self.now + delay, order, 1 - from, datagram.clone()));
        }
    }

    /// Returns when something happens next, and the index of the datagram that arrives then, if it is one.
    fn next(&self) -> Option<(Instant, Option<usize>)> {
        let arrivals = (0..).zip(&self.on_the_way);
        let arrival = arrivals
            .min_by_key(|(_, (at, order, ..))| (*at, *order))
            .map(|(index, (at, ..))| (*at, Some(index)));
        let timers = self.ends.iter().filter_map(Session::next_timeout);
        let timer = timers.min().map(|at| (at.max(self.now), None));
        [arrival, timer]
            .into_iter()
            .flatten()
            .min_by_key(|(at, _)| *at)
    }

    fn note(&mut self, end: usize, result: Result<(), SessionError>) {
        if let Err(error) = result
            && self.failed[end].is_none()
        {
            self.failed[end] = Some(error);
        }
    }
}

/// A client that accepts the server by its fingerprint, and that server.
pub(crate) fn pinned() -> (ClientConfig, ServerConfig) {
    let identity = identity();
    let client = ClientConfig::pinned([identity.fingerprint()]);
    (client, ServerConfig::new(identity))
}

/// Returns the fingerprint that an end was told when it connected.
pub(crate) fn connected_peer(done: &[Output]) -> Option<Fingerprint> {
    done.iter().find_map(|out| match out {
        Output::Connected { peer } => *peer,
        _ => None,
    })
}

/// A small generator of random numbers (xorshift64*), so that a seed says everything about a path.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }
}

/// A path that loses, repeats and reorders datagrams, with probabilities in percent.
pub(crate) fn disturbed(seed: u64, lost: u64, repeated: u64, reordered: u64) -> Path {
    let mut random = Random::new(seed);
    Box::new(move |_, _| {
        let mut delays = Vec::new();
        if random.below(100) >= lost {
            delays.push(DELAY);
        }
        if random.below(100) < repeated {
            delays.push(DELAY + Duration::from_millis(random.below(200)));
        }
        for delay in &mut delays {
            if random.below(100) < reordered {
                *delay += Duration::from_millis(random.below(80));
            }
        }
        delays
    })
}
