//! The paper long-delay: its verdicts on Table I and its golden digests.

use fairwire_paper::{QUICK_SEEDS, Verdict};
use fairwire_scenario::Cell;
use fairwire_units::Duration;

use crate::{Run, Verdicts, golden, load, quick};

/// The claims that must have a verdict.
const CLAIMS: [&str; 15] = [
    "S4-C1", "S4-C1b", "S4-C2", "S4-C3", "S4-C3t", "S4-C4", "S4-C5", "S4-C6", "S4-C7", "S4-C8",
    "S4-C9", "S4-C10", "S4-D1", "S4-D2", "S4-D3",
];

/// The greatest duration of cells that are run with all seeds.
const SHORT: Duration = Duration::from_secs(200);

/// The long cells that are run with one seed: the base, another law, real competition.
const LONG: [&str; 3] = ["cut-50", "tcp-like-tw", "cut-50-open"];

/// Table I holds in the second half of the run, so the verdict is reproduced under a condition.
///
/// In the steady state the sawtooth gives the throughputs of Table I within 3 %. A TCP beside it is limited to its 20
/// packets: a TCP alone gets as much, so its rate is not specific to CCID 2's cut. The first loss comes where the paper sees the zig-zag begin. Over the whole run the throughputs differ,
/// which the condition says. Claims about cells that were not run are not judged.
#[test]
fn table_1_holds_once_the_climb_is_over() {
    let paper = load("long-delay", false, Some(2));
    let cells = ["cut-50", "cut-25", "cut-5", "tcp-like-tw", "tcp-alone"];
    let verdicts = Verdicts::after(&paper, &cells);
    verdicts.are_of(&CLAIMS);
    let Verdict::Condition(condition) = verdicts.of("S4-C3") else {
        panic!("{:?}", verdicts.of("S4-C3"));
    };
    assert!(
        condition.contains("170 s") && condition.contains("second half"),
        "{condition}"
    );
    assert_eq!(*verdicts.of("S4-C3t"), Verdict::Unspecific);
    assert_eq!(*verdicts.of("S4-C8"), Verdict::Reproduced);
    assert_eq!(*verdicts.of("S4-C6"), Verdict::Contradiction);
    assert_eq!(*verdicts.of("S4-D1"), Verdict::NotRun);
}

/// Golden digests hold with debug assertions: all seeds of the short cells, and one seed of long cells that use
/// different code.
#[test]
fn golden_digests_hold() {
    let paper = quick("long-delay");
    let runs: Vec<Run<'_>> = paper.cells.iter().flat_map(runs).collect();
    assert!(runs.len() > 50, "{} runs say nothing", runs.len());
    golden(&paper, &runs);
}

fn runs(cell: &Cell) -> Vec<Run<'_>> {
    let first = Run::first(cell);
    if cell.scenario.run.duration <= SHORT {
        let seeds = first.seed..first.seed + u64::from(QUICK_SEEDS);
        let unperturbed = cell.has_unperturbed_run().then_some(Run {
            perturbed: false,
            ..first
        });
        let perturbed = seeds.map(|seed| Run { seed, ..first });
        perturbed.chain(unperturbed).collect()
    } else if LONG.contains(&cell.name.as_str()) {
        vec![first]
    } else {
        Vec::new()
    }
}
