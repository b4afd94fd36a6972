//! Adversarial item 34: a bounded search over two real endpoints.
//!
//! A connection opens, one datagram crosses each way, and it closes: some fifteen packets. The search covers every way
//! in which the network can lose, copy or delay up to [`FAULTS`] packets at any place, including packets that only a
//! fault causes. It also covers every pattern of losses among the first [`BURST`] packets. In each run the connection
//! always makes progress until both ends are gone.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use fairwire_kit::{Fault, PORT, Pair, SERVICE, data, ms};
use fairwire_units::Duration;

use fairwire_proto::{Config, ConnectionId, Event};

/// The largest number of packets with a fault.
const FAULTS: usize = 3;

/// The number of packets at the start of which any may be lost.
const BURST: usize = 11;

/// The longest simulated duration of a run.
///
/// A lost Close is repeated for 20 s, silence is tolerated for 30 s, and the application closes a quiet connection as
/// soon as nothing else happens.
const LONGEST: Duration = Duration::from_secs(600);

/// The possible faults. The delays exceed the distance to the next packets, and that to a retransmission.
const KINDS: [Fault; 3] = [
    Fault::Lose,
    Fault::CopyLate(Duration::from_millis(250)),
    Fault::Delay(Duration::from_millis(70)),
];

/// How the applications end the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ending {
    Client,
    Server,
    Both,
    /// The client closes during its handshake.
    Early,
    /// The client resets after the server's datagram.
    Abort,
}

/// Faults by the index of the packet among all packets sent.
type Schedule = BTreeMap<usize, Fault>;

/// What the search has reached.
#[derive(Default)]
struct Met {
    runs: u64,
    states: BTreeSet<[&'static str; 2]>,
}

/// Runs one schedule and returns the number of packets sent. A panic names the schedule that reproduces it.
fn run(ending: Ending, schedule: &Schedule, met: &mut Met) -> usize {
    let name = || format!("{ending:?} {schedule:?}");
    let mut pair = Pair::new();
    pair.record = false;
    let (count, faults) = (Rc::new(RefCell::new(0)), schedule.clone());
    let counter = Rc::clone(&count);
    pair.rule(move |_| {
        let mut place = counter.borrow_mut();
        *place += 1;
        faults.get(&(*place - 1)).copied()
    });
    // A keep-alive would hide an end that waits for ever.
    let mut config = Config::default();
    config.keep_alive = None;
    let client = pair.connect(config.clone(), config);
    let begun = pair.now;
    let mut apps = Apps::new(ending, client);
    if ending == Ending::Early {
        pair.ends[0].send(pair.now, client, data(10)).unwrap();
        pair.ends[0].close(pair.now, client);
        pair.drain();
    }
    let mut steps = 0;
    loop {
        apps.act(&mut pair);
        let states = pair.states();
        met.states.insert(states);
        // RFC 4340, 8.4: a client is never in CLOSEREQ, so both ends never are.
        assert_ne!(states[0], "CLOSEREQ", "{}", name());
        let Some(_) = pair.next() else {
            if pair.ends.iter().all(|end| end.ids().next().is_none()) {
                break;
            }
            // Only an open connection may wait for its application without limit.
            apps.close_quiet(&mut pair, &name());
            continue;
        };
        assert!(
            pair.step(begun + LONGEST),
            "{}: stuck in {states:?}",
            name()
        );
        steps += 1;
        assert!(steps < 5_000, "{}: a livelock in {states:?}", name());
    }
    for end in &pair.ends {
        let stats = end.endpoint_stats();
        assert_eq!((stats.connections, stats.half_open), (0, 0), "{}", name());
        assert!(end.inspect_endpoint().attempts == 0 && end.next_timeout().is_none());
    }
    met.runs += 1;
    // A late copy of the Request may begin another connection, which ends in TIMEWAIT at the server.
    let both = pair
        .ends
        .iter()
        .all(|end| end.endpoint_stats().time_wait > 0);
    if both || met.runs.is_multiple_of(16) {
        begin_again(pair, apps.port, &name());
    }
    *count.borrow()
}

/// Asserts that TIMEWAIT ends: two segment lifetimes and a generation later, the same ports connect again.
fn begin_again(mut pair: Pair, port: u16, name: &str) {
    pair.run_for(Duration::from_secs(300));
    let path = pair.path(0);
    pair.server = None;
    let config = Config::default();
    let again = pair.ends[0].connect(pair.now, path, Some(port), PORT, SERVICE, config);
    assert!(again.is_ok(), "{name}: {again:?}");
    pair.rule(|_| None);
    pair.run_for(ms(500));
    assert!(pair.server.is_some(), "{name}: not again");
}

/// The two applications.
struct Apps {
    ending: Ending,
    ids: [Option<ConnectionId>; 2],
    /// The number of events of each side that were handled.
    seen: [usize; 2],
    port: u16,
}

impl Apps {
    fn new(ending: Ending, client: ConnectionId) -> Self {
        Self {
            ending,
            ids: [Some(client), None],
            seen: [0; 2],
            port: 0,
        }
    }

