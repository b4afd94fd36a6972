//! Speed of the simulator in packet-hops per second on one core: three small scenarios and one cell of each paper.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fairwire_paper::Paper;
use fairwire_scenario::{Adjust, Scenario, ScenarioFile};
use fairwire_sim::{RunOptions, run};
use fairwire_units::Duration;

fn scenario(file: &str, only: Option<&str>) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios")
        .join(file);
    let adjust = Adjust {
        only: only.map(str::to_owned).into_iter().collect(),
        duration: Some(Duration::from_secs(20).into()),
        ..Adjust::default()
    };
    let cells = ScenarioFile::load(&path)
        .and_then(|file| file.cells(&adjust))
        .unwrap_or_else(|error| panic!("{error}"));
    cells[0].scenario.clone()
}

/// Benchmarks three small scenarios.
///
/// They are one TCP and one CCID 2 flow on a dumbbell, a CCID 3 connection with data in both directions, and CCID 4,
/// CCID 3 and TCP at one queue.
///
/// Each run encodes and decodes every header, takes every measurement and computes the digest.
fn runs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulator");
    for (name, scenario) in [
        (
            "tcp and ccid 2 on a dumbbell",
            scenario("dumbbell.toml", None),
        ),
        (
            "ccid 3 both ways",
            scenario("both-ways.toml", Some("both-3-3")),
        ),
        (
            "ccid 4, ccid 3 and tcp in a queue",
            scenario("small-packets.toml", Some("queue")),
        ),
    ] {
        let once = || run(&scenario, (1, true), RunOptions::default()).expect("runs");
        group.throughput(Throughput::Elements(once().packet_hops));
        group.bench_function(name, |bench| bench.iter(|| black_box(once())));
    }
    group.finish();
}

/// The cell of each paper whose quick form has the most packet-hops (`packet_hops` in `runs.csv`).
const HEAVIEST: [(&str, &str); 5] = [
    ("wifi-handoff", "cubic-udp-512"),
    ("voip", "reno-tcp116"),
    ("satellite", "ipstar-down-clean-fb100"),
    ("queue-size", "5096k-q10-transmission"),
    ("long-delay", "cut-50-2000s"),
];

fn papers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("heaviest cells");
    group.sample_size(10);
    for (name, cell) in HEAVIEST {
        let paper = fairwire_papers::find(name)
            .and_then(|bundle| Paper::load(bundle, &Paper::adjust(true, None)))
            .unwrap_or_else(|error| panic!("{error}"));
        let found = paper.cells.iter().find(|known| known.name == cell);
        let scenario = &found
            .unwrap_or_else(|| panic!("{name} has no {cell}"))
            .scenario;
        let seed = (scenario.run.seed, true);
        let once = || run(scenario, seed, RunOptions::default()).expect("runs");
        group.throughput(Throughput::Elements(once().packet_hops));
        group.bench_function(format!("{name} {cell}"), |bench| {
            bench.iter(|| black_box(once()));
        });
    }
    group.finish();
}

criterion_group!(benches, runs, papers);
criterion_main!(benches);
