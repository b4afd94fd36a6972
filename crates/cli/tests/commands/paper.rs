//! `fairwire paper` as people and scripts use it: reports, wrong names, and Ctrl-C during a run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::{command, err, fairwire, out, unzipped};

fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("fairwire-paper-{name}-{}", std::process::id()))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A paper or table that does not exist is wrong usage; one line lists the names that exist. A table together with
/// 'all' is refused too.
#[test]
fn wrong_names_are_told() {
    let cases: [(&[&str], &str); 7] = [
        (&["paper", "nosuch"], "long-delay"),
        (
            &["paper", "long-delay", "--table", "table9"],
            "table1, table2",
        ),
        (&["paper", "all", "--table", "table1"], "one paper"),
        (&["paper", "long-delay", "--csv", "chairs"], "verdicts"),
        (
            &[
                "paper",
                "long-delay",
                "--table",
                "table1",
                "--csv",
                "verdicts",
            ],
            "there are no verdicts",
        ),
        (
            &[
                "paper",
                "long-delay",
                "--csv",
                "figures",
                "--table",
                "table1",
            ],
            "leave out --table or --csv figures",
        ),
        (
            &["paper", "long-delay", "--csv", "tables", "--json"],
            "--json",
        ),
    ];
    for (arguments, words) in cases {
        let output = fairwire(arguments);
        let told = format!("{}{}", err(&output), out(&output));
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(words), "{arguments:?}: {told}");
    }
}

/// One table runs only the cells that it needs. The directory gets the page, with text, JSON and CSV files. Printed CSV
/// is the same as the file.
#[test]
fn a_table_is_run_and_written() {
    let place = scratch("table");
    let directory = place.display().to_string();
    let output = fairwire(&[
        "paper",
        "satellite",
        "--table",
        "narrow",
        "--seeds",
        "2",
        "--csv",
        "tables",
        "--out",
        &directory,
    ]);
    assert!(output.status.success(), "{}", err(&output));
    let csv = out(&output);
    // A line of names; nine cells, and the same nine with the DCCP of today's RFCs; two flows; three metrics; one
    // window.
    assert_eq!(csv.lines().count(), 1 + 2 * 9 * 2 * 3, "{csv}");
    let row =
        "\nsatellite,narrow,narrow-16k-fb10,\"16 kbit/s, 10\",dccp,goodput,kbit/s,from-60,,2,";
    assert!(csv.contains(row), "{csv}");
    assert_eq!(csv, read(&place.join("tables.csv")));
    let page = read(&place.join("report.html"));
    assert!(
        page.starts_with("<!DOCTYPE html>") && page.contains("More feedback on a narrow way back")
    );
    assert!(!page.contains("is partial"));
    let json: Value = serde_json::from_str(&unzipped(&place.join("paper.json.gz"))).expect("JSON");
    assert_eq!(json["partial"], false);
    let rows = json["tables"][0]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 108);
    for file in ["report.txt", "results.json.gz", "narrow-16k-fb10.toml"] {
        assert!(place.join(file).is_file(), "{file}");
    }
    // Figures and verdicts were not computed: a file with column names only would suggest empty results.
    for file in ["figures.csv", "verdicts.csv"] {
        assert!(!place.join(file).exists(), "{file}");
    }
    std::fs::remove_dir_all(&place).expect("removed");
}

/// After Ctrl-C during all papers, finished results are printed and written, and all output says that it is partial.
#[cfg(unix)]
#[test]
fn an_interrupt_keeps_what_is_finished() {
    let place = scratch("interrupt");
    let output = interrupted("all", &place, "-INT", 1);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["partial"], true);
    let papers = json["papers"].as_array().expect("papers");
    let verdicts = |paper: &Value| paper["verdicts"].as_array().cloned().unwrap_or_default();
    let of_all: Vec<Value> = papers.iter().flat_map(verdicts).collect();
    assert!(of_all.iter().any(|one| one["verdict"] == "not run"));
    assert!(
        of_all
            .iter()
            .all(|one| one["id"].is_string() && one["because"].is_string())
    );
    assert!(read(&place.join("summary.txt")).contains("(PARTIAL)"));
    assert!(read(&place.join("report.txt")).contains(&read(&place.join("summary.txt"))));
    let csv = read(&place.join("verdicts.csv"));
    let lines: Vec<&str> = csv.lines().skip(1).collect();
    assert!(lines.iter().any(|line| line.ends_with(",true")), "{csv}");
    let first = papers[0]["paper"].as_str().expect("a name");
    has_finished_runs(&place.join(first));
    std::fs::remove_dir_all(&place).expect("removed");
}

