//! What a datagram costs both ends in memory, with its acknowledgements: instructions, and calls that ask for memory.
//!
//! `data-path.csv` has what it cost when somebody last said that it may. Instructions are counted by valgrind, which
//! sees no clock and no other process. They are those of the tests' build: they tell whether a change made the path
//! longer, not how long it takes. Another compiler or another kind of processor has other instructions for the same work;
//! there, only the calls are compared.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::{env, fs};

use bytes::Bytes;
use fairwire_held::thread::calls;
use fairwire_kit::{Pair, config_of, ms};
use fairwire_proto::{ConnectionId, Encapsulation, Payload};
use fairwire_units::Duration;
use fairwire_wire::HeadBuf;

use crate::ends::dtls;
use crate::net::{CLIENT, SERVER};

/// Datagrams of a measurement.
const DATAGRAMS: u64 = 1_000;
/// How long after one end the other one sends.
const TURN: Duration = Duration::from_micros(500);
/// How much more or less a datagram may cost than the list says. Twice the same build differs by a hundredth at most;
/// the hash tables of a run are seeded by the system.
const TOLERANCE: f64 = 0.03;
const LIST: &str = "tests/session/data-path.csv";
const HEADER: &str = "ccid,security,instructions,allocations";
/// The test that valgrind runs.
const MEASURED: &str = "data_path::datagrams_pass";

/// What is measured: the CCID, and whether the datagrams are encrypted.
const WORKS: [(u8, bool); 4] = [(2, false), (3, false), (2, true), (3, true)];

/// A connection over which datagrams pass from the client to the server. The ends send by turns, all that they may.
struct Flow {
    pair: Pair,
    ids: [ConnectionId; 2],
    data: Bytes,
}

impl Flow {
    fn new(ccid: u8, is_encrypted: bool) -> Self {
        let mut pair = Pair::along(Encapsulation::Udp, ms(1));
        let mut config = config_of(ccid);
        config.ccid2.initial_ssthresh = Some(200.0);
        let [client, server] = dtls();
        let id = pair.connect(config.clone(), config);
        if is_encrypted {
            pair.ends[CLIENT].secure(pair.now, id, Arc::new(client));
        }
        while pair.server.is_none() {
            assert!(pair.step(pair.now + ms(100)), "it connects");
        }
        if is_encrypted {
            let id = pair.server.expect("accepted");
            pair.ends[SERVER].secure(pair.now, id, Arc::new(server));
        }
        pair.run_for(ms(500));
        let mut flow = Self {
            ids: pair.ids(),
            pair,
            data: Bytes::from(vec![7; 1_200]),
        };
        // Until the window has grown and every list has the room that it needs.
        flow.pass(3 * DATAGRAMS);
        flow
    }

    /// Lets the server read so many datagrams.
    fn pass(&mut self, datagrams: u64) {
        let mut head = HeadBuf::new();
        let [client, server] = self.ids;
        let pair = &mut self.pair;
        let mut read = 0;
        while read < datagrams {
            while pair.ends[CLIENT].can_send(client, self.data.len()) {
                let payload = Payload::Bytes(self.data.clone());
                let sent = pair.ends[CLIENT].send(pair.now, client, payload);
                sent.expect("there was room");
            }
            for side in [CLIENT, SERVER] {
                while pair.shuttle(side, &mut head) {}
                while pair.ends[SERVER].recv(server).is_some() {
                    read += 1;
                }
                pair.now += TURN;
                for end in &mut pair.ends {
                    if end.next_timeout().is_some_and(|at| at <= pair.now) {
                        end.handle_timeout(pair.now);
                    }
                    while end.poll_event().is_some() {}
                }
            }
        }
    }
}

/// Valgrind begins a new count whenever it comes here.
#[inline(never)]
fn begin_count(work: usize) -> usize {
    std::hint::black_box(work)
}

/// What [`counted`] runs within valgrind.
#[test]
#[ignore = "it measures nothing by itself"]
fn datagrams_pass() {
    for (number, (ccid, is_encrypted)) in WORKS.into_iter().enumerate() {
        let mut flow = Flow::new(ccid, is_encrypted);
        begin_count(number);
        flow.pass(DATAGRAMS);
        begin_count(number);
    }
}

