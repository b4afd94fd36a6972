//! A synthetic paper and results made by hand, for the tests of this crate and of the one that shows reports.

#![allow(dead_code, reason = "each of the two uses some")]

use fairwire_units::Duration;

use super::{Bundle, Paper, PaperError};
use fairwire_scenario::Adjust;
use fairwire_sim::results::{
    CellResult, DigestValue, Metric, Results, RunResult, Series, SeriesMetric, Subject, Value,
};

const MANIFEST: &str = r#"
title = "A paper"
authors = "Somebody"
line = "a line"
runtime = "no time"
scenarios = ["s.toml"]
claims = "claims.toml"
published = ["t.csv"]
[windows]
late = "the late part"
[moments.t_max]
meaning = "when it is greatest"
series = "throughput"
mean_over = "3 s"
within = 0.01
[[tables]]
name = "table"
title = "Table 1"
published = "t.csv"
heading = "what"
windows = ["whole", "late"]
cells = [{ cell = "a", label = "first" }, { cell = "b", label = "second" }]
flows = ["dccp"]
metrics = [{ metric = "throughput", unit = "kbit/s" }]
"#;

const SCENARIO: &str = r#"
title = "two cells"
[run]
duration = "20 s"
[topology]
kind = "chain"
links.one = { rate = "1 Mbit/s", delay = "5 ms" }
[flows.dccp]
wire = "500 B"
traffic = "greedy"
dccp = { ccid = 2 }
[measure]
series = "1 s"
windows.late = { from = "10 s" }
[cells.a]
[cells.b]
"#;

pub(crate) const PUBLISHED: &str = "cell,flow,metric,value,unit,note\n\
    a,dccp,throughput,100,kbit/s,\nb,dccp,throughput,210,kbit/s,odd\n";

/// Loads the paper above with `claims`.
pub(crate) fn paper(claims: &str) -> Result<Paper, PaperError> {
    paper_with(claims, SCENARIO)
}

/// Loads it with a fitted value in cell `b`.
pub(crate) fn fitted_paper(claims: &str) -> Paper {
    let over = "[cells.b.flows.dccp.dccp]\n\
        ccid2.min_rto = { value = \"1 s\", source = \"fitted\", note = \"to b\" }\n";
    paper_with(claims, &SCENARIO.replace("[cells.b]\n", over)).expect("loads")
}

/// Loads it with `more` at the end of its scenario.
pub(crate) fn paper_with_cells(claims: &str, more: &str) -> Result<Paper, PaperError> {
    paper_with(claims, &format!("{SCENARIO}{more}"))
}

/// Loads it without claims and with `figures`.
pub(crate) fn figured_paper(figures: &str) -> Result<Paper, PaperError> {
    bundle(
        &format!("{MANIFEST}{figures}"),
        "claims = []",
        SCENARIO,
        &Adjust::default(),
    )
}

/// Loads it with scenarios that keep only the loss.
pub(crate) fn paper_keeping_loss(claims: &str) -> Result<Paper, PaperError> {
    let kept = "[measure]\nmetrics = [\"loss\"]\n";
    let manifest = MANIFEST.replace(
        "\"throughput\", unit = \"kbit/s\"",
        "\"loss\", unit = \"%\"",
    );
    bundle(
        &manifest,
        claims,
        &SCENARIO.replace("[measure]\n", kept),
        &Adjust::default(),
    )
}

/// Loads it with `more` at the end of its manifest and with `adjust`.
pub(crate) fn extended_paper(
    claims: &str,
    more: &str,
    adjust: &Adjust,
) -> Result<Paper, PaperError> {
    bundle(&format!("{MANIFEST}{more}"), claims, SCENARIO, adjust)
}

/// Loads it with further flows in its cells.
pub(crate) fn paper_with_flows(flows: &str) -> Result<Paper, PaperError> {
    paper_with(
        "claims = []",
        &SCENARIO.replace("[measure]\n", &format!("{flows}[measure]\n")),
    )
}

fn paper_with(claims: &str, scenario: &str) -> Result<Paper, PaperError> {
    bundle(MANIFEST, claims, scenario, &Adjust::default())
}

/// Loads it without claims, with `more` at the end of its manifest, `cells` at the end of its scenario, and `published`.
pub(crate) fn printed_paper(more: &str, cells: &str, published: &str) -> Result<Paper, PaperError> {
    let (manifest, scenario) = (format!("{MANIFEST}{more}"), format!("{SCENARIO}{cells}"));
    let adjust = Adjust::default();
    bundle_with(&manifest, ("claims = []", published), &scenario, &adjust)
}

fn bundle(
    manifest: &str,
    claims: &str,
    scenario: &str,
    adjust: &Adjust,
) -> Result<Paper, PaperError> {
    bundle_with(manifest, (claims, PUBLISHED), scenario, adjust)
}

fn bundle_with(
    manifest: &str,
    (claims, published): (&str, &str),
    scenario: &str,
    adjust: &Adjust,
) -> Result<Paper, PaperError> {
    let files = [
        ("paper.toml", manifest),
        ("s.toml", scenario),
        ("claims.toml", claims),
        ("t.csv", published),
    ];
    let texts = files.map(|(file, text)| (file.to_owned(), text.to_owned()));
    Paper::load(&Bundle::in_memory("test", texts.into()), adjust)
}

/// Returns a run in which the flow `dccp` has this throughput, second by second.
pub(crate) fn run_with_throughput(seed: u64, series: &[f64]) -> RunResult {
    RunResult {
        seed,
        perturbed: true,
        digest: DigestValue(u128::from(seed)),
        packet_hops: 0,
        simulated: Duration::from_secs(series.len() as u64),
        values: Vec::new(),
        period: Duration::from_secs(1),
        series: vec![Series {
            subject: Subject::flow("dccp"),
            metric: SeriesMetric::Throughput,
            values: series.to_vec(),
        }],
        notes: Vec::new(),
        captured: None,
        capture_failure: None,
    }
}

/// Returns results in which each named cell has these throughputs (kbit/s), over the whole run and in the window
/// `late`, for seeds 1, 2, ... The unperturbed run is a copy of the first of them.
pub(crate) fn results(paper: &Paper, cells: &[(&str, &[(f64, f64)])]) -> Results {
    let cells = cells.iter().map(|(name, throughputs)| {
        let cell = paper
            .cells
            .iter()
            .find(|cell| cell.name == *name)
            .expect("a cell");
        let runs: Vec<RunResult> = (1..)
            .zip(*throughputs)
            .map(|(seed, pair)| run(seed, *pair))
            .collect();
        CellResult {
            name: cell.name.clone(),
            axes: cell.axes.clone(),
            scenario: cell.scenario.clone(),
            provenance: cell.provenance.clone(),
            unperturbed: runs.first().cloned(),
            runs,
            partial: false,
        }
    });
    Results {
        name: "test".into(),
        version: "0",
        cells: cells.collect(),
        partial: false,
        notes: Vec::new(),
    }
}

fn run(seed: u64, (whole, late): (f64, f64)) -> RunResult {
    let value = |window: &str, kbit_s: f64| Value {
        subject: Subject::flow("dccp"),
        window: window.into(),
        metric: Metric::Throughput,
        value: kbit_s * 1e3,
    };
    RunResult {
        values: vec![value("whole", whole), value("late", late)],
        ..run_with_throughput(seed, &[1.0; 20])
    }
}
