//! Path MTU discovery: `fairwire perf` between two hosts, past a router with a smaller link and into a black hole.

use std::process::Command;
use std::thread;

use serde_json::Value;

use crate::two_hosts;

/// Returns the report of a client on the second host; the path to the first carries 1,400 bytes. Returns `None` where
/// network namespaces are not possible.
fn measure(how: &str, server: &str, client: &str) -> Option<Value> {
    let server = format!("-s -1 {server}");
    let ran = two_hosts::perf(&[how, "1400"], &server, &format!("{client} --json"))?;
    let (text, errors) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    let report = serde_json::from_str(&text);
    Some(report.unwrap_or_else(|error| panic!("{how} {client}: {error}: {text}{errors}")))
}

/// RFC 4340, 14.1: with datagrams that fill packets of 1,500 bytes, each CCID reaches a host behind a link of 1,400
/// bytes. This holds over IPv4 and IPv6, in UDP and natively. If a router reports the MTU, the size is exact at once.
/// If nobody reports it, detection takes three seconds and the search tries common sizes.
#[test]
fn data_gets_through() {
    let cells = [
        ("--router", "10.77.0.1", "--ccid 2 -l 1400", 1_400..=1_400),
        ("--router", "fd77::1", "--ccid 3 -l 1380", 1_400..=1_400),
        ("--router", "10.77.0.1", "--native -l 1400", 1_400..=1_400),
        (
            "--black-hole",
            "10.77.0.1",
            "--ccid 3 -l 1400",
            1_280..=1_404,
        ),
        ("--black-hole", "fd77::1", "--ccid 2 -l 1380", 1_280..=1_404),
    ];
    thread::scope(|scope| {
        for (how, host, options, found) in cells {
            scope.spawn(move || {
                let native = if options.contains("--native") {
                    "--native"
                } else {
                    ""
                };
                // Three seconds until a black hole is found. CCID 3 has then lowered its rate so far that the next
                // datagram may wait as long again.
                let time = if how == "--router" { 2 } else { 12 };
                let client = format!("-c {host} {options} -b 2M -t {time}");
                let Some(report) = measure(how, native, &client) else {
                    return;
                };
                let flow = &report["flows"][0];
                let mtu = flow["sender"]["path"]["path_mtu"].as_u64();
                assert!(
                    mtu.is_some_and(|mtu| found.contains(&mtu)),
                    "{how} {client}: {flow}"
                );
                let received = flow["receiver"]["datagrams"].as_u64();
                // The rate is back a round trip after the first datagram that fits, so almost six seconds remain, in
                // which 2 Mbit/s are 1,100 datagrams. A slow machine may take ten times as long for each.
                assert!(received.is_some_and(|n| n > 100), "{how} {client}: {flow}");
            });
        }
    });
}

/// Without discovery large datagrams do not pass a black hole, but smaller ones do.
#[test]
fn without_discovery() {
    for (length, arrive) in [(1_400, false), (1_300, true)] {
        let client = format!("-c 10.77.0.1 --pmtud off -l {length} -b 1M -t 0.5");
        let Some(report) = measure("--black-hole", "", &client) else {
            return;
        };
        let flow = &report["flows"][0];
        let received = flow["receiver"]["datagrams"].as_u64().unwrap_or(0);
        assert_eq!(received > 10, arrive, "{length}: {flow}");
        assert_eq!(flow["sender"]["path"]["path_mtu"], 1_500, "{flow}");
    }
}

/// `--mtu` limits the packets, and is valid for DCCP only.
#[test]
fn a_bound_on_the_packets() {
    let client = "-c 10.77.0.1 --mtu 1000 -b 1M -t 0.2";
    if let Some(report) = measure("--router", "", client) {
        assert_eq!(report["flows"][0]["sender"]["path"]["path_mtu"], 1_000);
        assert_eq!(report["length"], 1_000 - 20 - 8 - 64, "what fits");
    }
    for wrong in [
        "--mtu 575",
        "--mtu 1000 --proto udp",
        "--pmtud off --proto tcp",
    ] {
        let ran = Command::new(env!("CARGO_BIN_EXE_fairwire"))
            .args(["perf", "-c", "127.0.0.1"])
            .args(wrong.split(' '))
            .output()
            .expect("runs");
        assert_eq!(ran.status.code(), Some(2), "{wrong}");
    }
}
