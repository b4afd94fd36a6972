//! `fairwire run` as people and scripts meet it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn fairwire(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fairwire"))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .expect("the command starts")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("fairwire-run-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).expect("a directory");
    path
}

const DUMBBELL: &str = "scenarios/dumbbell.toml";

/// Alone, the command shows five examples and is content.
#[test]
fn alone_it_shows_five_examples() {
    let output = fairwire(&[]);
    assert!(output.status.success());
    let examples = out(&output);
    assert_eq!(examples.matches("\n  fairwire ").count(), 5, "{examples}");
}

/// A run prints a table with every flow, writes its files and its capture, and ends with 0.
#[test]
fn a_run_prints_and_writes() {
    let place = scratch("files");
    let pcap = place.join("x.pcapng");
    let pcap_text = pcap.display().to_string();
    let directory = place.join("out").display().to_string();
    let output = fairwire(&[
        "run",
        DUMBBELL,
        "--duration",
        "3s",
        "--seeds",
        "2",
        "--pcap",
        &pcap_text,
        "--out",
        &directory,
    ]);
    assert!(output.status.success(), "{}", err(&output));
    let text = out(&output);
    for part in ["tcp", "dccp", "bottleneck", "2 seeds", "DCCP packets"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(
        err(&output).is_empty(),
        "no progress off a terminal: {}",
        err(&output)
    );
    for file in [
        "results.csv",
        "summary.csv",
        "runs.csv",
        "series.csv",
        "results.json",
        "base.toml",
    ] {
        let size = std::fs::metadata(place.join("out").join(file)).map(|file| file.len());
        assert!(size.is_ok_and(|size| size > 50), "{file}");
    }
    assert!(std::fs::metadata(&pcap).is_ok_and(|file| file.len() > 100_000));
    std::fs::remove_dir_all(&place).expect("removed");
}

/// With `--json` standard output is one JSON object with the digest of every run.
#[test]
fn json_is_json() {
    let output = fairwire(&["run", DUMBBELL, "--duration", "2s", "--quick", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let runs = json["cells"][0]["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 3);
    assert!(
        runs.iter()
            .all(|run| run["digest"].as_str().is_some_and(|d| d.len() == 32))
    );
    let again = fairwire(&["run", DUMBBELL, "--duration", "2s", "--quick", "--json"]);
    assert_eq!(
        output.stdout, again.stdout,
        "same scenario, same seeds, same bytes"
    );
}

/// `--explain` says what would run and runs nothing.
#[test]
fn explaining_runs_nothing() {
    let output = fairwire(&[
        "run",
        DUMBBELL,
        "--explain",
        "--set",
        "flows.dccp.dccp.ccid=3",
    ]);
    assert!(output.status.success(), "{}", err(&output));
    let text = out(&output);
    assert!(text.contains("flows.dccp.dccp.ccid = 3"), "{text}");
    assert!(text.contains("seeds from 1 on"), "{text}");
}

/// What the command line gets wrong ends with 2, what a file or the disk gets wrong with 1, each
/// with words about it.
#[test]
fn failures_have_words_and_numbers() {
    let place = scratch("bad");
    let bad = place.join("bad.toml");
    let text = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(DUMBBELL),
    );
    let text = text
        .expect("the scenario")
        .replace("\"10 Mbit/s\"", "\"10 Mbit\"");
    std::fs::write(&bad, text).expect("written");
    let bad = bad.display().to_string();
    let missing = place.join("missing.toml").display().to_string();
    let cases: [(&[&str], i32, &str); 8] = [
        (&["run", &bad], 1, "bad.toml:15:8"),
        (&["run", &missing], 1, "cannot read"),
        (&["run", DUMBBELL, "--out", &bad], 1, "cannot write"),
        (&["run", DUMBBELL, "--bogus"], 2, "--bogus"),
        (&["run", DUMBBELL, "--only", "x"], 2, "base"),
        (&["run", DUMBBELL, "--set", "run.sedes=1"], 2, "seeds"),
        (&["run", DUMBBELL, "--duration", "5"], 2, "unit"),
        (
            &["run", "scenarios/both-ways.toml", "--pcap", "/dev/null"],
            2,
            "--only",
        ),
    ];
    for (arguments, status, words) in cases {
        let output = fairwire(arguments);
        assert_eq!(
            output.status.code(),
            Some(status),
            "{arguments:?}: {}",
            err(&output)
        );
        assert!(
            err(&output).contains(words),
            "{arguments:?}: {}",
            err(&output)
        );
        assert!(out(&output).is_empty(), "{arguments:?}: {}", out(&output));
    }
    std::fs::remove_dir_all(&place).expect("removed");
}
