//! Results as files and tables, from a run with known values.

use std::path::PathBuf;

use fairwire_scenario::Adjust;
use fairwire_sim::results::{Form, Grid, Metric, Output, Results, Subject, WHOLE, table, to_json};

const SCENARIO: &str = r#"
title = "Two CBR flows"
[run]
duration = "3 s"
start_offset = "none"
seeds = 3
max_seeds = 3
[topology]
kind = "chain"
links.one = { rate = "1 Mbit/s", delay = "5 ms", queue = "10 packets", loss = "2 %" }
[flows.fast]
wire = "500 B"
traffic = { kind = "cbr", rate = "0.6 Mbit/s" }
udp = {}
[flows.slow]
wire = "500 B"
traffic = { kind = "cbr", rate = "0.2 Mbit/s" }
udp = {}
[measure]
series = "1 s"
windows.late = { from = "2 s" }
"#;

fn results(text: &str) -> Results {
    super::all_seeds(&super::cells(text, &Adjust::default()))
}

fn directory(name: &str) -> PathBuf {
    let unique = format!("fairwire-results-{name}-{}", std::process::id());
    std::env::temp_dir().join(unique)
}

/// A flow that never sent data, because no handshake succeeded, has its row all the same.
#[test]
fn a_flow_without_data_is_in_the_table() {
    let text =
        SCENARIO
            .replace("\"2 %\"", "\"100 %\"")
            .replacen("udp = {}", "dccp = { ccid = 2 }", 1);
    let table = table(&results(&text).cells[0]);
    let row = table.lines().find(|line| line.starts_with("  fast "));
    let row = row.unwrap_or_else(|| panic!("no row: {table}"));
    assert_eq!(row.split_whitespace().nth(1), Some("0.0"), "{table}");
}

/// The CSV has one row for each cell, seed, subject, window and metric, with its unit.
///
/// The JSON has the resolved scenario, seeds, version and digests. The resolved scenario can be read again.
#[test]
fn files_hold_everything() {
    let results = results(SCENARIO);
    let place = directory("all");
    std::fs::create_dir_all(&place).expect("a directory");
    let mut output = Output::create(&place, Form::default()).expect("files");
    output.cell(&results.cells[0]).expect("a cell");
    output.finish(&results).expect("the end");
    let mut reader = csv::Reader::from_path(place.join("results.csv")).expect("a file");
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    let values: usize = results.cells[0]
        .runs
        .iter()
        .map(|run| run.values.len())
        .sum();
    assert_eq!(rows.len(), values);
    let row = rows
        .iter()
        .find(|row| &row[1] == "2" && &row[3] == "slow" && &row[4] == "late" && &row[5] == "sent")
        .expect("the packets of the flow slow in the last second");
    assert_eq!(
        (&row[6], &row[7]),
        ("50", "packets"),
        "0.2 Mbit/s are 50 packets a second"
    );
    let text = std::fs::read_to_string(place.join("base.toml")).expect("resolved");
    let again = super::cells(&text, &Adjust::default());
    assert_eq!(again[0].scenario, results.cells[0].scenario);
    let json = to_json(&results);
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(
        json["cells"][0]["runs"][0]["digest"].as_str().map(str::len),
        Some(32)
    );
    assert_eq!(
        json["cells"][0]["scenario"]["topology"]["links"]["one"]["rate"],
        "1 Mbit/s"
    );
    let series = std::fs::read_to_string(place.join("series.csv")).expect("series");
    assert!(
        series
            .lines()
            .any(|line| line.starts_with("base,1,flow,fast,throughput,1,"))
    );
    std::fs::remove_dir_all(&place).expect("removed");
}

