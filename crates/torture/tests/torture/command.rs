//! Tests of the command `fairwire-torture`: its output, its streams and its exit code.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use fairwire_torture::plan::Plan;

fn torture(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fairwire-torture"))
        .args(args)
        .output()
        .expect("the command runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// Returns an empty directory for one test.
fn scratch(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("the target directory can be written");
    path
}

/// Asserts that the command refuses: exit code 2, all of `says` on standard error, nothing on standard output.
fn refuses(args: &[&str], says: &[&str]) {
    let output = torture(args);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    assert_eq!(stdout(&output), "", "{args:?} ran");
    assert!(error.starts_with("fairwire-torture: "), "{args:?}: {error}");
    for words in says {
        assert!(error.contains(words), "{args:?}: {error}");
    }
}

/// Options that make no sense are refused with advice.
#[test]
fn senseless_options_are_refused() {
    refuses(&["--trace"], &["--seed S or --plan FILE"]);
    refuses(&["--trace", "--seeds", "5"], &["--seed S or --plan FILE"]);
    refuses(
        &["--show", "--plan", "some.json"],
        &["--show prints the plan of a seed"],
    );
    refuses(&["--show"], &["--seed S"]);
    refuses(
        &["--seeds", "0"],
        &["--seeds 0 runs nothing: give at least 1"],
    );
    refuses(
        &["--forbid", "aborted"],
        &["no event is called 'aborted'", "'closed: Aborted' or"],
    );
    refuses(
        &["--seed", "1", "--forbid", "no such thing"],
        &["the names are:", "\n  fate: Expired\n"],
    );
    refuses(
        &["--first", "18446744073709551615"],
        &[
            "--first 18446744073709551615 --seeds 300",
            "last seed, 18446744073709551615: begin with 18446744073709551316 at most, or run fewer",
        ],
    );
    refuses(
        &["--first", "2", "--seeds", "18446744073709551615"],
        &["begin with 1 at most"],
    );
}

/// The greatest seeds can be run.
#[test]
fn the_last_seeds_run() {
    let args = [
        "--first",
        "18446744073709551614",
        "--seeds",
        "2",
        "--shrink",
        "0",
    ];
    let output = torture(&args);
    assert!(stdout(&output).contains("2 seeds"), "{output:?}");
    assert_ne!(output.status.code(), Some(2), "{output:?}");
    let last = torture(&["--seed", "18446744073709551615", "--shrink", "0"]);
    assert!(
        stdout(&last).contains("seed 18446744073709551615: "),
        "{last:?}"
    );
}

/// With `--until-failure` the first seed that fails is all that is printed, and nothing is saved.
#[test]
fn the_first_failure_is_enough() {
    let found = torture(&["--seeds", "50", "--until-failure", "--forbid", "Connected"]);
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    let text = stdout(&found);
    assert!(
        text.starts_with("seed ") && text.lines().count() == 1,
        "{text}"
    );
    let none = torture(&["--seeds", "3", "--until-failure"]);
    assert_eq!(stdout(&none), "no failure\n", "{none:?}");
    let both = torture(&["--seed", "3", "--until-failure"]);
    assert_eq!(both.status.code(), Some(2), "{both:?}");
}

/// Before the campaign the command checks that a failing plan could be saved.
///
/// The file's content does not change, and no new file is left behind.
#[test]
fn the_file_to_save_is_tried_first() {
    let dir = scratch("save");
    let (there, missing) = (dir.join("there.json"), dir.join("missing.json"));
    fs::write(&there, "kept").expect("it can be written");
    let nowhere = dir.join("no such directory").join("plan.json");
    for bad in [&nowhere, &dir] {
        let path = bad.to_str().expect("text");
        refuses(
            &["--seeds", "1000000000", "--save", path],
            &["--save: cannot write", path, "--save FILE", "--shrink 0"],
        );
        // With --shrink 0 nothing is saved there.
        let output = torture(&["--seeds", "1", "--save", path, "--shrink", "0"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    for good in [&there, &missing] {
        let path = good.to_str().expect("text");
        let output = torture(&["--seeds", "1", "--save", path]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    assert_eq!(fs::read_to_string(&there).expect("it is there"), "kept");
    assert!(!missing.exists(), "an empty file was left behind");
}

/// A plan that cannot be run, or a text that is not a plan, is refused with the place of the error in the file.
#[test]
fn broken_plans_are_refused() {
    let dir = scratch("plans");
    let path = dir.join("plan.json");
    let path = path.to_str().expect("text");
    let mut plan = Plan::draw(0);
    plan.faults.clear();
    plan.moments.clear();
    fs::write(path, plan.to_text()).expect("it can be written");
    let output = torture(&["--plan", path]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let mut lost = plan.clone();
    lost.script[3].connection = 77;
    fs::write(path, lost.to_text()).expect("it can be written");
    refuses(
        &["--plan", path],
        &[
            path,
            "script[3].connection: 77, but the connections have the ids 0, ",
        ],
    );
    let mut late = plan.clone();
    late.script[0].at_ms = 500_000;
    fs::write(path, late.to_text()).expect("it can be written");
    refuses(
        &["--plan", path, "--trace"],
        &[
            "script[1].at_ms: ",
            "but script[0] is at 500000; entries must be in the order of time",
        ],
    );
    fs::write(path, plan.to_text().replace("\"ipv6\"", "\"udp\"")).expect("it can be written");
    refuses(
        &["--plan", path],
        &["duplicate field `udp` at line 4 column "],
    );
    refuses(&["--plan", &format!("{path}.not")], &[".not: "]);
}

/// Each failure is printed on standard error as soon as it is found, without terminal codes.
///
/// The report on standard output has all failures.
#[test]
fn failures_are_told_at_once() {
    let args = [
        "--seeds",
        "40",
        "--forbid",
        "closed: Aborted",
        "--shrink",
        "0",
    ];
    let output = torture(&args);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let (told, report) = (stderr(&output), stdout(&output));
    let mut lines: Vec<&str> = told.lines().collect();
    assert!(!lines.is_empty(), "applications abort here and there");
    for line in &lines {
        let seed = line
            .strip_prefix("seed ")
            .and_then(|rest| rest.strip_suffix(" failed: forbidden"));
        let seed = seed.unwrap_or_else(|| panic!("not a failure: {line:?}"));
        assert!(
            report.contains(&format!("  seed {seed}: forbidden ")),
            "{report}"
        );
    }
    lines.dedup();
    assert!(
        report.contains(&format!("\n{} failures\n", lines.len())),
        "{report}"
    );
    assert!(!told.contains(['\r', '\x1b']), "{told:?}");
    // Without failures nothing is printed on standard error.
    let output = torture(&["--seeds", "5"]);
    assert_eq!(
        (output.status.code(), stderr(&output)),
        (Some(0), String::new())
    );
}
