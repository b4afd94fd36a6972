//! Two sessions, what is on its way between them, and what they promise.

use std::collections::{BTreeSet, VecDeque};
use std::sync::OnceLock;

use bytes::Bytes;
use fairwire_tls::{
    ClientConfig, Date, Fingerprint, Identity, OVERHEAD, Output, SealError, ServerConfig, Session,
    Trust, Validity,
};
use fairwire_units::{Duration, Instant};

const CLIENT: usize = 0;
const SERVER: usize = 1;
const TODAY: Date = Date::from_unix_seconds(1_795_000_000);
const MAX_DATAGRAM: usize = 1_400;

/// The most datagrams on their way; the oldest are lost.
const ON_THE_WAY: usize = 256;
/// The most datagrams that are remembered to be replayed.
const REMEMBERED: usize = 256;

/// What one call may send at most, bytes: two flights of a handshake, the longest of which has six datagrams.
const PER_CALL: usize = 12 * 1_200;
/// What an end may send in all, for each byte that it got, besides what its timers send and what it sealed.
const PER_BYTE: usize = 3;

/// How the two ends are set up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup(usize);

struct Configs {
    client: ClientConfig,
    server: ServerConfig,
    pin: Fingerprint,
}

impl Setup {
    /// Bits of the number: both show certificates; no cookies; a key protects one record.
    pub(super) fn chosen(number: u8) -> Self {
        Self(usize::from(number & 0b111))
    }

    fn configs(self) -> &'static Configs {
        static ALL: OnceLock<Vec<Configs>> = OnceLock::new();
        &ALL.get_or_init(|| (0..8).map(configs).collect())[self.0]
    }

    /// Makes what is made once.
    pub(super) fn warm(self) {
        static DONE: OnceLock<()> = OnceLock::new();
        DONE.get_or_init(|| {
            for number in 0..8 {
                let mut ends = Ends::new(Self(number));
                ends.shake_hands();
                ends.seal(CLIENT, 10);
            }
        });
        self.configs();
    }
}

fn configs(number: usize) -> Configs {
    let identity = Identity::generate(&[], Validity::days(TODAY, 1)).expect("an identity");
    let pin = identity.fingerprint();
    let mut client = ClientConfig::pinned([pin]).identity(identity.clone());
    let mut server = ServerConfig::new(identity);
    if number & 1 != 0 {
        server = server.clients(Trust::Fingerprints(vec![pin]));
    }
    if number & 2 != 0 {
        server = server.without_cookies();
    }
    if number & 4 != 0 {
        client = client.records_per_key(1);
        server = server.records_per_key(1);
    }
    Configs {
        client,
        server,
        pin,
    }
}

/// One end, and what is known of it.
struct End {
    session: Session,
    limit: usize,
    connected: bool,
    failed: bool,
    /// Whether the peer closed, or somebody who pretended to be it during the handshake.
    closed: bool,
    /// Numbers of the data that it sealed, and of those that its peer was given.
    sealed: u32,
    delivered: BTreeSet<u32>,
    got: usize,
    sent: usize,
    /// What it may send besides: for its timers, and for what arrived.
    allowance: usize,
}

/// Both ends, and the datagrams on their way.
pub(super) struct Ends {
    both: [End; 2],
    now: Instant,
    pin: Fingerprint,
    /// Receiver and datagram.
    on_the_way: VecDeque<(usize, Bytes)>,
    /// Sender and datagram.
    past: Vec<(usize, Bytes)>,
}

impl Ends {
    pub(super) fn new(setup: Setup) -> Self {
        let configs = setup.configs();
        let now = Instant::START + Duration::from_secs(1);
        let client = Session::client(&configs.client, MAX_DATAGRAM, now, TODAY).expect("a client");
        let server = Session::server(&configs.server, MAX_DATAGRAM, now, TODAY).expect("a server");
        let mut ends = Self {
            both: [client, server].map(End::new),
            now,
            pin: configs.pin,
            on_the_way: VecDeque::new(),
            past: Vec::new(),
        };
        ends.take(CLIENT);
        ends.take(SERVER);
        ends
    }

    /// Completes the handshake over a good path.
    pub(super) fn shake_hands(&mut self) {
        for _ in 0..100 {
            self.deliver(0, false);
        }
        assert!(self.both.iter().all(|end| end.connected), "a good path");
    }

