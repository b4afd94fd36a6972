//! Exhaustive small worlds: two real endpoints, and everything that can happen between them.
//!
//! A world is a start, a script for each application and budgets. The search goes through every order
//! in which packets arrive, copies of them arrive, packets are lost, timers go off and the applications
//! call. What is proved holds within the budgets, for these scripts.
//!
//! # What can happen
//! - Any packet in flight arrives, whatever left before it. A copy of it arrives and the packet stays
//!   in flight, which is the same as a duplicate of it.
//! - A packet is lost when it leaves: later would be the same, but for the room that it takes.
//! - The earliest timer goes off, and time jumps there. No other step takes time, so steps of both
//!   sides that do not depend on each other lead to the same state in either order. In the long run
//!   time may also pass without a timer, and a timer may go off late.
//! - An application makes the next call of its script. It reads and releases at once.
//! - No packet lives longer than the MSL of RFC 4340, section 3.4.
//!
//! States with more than four packets in flight are judged and not followed.
//!
//! # What must hold
//! - Never a deadlock: from every state, once the network delivers everything, both ends are open
//!   with equal features, or both are closed and were told why (`end`). It is enough to let the ways
//!   end that the search does not follow further: from each other state the search itself goes on
//!   without a loss.
//! - Every state of one side ends when it hears nothing more (RFC 4340, 8.1.1, 8.1.3, 8.1.5 and 8.3).
//! - Each event comes once and in order, and so does each datagram (`app`).
//! - States move as in RFC 4340, section 8.4 (`moves`).
//! - No step brings forth more than [`state::ANSWERS`] packets, and nothing panics.
//!
//! # Budgets
//! A way has one or two faults and a timer at most; after them all timers go off that there are, in
//! order. One loss reaches every retransmission, one copy every state in which a packet is heard
//! again, one timer every state in which a packet comes late. The long run (`deep`, `make worlds`) has two of
//! one kind where there are few packets, more losses where there are many, and hosts that are late.
//!
//! `FAIRWIRE_WORLD=<name>` runs one world alone, as in `FAIRWIRE_WORLD='close by both' make worlds`; a name that no
//! world has is an error that lists them.
//!
//! # What is left out of the hash of a state
//! See `fingerprint` here and in `connection`: configuration, counters, and what follows from the rest.
//!
//! # What RFC 4340 does not prevent
//! Of two Requests the later may arrive first. The earlier one is then invalid and answered with a
//! Sync (7.5.4), which a client in REQUEST answers with a Reset (8.5, step 4): the attempt ends, and is
//! reported. So a connection that nobody closed may end by a Reset where a timer or a copy took part;
//! where none did, it must not.

mod app;
mod end;
mod fingerprint;
mod moves;
mod search;
mod state;
mod story;
mod world;

use std::env;

use fairwire_units::Duration;

use crate::{Config, Direction, EndpointConfig, InitCookies, PathMtuDiscovery};
use search::{replay, search};
use world::{Budget, Call, Start, World};

fn plain() -> Config {
    let mut config = Config::default();
    config.path_mtu_discovery = PathMtuDiscovery::Off;
    config.ccid_change_interval = Duration::ZERO.into();
    config
}

fn host() -> EndpointConfig {
    EndpointConfig::default()
}

fn with_cookies() -> EndpointConfig {
    let mut host = EndpointConfig::default();
    host.init_cookies = InitCookies::Always;
    host
}

fn no_backlog() -> EndpointConfig {
    let mut host = EndpointConfig::default();
    host.max_half_open = 0;
    host
}

const BASE: World = World {
    name: "",
    start: Start::Nothing,
    listens: true,
    scripts: [&[], &[]],
    collides: false,
    host,
    config: plain,
    budgets: SMALL,
    deep: DEEP,
};

/// One fault of each kind and a timer, all on one way.
const ALL: &[Budget] = &[Budget::new(1, 1, 1, 0, 0)];

/// Two of them on one way at most.
const PAIRS: &[Budget] = &[
    Budget::new(1, 1, 0, 0, 0),
    Budget::new(1, 0, 1, 0, 0),
    Budget::new(0, 1, 1, 0, 0),
];

/// Where there are many packets.
const SMALL: &[Budget] = &[Budget::new(1, 1, 0, 0, 0), Budget::new(1, 0, 1, 0, 0)];

/// Where there are more.
const LEAST: &[Budget] = &[Budget::new(1, 0, 0, 0, 0), Budget::new(0, 1, 0, 0, 0)];

/// A long run, where there are few packets: two of one kind beside all the others, and a late host. A copy
/// beside two timers lets a handshake grow beyond a million states.
const DEEP: &[Budget] = &[
    Budget::new(2, 1, 1, 0, 0),
    Budget::new(1, 2, 0, 0, 0),
    Budget::new(1, 0, 2, 0, 0),
    Budget::new(1, 0, 1, 1, 1),
];