    /// Handles the events since the last call.
    fn act(&mut self, pair: &mut Pair) {
        for side in 0..2 {
            while let Some((_, id, event)) = pair.events[side].get(self.seen[side]).cloned() {
                self.seen[side] += 1;
                self.ids[side] = Some(id);
                match event {
                    Event::Connected | Event::Accepted { .. } => self.begin(pair, side, id),
                    Event::Readable => {
                        let got = pair.ends[side].recv(id).is_some();
                        if got && self.ending == Ending::Abort && side == 0 {
                            pair.ends[0].abort(pair.now, id);
                        }
                    }
                    Event::Closed { .. } => {
                        if let Some((local, ..)) =
                            pair.ends[side].addresses(id).filter(|_| side == 0)
                        {
                            self.port = local;
                        }
                        pair.ends[side].release(id);
                    }
                    _ => {}
                }
            }
        }
        pair.drain();
    }

    fn begin(&self, pair: &mut Pair, side: usize, id: ConnectionId) {
        // A close during the handshake may have come first.
        let _refused = pair.ends[side].send(pair.now, id, data(10));
        let closes = match self.ending {
            Ending::Client => side == 0,
            Ending::Server => side == 1,
            Ending::Both => true,
            Ending::Early | Ending::Abort => false,
        };
        if closes {
            pair.ends[side].close(pair.now, id);
        }
    }

    /// Closes the remaining connections when no timer and no packet is left. They must be open.
    fn close_quiet(&self, pair: &mut Pair, name: &str) {
        let states = pair.states();
        for side in 0..2 {
            if pair.ends[side].ids().next().is_none() {
                continue;
            }
            assert_eq!(states[side], "OPEN", "{name}: stuck, {states:?}");
            let id = self.ids[side].expect("an open connection was told of");
            pair.ends[side].close(pair.now, id);
        }
        pair.drain();
    }
}

/// Runs every schedule that extends `schedule` by up to `left` faults after its last one.
fn search(ending: Ending, schedule: &mut Schedule, left: usize, met: &mut Met) {
    let packets = run(ending, schedule, met);
    if left == 0 {
        return;
    }
    let first = schedule.last_key_value().map_or(0, |(&place, _)| place + 1);
    for place in first..packets {
        for kind in KINDS {
            schedule.insert(place, kind);
            search(ending, schedule, left - 1, met);
            schedule.remove(&place);
        }
    }
}

/// Item 34: with up to three faults anywhere, no end is ever stuck, for each way to end.
///
/// There is no deadlock, both ends are never in CLOSEREQ, and TIMEWAIT ends: the same ports can be used again later.
#[test]
fn item_34_no_three_faults_leave_anybody_stuck() {
    let mut met = Met::default();
    for ending in [
        Ending::Client,
        Ending::Server,
        Ending::Both,
        Ending::Early,
        Ending::Abort,
    ] {
        search(ending, &mut Schedule::new(), FAULTS, &mut met);
    }
    assert!(met.runs > 14_000, "{} runs", met.runs);
    for states in [
        ["REQUEST", "RESPOND"],
        ["PARTOPEN", "RESPOND"],
        ["PARTOPEN", "OPEN"],
        ["OPEN", "CLOSEREQ"],
        ["CLOSING", "CLOSEREQ"],
        ["CLOSING", "OPEN"],
        ["CLOSING", "CLOSED"],
        ["CLOSED", "CLOSEREQ"],
    ] {
        assert!(met.states.contains(&states), "{states:?} was never met");
    }
}

/// Item 34: with any combination of losses among the first eleven packets, no end is ever stuck.
#[test]
fn item_34_no_burst_of_losses_leaves_anybody_stuck() {
    let mut met = Met::default();
    for ending in [Ending::Client, Ending::Server, Ending::Both] {
        for losses in 0..1_usize << BURST {
            let lost = (0..BURST).filter(|place| losses >> place & 1 == 1);
            let schedule = lost.map(|place| (place, Fault::Lose)).collect();
            run(ending, &schedule, &mut met);
        }
    }
    assert_eq!(met.runs, 3 << BURST);
}
