//! Plans drawn from a seed.
//!
//! Each seed has a [`Weather`]. So many runs have only one kind of fault, in which the oracle can be strict, and the
//! other runs have all kinds at once.

use super::script::{Act, Entry, Side};
use super::weather::Weather;
use super::{
    ConnectionPlan, HostPlan, Plan, RECOVERY_MS, draw_faults, draw_options, draw_rare,
    draw_settings,
};
use crate::dice::Dice;

impl Plan {
    /// Draws the plan of this seed.
    pub fn draw(seed: u64) -> Self {
        let dice = &mut Dice::new(seed, "plan");
        let weather = Weather::draw(dice);
        let hosts = if dice.per_mille(300) { 3 } else { 2 };
        let healed_ms = dice.between(2_500, 15_000);
        let count = dice.pick(&[1, 1, 1, 1, 2, 2, 2, 3, 4, 8]);
        let mut plan = Self {
            seed,
            udp: dice.per_mille(400),
            ipv6: dice.per_mille(300),
            healed_ms,
            hosts: (0..hosts).map(|_| host(dice, weather)).collect(),
            connections: (0..count).map(|id| connection(dice, id, hosts)).collect(),
            script: Vec::new(),
            faults: Vec::new(),
            moments: Vec::new(),
        };
        for id in 0..count {
            live(dice, &mut plan, id);
        }
        draw_faults::draw(&mut Dice::new(seed, "faults"), weather, &mut plan);
        draw_rare::draw(seed, weather, &mut plan);
        let of = &mut Dice::new(seed, "close timeouts");
        draw_settings::close_timeouts(of, &mut plan.connections);
        draw_options::draw(&mut Dice::new(seed, "send options"), &mut plan);
        recovery(dice, &mut plan);
        encryption(&mut Dice::new(seed, "dtls"), &mut plan);
        plan.script.sort_by_key(|entry| entry.at_ms);
        plan
    }
}

/// Encrypts some connections.
fn encryption(dice: &mut Dice, plan: &mut Plan) {
    for of in &mut plan.connections {
        of.dtls = dice.per_mille(200);
    }
}

fn host(dice: &mut Dice, weather: Weather) -> HostPlan {
    let drifts = weather == Weather::Upheaval || weather == Weather::Everything;
    let narrow = dice.per_mille(400);
    HostPlan {
        endpoint: draw_settings::endpoint(dice),
        rate_kbit_per_s: if narrow {
            dice.magnitude(64, 2_000)
        } else {
            dice.magnitude(2_000, 1_000_000)
        },
        delay_us: dice.magnitude(50, 150_000),
        queue_packets: if dice.per_mille(400) {
            dice.small(1, 12)
        } else {
            dice.small(20, 500)
        },
        clock_ppm: match dice.below(10) {
            0..2 if drifts => dice.small::<i64>(0, 200_000) - 100_000,
            2..5 => dice.small::<i64>(0, 400) - 200,
            _ => 0,
        },
    }
}

fn connection(dice: &mut Dice, id: u16, hosts: usize) -> ConnectionPlan {
    let server = usize::from(dice.per_mille(150));
    let client = (server + 1 + dice.index(hosts - 1)) % hosts;
    let (client_settings, server_settings) = draw_settings::pair(dice);
    ConnectionPlan {
        id,
        client,
        server,
        invited: dice.per_mille(80),
        room: dice.per_mille(100).then(|| dice.small(1, 2)),
        client_settings,
        server_settings,
        client_first: near_wrap(dice),
        server_first: near_wrap(dice),
        dtls: false,
    }
}

/// Draws an initial sequence number shortly before a wrap, for some connections.
fn near_wrap(dice: &mut Dice) -> Option<u64> {
    let before = dice.magnitude(1, 600);
    match dice.below(10) {
        0 => Some((1 << 48) - before),
        1 => Some((dice.below(1 << 24) << 24) + (1 << 24) - before),
        // Half of the circle, where circular comparison changes its sign.
        2 => Some((1 << 47) - before),
        _ => None,
    }
}