/// SIGTERM, which `timeout` and batch systems send, does the same, even if it is sent twice.
#[cfg(unix)]
#[test]
fn a_request_to_end_keeps_what_is_finished() {
    let place = scratch("request");
    let output = interrupted("long-delay", &place, "-TERM", 2);
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["partial"], true);
    has_finished_runs(&place);
    std::fs::remove_dir_all(&place).expect("removed");
}

/// Runs a paper, or all, sends a signal some times after the first runs, and returns what was printed.
#[cfg(unix)]
fn interrupted(paper: &str, place: &Path, signal: &str, times: u32) -> Output {
    let directory = place.display().to_string();
    let running = command(&[
        "paper", paper, "--seeds", "2", "--json", "--out", &directory,
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .expect("the command starts");
    let pid = running.id().to_string();
    // A second thread reads, so that a report longer than the pipe's buffer does not block the command.
    let ended = std::thread::spawn(move || running.wait_with_output().expect("it ends"));
    let has_finished_cell = || {
        let entries = |place: &Path| std::fs::read_dir(place).into_iter().flatten().flatten();
        let mut folders = entries(place).map(|entry| entry.path());
        let unfinished = folders.find(|folder| folder.is_dir());
        // All papers have a folder each in it, and one paper has none.
        let within = unfinished.iter().flat_map(|folder| entries(folder));
        let papers = within.map(|paper| paper.path()).chain(unfinished.clone());
        let lines = papers.filter_map(|paper| {
            let runs = std::fs::read_to_string(paper.join("runs.csv")).ok()?;
            Some(runs.lines().count())
        });
        lines.max().unwrap_or(0) > 1
    };
    while !has_finished_cell() && !ended.is_finished() {
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    for _ in 0..times {
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.expect("kill is there").success());
    }
    let output = ended.join().expect("no panic");
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(err(&output).contains("partial"), "{}", err(&output));
    let page = read(&place.join("report.html"));
    assert!(page.contains("This report is partial."));
    output
}

/// The results of a paper that was interrupted are partial, and its runs are in `runs.csv`.
#[cfg(unix)]
fn has_finished_runs(paper: &Path) {
    let results: Value =
        serde_json::from_str(&unzipped(&paper.join("results.json.gz"))).expect("JSON");
    assert_eq!(results["partial"], true);
    let kept = results["cells"][0]["runs"].as_array().expect("runs");
    let runs = read(&paper.join("runs.csv"));
    assert!(!kept.is_empty());
    for run in kept {
        assert!(runs.contains(run["digest"].as_str().expect("a digest")));
    }
}

/// A run that would take days is refused at once, with an estimate. A link that carries nothing is refused too.
#[test]
fn the_impossible_is_refused() {
    let scenario = "scenarios/dumbbell.toml";
    let day = [
        "run",
        scenario,
        "--duration",
        "24h",
        "--set",
        "topology.bottleneck.rate=10 Gbit/s",
        "--set",
        "topology.access.rate=10 Gbit/s",
    ];
    let nothing = ["run", scenario, "--set", "topology.bottleneck.rate=0 bit/s"];
    for (arguments, words) in [(&day[..], "hours"), (&nothing[..], "rate zero")] {
        let output = fairwire(arguments);
        let told = err(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(words), "{told}");
        assert!(out(&output).is_empty());
    }
}
