//! `fairwire perf --native` as people run it: on two hosts connected by a cable. The hosts are network namespaces
//! (`scripts/two-hosts`).

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs `perf` with these arguments on the first host, then on the second. Returns `None` where network namespaces are
/// not possible; with `FAIRWIRE_NO_SKIP=1` the test then fails.
fn two_hosts(first: &str, second: &str) -> Option<Output> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fairwire = env!("CARGO_BIN_EXE_fairwire");
    let ran = Command::new(root.join("scripts/two-hosts"))
        .arg(format!("'{fairwire}' perf {first}"))
        .arg(format!("'{fairwire}' perf {second}"))
        .output()
        .expect("a script of ours");
    if ran.status.code() == Some(77) {
        let why = String::from_utf8_lossy(&ran.stderr);
        let strict = std::env::var_os("FAIRWIRE_NO_SKIP").is_some_and(|value| value == "1");
        assert!(!strict, "FAIRWIRE_NO_SKIP=1: {why}");
        eprintln!("skipped: {why}");
        return None;
    }
    Some(ran)
}

/// With IPv4 and IPv6, every CCID and both directions, a second of data arrives without loss. CCID 4 sends 100 packets a
/// second at most, and empties its queue for half a second more.
#[test]
fn perf_over_a_cable() {
    for (ccid, ip, reverse) in [
        (2, "10.77.0.1", ""),
        (2, "fd77::1", "-R"),
        (3, "10.77.0.1", "-R"),
        (3, "fd77::1", ""),
        (4, "10.77.0.1", ""),
        (4, "fd77::1", "-R"),
    ] {
        let client = format!("-c {ip} --native --ccid {ccid} -t 1 -b 5M --json {reverse}");
        let Some(ran) = two_hosts("-s --native -1 >/dev/null", &client) else {
            return;
        };
        let text = String::from_utf8_lossy(&ran.stdout);
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{client}: {text}{errors}");
        let report: Value = serde_json::from_str(&text).expect("a JSON object");
        assert_eq!(report["native"], true, "{text}");
        let flow = &report["flows"][0];
        assert_eq!(flow["sender"]["path"]["ccid"], ccid, "{text}");
        let received = flow["receiver"]["datagrams"].as_u64();
        assert!(received.is_some_and(|count| count > 100), "{text}");
        assert_eq!(flow["receiver"]["lost"], 0, "{text}");
    }
}

/// A host without a DCCP program sends an ICMP error: the client ends at once, with advice.
#[test]
fn a_host_without_dccp() {
    for ip in ["10.77.0.1", "[fd77::1]"] {
        // A TCP server: the host is up, but has no raw socket.
        let client = format!("-c {ip} --native");
        let Some(ran) = two_hosts("-s --proto tcp", &client) else {
            return;
        };
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{errors}");
        let advice = "nobody there speaks DCCP directly in IP (protocol 33)";
        assert!(errors.contains(advice), "{errors}");
    }
}

/// `--native` with a protocol other than DCCP is refused as wrong usage, on either side.
#[test]
fn native_is_for_dccp() {
    for side in ["-s", "-c127.0.0.1"] {
        let ran = Command::new(env!("CARGO_BIN_EXE_fairwire"))
            .args(["perf", side, "--native", "--proto", "udp"])
            .output()
            .expect("runs");
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(2), "{errors}");
        assert!(
            errors.contains("--native works only with --proto dccp"),
            "{errors}"
        );
    }
}