    /// Delivers a datagram on its way, the oldest or a later one; a copy of it stays on its way if asked for.
    pub(super) fn deliver(&mut self, place: usize, stays: bool) {
        if self.on_the_way.is_empty() {
            return;
        }
        let place = place % self.on_the_way.len();
        let (to, datagram) = self.on_the_way[place].clone();
        if !stays {
            self.on_the_way.remove(place);
        }
        self.arrive(to, &datagram);
    }

    pub(super) fn lose(&mut self, place: usize) {
        if !self.on_the_way.is_empty() {
            self.on_the_way.remove(place % self.on_the_way.len());
        }
    }

    /// Gives a datagram of the past to an end, perhaps to the one that sent it.
    pub(super) fn replay(&mut self, which: usize, to: usize) {
        if !self.past.is_empty() {
            let (_, datagram) = self.past[which % self.past.len()].clone();
            self.arrive(to, &datagram);
        }
    }

    /// Changes a bit of a datagram on its way.
    pub(super) fn corrupt(&mut self, place: usize, at: usize, bit: u8) {
        self.change(place, |bytes| {
            if !bytes.is_empty() {
                let at = at % bytes.len();
                bytes[at] ^= bit;
            }
        });
    }

    /// Cuts the end of a datagram on its way.
    pub(super) fn cut(&mut self, place: usize, length: usize) {
        self.change(place, |bytes| bytes.truncate(length));
    }

    /// Puts a datagram of the past behind one on its way.
    pub(super) fn join(&mut self, place: usize, which: usize) {
        if self.past.is_empty() {
            return;
        }
        let (_, past) = self.past[which % self.past.len()].clone();
        self.change(place, |bytes| bytes.extend_from_slice(&past));
    }

    fn change(&mut self, place: usize, change: impl FnOnce(&mut Vec<u8>)) {
        if self.on_the_way.is_empty() {
            return;
        }
        let place = place % self.on_the_way.len();
        let mut bytes = self.on_the_way[place].1.to_vec();
        change(&mut bytes);
        self.on_the_way[place].1 = bytes.into();
    }

    /// Gives any datagram to an end.
    pub(super) fn arrive(&mut self, to: usize, datagram: &[u8]) {
        let end = &mut self.both[to];
        end.got += datagram.len();
        let result = end.session.handle_datagram(self.now, datagram);
        assert!(result.is_err() || !end.failed, "a failed session stays so");
        end.failed |= result.is_err();
        self.take(to);
    }

    /// Lets time pass; what is due happens when it is due.
    pub(super) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        let timers = |ends: &Self| {
            ends.both
                .iter()
                .filter_map(|end| end.session.next_timeout())
                .min()
        };
        for _ in 0..64 {
            let Some(at) = timers(self).filter(|at| *at <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(at);
            self.serve_timers();
        }
        panic!("the ends want to wake again and again");
    }

    /// Lets time pass until a timer expires, at most ten minutes.
    pub(super) fn pass_until_timer(&mut self) {
        let next = self
            .both
            .iter()
            .filter_map(|end| end.session.next_timeout())
            .min();
        if let Some(at) = next {
            self.pass(at.saturating_since(self.now).min(Duration::from_secs(600)));
        }
    }

    fn serve_timers(&mut self) {
        for index in [CLIENT, SERVER] {
            let end = &mut self.both[index];
            if end.session.next_timeout().is_some_and(|at| at <= self.now) {
                end.allowance += PER_CALL;
                let result = end.session.handle_timeout(self.now);
                end.failed |= result.is_err();
                let again = end.session.next_timeout();
                assert!(
                    again.is_none_or(|at| at > self.now),
                    "it wants to wake at once"
                );
                self.take(index);
            }
        }
    }

    /// Seals data that are told from all others, and lets them depart.
    pub(super) fn seal(&mut self, from: usize, length: usize) {
        let end = &mut self.both[from];
        let data = content(from, end.sealed, length);
        let max = end.session.max_data();
        match end.session.seal(&data) {
            Ok(datagram) => {
                assert!(end.connected && datagram.len() == data.len() + OVERHEAD);
                assert!(datagram.len() <= end.limit, "larger than the limit");
                end.sealed += 1;
                // A look whether keys must be replaced.
                end.allowance += 2 * OVERHEAD + 64;
                self.depart(from, datagram);
            }
            Err(SealError::TooLarge { length, max: told }) => {
                assert!(length == data.len() && told == max && length > max);
            }
            Err(SealError::NotConnected) => assert!(!end.connected),
            Err(_) => {}
        }
        self.take(from);
    }

