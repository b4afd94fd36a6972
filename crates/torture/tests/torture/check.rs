//! Tests of each limit of a plan, just inside and just outside, and of the error messages.

use fairwire_torture::plan::fault::{Fault, Harm, Incident, TimedIncident};
use fairwire_torture::plan::script::{Act, Entry, Side};
use fairwire_torture::plan::settings::EndpointSetting;
use fairwire_torture::plan::{ConnectionPlan, HostPlan, Plan};
use fairwire_torture::shrink::without_one;

/// Returns a plan with two hosts, a connection with the id 7, one entry, one fault and one moment.
fn sound() -> Plan {
    let host = HostPlan {
        endpoint: vec![EndpointSetting::Connections(4)],
        rate_kbit_per_s: 1_000,
        delay_us: 1_000,
        queue_packets: 10,
        clock_ppm: 0,
    };
    Plan {
        seed: 1,
        udp: true,
        ipv6: false,
        healed_ms: 5_000,
        hosts: vec![host.clone(), host],
        connections: vec![ConnectionPlan {
            id: 7,
            client: 1,
            server: 0,
            invited: false,
            room: None,
            client_settings: Vec::new(),
            server_settings: Vec::new(),
            client_first: None,
            server_first: None,
            dtls: false,
        }],
        script: vec![entry(300, Act::Open)],
        faults: vec![Fault {
            id: 0,
            from_ms: 0,
            until_ms: 3_500,
            host: 1,
            outgoing: true,
            per_mille: 1_000,
            harm: Harm::Drop,
        }],
        moments: vec![TimedIncident {
            id: 0,
            at_ms: 3_500,
            host: 1,
            what: Incident::Rebind,
        }],
    }
}

fn entry(at_ms: u64, act: Act) -> Entry {
    Entry {
        at_ms,
        connection: 7,
        side: Side::Client,
        act,
    }
}

/// Every plan drawn from a seed can be run.
#[test]
fn drawn_plans_pass() {
    for seed in 0..3_000 {
        assert_eq!(Plan::draw(seed).check(), Ok(()), "seed {seed}");
    }
    assert_eq!(sound().check(), Ok(()));
}

/// A drawn plan without any one of its parts can be run too.
///
/// The shrinker removes a connection together with everything that names it.
#[test]
fn shrunk_plans_pass() {
    for seed in 0..60 {
        let plan = Plan::draw(seed);
        for without in without_one(&plan) {
            assert_eq!(without.check(), Ok(()), "seed {seed}");
        }
    }
}

