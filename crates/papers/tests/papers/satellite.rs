//! The paper satellite: the equation, and more frequent feedback.

use fairwire_paper::Verdict;
use fairwire_sim::results::{Metric, Subject};

use crate::{Verdicts, quick, results};

/// The claims that must have a verdict; `-p` stands for the loss event rate that the equation needs.
const CLAIMS: [&str; 20] = [
    "S2-C1", "S2-C1a", "S2-C1a-p", "S2-C1b", "S2-C1b-p", "S2-C1c", "S2-C1c-p", "S2-C2", "S2-C3",
    "S2-C3a", "S2-C3b", "S2-C4", "S2-C5", "S2-C6", "S2-C7", "S2-C8", "S2-C9", "S2-D1", "S2-D2",
    "S2-D3",
];

/// Each kind of verdict occurs: the equation reproduces its published values, and the paper's measurement contradicts
/// it. A claim at a loss rate that was fitted to a published rate is "fitted".
#[test]
fn verdicts_say_what_they_rest_on() {
    let cells = [
        "unwired-down-p",
        "unwired-down-p-tcp",
        "unwired-down-p-modern",
    ];
    let verdicts = Verdicts::after(&quick("satellite"), &cells);
    verdicts.are_of(&CLAIMS);
    assert_eq!(*verdicts.of("S2-D1"), Verdict::Reproduced);
    assert_eq!(*verdicts.of("S2-C6"), Verdict::Contradiction);
    assert!(matches!(verdicts.of("S2-C1b-p"), Verdict::Fitted));
    assert_eq!(*verdicts.of("S2-C3"), Verdict::NotRun);
}

/// RFC 5348, section 6: feedback comes as often as requested, up to one report for each packet.
#[test]
fn reports_come_as_often_as_asked_for() {
    let cells = [
        "ipstar-down-rfc",
        "ipstar-down-fb10-rfc",
        "ipstar-down-fb100-rfc",
    ];
    let results = results(&quick("satellite"), &cells);
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
    // A round trip of 1.2063 s gives 0.83, 8.3 and 83 reports a second, but no more than there are packets.
    let once = of("ipstar-down-rfc", Metric::AckRate);
    assert!((0.6..=1.0).contains(&once), "{once}");
    let ten = of("ipstar-down-fb10-rfc", Metric::AckRate);
    assert!((7.0..=9.0).contains(&ten), "{ten}");
    let all = of("ipstar-down-fb100-rfc", Metric::AckRate);
    let packets = of("ipstar-down-fb100-rfc", Metric::DeliveredRate);
    assert!(
        all <= packets * 1.01 && all >= packets * 0.95,
        "{all} {packets}"
    );
}

/// RFC 5348, section 3.1: with one loss in 49 packets at equal distances, the rate is that of the equation within 3 %.
///
/// The equation takes the mean round-trip time. With as many random losses the rate is higher.
#[test]
fn even_losses_give_the_equation() {
    let cells = ["unwired-up-p-long", "unwired-up-p-long-periodic"];
    let results = results(&quick("satellite"), &cells);
    let over_equation = |name: &str| {
        let cell = results.cells.iter().find(|it| it.name == name);
        let runs = &cell.expect("it ran").runs;
        let flow = Subject::flow("dccp");
        let shares = runs.iter().map(|run| {
            let of = |metric| run.value(&flow, "from-60", metric).expect("measured");
            let (p, rtt) = (of(Metric::Loss) / 100.0, of(Metric::SrttMean));
            // Equation 1 of the paper, with a timeout of four round trips.
            let timeouts = 4.0 * (27.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
            let rate = 8.0 * 984.0 / (rtt * ((2.0 * p / 3.0).sqrt() + timeouts));
            of(Metric::Goodput) / rate
        });
        shares.sum::<f64>() / runs.len() as f64
    };
    let even = over_equation("unwired-up-p-long-periodic");
    assert!((0.97..=1.03).contains(&even), "{even}");
    let random = over_equation("unwired-up-p-long");
    assert!(random > even + 0.04, "{random} {even}");
}
