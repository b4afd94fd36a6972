//! `fairwire run --explain`.

use std::path::Path;

use crate::run::{DUMBBELL, scratch};
use crate::{err, fairwire, out};

/// `--only` takes several cells and patterns. `--explain` shows a family by its axes. It shows one cell by itself, with
/// what it extends and the values of its axes.
#[test]
fn families_are_chosen_and_explained() {
    let queues = "scenarios/queues.toml";
    let output = fairwire(&["run", queues, "--explain", "--only", "fq-*,droptail"]);
    assert!(output.status.success(), "{}", err(&output));
    let text = out(&output);
    assert!(
        text.contains("[droptail]") && text.contains("[fq-codel]"),
        "{text}"
    );
    assert!(!text.contains("[codel]"), "{text}");

    let place = scratch("family");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let file = place.join("family.toml");
    let family = "extends = \"dumbbell.toml\"\naxes.mbit = [1, 2]\ntopology.bottleneck.rate = \"{mbit} Mbit/s\"\n";
    std::fs::write(&file, family).expect("written");
    std::fs::copy(root.join(DUMBBELL), place.join("dumbbell.toml")).expect("copied");
    let file = file.display().to_string();
    let explained = |more: &[&str]| {
        let output = fairwire(&[&["run", &file, "--explain"], more].concat());
        assert!(output.status.success(), "{}", err(&output));
        out(&output)
    };
    assert_eq!(
        explained(&[]),
        "[{mbit}] 2 cells\n  mbit = 1, 2\n  cells: mbit1, mbit2\n  --only mbit1 explains one of them\n\n"
    );
    let one = explained(&["--only", "mbit2"]);
    assert!(
        one.contains("  of {mbit}: mbit = 2\n  extends dumbbell.toml\n"),
        "{one}"
    );
    assert!(
        one.contains("topology.bottleneck.rate = \"2 Mbit/s\""),
        "{one}"
    );
    // The files have a column for each axis.
    let results = place.join("out");
    let directory = results.display().to_string();
    let quick = [
        "run",
        &file,
        "--duration",
        "1s",
        "--seeds",
        "1",
        "--out",
        &directory,
    ];
    let output = fairwire(&quick);
    assert!(output.status.success(), "{}", err(&output));
    for name in ["results.csv", "summary.csv", "runs.csv"] {
        let text = std::fs::read_to_string(results.join(name)).expect("written");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with(",mbit"), "{name}: {}", lines[0]);
        assert!(
            lines[1].starts_with("mbit1,") && lines[1].ends_with(",1"),
            "{name}: {}",
            lines[1]
        );
    }
    std::fs::remove_dir_all(&place).expect("removed");
}

/// `--explain` prints what would run and runs nothing.
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
    // Each value has one line.
    let is_whole =
        |line: &str| line.is_empty() || line.starts_with(['[', ' ']) || line.contains(" = ");
    let broken = text.lines().find(|line| !is_whole(line));
    assert_eq!(broken, None, "{text}");
}
