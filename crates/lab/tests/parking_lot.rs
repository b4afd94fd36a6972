//! `scenarios/parking-lot.toml`: what a flow pays for three bottlenecks.

use std::path::Path;

use fairwire_lab::results::{Metric, RunResult, Subject};
use fairwire_lab::scenario::{Adjust, ScenarioFile};
use fairwire_lab::sim::{RunOptions, run};

/// The goodput of `flow` from 20 s on, bit/s.
fn goodput(run: &RunResult, flow: &str) -> f64 {
    run.value(&Subject::flow(flow), "steady", Metric::Goodput)
        .unwrap_or_else(|| panic!("no goodput of {flow}"))
}

/// The long flow gets less than each flow that crosses one of its links. A TCP's rate falls with its round trip and with
/// the root of its losses (Mathis and others, 1997). The long flow's round trip is never shorter than a short flow's,
/// and it meets the losses of three queues: where each queue treats all packets alike, these alone leave it 1/sqrt(3).
#[test]
fn the_long_flow_gets_less_than_each_short_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/parking-lot.toml");
    let cells = ScenarioFile::load(&path)
        .and_then(|file| file.cells(&Adjust::default()))
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(cells.len(), 3);
    let most = 1.0 / 3.0_f64.sqrt();
    for cell in &cells {
        for seed in 1..=3 {
            let run = run(&cell.scenario, (seed, true), RunOptions::default())
                .unwrap_or_else(|error| panic!("{error}"));
            let long = goodput(&run, "long");
            for short in ["one", "two", "three"] {
                let share = long / goodput(&run, short);
                assert!(
                    share > 0.0 && share < most,
                    "{}, seed {seed}: {share} of {short}",
                    cell.name
                );
            }
        }
    }
}
