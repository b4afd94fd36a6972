//! `fairwire run` as people and scripts use it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{command, err, fairwire, out};

pub(crate) fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("fairwire-run-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).expect("a directory");
    path
}

pub(crate) const DUMBBELL: &str = "scenarios/dumbbell.toml";

/// Without arguments the command prints its examples and succeeds.
#[test]
fn alone_it_shows_examples() {
    let output = fairwire(&[]);
    assert!(output.status.success());
    let examples = out(&output);
    assert_eq!(examples.matches("\n  fairwire ").count(), 7, "{examples}");
}

/// A run prints a table with every flow, writes its files and its capture, and exits with status 0.
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
    let written = format!(
        "written: {directory}/report.html, with plots; beside it the numbers as CSV and JSON\n"
    );
    assert_eq!(err(&output), written, "no progress off a terminal");
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

/// With `--out` a family of cells is one table with a row for each cell. It says that a flow stands for others, and where
/// the rest is. What the congestion control sets is explained so.
#[test]
fn a_family_is_one_table() {
    let place = scratch("brief");
    let directory = place.join("out").display().to_string();
    let crowds = [
        "run",
        "scenarios/crowds.toml",
        "--duration",
        "1s",
        "--seeds",
        "1",
        "--out",
    ];
    let output = fairwire(&[&crowds[..], &[&directory]].concat());
    assert!(output.status.success(), "{}", err(&output));
    let text = out(&output);
    for part in [
        "(18 cells, 1 seed each; whole run, 1s)\n",
        "\n  codel-tcps20-cubic  ",
        "\n  tcp1: one of 1 to 20 alike\n",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(text.lines().count() < 30, "{text}");
    let written =
        format!("written: {directory}/report.html, with plots and the tables of every cell;");
    assert!(err(&output).starts_with(&written), "{}", err(&output));
    let alone = "one cell alone runs with --only, as in --only queue20packets-tcps1-ccid3; values of an axis (queue, tcps, \
                 test) with --axes, as in --axes 'queue=20 packets'\n";
    assert!(err(&output).ends_with(alone), "{}", err(&output));
    let page = std::fs::read_to_string(place.join("out/report.html")).expect("a page");
    for part in [
        "goodput of tcp1 (one of 1 to 20 alike)",
        "tcps (logarithmic)",
    ] {
        assert!(page.contains(part), "{part}");
    }
    std::fs::remove_dir_all(&place).expect("removed");

    let law = "flows.one.tcp.law=dctcp";
    let output = fairwire(&[
        "run",
        "scenarios/dctcp.toml",
        "--explain",
        "--set",
        "flows.one.tcp.ecn=",
        "--set",
        law,
    ]);
    let text = out(&output);
    let line = text
        .lines()
        .find(|line| line.contains("flows.one.tcp.ecn = true"));
    let line = line.unwrap_or_else(|| panic!("{text}{}", err(&output)));
    assert!(
        line.contains(" law ") && line.contains("the congestion control sets it"),
        "{line}"
    );
}

/// Without a file `--axes` runs a dumbbell; its results have columns for the axes and a page with plots. The number of
/// parallel runs changes nothing.
#[test]
fn axes_need_no_file() {
    let place = scratch("axes");
    let run = |jobs: &str| {
        let directory = place.join(jobs).display().to_string();
        let short = [
            "run",
            "--duration",
            "1s",
            "--seeds",
            "2",
            "--jobs",
            jobs,
            "--out",
            &directory,
        ];
        let axes = ["--axes", "ccid=2,3", "--axes", "queue=10 packets,codel"];
        let output = fairwire(&[&short[..], &axes[..]].concat());
        assert!(output.status.success(), "{}", err(&output));
        out(&output)
    };
    let text = run("1");
    assert!(text.contains("/ ccid3-queue10packets (2 seeds)"), "{text}");
    assert!(
        text.contains("note: the run ends at 1s: window 'steady' (from 20s) is left out"),
        "{text}"
    );
    assert_eq!(run("3"), text);
    let csv = std::fs::read_to_string(place.join("1/summary.csv")).expect("written");
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].ends_with(",ccid,queue,law,rate,delay,loss,tcps"),
        "{}",
        lines[0]
    );
    assert!(
        lines[1].ends_with(",2,10 packets,cubic,10 Mbit/s,20 ms,0 %,1"),
        "{}",
        lines[1]
    );
    let json = std::fs::read(place.join("1/results.json")).expect("written");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let axes = &json["cells"][0]["axes"];
    assert_eq!(
        (&axes["ccid"], &axes["rate_bit_per_s"]),
        (&2.into(), &1e7.into())
    );
    let page = std::fs::read_to_string(place.join("1/report.html")).expect("written");
    assert!(
        page.contains("goodput of dccp") && page.contains("<svg"),
        "no plots"
    );
    std::fs::remove_dir_all(&place).expect("removed");

    let output = fairwire(&["run"]);
    assert_eq!(output.status.code(), Some(2));
    for way in ["a scenario FILE", "'fairwire run --axes ccid=2,3'"] {
        assert!(err(&output).contains(way), "{}", err(&output));
    }
    let output = fairwire(&["run", "--axes", "quue=codel"]);
    assert!(
        err(&output).contains("did you mean 'queue'?"),
        "{}",
        err(&output)
    );
}

