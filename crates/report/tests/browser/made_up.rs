//! Made-up results: every value that a paper could show, with as many digits as values can have.

use fairwire_paper::Paper;
use fairwire_scenario::Scenario;
use fairwire_sim::results::DigestValue;
use fairwire_sim::results::{
    CellResult, Metric, Results, RunResult, Series, SeriesMetric, Subject, Value, WHOLE,
};
use fairwire_units::Duration;

/// Returns results with three seeds for every cell of `paper`.
pub(crate) fn results(paper: &Paper) -> Results {
    let cells = paper.cells.iter().enumerate().map(|(number, cell)| {
        let run = |seed| run(&cell.scenario, number, seed);
        CellResult {
            name: cell.name.clone(),
            axes: cell.axes.clone(),
            scenario: cell.scenario.clone(),
            provenance: cell.provenance.clone(),
            runs: (1..=3).map(run).collect(),
            unperturbed: cell.has_unperturbed_run().then(|| run(0)),
            partial: false,
        }
    });
    Results {
        name: paper.name.clone(),
        version: "0",
        cells: cells.collect(),
        partial: false,
        notes: Vec::new(),
    }
}

fn run(scenario: &Scenario, cell: usize, seed: u64) -> RunResult {
    let mut subjects = vec![Subject::All];
    for (name, _) in scenario.enabled_flows() {
        subjects.push(Subject::flow(name));
        subjects.push(Subject::flow(&format!("{name}/back")));
    }
    for name in scenario.topology.measured_links() {
        subjects.push(Subject::link(name));
        subjects.push(Subject::link(&format!("{name}/back")));
    }
    let named = scenario.measure.windows.iter().map(|(name, _)| name);
    let windows: Vec<&str> = std::iter::once(WHOLE).chain(named).collect();
    let mut values = Vec::new();
    for subject in &subjects {
        for window in &windows {
            for (number, metric) in Metric::ALL.iter().enumerate() {
                values.push(Value {
                    subject: subject.clone(),
                    window: (*window).to_owned(),
                    metric: *metric,
                    value: size(metric.unit()) * vary(cell + number, seed),
                });
            }
        }
    }
    let period = scenario.measure.series.unwrap_or(Duration::from_secs(1));
    let periods = scenario.run.duration.as_nanos() / period.as_nanos();
    let mut series = Vec::new();
    for subject in &subjects {
        for metric in SeriesMetric::ALL {
            let value = |at: u64| size(metric.unit()) * vary(cell + steps(at), seed);
            series.push(Series {
                subject: subject.clone(),
                metric: *metric,
                values: (0..periods).map(value).collect(),
            });
        }
    }
    RunResult {
        seed,
        perturbed: seed > 0,
        digest: DigestValue(u128::from(seed)),
        packet_hops: 0,
        simulated: scenario.run.duration,
        values,
        period,
        series,
        notes: Vec::new(),
        captured: None,
        capture_failure: None,
    }
}

/// Returns the number of the step of seven periods that `at` lies in.
fn steps(at: u64) -> usize {
    usize::try_from(at / 7).expect("few periods")
}

/// Returns about the greatest value in this unit.
fn size(unit: &str) -> f64 {
    match unit {
        "bit/s" => 9_876_543.0,
        "s" => 12.345,
        "%" => 87.654_32,
        "packets" | "B" => 123_456.0,
        _ => 98.765,
    }
}

/// Returns a factor between about 0.5 and 1 that depends on the place and slightly on the seed.
fn vary(place: usize, seed: u64) -> f64 {
    let step = (place * 37 % 101) as f64 / 202.0;
    0.5 + step + seed as f64 * 0.003
}