/// A table shows each flow and link in each window, with an interval or "no spread" from three seeds.
#[test]
fn a_table_for_people() {
    let results = results(SCENARIO);
    let text = table(&results.cells[0]);
    for part in [
        "whole run, 3s",
        "late, 2s to 3s",
        "fast",
        "slow",
        "one",
        "Jain",
        "±",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(
        !text.contains("slow/back"),
        "nothing goes back in UDP\n{text}"
    );
    let sent = results.cells[0].estimate(&Subject::flow("fast"), WHOLE, Metric::Sent);
    assert_eq!(sent.expect("sent").to_string(), "450.00 (no spread)");
}

/// "no spread" is left out for zeros in all runs and for counts that the scenario determines.
///
/// It is shown for a delay that is the same in all runs.
#[test]
fn no_spread_is_said_where_it_tells() {
    let text = SCENARIO.replace(
        "[measure]",
        "[measure]\nmetrics = [\"sent\", \"delay_min\", \"refused\"]",
    );
    let table = table(&results(&text).cells[0]);
    let row = table.lines().find(|line| line.starts_with("  slow "));
    let words: Vec<&str> = row.unwrap_or_default().split_whitespace().collect();
    // 500 B at 1 Mbit/s take 4 ms, in addition to a delay of 5 ms.
    assert_eq!(
        words,
        ["slow", "150.0", "9.00", "(no", "spread)", "0.0"],
        "{table}"
    );
}

/// Keys that only a later run has are listed in their place, for example of a flow that connected with one seed only,
/// or of a late loss.
#[test]
fn no_run_hides_what_another_has() {
    let mut results = results(SCENARIO);
    let cell = &mut results.cells[0];
    let all = cell.keys();
    assert!(all.len() > 100, "{} keys", all.len());
    cell.runs[0]
        .values
        .retain(|value| value.subject != Subject::flow("slow") && value.metric != Metric::Loss);
    assert_eq!(cell.keys(), all);
    cell.runs[1].values.clear();
    cell.runs[2].values.truncate(1);
    let fewer = cell.keys();
    assert!(fewer.len() < all.len() && all.starts_with(&fewer[..1]));
}

/// The table shows the metrics that the scenario selects, in its order, with units and intervals.
///
/// Metrics of flows are shown at flows and those of links at links. A metric that nothing has is named, and so is each
/// window.
#[test]
fn the_metrics_asked_for_are_shown() {
    let asked = |metrics: &str| {
        let text = SCENARIO.replace("[measure]", &format!("[measure]\nmetrics = {metrics}"));
        table(&results(&text).cells[0])
    };
    let text = asked("[\"delay_p95\", \"sent\", \"queue_mean\", \"mos\"]");
    let heads: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("delay_p95"))
        .collect();
    assert_eq!(heads.len(), 2, "one for each window\n{text}");
    let words: Vec<&str> = heads[0].split_whitespace().skip(3).collect();
    assert_eq!(words, ["delay_p95", "ms", "sent", "packets"], "{text}");
    let links = text.lines().find(|line| line.starts_with("  link "));
    let words: Vec<&str> = links.unwrap_or_default().split_whitespace().collect();
    assert_eq!(words, ["link", "queue_mean", "packets"], "{text}");
    assert!(text.contains("no values of: mos"), "{text}");
    for unasked in ["throughput", "jitter", "Jain"] {
        assert!(
            !text.contains(unasked),
            "nobody asked for {unasked}\n{text}"
        );
    }
    // A table of links only, or of all flows together only, names the window as well.
    let text = asked("[\"link_losses\"]");
    assert!(
        text.contains("whole run, 3s  link_losses packets"),
        "{text}"
    );
    let text = asked("[\"jain\"]");
    assert!(text.contains("  late, 2s to 3s\n  jain 0."), "{text}");
}

/// More metrics than fit into a line are in several parts. The flows stay rows, as in every other table of the output.
#[test]
fn flows_are_always_rows() {
    let metrics = Metric::ALL.iter().map(|metric| format!("\"{metric}\""));
    let metrics = metrics.collect::<Vec<_>>().join(", ");
    let text = SCENARIO.replace("[measure]", &format!("[measure]\nmetrics = [{metrics}]"));
    let text = table(&results(&text).cells[0]);
    let head = text.lines().next().unwrap_or_default();
    let words: Vec<&str> = head.split_whitespace().collect();
    assert_eq!(words[..4], ["whole", "run,", "3s", "throughput"], "{text}");
    let rows = |flow: &str| text.matches(&format!("\n  {flow} ")).count();
    assert!(rows("fast") > 4 && rows("fast") == rows("slow"), "{text}");
    assert!(text.contains(" delay_p95 ms "), "{text}");
    let longest = text.lines().filter(|line| !line.contains("no values of"));
    let longest = longest.map(|line| line.chars().count()).max();
    assert!(longest <= Some(120), "{text}");
}

/// Returns a table of cells with different texts.
fn grid(rows: usize, columns: usize) -> Grid {
    let cell = |row: usize, column: usize| format!("{row}.{column:.<12}");
    let row = |row: usize| (0..columns).map(|column| cell(row, column)).collect();
    Grid((0..rows).map(row).collect())
}

/// A table with few columns stays as it is, and one with many is split. Rows stay rows: each line begins with the name of
/// its row. No cell is lost, and no line is too long.
#[test]
fn rows_stay_rows() {
    // With 14 characters and the space between columns, six fit beside the name of the row.
    for (rows, columns, parts) in [(3, 7, 1), (3, 20, 4), (20, 20, 4)] {
        let grid = grid(rows, columns);
        let text = grid.to_string();
        assert_eq!(text.lines().count(), rows * parts, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 120));
        assert!(text.lines().all(|line| line.contains(".0.")), "{text}");
        for cell in grid.0.iter().flatten() {
            assert!(text.contains(cell.as_str()), "{cell} is missing in\n{text}");
        }
    }
}

/// A table just inside the limit of 120 characters keeps its layout, and one just outside does not.
#[test]
fn the_limit_is_exact() {
    // A line of three columns has 2 + a + 2 + b + 2 + c characters.
    let lines = |length: usize| {
        let row = vec!["h".to_owned(), "y".to_owned(), "x".repeat(length - 8)];
        let text = Grid(vec![row.clone(), row]).to_string();
        text.lines().map(str::len).collect::<Vec<_>>()
    };
    assert_eq!(lines(120), [120, 120]);
    assert_eq!(lines(121).len(), 4);
    // A cell that is wider than a line is written in full.
    assert_eq!(lines(300).iter().max(), Some(&297));
}