/// For a misspelt option the error suggests the similar one; for a setting below a default it says what works.
#[test]
fn slips_are_met_with_what_would_do() {
    for (wrong, meant) in [
        ("--ouput", "--out"),
        ("--outptu", "--out"),
        ("--sedes", "--seeds"),
    ] {
        let output = fairwire(&["run", DUMBBELL, wrong, "x"]);
        assert_eq!(output.status.code(), Some(2));
        let tip = format!("a similar argument exists: '{meant}'");
        assert!(err(&output).contains(&tip), "{}", err(&output));
    }
    let output = fairwire(&["run", DUMBBELL, "--set", "topology.access.queue.ecn=true"]);
    assert_eq!(output.status.code(), Some(2));
    let told = err(&output);
    let advice = "as in 'topology.access.queue={ kind = \"codel\", ecn = true }'";
    assert!(
        told.contains("nothing states 'topology.access.queue'"),
        "{told}"
    );
    assert!(told.contains(advice), "{told}");
}

/// Runs the command with standard output to a full device; `None` where there is no such device.
fn into_full_disk(arguments: &[&str]) -> Option<Output> {
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .ok()?;
    let output = command(arguments).stdout(full).output();
    Some(output.expect("the command starts"))
}

const SHORT: [&str; 6] = ["run", DUMBBELL, "--duration", "1s", "--seeds", "1"];

/// Results that cannot be printed are an error.
#[test]
fn a_full_standard_output_is_a_failure() {
    for more in [&[][..], &["--json"]] {
        let Some(output) = into_full_disk(&[&SHORT, more].concat()) else {
            return;
        };
        assert_eq!(output.status.code(), Some(1), "{}", err(&output));
        assert!(err(&output).contains("cannot print"), "{}", err(&output));
    }
}

/// A capture that cannot be written is reported at the end; the results are printed.
#[test]
fn a_full_capture_keeps_the_results() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let output = fairwire(&[&SHORT[..], &["--pcap", "/dev/full"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(out(&output).contains("bottleneck"), "{}", out(&output));
    assert!(
        err(&output).contains("cannot write /dev/full"),
        "{}",
        err(&output)
    );
}

/// With `--json`, results are printed even if an output file cannot be written.
#[cfg(unix)]
#[test]
fn a_full_disk_keeps_what_was_computed() {
    let place = scratch("taken");
    let directory = place.display().to_string();
    // A limit on the size of files simulates a full disk: some kilobytes can be written, the values of a run cannot.
    let limited = "ulimit -f 4; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", limited, "sh", env!("CARGO_BIN_EXE_fairwire")])
        .args([&SHORT[..], &["--json", "--out", &directory]].concat())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .expect("the command starts");
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["partial"], true);
    assert_eq!(json["cells"][0]["runs"][0]["seed"], 1);
    let told = err(&output);
    let is_named = told.contains("/unfinished-") && told.contains("/results.csv");
    assert!(is_named, "{told}");
    std::fs::remove_dir_all(&place).expect("removed");
}