/// A long run, where there are fewer: a copy more beside a loss and two timers. Two losses and two timers
/// on one way are left out: they take both tries of the keep-alive, and the connection ends as it must.
const FAR: &[Budget] = &[
    Budget::new(2, 1, 1, 0, 0),
    Budget::new(1, 2, 0, 0, 0),
    Budget::new(1, 1, 2, 0, 0),
    Budget::new(1, 0, 1, 1, 1),
];

/// A long run, where there are more packets: a copy and a timer on one way have too many orders.
const LONG: &[Budget] = &[
    Budget::new(1, 1, 0, 0, 0),
    Budget::new(2, 0, 1, 0, 0),
    Budget::new(1, 0, 1, 1, 1),
];

/// A long run, where applications and handshake overlap: losses with a copy, a timer, a late host or a
/// pause. A pause and a timer on one way give each state too many times: (1, 0, 1, 0, 1) grows beyond a
/// million states.
const OVERLAPPING: &[Budget] = &[
    Budget::new(1, 1, 0, 0, 0),
    Budget::new(2, 0, 1, 0, 0),
    Budget::new(1, 0, 1, 1, 0),
    Budget::new(1, 0, 0, 0, 1),
];

/// A long run, where every end is near.
const WIDE: &[Budget] = &[
    Budget::new(2, 2, 1, 0, 0),
    Budget::new(2, 0, 2, 0, 0),
    Budget::new(1, 1, 1, 1, 1),
];

const HANDSHAKES: &[World] = &[
    World {
        name: "handshake",
        scripts: [&[Call::Connect], &[]],
        budgets: PAIRS,
        ..BASE
    },
    World {
        name: "handshake with a cookie",
        scripts: [&[Call::Connect], &[]],
        host: with_cookies,
        budgets: PAIRS,
        ..BASE
    },
    World {
        name: "handshake without a backlog",
        scripts: [&[Call::Connect], &[]],
        host: no_backlog,
        collides: true,
        budgets: ALL,
        deep: WIDE,
        ..BASE
    },
    World {
        name: "handshake, no place for it",
        scripts: [
            &[Call::Connect],
            &[Call::SetRoom(0), Call::SetRoom(1), Call::FreePlace],
        ],
        deep: LONG,
        ..BASE
    },
];

const ENDINGS: &[World] = &[
    World {
        name: "close by the client",
        start: Start::Open,
        scripts: [&[Call::Close], &[]],
        budgets: ALL,
        deep: FAR,
        ..BASE
    },
    World {
        name: "close by the server",
        start: Start::Open,
        scripts: [&[], &[Call::Close]],
        budgets: ALL,
        deep: FAR,
        ..BASE
    },
    World {
        name: "close by both",
        start: Start::Open,
        scripts: [&[Call::Close], &[Call::Close]],
        ..BASE
    },
    World {
        name: "abort by the client",
        start: Start::Open,
        scripts: [&[Call::Abort], &[]],
        budgets: ALL,
        deep: WIDE,
        ..BASE
    },
    World {
        name: "abort by both",
        start: Start::Open,
        scripts: [&[Call::Abort], &[Call::Abort]],
        budgets: ALL,
        deep: WIDE,
        ..BASE
    },
];

const DATA: &[World] = &[
    World {
        name: "data and close",
        start: Start::Open,
        scripts: [&[Call::Send, Call::Close], &[Call::Send]],
        budgets: LEAST,
        deep: LONG,
        ..BASE
    },
    World {
        name: "handshake with data, then close",
        scripts: [&[Call::Connect, Call::Send, Call::Close], &[]],
        budgets: LEAST,
        deep: OVERLAPPING,
        ..BASE
    },
];

const RENEGOTIATIONS: &[World] = &[
    World {
        name: "change the CCID from one side",
        start: Start::Open,
        scripts: [&[Call::ChangeCcid(Direction::Send, 3)], &[]],
        budgets: ALL,
        deep: FAR,
        ..BASE
    },
    World {
        name: "change the CCID from both sides",
        start: Start::Open,
        scripts: [
            &[Call::ChangeCcid(Direction::Send, 3)],
            &[Call::ChangeCcid(Direction::Receive, 3)],
        ],
        ..BASE
    },
];

const CROSSINGS: &[World] = &[
    World {
        name: "simultaneous open",
        listens: false,
        scripts: [&[Call::Connect], &[Call::ListenTowards]],
        collides: true,
        budgets: LEAST,
        deep: OVERLAPPING,
        ..BASE
    },
    World {
        name: "two clients cross",
        listens: false,
        scripts: [&[Call::Connect], &[Call::Connect]],
        collides: true,
        deep: FAR,
        ..BASE
    },
];

