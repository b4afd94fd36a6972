//! Exhaustive small worlds: a search of everything that can happen between two real endpoints.
//!
//! A world is a start, a script for each application, and budgets. The search covers every order in which packets
//! arrive, copies of them arrive, packets are lost, timers expire and the applications make their calls. What it proves
//! holds within the budgets, for these scripts.
//!
//! # What can happen
//! - Any packet in flight arrives, also before packets that were sent earlier. Or a copy of it arrives and the packet
//!   stays in flight, as with a duplicate.
//! - A packet is lost when it is sent. A later loss would have the same effect, except on the number of packets in
//!   flight.
//! - The earliest timer expires, and time advances to it. No other step takes time, so independent steps of the two
//!   sides lead to the same state in either order. In the long run time may also pass without a timer, and a timer may
//!   expire late.
//! - An application makes the next call of its script. It reads and releases at once.
//! - No packet lives longer than the MSL of RFC 4340, section 3.4.
//!
//! In some worlds the connections are encrypted, with the sessions of `lock`.
//!
//! States with more than four packets in flight are checked but not followed.
//!
//! # What must hold
//! - There is no deadlock. From every state, once the network delivers everything, both ends are open with equal
//!   features, or both are closed and the applications were told why (`end`). It is enough to check this for states
//!   that the search does not follow further: from any other state the search itself continues without a loss.
//! - Every state of one side ends when it receives nothing more (RFC 4340, 8.1.1, 8.1.3, 8.1.5 and 8.3).
//! - Each event comes once and in order, and so does each datagram (`app`).
//! - States change as in RFC 4340, section 8.4 (`moves`).
//! - No step causes more than [`state::ANSWERS`] packets, and nothing panics.
//!
//! # Budgets
//! A path through a world has at most one or two faults and one timer. After them all remaining timers expire in order.
//! One loss reaches every retransmission, one copy every state in which a packet is received again, one timer every
//! state in which a packet arrives late. The long run (`deep`, `make worlds`) allows two faults of one kind in worlds
//! with few packets, more losses in worlds with many, and slow hosts.
//!
//! `FAIRWIRE_WORLD=<name>` runs one world alone, as in `FAIRWIRE_WORLD='close by both' make worlds`. An unknown name is
//! an error that lists all names.
//!
//! # What is left out of the hash of a state
//! See `fingerprint` here and in `connection`: configuration, counters, and what follows from the rest.
//!
//! # What RFC 4340 does not prevent
//! Of two Requests the later may arrive first. The earlier one is then invalid and gets a Sync (7.5.4), which a client
//! in REQUEST answers with a Reset (8.5, step 4). The attempt ends and is reported. So a connection that nobody closed
//! may end by a Reset if a timer or a copy was involved; otherwise it must not.

mod app;
mod end;
mod fingerprint;
mod lock;
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
    is_encrypted: false,
    host,
    config: plain,
    budgets: SMALL,
    deep: DEEP,
};

/// One fault of each kind and a timer, all on one path.
const ALL: &[Budget] = &[Budget::new(1, 1, 1, 0, 0)];

/// At most two of them on one path.
const PAIRS: &[Budget] = &[
    Budget::new(1, 1, 0, 0, 0),
    Budget::new(1, 0, 1, 0, 0),
    Budget::new(0, 1, 1, 0, 0),
];

/// For worlds with many packets.
const SMALL: &[Budget] = &[Budget::new(1, 1, 0, 0, 0), Budget::new(1, 0, 1, 0, 0)];

/// For worlds with even more packets.
const LEAST: &[Budget] = &[Budget::new(1, 0, 0, 0, 0), Budget::new(0, 1, 0, 0, 0)];

/// For worlds with the most packets.
const ONE_LOSS: &[Budget] = &[Budget::new(1, 0, 0, 0, 0)];

/// A long run of worlds with few packets: two faults of one kind with all others, and a slow host.
///
/// With a copy and two timers a handshake has more than a million states.
const DEEP: &[Budget] = &[
    Budget::new(2, 1, 1, 0, 0),
    Budget::new(1, 2, 0, 0, 0),
    Budget::new(1, 0, 2, 0, 0),
    Budget::new(1, 0, 1, 1, 1),
];

/// A long run of worlds with fewer packets: one more copy with a loss and two timers.
///
/// Two losses and two timers on one path are left out: they use up both tries of the keep-alive, and the connection
/// ends as it must.
const FAR: &[Budget] = &[
    Budget::new(2, 1, 1, 0, 0),
    Budget::new(1, 2, 0, 0, 0),
    Budget::new(1, 1, 2, 0, 0),
    Budget::new(1, 0, 1, 1, 1),
];

/// A long run of worlds with more packets. A copy and a timer on one path have too many orders.
const LONG: &[Budget] = &[
    Budget::new(1, 1, 0, 0, 0),
    Budget::new(2, 0, 1, 0, 0),
    Budget::new(1, 0, 1, 1, 1),
];