/// Returns the instructions of one datagram in each work, or none without valgrind.
fn counted() -> Option<[f64; 4]> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("data-path");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let test = env::current_exe().expect("this program");
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--dump-before=*begin_count*"])
        .arg(format!("--callgrind-out-file={}/out", folder.display()))
        .arg(test)
        .args([MEASURED, "--exact", "--ignored", "--test-threads=1"])
        .output();
    let run = match run {
        Ok(run) => run,
        Err(error) => {
            let is_forbidden = env::var_os("FAIRWIRE_NO_SKIP").is_some_and(|set| set == "1");
            assert!(!is_forbidden, "valgrind is needed: {error}");
            eprintln!("skipped: valgrind does not run ({error}); scripts/setup installs it");
            return None;
        }
    };
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
    // A part ends where the next begins: the second one is the first work, then comes what prepares the next.
    Some([0, 1, 2, 3].map(|work| {
        let part = folder.join(format!("out.{}", 2 * work + 2));
        let text = fs::read_to_string(&part).expect("a part of the counts");
        let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
        let total: f64 = total.expect("a sum").parse().expect("a number");
        total / DATAGRAMS as f64
    }))
}

/// Returns the first line of a list that this compiler's build can be compared with.
fn compiler() -> String {
    let rustc = Command::new("rustc").arg("--version").output();
    let version = rustc.map_or(Vec::new(), |said| said.stdout);
    format!("# {}\n", String::from_utf8_lossy(&version).trim())
}

/// Neither the instructions nor the calls that ask for memory grow unseen. `UPDATE_COUNTS=1` writes what they are now.
#[test]
fn a_datagram_costs_what_the_list_says() {
    let allocations = WORKS.map(|(ccid, is_encrypted)| {
        let mut flow = Flow::new(ccid, is_encrypted);
        let before = calls();
        flow.pass(DATAGRAMS);
        (calls() - before) as f64 / DATAGRAMS as f64
    });
    let compiler = compiler();
    let list = fs::read_to_string(LIST).unwrap_or_default();
    let updates = env::var_os("UPDATE_COUNTS").is_some();
    #[cfg(target_arch = "x86_64")]
    let is_known = std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    let is_known = false;
    let is_comparable = is_known && (updates || list.starts_with(&compiler));
    let instructions = is_comparable.then(counted).flatten();

    if updates {
        let instructions = instructions.expect("valgrind, and a processor with AVX2");
        let mut text = format!("{compiler}{HEADER}\n");
        for (number, (ccid, is_encrypted)) in WORKS.into_iter().enumerate() {
            let security = if is_encrypted { "dtls" } else { "none" };
            let (instructions, allocations) = (instructions[number], allocations[number]);
            writeln!(text, "{ccid},{security},{instructions:.0},{allocations:.2}").expect("text");
        }
        fs::write(LIST, text).expect("the list");
        return;
    }
    assert_eq!(list.lines().count(), 2 + WORKS.len(), "{LIST}:\n{list}");
    let mut wrong = String::new();
    for (number, line) in list.lines().skip(2).enumerate() {
        let fields: Vec<&str> = line.split(',').collect();
        let listed = |field: usize| -> f64 { fields[field].parse().expect("a number") };
        let allocations = allocations[number];
        // As much as the list rounds.
        if (allocations - listed(3)).abs() > 0.01 {
            writeln!(wrong, "{line}: {allocations:.2} allocations now").expect("text");
        }
        if let Some(instructions) = instructions.map(|all| all[number])
            && (instructions / listed(2) - 1.0).abs() > TOLERANCE
        {
            writeln!(wrong, "{line}: {instructions:.0} instructions now").expect("text");
        }
    }
    assert!(
        wrong.is_empty(),
        "{LIST} ({HEADER}) has:\n{wrong}If that is as it should be, UPDATE_COUNTS=1 writes it down"
    );
}
