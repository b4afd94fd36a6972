//! What each work measures, and one run of it.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use crate::board::Order;
use crate::peers::Peer::{self, *};
use crate::process::{Pair, Window};
use crate::transport::Result;
use crate::works::{Work, crowd, flow, game};

/// What runs before anything counts: the handshake, slow start, the search for the path MTU.
const WARM_UP: Duration = Duration::from_secs(1);

const KIB: f64 = 1_024.0;

/// How to run.
pub struct Plan {
    /// How long to measure.
    pub time: Duration,
    /// The processors of the client and of the server.
    pub cores: [usize; 2],
    /// The idle connections beside the active one.
    pub crowd: usize,
    /// Whether to record where the time goes.
    pub profile: bool,
}

/// A column of a work's table.
#[derive(Clone, Copy)]
pub struct Metric {
    pub name: &'static str,
    pub decimals: usize,
    /// Whether the smallest and the largest run are printed, too.
    pub spread: bool,
}

const fn plain(name: &'static str, decimals: usize) -> Metric {
    Metric {
        name,
        decimals,
        spread: false,
    }
}

const fn with_spread(name: &'static str, decimals: usize) -> Metric {
    Metric {
        spread: true,
        ..plain(name, decimals)
    }
}

/// The values of one run, by the names of the metrics.
pub type Values = BTreeMap<String, f64>;

const FLOW: &[Metric] = &[
    with_spread("sum ns", 0),
    plain("sender ns", 0),
    plain("receiver ns", 0),
    plain("Mbit/s", 0),
    plain("lost %", 1),
];
const GAME: &[Metric] = &[
    with_spread("server cpu %", 2),
    plain("clients cpu %", 2),
    with_spread("p50 us", 0),
    with_spread("p99 us", 0),
    plain("KiB/connection", 1),
    plain("lost %", 1),
];
const PATH: &[Metric] = &[with_spread("p50 us", 1), with_spread("p99 us", 1)];
const HANDSHAKE: &[Metric] = &[
    with_spread("sum cpu us", 0),
    plain("client cpu us", 0),
    plain("server cpu us", 0),
    with_spread("time p50 us", 0),
];
const CROWD: &[Metric] = &[
    with_spread("beside/alone", 3),
    plain("alone ns", 0),
    plain("beside ns", 0),
    plain("client KiB", 2),
    plain("server KiB", 2),
];
const SIMULATION: &[Metric] = &[
    with_spread("ns/packet", 0),
    plain("cpu ms", 0),
    plain("packets", 0),
];

impl Work {
    /// Returns the columns of the table. The first one is what is compared with the reference.
    pub const fn metrics(self) -> &'static [Metric] {
        match self {
            Self::Flow { .. } => FLOW,
            Self::Game => GAME,
            Self::Path => PATH,
            Self::Handshake => HANDSHAKE,
            Self::Crowd => CROWD,
            Self::Simulation(_) => SIMULATION,
        }
    }

    /// Returns who takes part.
    pub const fn peers(self) -> &'static [Peer] {
        match self {
            Self::Flow { .. } => &[
                UdpSend, UdpMmsg, UdpGso, UdpTokio, Enet, Ccid2, Ccid3, Quinn, Noq, S2nQuic,
                Ccid2Dtls, Ccid3Dtls,
            ],
            Self::Game => &[
                Enet, Ccid2, Ccid3, Quinn, Noq, S2nQuic, Ccid2Dtls, Ccid3Dtls,
            ],
            Self::Path => &[
                UdpTokio, Ccid2, Ccid3, Quinn, Noq, S2nQuic, Ccid2Dtls, Ccid3Dtls,
            ],
            Self::Handshake | Self::Crowd => &[Ccid2, Quinn, Noq, S2nQuic, Ccid2Dtls],
            Self::Simulation(network) => network.peers(),
        }
    }

    /// Runs once, and measures over the time that the plan says.
    pub fn run(self, peer: Peer, plan: &Plan) -> Result<Values> {
        match self {
            Self::Simulation(network) => return network.run(peer),
            Self::Crowd => return finite(crowd(peer, plan)?),
            _ => {}
        }
        let mut pair = Pair::start(peer, self, plan.cores)?;
        sleep(WARM_UP);
        let recordings = if plan.profile {
            Some(pair.record(plan.time)?)
        } else {
            None
        };
        let window = pair.window(plan.time)?;
        let values = match self {
            Self::Flow { .. } => flow(peer, &window),
            Self::Game => game(&window, pair.before.rss as f64),
            Self::Path => path(window),
            _ => handshake(window),
        };
        if let Some([client, server]) = recordings {
            print_costs(peer, &values, client.shares()?, &server.shares()?);
        }
        finite(values)
    }
}

