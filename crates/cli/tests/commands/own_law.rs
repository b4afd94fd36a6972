//! The example of a window law of one's own.

use std::path::Path;
use std::process::Command;

/// A registered law works on a socket and in a scenario, and the example has fewer than 80 lines.
///
/// Let a law add `a` packets per round trip and reduce the window by the factor `b` at a loss. With random losses of
/// probability p, its window settles at sqrt(a / (b p)) packets, where gain and loss balance. This law settles at 1.41
/// times the window of NewReno. About 200 losses spread the ratio by a few percent. Cuts that round down to whole
/// packets lower it by as much.
#[test]
fn own_law() {
    // Cargo builds examples beside the directory that tests run from.
    let test = std::env::current_exe().expect("a test has a path");
    let target = test.parent().and_then(Path::parent).expect("target");
    let ran = Command::new(target.join("examples").join("own_law")).output();
    let ran = ran.expect("cargo builds examples before tests");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    assert!(
        said.contains("over sockets: 100 datagrams by 'gentle'"),
        "{said}"
    );
    let rate = |law: &str| -> f64 {
        let before = format!("in a scenario: {law} ");
        let rate = said
            .lines()
            .find_map(|line| line.strip_prefix(&before)?.strip_suffix(" kbit/s"));
        rate.expect("a line").parse().expect("a number")
    };
    let ratio = rate("gentle") / rate("newreno");
    assert!((ratio - 1.41).abs() < 0.15, "{said}");
    assert!(include_str!("../../examples/own_law.rs").lines().count() < 80);
}