type Case = (fn(&mut Plan), &'static str);

fn refuse(cases: &[Case]) {
    for (spoil, says) in cases {
        let mut plan = sound();
        spoil(&mut plan);
        assert_eq!(plan.check(), Err((*says).to_owned()));
        let read = Plan::from_text(&plan.to_text());
        assert_eq!(read, Err((*says).to_owned()));
    }
}

/// Everything that a plan names must exist, once.
#[test]
fn what_is_named_exists() {
    refuse(&[
        (
            |plan| plan.hosts.truncate(1),
            "length of hosts: 1, expected 2 to 16",
        ),
        (
            |plan| plan.connections[0].client = 2,
            "connections[0].client: 2, but there are 2 hosts (0 to 1)",
        ),
        (
            |plan| plan.connections[0].server = usize::MAX,
            "connections[0].server: 18446744073709551615, but there are 2 hosts (0 to 1)",
        ),
        (
            |plan| plan.connections[0].server = 1,
            "connections[0]: client and server are both host 1, expected two hosts",
        ),
        (
            |plan| {
                let twin = plan.connections[0].clone();
                plan.connections.push(twin);
            },
            "connections[1].id: 7, already used by connections[0]",
        ),
        (
            |plan| plan.connections[0].id = 25_536,
            "connections[0].id: 25536, expected 0 to 25535",
        ),
        (
            |plan| plan.script[0].connection = 0,
            "script[0].connection: 0, but the only connection has the id 7",
        ),
        (
            |plan| {
                let mut other = plan.connections[0].clone();
                other.id = 9;
                plan.connections.push(other);
                plan.script[0].connection = 8;
            },
            "script[0].connection: 8, but the connections have the ids 7, 9",
        ),
        (
            |plan| plan.connections.clear(),
            "script[0].connection: 7, but there are no connections",
        ),
        (
            |plan| plan.faults[0].host = 2,
            "faults[0].host: 2, but there are 2 hosts (0 to 1)",
        ),
        (
            |plan| plan.moments[0].host = 2,
            "moments[0].host: 2, but there are 2 hosts (0 to 1)",
        ),
        (
            |plan| {
                plan.moments[0].what = Incident::Flood {
                    count: 1,
                    connection: 0,
                };
            },
            "moments[0].what.Flood.connection: 0, but the only connection has the id 7",
        ),
    ]);
}

/// Script entries must be in the order of time, and faults must end before the network is healed.
#[test]
fn what_happens_is_in_time() {
    refuse(&[
        (
            |plan| plan.script.push(entry(299, Act::Close)),
            "script[1].at_ms: 299, but script[0] is at 300; entries must be in the order of time",
        ),
        (
            |plan| plan.script.push(entry(600_001, Act::Close)),
            "script[1].at_ms: 600001, expected 0 to 600000",
        ),
        (
            |plan| plan.script.push(entry(u64::MAX, Act::Close)),
            "script[1].at_ms: 18446744073709551615, expected 0 to 600000",
        ),
        (
            |plan| plan.healed_ms = 1_499,
            "healed_ms: 1499, expected 1500 to 600000",
        ),
        (
            |plan| plan.healed_ms = 600_001,
            "healed_ms: 600001, expected 1500 to 600000",
        ),
        (
            |plan| plan.faults[0].until_ms = 3_501,
            "faults[0].until_ms: 3501, expected 3500 at most, 1500 before healed_ms",
        ),
        (
            |plan| plan.faults[0].from_ms = 3_501,
            "faults[0].from_ms: 3501, expected 0 to 3500",
        ),
        (
            |plan| plan.moments[0].at_ms = 3_501,
            "moments[0].at_ms: 3501, expected 3500 at most, 1500 before healed_ms",
        ),
        (
            |plan| plan.moments[0].what = Incident::Restart { after_ms: 1_501 },
            "moments[0].what.Restart.after_ms: 1501, expected 0 to 1500",
        ),
    ]);
}

/// Plans that would take too much memory or time are refused: datagrams, copies, reads, long lists.
#[test]
fn work_is_bounded() {
    refuse(&[
        (
            |plan| plan.script.push(entry(300, burst(u32::MAX, 1))),
            "script[1].act.Burst.count: 4294967295, expected 0 to 15000",
        ),
        (
            |plan| plan.script.push(entry(300, burst(1, u32::MAX))),
            "script[1].act.Burst.size: 4294967295, expected 0 to 65535",
        ),
        (
            |plan| {
                plan.script
                    .extend([(); 2].map(|()| entry(300, burst(7_501, 1))));
            },
            "script: datagrams of connection 7: 15002, expected 0 to 15000",
        ),
        (
            |plan| {
                for id in 8..13 {
                    let mut other = plan.connections[0].clone();
                    other.id = id;
                    plan.connections.push(other);
                    let mut entry = entry(300, burst(12_001, 1));
                    entry.connection = id;
                    plan.script.push(entry);
                }
            },
            "script: datagrams in all: 60005, expected 0 to 60000",
        ),
        (
            |plan| plan.script.push(entry(300, burst(10_000, 60_000))),
            "script: bytes in all: 600000000, expected 0 to 268435456",
        ),
        (
            |plan| {
                plan.script[0].act = Act::Stream {
                    count: 0,
                    size: 1,
                    every_us: 1,
                }
            },
            "script[0].act.Stream.count: 0, expected 1 to 15000",
        ),
        (
            |plan| {
                plan.script[0].act = Act::Stream {
                    count: 1,
                    size: 1,
                    every_us: 60_000_001,
                }
            },
            "script[0].act.Stream.every_us: 60000001, expected 0 to 60000000",
        ),
        (
            |plan| plan.script[0].act = Act::ReadEvery { every_ms: u64::MAX },
            "script[0].act.ReadEvery.every_ms: 18446744073709551615, expected 0 to 600000",
        ),
        (
            |plan| plan.script = vec![entry(0, Act::ReadEvery { every_ms: 1 }); 24],
            "script: reads of all ReadEvery until the end of the run: 10440000, expected 0 to 10000000",
        ),
        (
            |plan| plan.script = vec![entry(0, Act::Open); 1_001],
            "length of script: 1001, expected 0 to 1000",
        ),
        (
            |plan| plan.faults = vec![plan.faults[0].clone(); 65],
            "length of faults: 65, expected 0 to 64",
        ),
        (
            |plan| plan.moments = vec![plan.moments[0].clone(); 257],
            "length of moments: 257, expected 0 to 256",
        ),
        (
            |plan| {
                plan.faults[0].harm = Harm::Duplicate {
                    copies: 33,
                    within_ms: 1,
                }
            },
            "faults: copies of all Duplicate: 33, expected 0 to 32",
        ),
    ]);
}

fn burst(count: u32, size: u32) -> Act {
    Act::Burst {
        count,
        size,
        oversize: false,
    }
}

/// Numbers without a meaning are refused.
#[test]
fn numbers_mean_something() {
    refuse(&[
        (
            |plan| plan.hosts[1].rate_kbit_per_s = 0,
            "hosts[1].rate_kbit_per_s: 0, expected 32 to 10000000",
        ),
        (
            |plan| plan.hosts[1].delay_us = u64::MAX,
            "hosts[1].delay_us: 18446744073709551615, expected 0 to 1000000",
        ),
        (
            |plan| plan.hosts[0].queue_packets = u32::MAX,
            "hosts[0].queue_packets: 4294967295, expected 0 to 100000",
        ),
        (
            |plan| plan.hosts[0].clock_ppm = -1_000_000,
            "hosts[0].clock_ppm: -1000000, expected -100000 to 100000",
        ),
        (
            |plan| {
                plan.hosts[0]
                    .endpoint
                    .push(EndpointSetting::Memory(usize::MAX));
            },
            "hosts[0].endpoint[1].Memory: 18446744073709551615, expected 0 to 268435456",
        ),
        (
            |plan| plan.connections[0].client_first = Some(1 << 48),
            "connections[0].client_first: 281474976710656, expected 0 to 281474976710655",
        ),
        (
            |plan| {
                plan.connections[0]
                    .server_settings
                    .push("send_queue.packets=10001 packets".into());
            },
            "connections[0].server_settings: send_queue.packets: 10001, expected 0 to 10000",
        ),
        (
            |plan| {
                plan.connections[0]
                    .client_settings
                    .push("send_ccids=2,5".into());
            },
            "connections[0].client_settings[0]: send_ccids: use one or more of 2 (TCP-like), 3 (TFRC) and 4 (TFRC for small packets)",
        ),
        (
            |plan| {
                plan.connections[0]
                    .client_settings
                    .push("keep_alive=499 ms".into());
            },
            "connections[0].client_settings: keep_alive: 499, expected 500 to 15000",
        ),
        (
            |plan| {
                plan.script[0].act = Act::ChangeCcid {
                    sending: true,
                    wanted: Vec::new(),
                }
            },
            "length of script[0].act.ChangeCcid.wanted: 0, expected 1 to 8",
        ),
        (
            |plan| plan.script[0].act = Act::LimitPathMtu { mtu: 67 },
            "script[0].act.LimitPathMtu.mtu: 67, expected 68 to 65535",
        ),
        (
            |plan| plan.faults[0].per_mille = 1_001,
            "faults[0].per_mille: 1001, expected 0 to 1000",
        ),
        (
            |plan| plan.faults[0].harm = Harm::Burst { packets: 0 },
            "faults[0].harm.Burst.packets: 0, expected 1 to 100000",
        ),
        (
            |plan| plan.faults[0].harm = Harm::Reorder { by_ms: 0 },
            "faults[0].harm.Reorder.by_ms: 0, expected 1 to 1500",
        ),
        (
            |plan| plan.moments[0].what = Incident::ClockStep { by_ms: u64::MAX },
            "moments[0].what.ClockStep.by_ms: 18446744073709551615, expected 0 to 864000000",
        ),
        (
            |plan| {
                plan.moments[0].what = Incident::ClockRate {
                    gains_ppm: i64::MIN,
                }
            },
            "moments[0].what.ClockRate.gains_ppm: -9223372036854775808, expected -100000 to 100000",
        ),
    ]);
}

/// An unknown or duplicate key in the text is refused with its line.
#[test]
fn keys_are_known_and_stand_once() {
    let text = |act: &str| {
        let open = "\"Open\"";
        let text = sound().to_text();
        assert!(text.contains(open));
        text.replace(open, act)
    };
    for (act, says) in [
        (
            r#"{"Burst":{"count":1,"size":1,"oversize":false,"sise":1}}"#,
            "unknown field `sise`",
        ),
        (
            r#"{"Burst":{"count":1,"count":2,"size":1,"oversize":false}}"#,
            "duplicate field `count`",
        ),
        (
            r#"{"Burst":{"count":-1,"size":1,"oversize":false}}"#,
            "invalid value: integer `-1`",
        ),
        (r#""Opne""#, "unknown variant `Opne`"),
    ] {
        let error = Plan::from_text(&text(act)).expect_err(act);
        assert!(error.contains(says), "{error}");
        assert!(error.contains("at line 14 column "), "{error}");
    }
    for (harm, says) in [
        (
            r#"{"Burst":{"packets":1,"more":2}}"#,
            "unknown field `more`",
        ),
        (
            r#"{"Delay":{"by_ms":1,"by_ms":2}}"#,
            "duplicate field `by_ms`",
        ),
    ] {
        let text = sound().to_text().replace("\"Drop\"", harm);
        let error = Plan::from_text(&text).expect_err(harm);
        assert!(error.contains(says), "{error}");
    }
    let twice = sound().to_text().replace("\"udp\"", "\"seed\"");
    let error = Plan::from_text(&twice).expect_err("the key is there twice");
    assert!(
        error.contains("duplicate field `seed` at line 3"),
        "{error}"
    );
}
