//! Tests of the examples that the README shows.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// Returns the command of an example. Cargo builds examples beside the directory that tests run from.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("a test has a path");
    let target = test
        .parent()
        .and_then(|deps| deps.parent())
        .expect("target");
    Command::new(target.join("examples").join(name))
}

/// A child process that is killed when the test ends.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `send` sends two words, and `receive` prints them in order and ends. Both have fewer than 30 lines.
#[test]
fn send_and_receive() {
    let child = example("receive")
        .arg("127.0.0.1:0")
        .stdout(Stdio::piped())
        .spawn();
    let mut receive = Ended(child.expect("cargo builds examples before tests"));
    let mut lines = BufReader::new(receive.0.stdout.take().expect("piped")).lines();
    let first = lines.next().expect("a line").expect("text");
    let addr = first.strip_prefix("listening on ").expect("the address");
    let sent = example("send")
        .args([addr, "one", "two"])
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&sent.stdout);
    assert!(
        sent.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&sent.stderr)
    );
    assert_eq!(said, "sent 2 datagrams\n");
    let rest: Vec<_> = lines.map(|line| line.expect("text")).collect();
    assert_eq!(rest, ["one (0 lost before)", "two (0 lost before)"]);
    for source in [
        include_str!("../../examples/send.rs"),
        include_str!("../../examples/receive.rs"),
    ] {
        assert!(source.lines().count() < 30);
    }
}