    /// Sets the limit of an end's datagrams.
    pub(super) fn limit(&mut self, which: usize, limit: usize) {
        self.both[which].limit = limit;
        self.both[which].session.set_max_datagram(limit);
    }

    pub(super) fn set_waiting(&mut self, which: usize, waiting: bool) {
        self.both[which].session.set_waiting(self.now, waiting);
    }

    pub(super) fn close(&mut self, which: usize) {
        self.both[which].allowance += PER_CALL;
        self.both[which].session.close();
        self.take(which);
    }

    /// Lets the network work again and time pass: the ends come to rest, whatever happened.
    pub(super) fn rest(&mut self) {
        for which in [CLIENT, SERVER] {
            self.set_waiting(which, false);
        }
        for _ in 0..40 {
            for _ in 0..ON_THE_WAY {
                self.deliver(0, false);
            }
            if self.on_the_way.is_empty()
                && self
                    .both
                    .iter()
                    .all(|end| end.session.next_timeout().is_none())
            {
                return;
            }
            self.pass(Duration::from_secs(60));
        }
        panic!("the ends never rest");
    }

    /// Takes what an end wants to do, and checks it.
    fn take(&mut self, index: usize) {
        let mut sent = 0;
        for _ in 0..1_000 {
            let output = self.both[index].session.poll();
            let end = &mut self.both[index];
            match output {
                Output::Idle => {
                    let end = &mut self.both[index];
                    end.sent += sent;
                    assert!(sent <= PER_CALL, "one call sends {sent} bytes");
                    let allowed = PER_CALL + PER_BYTE * end.got + end.allowance;
                    assert!(end.sent <= allowed, "{} bytes for {}", end.sent, end.got);
                    return;
                }
                Output::Send(datagram) => {
                    assert!(datagram.len() <= end.limit, "larger than the limit");
                    sent += datagram.len();
                    self.depart(index, datagram);
                }
                Output::Connected { peer } => {
                    let new = !end.connected && !end.failed && !end.closed;
                    assert!(new, "once, and not after a failure");
                    end.connected = true;
                    if index == CLIENT {
                        assert_eq!(peer, Some(self.pin));
                    }
                }
                Output::Data(data) => self.delivered(index, &data),
                Output::Closed => end.closed = true,
                Output::Check(_) => {}
            }
        }
        panic!("an end has more and more to do");
    }

    /// Checks data that an end gives to its application: its peer sealed them, and they come once.
    fn delivered(&mut self, to: usize, data: &[u8]) {
        assert!(self.both[to].connected, "data before the peer is known");
        let from = 1 - to;
        let number = data.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        let number = number.expect("data that nobody sealed");
        assert!(number < self.both[from].sealed, "data that nobody sealed");
        assert_eq!(data, content(from, number, data.len()), "changed data");
        assert!(self.both[to].delivered.insert(number), "data twice");
    }

    fn depart(&mut self, from: usize, datagram: Bytes) {
        if self.past.len() < REMEMBERED {
            self.past.push((from, datagram.clone()));
        }
        if self.on_the_way.len() == ON_THE_WAY {
            self.on_the_way.pop_front();
        }
        self.on_the_way.push_back((1 - from, datagram));
    }
}

impl End {
    fn new(session: Session) -> Self {
        Self {
            session,
            limit: MAX_DATAGRAM,
            connected: false,
            failed: false,
            closed: false,
            sealed: 0,
            delivered: BTreeSet::new(),
            got: 0,
            sent: 0,
            allowance: 0,
        }
    }
}

/// Returns data with a number and a length that nothing else has.
fn content(from: usize, number: u32, length: usize) -> Vec<u8> {
    let mut data = number.to_be_bytes().to_vec();
    let filling =
        u8::try_from(number % 251).expect("below 251") ^ if from == CLIENT { 0 } else { 0xff };
    data.resize(length.max(data.len()), filling);
    data
}
