//! The DTLS handshakes that a listener has begun.
//!
//! Clients that stall must keep nobody out, and many that connect at one moment must all be served. So when there are
//! too many handshakes, a client gets a place at once if others of another network have more; one of those ends. A
//! client of the network that has most of them waits until a handshake is over, or has stalled.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::incoming::Incoming;
use crate::connection::Connection;

/// The largest number of DTLS handshakes at one time, if the endpoint has the memory.
const MAX_HANDSHAKES: usize = 1_024;

/// The share of the endpoint's memory that handshakes may use at their worst: one part of so many.
const MEMORY_SHARE: usize = 2;

/// The largest number of clients that wait for a place.
const MAX_WAITING: usize = 3_072;

/// How long a client that says nothing keeps its place while others wait. Its first message follows DCCP's handshake at
/// once, and again after 1 s.
const SILENCE: Duration = Duration::from_secs(2);

/// How long any handshake keeps its place while others wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often stalled handshakes are looked for while clients wait.
const TURN: Duration = Duration::from_millis(100);

/// Handshakes under way, and connections whose handshake is complete.
#[derive(Debug)]
pub(super) struct Handshakes {
    tasks: Mutex<JoinSet<()>>,
    running: Mutex<Running>,
    done: Mutex<VecDeque<Connection>>,
    failed: AtomicU64,
    changed: Notify,
}

/// Handshakes under way.
#[derive(Debug)]
struct Running {
    /// How many may run.
    limit: usize,
    /// By their order.
    places: BTreeMap<u64, Handshake>,
    next: u64,
    shares: Shares,
    /// Clients without a place.
    waiting: VecDeque<Incoming>,
    /// When to look for stalled handshakes, while clients wait.
    turn: Option<Instant>,
}

/// How many places each network has.
#[derive(Debug, Default)]
struct Shares {
    places: BTreeMap<Network, usize>,
    /// The networks by their shares.
    ordered: BTreeSet<(usize, Network)>,
}

/// A handshake under way.
#[derive(Debug)]
struct Handshake {
    networks: Networks,
    began: Instant,
    seen: Arc<Seen>,
    task: AbortHandle,
}

/// What a handshake tells about itself.
#[derive(Debug)]
struct Seen {
    /// Whether the client has said nothing yet.
    is_silent: AtomicBool,
    /// Whether it is over. Changes under the lock of [`Running`].
    is_over: AtomicBool,
}

/// A network: how many times as many places it may have as the smallest, and the first bits of its addresses.
type Network = (usize, u128);

/// The networks that a client is in: an IPv4 address, or the /64, /56 and /48 of an IPv6 address. A site has more than
/// one of the smaller ones, and can use all of them.
type Networks = Vec<Network>;

fn networks(incoming: &Incoming) -> Networks {
    let remote = incoming.remote();
    remote.map_or_else(Vec::new, |remote| networks_of(remote.user_addr().ip()))
}

fn networks_of(ip: IpAddr) -> Networks {
    match ip.to_canonical() {
        IpAddr::V6(v6) => [(1, 64), (2, 56), (3, 48)]
            .map(|(times, bits)| (times, v6.to_bits() >> (128 - bits)))
            .into(),
        IpAddr::V4(v4) => vec![(1, v4.to_bits().into())],
    }
}

/// Whose places a client may have.
#[derive(Clone, Copy, Eq, PartialEq)]
enum May {
    /// Those of networks that have more.
    Equalise,
    /// Those too whose handshake has stalled, and free ones.
    TakeAny,
}

/// Whether there is a place for a client.
enum Room {
    Free,
    /// The place of this handshake, which ends.
    Of(Handshake),
    None,
}

impl Handshakes {
    /// `memory` is the endpoint's, and `each` what one handshake needs at most, in bytes.
    pub(super) fn new(memory: usize, each: usize) -> Self {
        let fit = memory / MEMORY_SHARE / each.max(1);
        Self {
            tasks: Mutex::default(),
            running: Mutex::new(Running::new(fit.clamp(1, MAX_HANDSHAKES))),
            done: Mutex::default(),
            failed: AtomicU64::default(),
            changed: Notify::default(),
        }
    }

