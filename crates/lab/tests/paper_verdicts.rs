//! What the long-delay paper's Table I comes to, and that every claim has its verdict.

use std::sync::atomic::AtomicBool;

use fairwire_lab::campaign::{self, Campaign, run_cells};
use fairwire_lab::paper::{Bundle, Judged, Paper, Verdict};
use fairwire_lab::results::Results;

/// The claims that a verdict was promised for.
const CLAIMS: [&str; 13] = [
    "S4-C1", "S4-C1b", "S4-C2", "S4-C3", "S4-C3t", "S4-C4", "S4-C5", "S4-C6", "S4-C7", "S4-C8",
    "S4-C9", "S4-C10", "S4-D1",
];

fn run(paper: &Paper, names: &[&str]) -> Results {
    let mut cells = paper.cells.clone();
    cells.retain(|cell| names.contains(&cell.name.as_str()));
    assert_eq!(cells.len(), names.len());
    let stop = AtomicBool::new(false);
    let campaign = Campaign {
        name: paper.name.clone(),
        threads: campaign::threads(),
        stop: &stop,
        progress: &|_| {},
        capture: None,
    };
    run_cells(&cells, campaign, &mut |_| Ok(())).expect("runs")
}

/// In steady state the saw-tooth gives Table I's throughputs within 3 %, TCP beside it is held
/// to its 20 packets, and the first loss comes where the paper sees the zig-zag begin. Over the
/// whole run it does not, so the verdict names its condition. Claims about cells that were not run
/// are not judged by what there is.
#[test]
fn table_1_holds_once_the_climb_is_over() {
    let bundle = Bundle::find("long-delay").expect("it is there");
    let paper = Paper::load(bundle, &Paper::adjust(false, Some(2))).expect("loads");
    let verdicts = paper.judge(&run(&paper, &["cut-50", "cut-25", "cut-5"]));
    let ids: Vec<&str> = verdicts.iter().map(|judged| judged.id.as_str()).collect();
    assert_eq!(ids, CLAIMS);
    let of = |id: &str| -> &Judged {
        let found = verdicts.iter().find(|judged| judged.id == id);
        found.unwrap_or_else(|| panic!("{id} has no verdict"))
    };
    let Verdict::Condition(condition) = &of("S4-C3").verdict else {
        panic!("{:?}", of("S4-C3"));
    };
    assert!(
        condition.contains("170 s") && condition.contains("second half"),
        "{condition}"
    );
    assert!(
        matches!(of("S4-C3t").verdict, Verdict::Condition(_)),
        "{:?}",
        of("S4-C3t")
    );
    assert_eq!(
        of("S4-C8").verdict,
        Verdict::Reproduced,
        "{:?}",
        of("S4-C8")
    );
    assert_eq!(of("S4-C6").verdict, Verdict::Contradiction);
    assert_eq!(of("S4-D1").verdict, Verdict::NotRun);
    assert!(verdicts.iter().all(|judged| !judged.because.is_empty()));
}
