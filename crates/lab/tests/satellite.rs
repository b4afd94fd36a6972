//! What the satellite paper's equation and its proposal come to, and that every claim has its verdict.

use std::sync::atomic::AtomicBool;

use fairwire_lab::campaign::{self, Campaign, run_cells};
use fairwire_lab::paper::{Bundle, Judged, Paper, Verdict};
use fairwire_lab::results::{Metric, Results, Subject};
use fairwire_lab::sim::{RunOptions, run as run_one};

/// The claims that a verdict was promised for; `-p` at the loss event rate that the equation needs.
const CLAIMS: [&str; 17] = [
    "S2-C1", "S2-C1a", "S2-C1a-p", "S2-C1b", "S2-C1b-p", "S2-C1c", "S2-C1c-p", "S2-C2", "S2-C3",
    "S2-C3a", "S2-C3b", "S2-C4", "S2-C5", "S2-C6", "S2-C7", "S2-C8", "S2-C9",
];

fn paper() -> Paper {
    let bundle = Bundle::find("satellite").expect("it is there");
    Paper::load(bundle, &Paper::adjust(true, None)).expect("loads")
}

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

/// The equation gives what it is printed to give, and what the paper measured contradicts it; at a loss
/// rate that was fitted to a printed rate the verdict says fitted.
#[test]
fn verdicts_say_what_they_rest_on() {
    let paper = paper();
    let cells = ["ipstar-down-p", "ipstar-down-p-tcp", "ipstar-down-p-modern"];
    let verdicts = paper.judge(&run(&paper, &cells));
    let ids: Vec<&str> = verdicts.iter().map(|judged| judged.id.as_str()).collect();
    assert_eq!(ids[..CLAIMS.len()], CLAIMS);
    assert_eq!(ids[CLAIMS.len()..], ["S2-D1"]);
    let of = |id: &str| -> &Judged {
        let found = verdicts.iter().find(|judged| judged.id == id);
        found.unwrap_or_else(|| panic!("{id} has no verdict"))
    };
    assert_eq!(of("S2-D1").verdict, Verdict::Reproduced);
    assert_eq!(of("S2-C6").verdict, Verdict::Contradiction);
    assert!(matches!(of("S2-C1a-p").verdict, Verdict::Fitted));
    assert_eq!(of("S2-C3").verdict, Verdict::NotRun);
}

/// RFC 5348, 6: reports come as often as asked for, to one for each packet; none of it moves the
/// rate away from the equation, within a third: the intervals of one run are a few dozen.
#[test]
fn reports_come_as_often_as_asked_for() {
    let paper = paper();
    let results = run(
        &paper,
        &["ipstar-down", "ipstar-down-fb10", "ipstar-down-fb100"],
    );
    let of = |cell: &str, metric| {
        let cell = results.cells.iter().find(|it| it.name == cell);
        let cell = cell.expect("it ran");
        let flow = Subject::flow("dccp");
        let values = cell
            .runs
            .iter()
            .map(|run| run.value(&flow, "from-60", metric));
        values.map(|value| value.expect("measured")).sum::<f64>() / cell.runs.len() as f64
    };
    // Round trips of 1.2063 s: 0.83, 8.3 and 83 a second, of which no more than packets come.
    let once = of("ipstar-down", Metric::AckRate);
    assert!((0.6..=1.0).contains(&once), "{once}");
    let ten = of("ipstar-down-fb10", Metric::AckRate);
    assert!((7.0..=9.0).contains(&ten), "{ten}");
    let all = of("ipstar-down-fb100", Metric::AckRate);
    let packets = of("ipstar-down-fb100", Metric::DeliveredRate);
    assert!(
        all <= packets * 1.01 && all >= packets * 0.95,
        "{all} {packets}"
    );
}

/// The golden digests of a few cells hold in this build as they do in a release: both networks, both directions,
/// CCID 3 with more feedback, TCP. The others are compared by `fairwire paper satellite --quick --check-digests`.
#[test]
fn golden_digests_of_a_few_cells_hold() {
    let bundle = Bundle::find("satellite").expect("it is there");
    let golden = Paper::golden(bundle).expect("reads");
    let paper = paper();
    for name in [
        "ipstar-down-fb10",
        "ipstar-down-fb100ms",
        "ipstar-up-modern",
        "unwired-up",
        "shared-fb100",
    ] {
        let cell = paper.cells.iter().find(|cell| cell.name == name);
        let scenario = &cell.expect("there").scenario;
        let seed = scenario.run.seed;
        let result = run_one(scenario, (seed, true), RunOptions::default()).expect("runs");
        let written = golden.get(name).and_then(|runs| runs.get("seed 1"));
        assert_eq!(written, Some(&result.digest.to_string()), "{name}");
    }
}