    /// Begins the handshake of a client in a task of its own, or lets the client wait.
    pub(super) fn begin(self: &Arc<Self>, incoming: Incoming) {
        let mut running = self.running();
        // What is free, or has stalled, is for those that wait.
        let may = if running.waiting.is_empty() {
            May::TakeAny
        } else {
            May::Equalise
        };
        match running.make_room(&networks(&incoming), may) {
            Room::None => {
                running.waiting.push_back(incoming);
                running.turn.get_or_insert_with(|| Instant::now() + TURN);
                let overdue = (running.waiting.len() > MAX_WAITING).then(|| running.evict());
                let first =
                    overdue.and_then(|evicted| Some((running.waiting.pop_front()?, evicted)));
                drop(running);
                if let Some((first, evicted)) = first {
                    self.start(first, evicted);
                }
            }
            room => {
                drop(running);
                self.start(incoming, room.evicted());
            }
        }
    }

    /// Begins the handshakes of clients that wait and for which there is a place now.
    pub(super) fn begin_waiting(self: &Arc<Self>) {
        loop {
            let mut running = self.running();
            let Some(first) = running.waiting.front().map(networks) else {
                running.turn = None;
                return;
            };
            let room = running.make_room(&first, May::TakeAny);
            if matches!(room, Room::None) {
                return;
            }
            let first = running.waiting.pop_front();
            drop(running);
            if let Some(first) = first {
                self.start(first, room.evicted());
            }
        }
    }

    /// Begins a handshake, and ends the one whose place it gets.
    fn start(self: &Arc<Self>, incoming: Incoming, evicted: Option<Handshake>) {
        let networks = networks(&incoming);
        let seen = Arc::new(Seen {
            is_silent: AtomicBool::new(true),
            is_over: AtomicBool::new(false),
        });
        let mut running = self.running();
        let number = running.next;
        running.next += 1;
        drop(running);
        let leaves = Leaves {
            handshakes: Arc::clone(self),
            number,
            seen: Arc::clone(&seen),
        };
        let task = self.spawn(async move {
            let accepted = incoming.accept_noting(&leaves.seen.is_silent).await;
            let handshakes = Arc::clone(&leaves.handshakes);
            match accepted {
                Ok(connection) => handshakes.done().push_back(connection),
                Err(_) => handshakes.count_failure(),
            }
            drop(leaves);
            handshakes.begin_waiting();
        });
        let mut running = self.running();
        if !seen.is_over.load(Ordering::Relaxed) {
            let began = Instant::now();
            let place = Handshake {
                networks,
                began,
                seen,
                task,
            };
            running.insert(number, place);
        }
        drop(running);
        if let Some(evicted) = evicted {
            self.count_failure();
            evicted.task.abort();
        }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task)
    }

    /// Returns the connection whose handshake was complete first. Wakes another task if there are more.
    pub(super) fn take(&self) -> Option<Connection> {
        let mut done = self.done();
        let taken = done.pop_front();
        if !done.is_empty() {
            self.changed.notify_one();
        }
        taken
    }

    /// Waits until a handshake is over. Meanwhile, clients that wait get the places of those that have stalled.
    pub(super) async fn changed(self: &Arc<Self>) {
        loop {
            // Kept, because the arrival of a client ends this call.
            let turn = self.running().turn;
            tokio::select! {
                biased; // A random order would make equal runs differ.
                () = self.changed.notified() => return,
                () = tokio::time::sleep_until(turn.unwrap_or_else(Instant::now)), if turn.is_some() => {
                    self.running().turn = Some(Instant::now() + TURN);
                    self.begin_waiting();
                }
            }
        }
    }

    /// Returns how many handshakes failed.
    pub(super) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Ends all handshakes, and drops the connections that nobody has taken and the clients that wait.
    pub(super) fn end(&self) {
        let waiting = std::mem::take(&mut self.running().waiting);
        drop(waiting);
        self.tasks().abort_all();
        let done = std::mem::take(&mut *self.done());
        drop(done);
    }

    fn count_failure(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn done(&self) -> MutexGuard<'_, VecDeque<Connection>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    fn evicted(self) -> Option<Handshake> {
        match self {
            Self::Of(place) => Some(place),
            Self::Free | Self::None => None,
        }
    }
}

