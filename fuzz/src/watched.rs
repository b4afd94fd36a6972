//! An endpoint whose every call is checked against what Fairwire promises.
//!
//! After each call, everything that is ready to leave is taken, and these hold:
//! - **Packets.** Each packet can be decoded and its checksum is right; a datagram leaves at most once. A call makes at
//!   most [`CONTROLS`] packets without data for each connection and one stranger.
//! - **Time.** A call takes at most [`STEPS`] steps of loops whose length a packet decides. It makes at most
//!   [`ALLOCATIONS`] allocations, plus a number for each packet that leaves. After due timers have been handled, the
//!   next one is in the future.
//! - **Memory.** The budget is kept ([`Watched::check_memory`]), by the endpoint's own count and by the allocator's.
//! - **Events.** See [`app`].
//!
//! [`Watched::finish`] lets time pass in silence, after which nothing is left.

mod app;
mod end;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use fairwire_held::thread;
use fairwire_proto::{
    ConnectionId, Encapsulation, Endpoint, EndpointConfig, Event, Path, Resend, SendOptions,
    StartError, within_steps,
};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::checksum::{PseudoHeader, Sum, coverage};
use fairwire_wire::{HeadBuf, Packet, Seq};

use crate::trace;
use app::App;

/// The most packets without data that a call may cause for each connection and for one stranger: a Sync, a `SyncAck`, a
/// probe, a keep-alive, an acknowledgement, and a Reset after them.
const CONTROLS: usize = 6;

/// The most steps of one call, including one per packet that leaves. The longest loops write Data Dropped into a head
/// (ten steps for each of 1,008 bytes), and advance two histories of 2^17 places over a jump of numbers (2,048 each).
const STEPS: u64 = 20_000;

/// The most allocations of a call: a connection consists of some dozen parts, and a head full of Changes has 250.
const ALLOCATIONS: u64 = 1_000;

/// Allocations for each packet that leaves, including its copy for the network.
const ALLOCATIONS_PER_PACKET: u64 = 16;

/// The most bytes of histories beyond the budget, for each connection (`docs/security.md`).
const HISTORIES: usize = 200_000;

/// Bytes that an endpoint holds besides its connections: the shares of strangers (32 kB), and queues and tables in
/// their smallest size. An event has room for two addresses.
const FIXED_MEMORY: usize = 144 << 10;

/// Bytes for each connection of the largest number at one time. Queues and tables keep up to twice the room that they
/// once needed: a place by address and slot (120), timers (48), waiting events (72 each).
const ROOM: usize = 1_024;

/// Bytes of one entry in TIMEWAIT, with its place in the set (half of a node may be empty).
const TIME_WAIT: usize = 128;

/// A packet that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// Head and payload.
    pub(crate) bytes: Vec<u8>,
    /// The size of the head, bytes.
    pub(crate) head_len: usize,
    /// The local and remote address.
    pub(crate) path: Path,
    /// The ECN field.
    pub(crate) ecn: Ecn,
}

/// A datagram that the application read.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    /// The connection.
    pub(crate) id: ConnectionId,
    /// The sequence number of its packet.
    pub(crate) seq: Seq,
    /// Its data.
    pub(crate) payload: Vec<u8>,
}

/// An endpoint whose promises are checked.
#[derive(Debug)]
pub struct Watched {
    endpoint: Endpoint,
    max_memory: usize,
    /// The most answers to strangers in a second, and when recent ones left.
    answers_per_s: usize,
    answers: Vec<Instant>,
    /// When peers proved their address, each of which allows one more answer.
    proved: Vec<Instant>,
    keeps_alive: bool,
    reports_fates: bool,
    /// Whether the application releases closed connections at once.
    pub(crate) releases: bool,
    /// The time of the latest call.
    pub(crate) now: Instant,
    /// The most connections at one time.
    peak: usize,
    /// Bytes that the endpoint's calls have allocated and not freed.
    held: i64,
    head: HeadBuf,
    /// The connections that the application knows and has not released.
    apps: BTreeMap<ConnectionId, App>,
    /// Those of them that are closed.
    closed: Vec<ConnectionId>,
    /// The ids of all connections that ever existed.
    names: BTreeSet<ConnectionId>,
    /// The packets that left and have not been taken yet.
    pub(crate) out: Vec<Sent>,
    /// The number of packets that left.
    pub(crate) packets: u64,
}

