//! A session of which each step is checked: what a datagram costs, and what the session then holds.

use fairwire_held::thread::{bytes, measure};
use fairwire_tls::{Output, Session};
use fairwire_units::Instant;

use super::keyed::Keyed;

/// What handling a datagram takes at one time, with what the session keeps of it: for records that it kept before, and
/// for each byte of the datagram.
const MOMENT: u64 = 96 << 10;
const PER_BYTE: u64 = 4;

/// The records of a datagram that a session looks at, and those that it may have kept before: of the handshake, and of
/// data that overtook it.
const RECORDS: u64 = 32;
const KEPT: u64 = 2 * 16;
/// Calls of the library for a record: one that takes it, and those for its data, a buffer that is too small, and a timer.
const CALLS_PER_RECORD: u64 = 4;
/// Calls of the library for what the ends of a handshake say: two flights of 12 records, and what follows.
const CALLS_PER_FLIGHT: u64 = 2 * 12 + 8;

/// A session, and what it holds.
pub(crate) struct Watched {
    session: Session,
    now: Instant,
    held: i64,
    has_connected: bool,
    /// The bytes of data that it received.
    received: usize,
}

impl Watched {
    /// Watches a session.
    pub(crate) fn new(begin: impl FnOnce() -> Session) -> Self {
        let before = bytes();
        let session = begin();
        Self {
            session,
            now: Instant::START,
            held: bytes() - before,
            has_connected: false,
            received: 0,
        }
    }

    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Returns how many bytes of data it received.
    pub(crate) fn received(&self) -> usize {
        self.received
    }

    /// Gives it a datagram, lets `peer` hear what it says, and checks what that costs.
    pub(crate) fn give(&mut self, peer: &mut Keyed, datagram: &[u8]) {
        let now = self.now;
        self.step(peer, datagram.len(), |session| {
            let _ = session.handle_datagram(now, datagram);
        });
    }

    /// Lets time pass until its timer expires, if it has one.
    pub(crate) fn wait(&mut self, peer: &mut Keyed) {
        let Some(at) = self.session.next_timeout() else {
            return;
        };
        self.now = self.now.max(at);
        self.step(peer, 0, |session| {
            let _ = session.handle_timeout(at);
        });
    }

    /// Exchanges datagrams until both rest. The first `forged` replace what the peer's own protected records have.
    pub(crate) fn meet(&mut self, peer: &mut Keyed, forged: Vec<Vec<u8>>) {
        Keyed::forge(forged);
        self.tell(peer);
        while let Some(datagram) = peer.poll() {
            self.give(peer, &datagram);
        }
        Keyed::forge(Vec::new());
    }

    /// Runs a step that a datagram of this length causes, or the application, or time. Lets `peer` hear what it says.
    pub(crate) fn step(
        &mut self,
        peer: &mut Keyed,
        datagram: usize,
        step: impl FnOnce(&mut Session),
    ) {
        let (before, calls) = (bytes(), self.session.stats().calls);
        let ((), used) = measure(|| step(&mut self.session));
        self.held += bytes() - before;
        let panicked = format!("{:?}", self.session).contains("Library");
        assert!(!panicked, "the library panicked: {:?}", self.session);
        let calls = self.session.stats().calls - calls;
        let most = CALLS_PER_RECORD * (RECORDS + KEPT) + CALLS_PER_FLIGHT;
        assert!(calls <= most, "{calls} calls for {datagram} bytes");
        let most = MOMENT + PER_BYTE * datagram as u64;
        assert!(used.peak <= most, "{datagram} bytes: {used:?}");
        self.tell(peer);
    }

    /// Lets `peer` hear all that it says, and checks what it still holds.
    fn tell(&mut self, peer: &mut Keyed) {
        loop {
            let output = self.session.poll();
            match &output {
                Output::Send(datagram) => peer.hear(datagram),
                Output::Connected { .. } => self.has_connected = true,
                Output::Data(data) => {
                    assert!(self.has_connected, "data before the peer is accepted");
                    self.received += data.len();
                }
                Output::Idle => break,
                Output::Closed | Output::Check(_) => {}
            }
            let before = bytes();
            drop(output);
            self.held += bytes() - before;
        }
        let most = self.session.memory();
        let held = usize::try_from(self.held).unwrap_or(0);
        assert!(
            held <= most,
            "it holds {held} of {most} bytes: {:?}",
            self.session
        );
    }
}
