//! How fast runs are: packet-hops per second on one core.

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fairwire_lab::scenario::{Adjust, Scenario, ScenarioFile};
use fairwire_lab::sim::{RunOptions, run};
use fairwire_lab::units::Duration;

fn scenario(file: &str, only: Option<&str>) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../scenarios")
        .join(file);
    let adjust = Adjust {
        only: only.map(str::to_owned),
        duration: Some(Duration::from_secs(20)),
        ..Adjust::default()
    };
    let cells = ScenarioFile::load(&path)
        .and_then(|file| file.cells(&adjust))
        .unwrap_or_else(|error| panic!("{error}"));
    cells[0].scenario.clone()
}

/// One TCP and one CCID 2 flow on a dumbbell, and a CCID 3 connection loaded both ways; every
/// head encoded and decoded, everything measured and digested.
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

criterion_group!(benches, runs);
criterion_main!(benches);