impl Handshake {
    fn is_silent(&self) -> bool {
        self.seen.is_silent.load(Ordering::Relaxed)
    }

    /// Returns whether the handshake takes so long that another client may have the place.
    fn has_stalled(&self, now: Instant) -> bool {
        let lasts = now.saturating_duration_since(self.began);
        lasts >= PATIENCE || (self.is_silent() && lasts >= SILENCE)
    }
}

impl Running {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            places: BTreeMap::new(),
            next: 0,
            shares: Shares::default(),
            waiting: VecDeque::new(),
            turn: None,
        }
    }

    fn insert(&mut self, number: u64, place: Handshake) {
        self.shares.add(&place.networks);
        self.places.insert(number, place);
    }

    fn remove(&mut self, number: u64) -> Option<Handshake> {
        let place = self.places.remove(&number)?;
        self.shares.remove(&place.networks);
        Some(place)
    }

    /// Returns whether there is a place for a client of these networks; takes one away if others have more.
    fn make_room(&mut self, networks: &[Network], may: May) -> Room {
        if self.places.len() < self.limit {
            return match may {
                May::TakeAny => Room::Free,
                May::Equalise => Room::None,
            };
        }
        // As if it had a place.
        self.shares.add(networks);
        let has_more = self.shares.of(networks) < self.shares.largest();
        let now = Instant::now();
        let may_go =
            |place: &Handshake| has_more || (may == May::TakeAny && place.has_stalled(now));
        let taken = self.take_from_largest(may_go);
        self.shares.remove(networks);
        taken.map_or(Room::None, Room::Of)
    }

    /// Takes a place away, whatever its handshake does.
    fn evict(&mut self) -> Option<Handshake> {
        self.take_from_largest(|_| true)
    }

    /// Takes the place of a client that is silent, or else of any, the oldest one: of those that may go and whose
    /// networks have the largest share.
    fn take_from_largest(&mut self, may_go: impl Fn(&Handshake) -> bool) -> Option<Handshake> {
        let most = self.shares.largest();
        let is_victim =
            |place: &Handshake| may_go(place) && self.shares.of(&place.networks) == most;
        let victims = || self.places.iter().filter(|(_, place)| is_victim(place));
        let silent = victims().find(|(_, place)| place.is_silent());
        let (&victim, _) = silent.or_else(|| victims().next())?;
        self.remove(victim)
    }
}

impl Shares {
    fn add(&mut self, networks: &[Network]) {
        for &network in networks {
            let places = self.places.get(&network).copied().unwrap_or(0);
            self.set(network, places, places + 1);
        }
    }

    fn remove(&mut self, networks: &[Network]) {
        for &network in networks {
            let places = self.places.get(&network).copied().unwrap_or(0);
            self.set(network, places, places.saturating_sub(1));
        }
    }

    fn set(&mut self, network: Network, from: usize, to: usize) {
        self.ordered.remove(&(from / network.0, network));
        if to == 0 {
            self.places.remove(&network);
        } else {
            self.places.insert(network, to);
            self.ordered.insert((to / network.0, network));
        }
    }

    /// Returns the places of the networks of a client, each measured by what such a network may have; the largest
    /// counts.
    fn of(&self, networks: &[Network]) -> usize {
        let share = |network: &Network| {
            let places = self.places.get(network).copied().unwrap_or(0);
            places / network.0
        };
        networks.iter().map(share).max().unwrap_or(0)
    }

