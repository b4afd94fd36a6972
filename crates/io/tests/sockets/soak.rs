//! Runs the soak example for seconds, so that `make soak`, which runs it for minutes, always works.

use std::process::Command;

/// The arguments of the example, with their tests: cargo does not run tests inside an example.
#[path = "../../examples/soak/args.rs"]
mod args;

/// A hundred connections at a time for three seconds leave nothing behind, and every kind of end occurs.
#[test]
fn a_short_soak_leaves_nothing() {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.parent().and_then(|deps| deps.parent());
    let soak = target.expect("target").join("examples/soak");
    // Cargo builds examples beside the directory that tests run from.
    let output = Command::new(soak).args(["0.05", "100"]).output();
    let output = output
        .expect("cargo test without --test builds examples; else `cargo build --examples` does");
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complained}");
}