impl Watched {
    /// Creates an endpoint with this configuration. `app` says whether its connections keep alive, and whether they
    /// report fates.
    pub(crate) fn new(config: EndpointConfig, secret: u8, now: Instant, app: (bool, bool)) -> Self {
        let max_memory = config.max_memory;
        let answers_per_s = config.max_resets_per_s + 4 * config.max_answers_per_source_per_s;
        let before = thread::bytes();
        let endpoint = Endpoint::new(config, [secret; 32]);
        Self {
            held: thread::bytes() - before,
            endpoint,
            max_memory,
            peak: 0,
            // Resets, and Responses with an Init Cookie: four seconds' worth for each of two sources.
            answers_per_s: usize::try_from(2 * answers_per_s).unwrap_or(usize::MAX),
            answers: Vec::new(),
            proved: Vec::new(),
            keeps_alive: app.0,
            reports_fates: app.1,
            releases: true,
            now,
            head: HeadBuf::new(),
            apps: BTreeMap::new(),
            closed: Vec::new(),
            names: BTreeSet::new(),
            out: Vec::new(),
            packets: 0,
        }
    }

    /// Calls the endpoint, takes its packets and events, and checks all promises.
    pub(crate) fn call<T>(&mut self, now: Instant, call: impl FnOnce(&mut Endpoint) -> T) -> T {
        assert!(now >= self.now, "time runs on");
        self.now = now;
        let (packets, before) = (self.packets, self.known());
        let calls = thread::calls();
        let value = self.measured(call);
        self.drain(before);
        let calls = thread::calls() - calls;
        let most = ALLOCATIONS + (self.packets - packets) * ALLOCATIONS_PER_PACKET;
        assert!(calls <= most, "{calls} allocations in one call");
        self.check_memory();
        value
    }

    /// Calls the endpoint, bounds its steps and counts what it keeps.
    fn measured<T>(&mut self, call: impl FnOnce(&mut Endpoint) -> T) -> T {
        let before = thread::bytes();
        let (value, _) = within_steps(STEPS, || call(&mut self.endpoint));
        self.held += thread::bytes() - before;
        value
    }

    /// Returns the number of connections, including those that the application has not released.
    fn known(&self) -> usize {
        self.apps.len() + self.endpoint.endpoint_stats().half_open
    }

    /// Takes all packets that are ready to leave, and all events. There were `before` connections.
    fn drain(&mut self, before: usize) {
        let connections = before.max(self.known());
        self.peak = self.peak.max(connections);
        let mut controls = 0;
        loop {
            let (now, mut head) = (self.now, std::mem::take(&mut self.head));
            let transmit = self.measured(|endpoint| endpoint.poll_transmit(now, &mut head));
            self.head = head;
            let Some(transmit) = transmit else {
                break;
            };
            if let (Some(id), Some(datagram)) = (transmit.connection, transmit.id) {
                let app = self.apps.get_mut(&id).expect("data of a known connection");
                app.on_left(datagram.0);
            } else {
                controls += 1;
                let most = CONTROLS * (connections + 1);
                assert!(
                    controls <= most,
                    "a call made {controls} packets without data"
                );
            }
            if transmit.connection.is_none() {
                self.on_answer();
            }
            self.packets += 1;
            // A probe of the path MTU has zeros after its head, which are not stored.
            let payload = transmit.payload.to_bytes();
            self.take(transmit.path, transmit.ecn, &payload);
        }
        while let Some((id, event)) = self.endpoint.poll_event() {
            self.on_event(id, &event);
            // The application frees what an event owns, the text of a Reset.
            let before = thread::bytes();
            drop(event);
            self.held += thread::bytes() - before;
        }
        if self.releases {
            self.release();
        }
    }

    /// Checks the rate of answers to strangers: in any second at most what the budget allows, plus a burst, plus one
    /// for each completed handshake.
    fn on_answer(&mut self) {
        let second = self.now.saturating_before(Duration::from_secs(1));
        self.answers.retain(|&at| at > second);
        self.proved.retain(|&at| at > second);
        self.answers.push(self.now);
        let most = self.answers_per_s + (self.answers_per_s / 16).max(1) + self.proved.len();
        let sent = self.answers.len();
        assert!(sent <= most, "{sent} answers to strangers in a second");
    }