const RETURNS: &[World] = &[
    World {
        name: "the client restarts and comes back",
        start: Start::Open,
        scripts: [&[Call::Restart, Call::Connect], &[]],
        budgets: ALL,
        deep: FAR,
        ..BASE
    },
    World {
        name: "the server restarts",
        start: Start::Open,
        scripts: [&[Call::Send], &[Call::Restart]],
        budgets: ALL,
        deep: FAR,
        ..BASE
    },
    World {
        name: "close and come back",
        start: Start::Open,
        scripts: [&[Call::Close, Call::Connect], &[]],
        budgets: ALL,
        deep: FAR,
        ..BASE
    },
];

const GROUPS: [&[World]; 6] = [
    HANDSHAKES,
    ENDINGS,
    DATA,
    RENEGOTIATIONS,
    CROSSINGS,
    RETURNS,
];

/// Goes through the worlds of one group; panics with the shortest way to what must not be.
/// `FAIRWIRE_WORLD=<name>` leaves one world.
fn explore(worlds: &[World], deep: bool) {
    let only = env::var("FAIRWIRE_WORLD").ok();
    let all = || GROUPS.iter().copied().flatten().map(|world| world.name);
    if let Some(name) = only
        .as_deref()
        .filter(|&name| all().all(|other| other != name))
    {
        let names: Vec<_> = all().collect();
        panic!(
            "FAIRWIRE_WORLD: no world is called `{name}`; there are:\n{}",
            names.join("\n")
        );
    }
    let is_meant = |world: &&World| only.as_deref().is_none_or(|name| name == world.name);
    for world in worlds.iter().filter(is_meant) {
        let budgets = if deep { world.deep } else { world.budgets };
        for &budget in budgets {
            match search(world, budget) {
                Ok(met) => println!("{:38} {budget} {met}", world.name),
                Err(failure) => panic!("{}", story::tell(world, budget, &failure)),
            }
        }
    }
}

/// RFC 4340, 8.1: a handshake never deadlocks, and half-open states end.
#[test]
fn handshakes() {
    explore(HANDSHAKES, false);
}

/// RFC 4340, 8.3: whoever closes or aborts, in whatever order it is heard, both ends are done, and were
/// told why.
#[test]
fn endings() {
    explore(ENDINGS, false);
}

/// RFC 4340, 8.1.5 and 8.3: data around handshake and close comes once or not at all.
#[test]
fn data_at_the_edges() {
    explore(DATA, false);
}

/// RFC 4340, 6: a feature that is negotiated anew, by one side or by both, has one value in the end.
#[test]
fn renegotiations() {
    explore(RENEGOTIATIONS, false);
}

/// RFC 5596, 2.2, and RFC 4340, 8.5, step 4: two ends that begin at once connect, or both give up.
#[test]
fn both_begin() {
    explore(CROSSINGS, false);
}

/// RFC 4340, 7.5.4, 8.3 and 8.5: a side that forgot its connection, or ended it, begins another on the
/// same ports, with old packets still on their way.
#[test]
fn coming_back() {
    explore(RETURNS, false);
}

/// All of it with larger budgets, a test for each group so that groups run side by side.
mod deep {
    use super::{CROSSINGS, DATA, ENDINGS, HANDSHAKES, RENEGOTIATIONS, RETURNS, explore};

    #[test]
    #[ignore = "takes about three minutes on two cores: make worlds"]
    fn handshakes() {
        explore(HANDSHAKES, true);
    }

    #[test]
    #[ignore = "takes about three minutes on two cores: make worlds"]
    fn endings() {
        explore(ENDINGS, true);
    }

    #[test]
    #[ignore = "takes about three minutes on two cores: make worlds"]
    fn data_at_the_edges() {
        explore(DATA, true);
    }

    #[test]
    #[ignore = "takes about three minutes on two cores: make worlds"]
    fn renegotiations() {
        explore(RENEGOTIATIONS, true);
    }

    #[test]
    #[ignore = "takes about three minutes on two cores: make worlds"]
    fn both_begin() {
        explore(CROSSINGS, true);
    }

    #[test]
    #[ignore = "takes about three minutes on two cores: make worlds"]
    fn coming_back() {
        explore(RETURNS, true);
    }
}

/// A connection without keep-alive waits for ever for a peer that vanished, as `Config` says: the
/// search finds the shortest way there, and its line leads there again.
#[test]
fn a_connection_that_waits_for_ever_is_found() {
    fn without_keep_alive() -> Config {
        let mut config = plain();
        config.keep_alive = None;
        config
    }
    let world = World {
        name: "nobody asks",
        config: without_keep_alive,
        scripts: [&[Call::Connect], &[]],
        ..BASE
    };
    let failure = search(&world, LEAST[0]).unwrap_err();
    let line = story::line(&failure.actions);
    assert_eq!(line, "ca d0 d0 d0", "{}", failure.what);
    let told = story::tell(&world, LEAST[0], &failure);
    assert!(told.contains("waits for ever"), "{told}");
    let again = story::read(&line).unwrap();
    assert_eq!(again, failure.actions);
    let silent = [0, 1].map(|side| replay(&world, LEAST[0], &again).unwrap().fall_silent(side));
    assert!(silent.iter().any(Result::is_err), "{silent:?}");
}