    /// Returns the largest share.
    fn largest(&self) -> usize {
        self.ordered.last().map_or(0, |(share, _)| *share)
    }
}

/// Gives the place of a handshake back when its task ends, in whatever way.
struct Leaves {
    handshakes: Arc<Handshakes>,
    number: u64,
    seen: Arc<Seen>,
}

impl Drop for Leaves {
    fn drop(&mut self) {
        let mut running = self.handshakes.running();
        self.seen.is_over.store(true, Ordering::Relaxed);
        let place = running.remove(self.number);
        drop(running);
        drop(place);
        self.handshakes.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Arc, AtomicBool, Duration, Handshake, Instant, MAX_HANDSHAKES, May, Networks, PATIENCE,
        Room, Running, SILENCE, Seen, networks_of,
    };

    fn networks(ip: &str) -> Networks {
        networks_of(ip.parse().expect("an address"))
    }

    /// A handshake that began some time ago.
    fn place(ip: &str, ago: Duration, is_silent: bool) -> Handshake {
        let seen = Seen {
            is_silent: AtomicBool::new(is_silent),
            is_over: AtomicBool::new(false),
        };
        Handshake {
            networks: networks(ip),
            began: Instant::now() - ago,
            seen: Arc::new(seen),
            task: tokio::spawn(async {}).abort_handle(),
        }
    }

    /// Fills all places with handshakes of `ago`, each from the address that `ip` returns for its number.
    fn full(ago: Duration, is_silent: bool, ip: impl Fn(usize) -> String) -> Running {
        let mut running = Running::new(MAX_HANDSHAKES);
        for number in 0..MAX_HANDSHAKES {
            let place = place(&ip(number), ago, is_silent);
            running.insert(number as u64, place);
        }
        running
    }

    /// An endpoint with little memory has fewer places, but one at least.
    #[test]
    fn places_fit_into_the_memory() {
        for (memory, places) in [(0, 1), (10_000, 5), (usize::MAX, MAX_HANDSHAKES)] {
            let handshakes = super::Handshakes::new(memory, 1_000);
            assert_eq!(handshakes.running().limit, places);
        }
    }

    /// A site that uses a /64 for each client has no more places than its share: another client gets one at once.
    #[tokio::test]
    async fn a_site_cannot_take_all_places() {
        for site in ["2001:db8:0:{}::1", "2001:db8:0:1{}::1", "192.0.2.1"] {
            let of_site = |number: usize| site.replace("{}", &format!("{:02x}", number % 200));
            let mut running = full(Duration::ZERO, false, of_site);
            for newcomer in ["2001:db8:1::1", "192.0.2.2"] {
                let room = running.make_room(&networks(newcomer), May::Equalise);
                let Room::Of(place) = room else {
                    panic!("{newcomer} waits for {site}");
                };
                running.insert(u64::MAX, place);
            }
        }
    }

    /// A client of the network with the most handshakes waits until one of them has stalled: it is silent for 2 s, or
    /// takes 10 s.
    #[tokio::test]
    async fn only_stalled_handshakes_make_room() {
        for (ago, is_silent, stalled) in [
            (Duration::ZERO, true, false),
            (SILENCE, false, false),
            (SILENCE, true, true),
            (PATIENCE, false, true),
        ] {
            let mut running = full(ago, is_silent, |_| "192.0.2.1".to_owned());
            let waits = running.make_room(&networks("192.0.2.1"), May::Equalise);
            assert!(matches!(waits, Room::None), "stalled ones are for others");
            let room = running.make_room(&networks("192.0.2.1"), May::TakeAny);
            assert_eq!(matches!(room, Room::Of(_)), stalled, "{ago:?} {is_silent}");
            assert_eq!(running.places.len(), MAX_HANDSHAKES - usize::from(stalled));
        }
        let mut running = full(Duration::ZERO, false, |_| "192.0.2.1".to_owned());
        assert!(running.evict().is_some(), "too many wait");
    }
}