/// A capture that the disk has no room for ends after a whole packet, and the results are printed.
#[cfg(unix)]
#[test]
fn a_capture_on_a_full_disk_has_whole_packets() {
    let place = scratch("cut");
    let pcap = place.join("cut.pcapng");
    let path = pcap.display().to_string();
    let limited = "ulimit -f 64; exec \"$@\"";
    let output = Command::new("sh")
        .args(["-c", limited, "sh", env!("CARGO_BIN_EXE_fairwire")])
        .args([&SHORT[..], &["--pcap", &path]].concat())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .expect("the command starts");
    assert_eq!(output.status.code(), Some(1), "{}", err(&output));
    assert!(out(&output).contains("bottleneck"), "{}", out(&output));
    let told = "the capture is incomplete and ends after a whole packet";
    assert!(err(&output).contains(told), "{}", err(&output));
    let bytes = std::fs::read(&pcap).expect("the capture");
    let (mut at, mut blocks) = (0, 0);
    while at < bytes.len() {
        let length = bytes[at + 4..at + 8].try_into().expect("a length");
        at += u32::from_ne_bytes(length) as usize;
        blocks += 1;
    }
    assert_eq!(at, bytes.len(), "the last block is whole");
    assert!(blocks > 10, "{blocks}");
    std::fs::remove_dir_all(&place).expect("removed");
}

/// A link that does not exist is refused before the capture file is opened.
#[test]
fn a_wrong_tap_leaves_the_file_alone() {
    let place = scratch("tap");
    let pcap = place.join("precious.pcapng");
    std::fs::write(&pcap, "precious").expect("written");
    let path = pcap.display().to_string();
    let output = fairwire(&[&SHORT[..], &["--pcap", &path, "--tap", "bottelneck"]].concat());
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    assert!(err(&output).contains("access/left/tcp"), "{}", err(&output));
    let kept = std::fs::read_to_string(&pcap).expect("still there");
    assert_eq!(kept, "precious");
    std::fs::remove_dir_all(&place).expect("removed");
}

/// A key that is far too deep or too long is refused with a short message.
#[test]
fn absurd_keys_are_refused_in_a_few_words() {
    let deep = format!("{}=1", vec!["a"; 20_000].join("."));
    let long = format!("{}=1", "a".repeat(20_000));
    let table = format!("a={{{}=1}}", vec!["a"; 20_000].join("."));
    for (setting, words) in [(deep, "64"), (long, "unknown key"), (table, "unknown key")] {
        let output = fairwire(&["run", DUMBBELL, "--set", &setting]);
        assert_eq!(output.status.code(), Some(2), "{}", output.status);
        let told = err(&output);
        assert!(told.contains(words), "{told}");
        assert!(told.len() < 1_500, "{} bytes are told", told.len());
    }
}