/// A long run of worlds where the applications' calls and the handshake overlap.
///
/// It combines losses with a copy, a timer, a slow host or a pause. A pause and a timer on one path repeat each state
/// too often: (1, 0, 1, 0, 1) has more than a million states.
const OVERLAPPING: &[Budget] = &[
    Budget::new(1, 1, 0, 0, 0),
    Budget::new(2, 0, 1, 0, 0),
    Budget::new(1, 0, 1, 1, 0),
    Budget::new(1, 0, 0, 0, 1),
];

/// A long run of worlds whose paths are short.
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

/// The applications' calls and the session's handshake overlap as they can.
const ENCRYPTED: &[World] = &[
    World {
        name: "encrypted handshake",
        is_encrypted: true,
        scripts: [&[Call::Connect], &[]],
        deep: LONG,
        ..BASE
    },
    World {
        name: "encrypted handshake with data, then close",
        is_encrypted: true,
        scripts: [&[Call::Connect, Call::Send, Call::Close], &[]],
        budgets: ONE_LOSS,
        deep: LEAST,
        ..BASE
    },
    World {
        name: "encrypted data and close",
        start: Start::Open,
        is_encrypted: true,
        scripts: [&[Call::Send, Call::Close], &[Call::Send]],
        budgets: ONE_LOSS,
        deep: LEAST,
        ..BASE
    },
    World {
        name: "encrypted close by both",
        start: Start::Open,
        is_encrypted: true,
        scripts: [&[Call::Close], &[Call::Close]],
        deep: LONG,
        ..BASE
    },
];

const GROUPS: [&[World]; 7] = [
    HANDSHAKES,
    ENDINGS,
    DATA,
    RENEGOTIATIONS,
    CROSSINGS,
    RETURNS,
    ENCRYPTED,
];

/// Searches the worlds of one group; panics with the shortest path to a failure.
///
/// `FAIRWIRE_WORLD=<name>` selects one world.
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

/// RFC 4340, 8.3: whichever side closes or aborts, both ends finish and the applications are told why.
///
/// It holds for any order in which the packets arrive.
#[test]
fn endings() {
    explore(ENDINGS, false);
}

/// RFC 4340, 8.1.5 and 8.3: data sent around handshake and close arrives once or not at all.
#[test]
fn data_at_the_edges() {
    explore(DATA, false);
}

/// RFC 4340, 6: a feature that one side or both sides negotiate again has one value in the end.
#[test]
fn renegotiations() {
    explore(RENEGOTIATIONS, false);
}

/// RFC 5596, 2.2, and RFC 4340, 8.5, step 4: two ends that begin at the same time connect, or both give up.
#[test]
fn both_begin() {
    explore(CROSSINGS, false);
}

/// RFC 4340, 7.5.4, 8.3 and 8.5: a side that forgot or ended its connection can begin another on the same ports.
///
/// Old packets may still be in flight.
#[test]
fn coming_back() {
    explore(RETURNS, false);
}

/// RFC 5238, 3.2 to 3.4: a session begins after DCCP's handshake and ends with it, and both ends have it, or the
/// connection ends.
#[test]
fn encrypted() {
    explore(ENCRYPTED, false);
}

/// The same with larger budgets. Each group has its own test, so that groups run in parallel.
mod deep {
    use super::{
        CROSSINGS, DATA, ENCRYPTED, ENDINGS, HANDSHAKES, RENEGOTIATIONS, RETURNS, explore,
    };

    #[test]
    #[ignore = "takes about four minutes on two cores: make worlds"]
    fn handshakes() {
        explore(HANDSHAKES, true);
    }

    #[test]
    #[ignore = "takes about four minutes on two cores: make worlds"]
    fn endings() {
        explore(ENDINGS, true);
    }

    #[test]
    #[ignore = "takes about four minutes on two cores: make worlds"]
    fn data_at_the_edges() {
        explore(DATA, true);
    }

    #[test]
    #[ignore = "takes about four minutes on two cores: make worlds"]
    fn renegotiations() {
        explore(RENEGOTIATIONS, true);
    }

    #[test]
    #[ignore = "takes about four minutes on two cores: make worlds"]
    fn both_begin() {
        explore(CROSSINGS, true);
    }

    #[test]
    #[ignore = "takes about four minutes on two cores: make worlds"]
    fn coming_back() {
        explore(RETURNS, true);
    }

    #[test]
    #[ignore = "takes about four minutes on two cores: make worlds"]
    fn encrypted() {
        explore(ENCRYPTED, true);
    }
}

/// The search finds that a connection without keep-alive waits for ever for a vanished peer, as `Config` says.
///
/// It finds the shortest path, and the printed line leads there again.
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