/// Prints the cost model of a flow: its parts at the sender and at the receiver, nanoseconds a datagram.
fn print_costs(
    peer: Peer,
    values: &Values,
    client: Vec<(&'static str, f64)>,
    server: &[(&'static str, f64)],
) {
    let of = |name: &str| values.get(name).copied().unwrap_or(f64::NAN) / 100.0;
    let (sender, receiver) = (of("sender ns"), of("receiver ns"));
    println!("\n{:<26}  sender ns  receiver ns", peer.name());
    for ((part, at_client), (_, at_server)) in client.into_iter().zip(server) {
        let (sender, receiver) = (sender * at_client, receiver * at_server);
        println!("{part:<26}  {sender:>9.0}  {receiver:>11.0}");
    }
}

fn finite(values: Values) -> Result<Values> {
    match values.iter().find(|(_, value)| !value.is_finite()) {
        Some((name, _)) => Err(format!("nothing arrived: no value for {name}").into()),
        None => Ok(values),
    }
}

pub fn values<const N: usize>(values: [(&str, f64); N]) -> Values {
    let named = values.map(|(name, value)| (name.to_owned(), value));
    BTreeMap::from(named)
}

fn flow(peer: Peer, window: &Window) -> Values {
    let count = window.server.received;
    // UDP loses what its receiver does not keep up with. A sender's time for that is no part of what one costs.
    let sent = match peer {
        UdpSend | UdpMmsg | UdpGso | UdpTokio => window.client.sent,
        _ => count,
    };
    let (sender, receiver) = (window.client.cpu_ns / sent, window.server.cpu_ns / count);
    values([
        ("sum ns", sender + receiver),
        ("sender ns", sender),
        ("receiver ns", receiver),
        (
            "Mbit/s",
            count * flow::SIZE as f64 * 8.0 / window.seconds / 1e6,
        ),
        ("lost %", lost(window.client.sent, count)),
    ])
}

/// What was sent and did not arrive. What is under way at a mark makes this a little wrong, in either direction.
fn lost(sent: f64, received: f64) -> f64 {
    (100.0 * (1.0 - received / sent)).max(0.0)
}

fn game(window: &Window, rss_before: f64) -> Values {
    let of_core = |cpu_ns| 100.0 * cpu_ns / 1e9 / window.seconds;
    let (server, client) = (&window.server, &window.client);
    let mut times = [&server.times_ns[..], &client.times_ns].concat();
    let memory = (server.rss - rss_before) / KIB / game::CLIENTS as f64;
    values([
        ("server cpu %", of_core(server.cpu_ns)),
        ("clients cpu %", of_core(client.cpu_ns)),
        ("p50 us", quantile_us(&mut times, 0.5)),
        ("p99 us", quantile_us(&mut times, 0.99)),
        ("KiB/connection", memory),
        (
            "lost %",
            lost(server.sent + client.sent, server.received + client.received),
        ),
    ])
}

fn path(window: Window) -> Values {
    let mut times = window.server.times_ns;
    values([
        ("p50 us", quantile_us(&mut times, 0.5)),
        ("p99 us", quantile_us(&mut times, 0.99)),
    ])
}

fn handshake(window: Window) -> Values {
    let count = window.client.sent;
    let us = |cpu_ns| cpu_ns / 1e3 / count;
    let (client, server) = (us(window.client.cpu_ns), us(window.server.cpu_ns));
    let mut times = window.client.times_ns;
    values([
        ("sum cpu us", client + server),
        ("client cpu us", client),
        ("server cpu us", server),
        ("time p50 us", quantile_us(&mut times, 0.5)),
    ])
}

/// The memory of idle connections, and then, with new processes, the active flow alone and beside idle connections. A
/// flow leaves freed memory behind, which would hide that of connections.
fn crowd(peer: Peer, plan: &Plan) -> Result<Values> {
    let few = crowd::FEW.min(plan.crowd);
    let mut pair = Pair::start(peer, Work::Crowd, plan.cores)?;
    let before = pair.marks()?;
    pair.order(Order::Open(few))?;
    sleep(WARM_UP);
    let after = pair.marks()?;
    let kib = |before: u64, after: u64| (after as f64 - before as f64) / KIB / few as f64;

    let mut pair = Pair::start(peer, Work::Crowd, plan.cores)?;
    let alone = flow_of_crowd(&mut pair, plan)?;
    pair.order(Order::Open(plan.crowd))?;
    let beside = flow_of_crowd(&mut pair, plan)?;
    Ok(values([
        ("beside/alone", beside / alone),
        ("alone ns", alone),
        ("beside ns", beside),
        ("client KiB", kib(before.1.rss, after.1.rss)),
        ("server KiB", kib(before.0.rss, after.0.rss)),
    ]))
}

/// Returns what a datagram of the active flow costs, which pauses before and after.
fn flow_of_crowd(pair: &mut Pair, plan: &Plan) -> Result<f64> {
    pair.order(Order::Resume)?;
    sleep(WARM_UP);
    let window = pair.window(plan.time)?;
    pair.order(Order::Pause)?;
    Ok((window.client.cpu_ns + window.server.cpu_ns) / window.server.received)
}

/// Returns a quantile by the nearest rank, microseconds; NaN if there is no value.
fn quantile_us(times_ns: &mut [u64], share: f64) -> f64 {
    times_ns.sort_unstable();
    let rank = (times_ns.len() as f64 * share).ceil() as usize;
    let value = times_ns.get(rank.max(1) - 1);
    value.map_or(f64::NAN, |ns| *ns as f64 / 1e3)
}