/// With `--json`, a refusal is one JSON object; the exit status does not change.
#[test]
fn refusals_are_json_where_asked_for() {
    let cases: [(&[&str], i32, &str); 6] = [
        (
            &["run", DUMBBELL, "--out", "/dev/null", "--json"],
            1,
            "failed",
        ),
        (&["perf", "-c", "::1", "--ccid", "9", "--json"], 2, "usage"),
        (&["run", "missing.toml", "--json"], 2, "usage"),
        (&["run", DUMBBELL, "--only", "x", "--json"], 2, "usage"),
        (&["paper", "nosuch", "--json"], 2, "usage"),
        (&["paper", "--quick", "--json"], 2, "usage"),
    ];
    for (arguments, status, kind) in cases {
        let output = fairwire(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(json["error"]["kind"], kind, "{arguments:?}");
        assert_eq!(json["error"]["exit"], status, "{arguments:?}");
        let message = json["error"]["message"].as_str();
        // The key is already `error`, so the message does not begin with that word.
        assert!(message.is_some_and(|text| !text.is_empty() && !text.starts_with("error")));
    }
}

/// An error in the command line or the scenario exits with 2, an error of the disk with 1. Each has a message about its
/// cause.
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
    let binary = place.join("binary.toml");
    std::fs::write(&binary, b"title\n\xff\xfe").expect("written");
    let binary = binary.display().to_string();
    let missing = place.join("missing.toml").display().to_string();
    let cases: [(&[&str], i32, &str); 24] = [
        (&["perf", "-c", "::1", "-t", "-1"], 2, "'-1' is not a time"),
        (
            &["perf", "-c", "::1", "-b", "-5M"],
            2,
            "'-5M' is not a rate: write bits per second without a sign",
        ),
        (
            &["perf", "-c", "::1", "-n", "--reverse"],
            2,
            "the size is missing before '--reverse': write bytes",
        ),
        (&["perf", "-c", "::1", "-i", "0.05"], 2, "-i is too short"),
        (&["perf", "-c", "::1", "-p", "0"], 2, "-p 0"),
        (&["paper", "--quick"], 2, "NAME"),
        (&["paper", "--check-digests"], 2, "NAME"),
        (&["run", DUMBBELL, "--set", "nokey=1"], 2, "cells"),
        (&["run", &bad], 2, "bad.toml:15:8"),
        (&["run", &missing], 2, "cannot read"),
        (&["run", &binary], 2, "it is not a text file: line 2 is not"),
        (&["run", "/dev/zero"], 2, "the most for a scenario"),
        (&["run", &missing, "--check-digests"], 2, "cannot read"),
        (
            &["run", DUMBBELL, "--out", &bad],
            1,
            "--out takes a directory",
        ),
        (&["run", DUMBBELL, "--bogus"], 2, "--bogus"),
        (&["run", DUMBBELL, "--only", "x"], 2, "base"),
        (&["run", DUMBBELL, "--set", "run.sedes=1"], 2, "seeds"),
        (&["run", DUMBBELL, "--duration", "5"], 2, "unit"),
        (&["run", DUMBBELL, "--duration", "-5 s"], 2, "is negative"),
        (
            &["run", DUMBBELL, "--seeds", "-1"],
            2,
            "write a whole number from 1 to 10000",
        ),
        // An error in an option's value points at that option.
        (
            &["run", DUMBBELL, "--duration", "0 s"],
            2,
            "| --duration 0 s",
        ),
        // It is quoted as it was written.
        (
            &["run", DUMBBELL, "--duration", "200h"],
            2,
            "| --duration 200h\n",
        ),
        (
            &["run", DUMBBELL, "--set", "run.seeds=0"],
            2,
            "| --set run.seeds=0",
        ),
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

/// A first seed that leaves no room for the others is wrong usage; the error names the largest one.
#[test]
fn a_seed_too_large() {
    let seed = u64::MAX.to_string();
    let output = fairwire(&["run", DUMBBELL, "--seed", &seed, "--quick"]);
    assert_eq!(output.status.code(), Some(2), "{}", err(&output));
    let most = (u64::MAX - 3).to_string();
    let named = err(&output).contains(&seed) && err(&output).contains(&most);
    assert!(named, "{}", err(&output));
}

/// A capture does not overwrite the scenario that is run, nor is it mixed with the tables.
#[test]
fn a_capture_leaves_the_scenario_alone() {
    let output = fairwire(&["run", DUMBBELL, "--only", "base", "--pcap", "-"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("named pipe"), "{}", err(&output));
    let place = scratch("own-scenario");
    let file = place.join("mine.toml");
    std::fs::copy(Path::new("../..").join(DUMBBELL), &file).expect("a copy");
    let before = std::fs::read(&file).expect("a scenario");
    let name = file.display().to_string();
    let output = fairwire(&["run", &name, "--seeds", "1", "--pcap", &name]);
    assert_eq!(output.status.code(), Some(2));
    let text = err(&output);
    assert!(text.contains("would overwrite the scenario"), "{text}");
    assert!(std::fs::read(&file).expect("a scenario") == before);
    let _ = std::fs::remove_dir_all(place);
}
