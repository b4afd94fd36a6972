//! Scenarios with traces: where the files are found, and which errors are reported.

use std::fs;

use fairwire_scenario::{Adjust, Cell, ScenarioError, ScenarioFile, explain};

use super::{beside, with_set};

/// A link with a trace of 1,500 bytes each 2 ms, which is 6 Mbit/s. Its way back has a rate.
const SCENARIO: &str = r#"
title = "traces"
run.duration = "10 s"
topology.kind = "dumbbell"
topology.access = { rate = "10 Mbit/s", delay = "1 ms" }
topology.bottleneck = { trace = "in/down.trace", delay = "20 ms", back.rate = "2 Mbit/s" }
flows.one = { traffic = "greedy", wire = "1000 B", tcp = {} }
"#;

const TRACE: (&str, &str) = ("in/down.trace", "2\n4\n6\n");

/// Returns the cells of `SCENARIO` with `set`, among these files.
fn cells(files: &[(&str, &str)], options: &[&str]) -> Result<Vec<Cell>, ScenarioError> {
    beside(SCENARIO, files, &with_set(options))
}

fn rates(cells: &[Cell]) -> [u64; 2] {
    let link = cells[0].scenario.topology.link("bottleneck");
    let link = link.expect("a dumbbell has one");
    [link, link.reversed()].map(|it| it.mean_rate().bits_per_s())
}

/// A path begins in the folder of the scenario's file, whatever the current folder is.
#[test]
fn traces_are_found_beside_the_scenario() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("test.toml");
    fs::write(&path, SCENARIO).expect("written");
    fs::create_dir(folder.path().join("in")).expect("made");
    fs::write(folder.path().join(TRACE.0), TRACE.1).expect("written");
    let read = || ScenarioFile::load(&path)?.cells(&Adjust::default());
    let cells = read().expect("there");
    assert_eq!(rates(&cells), [6_000_000, 2_000_000]);

    // The error for an invalid line shows that line of the trace.
    fs::write(folder.path().join(TRACE.0), "2\n4\nsix\n").expect("written");
    let error = read().expect_err("no number").to_string();
    assert!(error.contains("'six' is not a time"), "{error}");
    assert!(error.contains("down.trace:3:1"), "{error}");
    assert!(error.contains("3 | six\n"), "{error}");
    // Control characters are escaped in messages.
    fs::write(folder.path().join(TRACE.0), "2\n\u{1b}[31mred\n").expect("written");
    let error = read().expect_err("no number").to_string();
    assert!(error.contains(r"'\u{1b}[31mred' is not a time"), "{error}");
    assert!(error.contains("2 | \u{fffd}[31mred\n"), "{error}");
    assert!(!error.contains('\u{1b}'), "{error}");
    fs::remove_file(folder.path().join(TRACE.0)).expect("removed");
    let error = read().expect_err("none").to_string();
    let place = folder.path().display();
    let says = format!(
        "cannot read the trace 'in/down.trace' in the scenario's folder, '{place}': No such"
    );
    assert!(error.contains(&says), "{error}");
    assert!(error.contains("test.toml:6:"), "{error}");
}

/// `--explain` shows the mean rate and period of a trace, and its name beside a resolved scenario.
#[test]
fn a_trace_is_explained() {
    let cells = cells(&[TRACE], &[]).expect("a scenario");
    let line = explain(&cells[0]);
    let line = line
        .iter()
        .find(|line| line.path == "topology.bottleneck.trace");
    let line = line.expect("explained");
    assert_eq!((&*line.value, line.source), ("\"down.trace\"", "stated"));
    assert!(
        line.meaning
            .contains("(6 Mbit/s on average, repeats after 6ms)"),
        "{line}"
    );
}

/// A rate and a trace replace each other. A link has one of them in each direction.
#[test]
fn a_trace_takes_the_place_of_a_rate() {
    let back = ("back", "5\n");
    for (set, are) in [
        (
            &["topology.bottleneck.rate=1 Mbit/s"][..],
            [1_000_000, 2_000_000],
        ),
        (&["topology.bottleneck.back="][..], [6_000_000; 2]),
        (
            &["topology.bottleneck.back.trace=back"][..],
            [6_000_000, 2_400_000],
        ),
        (
            &["topology.bottleneck.back.trace=./in/./down.trace"][..],
            [6_000_000; 2],
        ),
        (
            &[
                "topology.bottleneck.rate=1 Mbit/s",
                "topology.bottleneck.trace=back",
            ][..],
            [2_400_000, 2_000_000],
        ),
    ] {
        let cells = cells(&[TRACE, back], set).unwrap_or_else(|error| panic!("{set:?}: {error}"));
        assert_eq!(rates(&cells), are, "{set:?}");
    }
    for (set, says) in [
        (
            "topology.bottleneck.trace=",
            "'rate' or 'trace' is missing here",
        ),
        (
            "topology.bottleneck={ rate = \"1 Mbit/s\", trace = \"back\" }",
            "'rate' and 'trace' do not go together",
        ),
        (
            "topology.bottleneck.back={ rate = \"1 Mbit/s\", trace = \"back\" }",
            "'rate' and 'trace' do not go together",
        ),
    ] {
        let error = cells(&[TRACE, back], &[set]).expect_err(says).to_string();
        assert!(error.contains(says), "{set}: {error}");
    }
}

/// An invalid trace is refused where the scenario names it, and so are two traces of the same file name.
#[test]
fn what_cannot_be_a_trace_is_refused() {
    for (files, set, says) in [
        (
            &[][..],
            "topology.bottleneck.delay=1 ms",
            "cannot read the trace 'in/down.trace'",
        ),
        (
            &[("in/down.trace", "")][..],
            "topology.bottleneck.delay=1 ms",
            "in/down.trace: the trace is empty",
        ),
        (
            &[TRACE][..],
            "topology.bottleneck.trace=5",
            "text in quotes",
        ),
        (
            &[TRACE, ("down.trace", "1\n")][..],
            "topology.bottleneck.back.trace=down.trace",
            "would both be called 'down.trace'",
        ),
    ] {
        let error = cells(files, &[set]).expect_err(says).to_string();
        assert!(error.contains(says), "{set}: {error}");
    }
    let file = ScenarioFile::parse("traces.toml", SCENARIO).expect("TOML");
    let error = file.cells(&Adjust::default()).expect_err("no folder");
    assert!(error.message().contains("in no file"), "{error}");
    assert_eq!(error.line_column(), Some((6, 33)));
}
