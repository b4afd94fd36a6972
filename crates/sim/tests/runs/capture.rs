//! Captures hold whole packets, which another implementation (tshark) decodes without complaint.

use std::io::{self, Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use fairwire_scenario::{Adjust, Scenario};
use fairwire_sim::results::{Captured, RunResult};
use fairwire_sim::{RunOptions, Tap, run, whole_packets};

use super::{ours, with_set};

fn scenario(file: &str, only: Option<&str>, set: &[&str]) -> Scenario {
    let adjust = Adjust {
        only: only.map(str::to_owned).into_iter().collect(),
        ..with_set(&[&["run.duration=5 s"], set].concat())
    };
    ours(file, &adjust).swap_remove(0).scenario
}

fn capture(scenario: &Scenario, name: &str, links: &[&str]) -> (PathBuf, Captured) {
    let unique = format!("fairwire-capture-{name}-{}.pcapng", std::process::id());
    let path = std::env::temp_dir().join(unique);
    let file = std::fs::File::create(&path).expect("a file");
    let options = RunOptions {
        capture: Some(Tap {
            out: Box::new(io::BufWriter::new(file)),
            links: links.iter().map(|link| (*link).to_owned()).collect(),
        }),
        ..RunOptions::default()
    };
    let result = run(scenario, (1, true), options).expect("runs");
    (path, result.captured.expect("a capture"))
}

/// A capture in memory.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a scenario; returns its result and the capture of all links.
pub(super) fn captured(scenario: &Scenario, seed: u64) -> (RunResult, Vec<u8>) {
    let out = Shared::default();
    let options = RunOptions {
        capture: Some(Tap {
            out: Box::new(out.clone()),
            links: Vec::new(),
        }),
        ..RunOptions::default()
    };
    let result = run(scenario, (seed, true), options).expect("runs");
    let bytes = std::mem::take(&mut *out.0.lock().expect("nobody panicked"));
    (result, bytes)
}

/// Returns the blocks of a capture.
fn blocks(capture: &[u8]) -> Vec<&[u8]> {
    let mut blocks = Vec::new();
    let mut left = capture;
    while !left.is_empty() {
        let (block, rest) = left.split_at(word(left, 4));
        assert_eq!(
            word(block, block.len() - 4),
            block.len(),
            "the length again"
        );
        blocks.push(block);
        left = rest;
    }
    blocks
}

fn word(block: &[u8], at: usize) -> usize {
    let bytes = block[at..at + 4].try_into().expect("four bytes");
    u32::from_ne_bytes(bytes) as usize
}

/// Returns the packets of the links of a capture: when each was seen, ns, and what follows its IP header.
pub(super) fn packets(capture: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    // An Enhanced Packet Block: the interface, the time, both lengths and the packet, which begins with IPv4.
    let packets = blocks(capture)
        .into_iter()
        .filter(|block| word(block, 0) == 6);
    packets.map(|block| {
        let at = (word(block, 12) as u64) << 32 | word(block, 16) as u64;
        (at, &block[28 + 20..28 + word(block, 20)])
    })
}

/// Wherever a capture is cut off, all blocks before that place are whole.
#[test]
fn a_cut_capture_has_whole_packets() {
    let (_, all) = captured(&scenario("dumbbell.toml", None, &["run.duration=60 ms"]), 1);
    let mut ends = vec![0];
    for block in blocks(&all) {
        ends.push(ends[ends.len() - 1] + block.len());
    }
    assert!(packets(&all).count() > 10, "{ends:?}");
    for cut in 0..=all.len() {
        let whole = ends.iter().rfind(|end| **end <= cut);
        let found = whole_packets(Cursor::new(&all[..cut])).expect("reads");
        assert_eq!(Some(found), whole.map(|end| *end as u64), "{cut}");
    }
}

/// Returns how many packets of `path` match `filter`; `None` if tshark is missing.
fn matches(path: &Path, filter: &str) -> Option<u64> {
    let checks = [
        "ip.check_checksum:TRUE",
        "tcp.check_checksum:TRUE",
        "udp.check_checksum:TRUE",
    ];
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(path)
        .arg("-Y")
        .arg(filter)
        .args(["-T", "fields", "-e", "frame.number"]);
    for check in checks {
        command.args(["-o", check]);
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            let forbidden = std::env::var_os("FAIRWIRE_NO_SKIP").is_some_and(|set| set == "1");
            assert!(!forbidden, "tshark is needed: {error}");
            let _ = writeln!(io::stderr(), "skipped: tshark does not run ({error})");
            return None;
        }
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    Some(lines.count() as u64)
}

/// A filter that no packet of a capture must match.
const WRONG: &str = "dccp.checksum.status != 1 || tcp.checksum.status == 0 || \
    ip.checksum.status == 0 || udp.checksum.status == 0 || dccp.option.len.bad || \
    dccp.option_unknown || _ws.malformed";

/// tshark finds correct checksums and well-formed options in every packet, and as many packets of each protocol as the
/// run reports.
#[test]
fn tshark_finds_nothing_wrong() {
    for (name, scenario) in [
        ("mixed", scenario("dumbbell.toml", None, &[])),
        (
            "both-2-3",
            scenario("both-ways.toml", Some("both-2-3"), &[]),
        ),
        (
            "both-3-3",
            scenario("both-ways.toml", Some("both-3-3"), &[]),
        ),
        ("dtls", scenario("dtls.toml", Some("ccid2-clean-dtls"), &[])),
    ] {
        let (path, captured) = capture(&scenario, name, &[]);
        let Some(wrong) = matches(&path, WRONG) else {
            return;
        };
        assert_eq!(wrong, 0, "{name}");
        assert!(captured.packets("dccp") > 1_000, "{name}: {captured:?}");
        assert_eq!(
            matches(&path, "dccp.checksum.status == 1"),
            Some(captured.packets("dccp")),
            "{name}"
        );
        assert_eq!(
            matches(&path, "tcp.checksum.status == 1"),
            Some(captured.packets("tcp")),
            "{name}"
        );
        if name == "mixed" {
            assert!(matches(&path, "dccp.ack_vector.nonce_0").is_some_and(|n| n > 0));
        }
        std::fs::remove_file(&path).expect("removed");
    }
}

/// A TCP with SACK permits it on both SYNs and sends SACK blocks when a queue overflows.
///
/// The options are well-formed and the blocks lie above the acknowledgement.
#[test]
fn sack_options_are_true() {
    let scenario = scenario("tcp-variants.toml", Some("sack"), &[]);
    let (path, captured) = capture(&scenario, "sack", &["bottleneck"]);
    if let Some(wrong) = matches(&path, WRONG) {
        assert_eq!(wrong, 0);
        assert_eq!(
            matches(&path, "tcp.checksum.status == 1"),
            Some(captured.packets("tcp"))
        );
        assert_eq!(matches(&path, "tcp.options.sack_perm"), Some(2));
        let selects = matches(&path, "tcp.options.sack.count > 0");
        assert!(selects.is_some_and(|count| count > 20), "{selects:?}");
        let below = "tcp.options.sack_le <= tcp.ack_raw || tcp.options.sack.dsack";
        assert_eq!(matches(&path, below), Some(0));
    }
    std::fs::remove_file(&path).expect("removed");
}

/// DCCP in UDP and plain UDP have correct UDP checksums and lengths.
#[test]
fn datagrams_are_true() {
    let encapsulated = ["flows.dccp.dccp.encapsulation=udp"];
    let plain = [
        "flows.dccp.udp={}",
        "flows.dccp.traffic={ kind = \"cbr\", rate = \"1 Mbit/s\" }",
    ];
    for (name, set) in [("dccp-in-udp", &encapsulated[..]), ("udp", &plain[..])] {
        let scenario = scenario("both-ways.toml", Some("one-way-2"), set);
        if name == "udp" {
            assert!(
                scenario
                    .flows
                    .get("dccp")
                    .is_some_and(|flow| flow.dccp.is_none())
            );
        }
        let (path, captured) = capture(&scenario, name, &[]);
        let all = captured.packets("dccp") + captured.packets("udp");
        assert!(all > 500, "{name}: {captured:?}");
        if let Some(wrong) = matches(&path, WRONG) {
            assert_eq!(wrong, 0, "{name}");
            assert_eq!(
                matches(&path, "udp.checksum.status == 1"),
                Some(all),
                "{name}"
            );
        }
        std::fs::remove_file(&path).expect("removed");
    }
}

/// Every link is an interface, and its timestamps are true to the nanosecond: the last packets of a run of 5 s are there.
///
/// Without losses, a capture of all links has a packet once for each link of its path, and a capture of one link has it
/// once.
#[test]
fn each_link_is_an_interface() {
    let scenario = scenario(
        "both-ways.toml",
        Some("one-way-2"),
        &["topology.bottleneck.loss=0 %"],
    );
    let (every, of_all) = capture(&scenario, "every-link", &[]);
    let (middle, of_one) = capture(&scenario, "one-link", &["bottleneck"]);
    // Some packets are still on their way at the end, so the last link has seen a few less than the first.
    let seen = of_all.packets("dccp") as f64 / of_one.packets("dccp") as f64;
    assert!(seen > 2.9 && seen < 3.1, "{of_all:?} and {of_one:?}");
    let bottleneck = "frame.interface_name contains \"bottleneck\"";
    if let Some(count) = matches(&every, bottleneck) {
        assert_eq!(
            count,
            of_one.packets("dccp"),
            "the same packets, picked out"
        );
        assert_eq!(matches(&middle, bottleneck), Some(of_one.packets("dccp")));
        let at_the_end = "frame.time_relative > 4.9 && frame.time_relative <= 5";
        assert!(matches(&every, at_the_end).is_some_and(|count| count > 10));
        assert_eq!(matches(&every, "frame.time_relative > 5"), Some(0));
    }
    for path in [every, middle] {
        std::fs::remove_file(&path).expect("removed");
    }
}

/// The name of a link means both directions, and that of its way back this one alone.
#[test]
fn a_way_back_is_captured_alone() {
    let scenario = scenario("dumbbell.toml", None, &[]);
    let count = |name, links: &[&str]| {
        let (path, captured) = capture(&scenario, name, links);
        let is_back = "frame.interface_name contains \"/back\"";
        let counts = (captured.packets("tcp"), matches(&path, is_back));
        std::fs::remove_file(&path).expect("removed");
        counts
    };
    let (both, of_both) = count("both", &["bottleneck"]);
    let (back, of_back) = count("back", &["bottleneck/back"]);
    assert!(back > 0 && back < both, "{back} of {both}");
    assert_eq!(of_both, of_back);
    assert_eq!(count("twice", &["bottleneck/back", "bottleneck"]).0, both);
}

/// Every link that the refusal of an unknown one names can be captured.
#[test]
fn links_have_the_names_that_are_told() {
    let scenario = scenario("wlan.toml", None, &[]);
    let options = |link: &str| RunOptions {
        capture: Some(Tap {
            out: Box::new(io::sink()),
            links: vec![link.to_owned()],
        }),
        ..RunOptions::default()
    };
    let error = run(&scenario, (1, true), options("nowhere")).expect_err("no such link");
    let told = error.to_string();
    let (_, known) = told.split_once("there are ").expect("the links");
    for link in known.split(", ") {
        run(&scenario, (1, true), options(link)).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// A capture of a link shows the marks that the queue of this link makes.
#[test]
fn marks_are_seen() {
    let scenario = scenario("dctcp.toml", Some("dctcp"), &[]);
    let (path, captured) = capture(&scenario, "marks", &["bottleneck"]);
    if let Some(marked) = matches(&path, "ip.dsfield.ecn == 3") {
        // In each of about 300 round trips, some packets of the two DCTCP flows are marked.
        assert!(
            marked > 1_000 && marked < captured.packets("tcp") / 2,
            "{marked} of {captured:?}"
        );
    }
    std::fs::remove_file(&path).expect("removed");
}

/// A capture of a link that does not exist is refused with the names of the links that do.
#[test]
fn an_unknown_link_is_refused() {
    let scenario = scenario("dumbbell.toml", None, &[]);
    let options = RunOptions {
        capture: Some(Tap {
            out: Box::new(io::sink()),
            links: vec!["bottelneck".to_owned()],
        }),
        ..RunOptions::default()
    };
    let error = run(&scenario, (1, true), options).expect_err("no such link");
    let told = error.to_string();
    assert!(
        told.contains("bottelneck") && told.contains("access/left/tcp"),
        "{told}"
    );
}