/// Draws the acts on a connection until the network is healed.
fn live(dice: &mut Dice, plan: &mut Plan, id: u16) {
    let most = plan.healed_ms;
    let mut at = dice.below(500);
    let invited = plan.connections[usize::from(id)].invited;
    let mut put = |at_ms, side, act| {
        plan.script.push(Entry {
            at_ms,
            connection: id,
            side,
            act,
        });
    };
    for _ in 0..dice.pick(&[1, 1, 1, 2, 3]) {
        if invited {
            put(at, Side::Server, Act::Open);
        }
        put(at + dice.below(300), Side::Client, Act::Open);
        let ends = at + dice.between(most / 4, most);
        for _ in 0..dice.between(2, 5) {
            let begins = at + dice.below(ends - at) * dice.below(4) / 4;
            put(begins + dice.below(1_000), side(dice), source(dice));
        }
        for _ in 0..dice.pick(&[0, 0, 1, 2, 4]) {
            put(dice.between(at, ends), side(dice), other(dice));
        }
        if dice.per_mille(600) {
            put(ends, side(dice), end(dice));
            // Both sides end it, at nearly the same time.
            if dice.per_mille(300) {
                put(ends + dice.below(80), side(dice), end(dice));
            }
        }
        at = ends + dice.below(2_000);
        if at >= most {
            break;
        }
    }
}

fn side(dice: &mut Dice) -> Side {
    dice.pick(&[Side::Client, Side::Client, Side::Server])
}

/// Draws an act that sends.
fn source(dice: &mut Dice) -> Act {
    let size = match dice.below(10) {
        0 => dice.small(0, 12),
        1..4 => dice.small(12, 200),
        4..9 => dice.small(200, 1_500),
        _ => dice.small(1_500, 20_000),
    };
    if dice.per_mille(350) {
        return Act::Burst {
            count: dice.small(1, 120),
            size,
            oversize: dice.per_mille(30),
        };
    }
    Act::Stream {
        count: dice.small(50, 1_000),
        size,
        every_us: dice.magnitude(500, 60_000),
    }
}

/// Draws an act that neither sends nor ends the connection.
fn other(dice: &mut Dice) -> Act {
    match dice.below(14) {
        0..3 => source(dice),
        3 | 4 => Act::ReadEvery {
            every_ms: dice.magnitude(1, 400),
        },
        5 => Act::ReadEvery { every_ms: 0 },
        6 => Act::Pause,
        7 => Act::StopReading,
        8..10 => Act::ChangeCcid {
            sending: dice.per_mille(500),
            wanted: draw_settings::ccids(dice),
        },
        10 => Act::PathChanged,
        11 => Act::LimitPathMtu {
            mtu: dice.pick(&[576, 800, 1_280, 1_400]),
        },
        12 => Act::Slow(dice.per_mille(700)),
        _ => dice.pick(&[
            Act::RediscoverPathMtu,
            Act::ReportDropped,
            Act::ReportDropped,
        ]),
    }
}

/// Draws a way to end a connection.
fn end(dice: &mut Dice) -> Act {
    match dice.below(12) {
        0..6 => Act::Close,
        6..8 => Act::Discard,
        8 => Act::Abort,
        9 => Act::Abandon,
        10 => Act::Unlisten,
        _ => Act::StopReading,
    }
}

/// Adds what follows after the network is healed.
///
/// Every open connection sends a little, a new connection is opened, and all are closed in order.
fn recovery(dice: &mut Dice, plan: &mut Plan) {
    let ids: Vec<u16> = plan.connections.iter().map(|plan| plan.id).collect();
    let talk = plan.healed_ms + RECOVERY_MS;
    let mut put = |at_ms, connection, side, act| {
        plan.script.push(Entry {
            at_ms,
            connection,
            side,
            act,
        });
    };
    let few = || Act::Burst {
        count: 4,
        size: 100,
        oversize: false,
    };
    for &id in &ids {
        for side in [Side::Client, Side::Server] {
            put(plan.healed_ms, id, side, Act::ReadEvery { every_ms: 0 });
            put(talk, id, side, few());
        }
        let (first, second) = match dice.below(3) {
            0 => (Side::Server, Side::Client),
            _ => (Side::Client, Side::Server),
        };
        let closed = talk + 10_000 + dice.below(2_000);
        put(closed, id, first, Act::Close);
        put(closed + 20_000, id, second, Act::Close);
    }
    let fresh = 900;
    plan.connections.push(ConnectionPlan {
        id: fresh,
        client: 1,
        server: 0,
        invited: false,
        room: None,
        client_settings: Vec::new(),
        server_settings: Vec::new(),
        client_first: None,
        server_first: None,
        dtls: false,
    });
    put(talk, fresh, Side::Client, Act::Open);
    put(talk + 5_000, fresh, Side::Client, few());
    put(talk + 5_000, fresh, Side::Server, few());
    put(talk + 15_000, fresh, Side::Client, Act::Close);
}
