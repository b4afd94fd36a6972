//! Data in both directions of one connection, with CCID 2 or 3 in each direction, 1 % loss each way, 60 s.

use fairwire_scenario::Adjust;
use fairwire_sim::results::{CellResult, Metric, Results, Subject};

use super::{all_seeds, ours};

/// The number of seeds.
///
/// With 2,500 packets each way the spread of a single run is about 10 %; the mean of ten runs is within 3 %.
const SEEDS: u32 = 10;

fn results() -> Results {
    let adjust = Adjust {
        seeds: Some(SEEDS),
        ..Adjust::default()
    };
    all_seeds(&ours("both-ways.toml", &adjust))
}

fn mean(cell: &CellResult, flow: &str, metric: Metric) -> f64 {
    cell.estimate(&Subject::flow(flow), "steady", metric)
        .unwrap_or_else(|| panic!("{}: no {metric} of {flow}", cell.name))
        .mean
}

/// Each direction of a connection with data both ways delivers data at the rate that its CCID has with data one way,
/// within 15 %. The history of the peer's packets stays bounded.
#[test]
fn both_halves_keep_the_one_way_rate() {
    let results = results();
    let cell = |name: &str| {
        results
            .cell(name)
            .unwrap_or_else(|| panic!("no cell {name}"))
    };
    for forward in [2, 3] {
        for back in [2, 3] {
            let both = cell(&format!("both-{forward}-{back}"));
            for (flow, ccid) in [("dccp", forward), ("dccp/back", back)] {
                let alone = mean(cell(&format!("one-way-{ccid}")), "dccp", Metric::Goodput);
                let rate = mean(both, flow, Metric::Goodput);
                let ratio = rate / alone;
                assert!(
                    (0.85..=1.15).contains(&ratio),
                    "{} {flow}: {rate} against {alone} bit/s, seeds from 1 on",
                    both.name
                );
                let samples = both.samples(&Subject::flow(flow), "steady", Metric::AckVectorState);
                // The history of an Ack Vector has at most 506 entries, because old packets may arrive late. The receiver
                // of CCID 3 has a fixed number of intervals. Neither grows with the 12,000 packets of a run.
                let bound = 4_096.0;
                let most = samples.into_iter().fold(0.0, f64::max);
                assert!(
                    most <= bound,
                    "{} {flow}: {most} bytes of history",
                    both.name
                );
            }
            for run in &both.runs {
                assert!(
                    run.notes.is_empty(),
                    "{} seed {}: {:?}",
                    both.name,
                    run.seed,
                    run.notes
                );
            }
        }
    }
}
