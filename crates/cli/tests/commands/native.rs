//! `fairwire perf --native` as people run it: on two hosts connected by a cable.

use std::process::Command;

use serde_json::Value;

use crate::two_hosts;

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
        let Some(ran) = two_hosts::perf(&[], "-s --native -1", &client) else {
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
        let Some(ran) = two_hosts::perf(&[], "-s --proto tcp", &client) else {
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