    /// Takes a packet that leaves, and checks it.
    fn take(&mut self, path: Path, ecn: Ecn, payload: &[u8]) {
        let head = self.head.as_slice();
        let packet = Packet::decode_head(head, payload.len()).expect("what we send can be read");
        assert_eq!(packet.data_offset, head.len());
        trace::line(format_args!(
            "{} sends {:?} {:?}, {}",
            self.now,
            packet.seq,
            packet.kind,
            payload.len()
        ));
        if path.encapsulation == Encapsulation::Native {
            let pseudo = PseudoHeader::new(path.local.ip(), path.remote.ip());
            let covered = Sum::of(&payload[..coverage(packet.cscov, payload.len())]);
            let sound =
                packet.verify_checksum(pseudo.expect("one family"), head, covered, payload.len());
            assert_eq!(sound, Ok(()));
        }
        let mut bytes = Vec::with_capacity(head.len() + payload.len());
        bytes.extend_from_slice(head);
        bytes.extend_from_slice(payload);
        self.out.push(Sent {
            bytes,
            head_len: head.len(),
            path,
            ecn,
        });
    }

    fn on_event(&mut self, id: ConnectionId, event: &Event) {
        trace::line(format_args!("{} tells {id:?} {event:?}", self.now));
        if let Event::Accepted { .. } = event {
            assert!(self.names.insert(id), "{id:?} has been used before");
            self.apps.insert(id, App::accepted());
            self.proved.push(self.now);
            return;
        }
        let app = self.apps.get_mut(&id);
        let app = app.unwrap_or_else(|| panic!("{event:?} of an unknown {id:?}"));
        app.on_event(event, self.reports_fates);
        if let Event::Closed { .. } = event {
            self.closed.push(id);
        }
    }

    /// Begins a connection, and returns whether the endpoint did.
    pub(crate) fn begin(
        &mut self,
        now: Instant,
        begin: impl FnOnce(&mut Endpoint) -> Result<ConnectionId, StartError>,
    ) -> bool {
        // The id must be known before the first packet leaves.
        let Ok(id) = self.measured(begin) else {
            return false;
        };
        assert!(self.names.insert(id), "{id:?} has been used before");
        self.apps.insert(id, App::default());
        self.call(now, |_| ());
        true
    }

    /// Returns whether there has ever been a connection that the application knew.
    pub(crate) fn has_known_anybody(&self) -> bool {
        !self.names.is_empty()
    }

    /// Handles a due timer. Afterwards the next one is in the future.
    pub(crate) fn wake(&mut self, now: Instant) {
        if self.endpoint.next_timeout().is_none_or(|at| at > now) {
            return;
        }
        trace::line(format_args!("{now} wakes"));
        self.call(now, |endpoint| endpoint.handle_timeout(now));
        let next = self.endpoint.next_timeout();
        assert!(
            next.is_none_or(|at| at > now),
            "due again at once: {next:?} at {now}"
        );
    }

    /// Returns when the endpoint's next timer is due.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.endpoint.next_timeout()
    }

    /// Returns the endpoint, for queries.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the connections that the application knows and has not released, in order.
    pub fn ids(&self) -> Vec<ConnectionId> {
        self.apps.keys().copied().collect()
    }

    /// Returns one of these connections, selected by `n`.
    pub(crate) fn id(&self, n: u8) -> Option<ConnectionId> {
        let place = usize::from(n).checked_rem(self.apps.len())?;
        self.apps.keys().nth(place).copied()
    }

    /// Returns whether a connection is open, as far as its application knows.
    pub fn is_open(&self, id: ConnectionId) -> bool {
        self.apps.get(&id).is_some_and(App::is_open)
    }

    /// Returns whether the newest datagram of a connection has left.
    pub(crate) fn has_sent_newest(&self, id: ConnectionId) -> bool {
        self.apps.get(&id).is_some_and(App::has_sent_newest)
    }

    /// Gives the endpoint a datagram to send, and returns whether it was accepted.
    pub(crate) fn send(&mut self, now: Instant, id: ConnectionId, payload: Bytes) -> bool {
        let mut options = SendOptions::default();
        let resends = payload.len().is_multiple_of(2) && self.endpoint.can_resend(id).is_ok();
        if resends {
            options.resend = Resend::Until(now + Duration::from_secs(1));
        }
        // The id must be known before the packet leaves.
        let sent = self.measured(|endpoint| endpoint.send_with(now, id, payload.into(), options));
        let Ok(name) = sent else {
            return false;
        };
        let app = self
            .apps
            .get_mut(&id)
            .expect("only a known connection sends");
        app.on_taken(name.0, resends);
        self.call(now, |_| ());
        true
    }

    /// Reads one datagram.
    pub(crate) fn read(&mut self, id: ConnectionId) -> Option<Read> {
        let received = self.measured(|endpoint| endpoint.recv(id))?;
        let read = Read {
            id,
            seq: received.seq,
            payload: received.payload.as_slice().to_vec(),
        };
        self.measured(|_| drop(received));
        self.check_memory();
        Some(read)
    }
}
