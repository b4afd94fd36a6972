//! Links with a trace, and `scenarios/trace.toml` with its trace.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use fairwire_net::{Streams, Trace};
use fairwire_scenario::{Adjust, Cell, ScenarioFile};
use fairwire_sim::results::{Metric, RunResult, Subject, WHOLE};
use fairwire_units::{Duration, Instant};

use super::{once, ours, with_set};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn cells(set: &[&str]) -> Vec<Cell> {
    LazyLock::force(&TRACE);
    ours("trace.toml", &with_set(set))
}

fn result(cell: &Cell) -> RunResult {
    once(&cell.scenario, 1)
}

/// Returns the trace as `docs/models/trace.md` describes it.
///
/// It is ten seconds long. In each millisecond a packet can leave with a probability of rate / 12 Mbit/s. Each 200 ms
/// the rate is multiplied by 2/3, 1 or 3/2, between 1 and 12 Mbit/s. From 6.0 s to 6.4 s nothing leaves.
fn generated() -> String {
    let streams = Streams::new(8_257);
    let (mut steps, mut draws) = (streams.stream("trace/steps"), streams.stream("trace/draws"));
    let (least, most) = (1.0 / 12.0, 1.0);
    let mut share: f64 = 0.5;
    let mut text = String::new();
    for ms in 1..=10_000 {
        if ms % 200 == 0 {
            let factor = [2.0 / 3.0, 1.0, 1.5][usize::try_from(steps.below(3)).expect("small")];
            share = (share * factor).clamp(least, most);
        }
        let outage = (6_000..6_400).contains(&ms);
        // The last millisecond ends the trace.
        if (draws.bool(share) && !outage) || ms == 10_000 {
            let _ = writeln!(text, "{ms}");
        }
    }
    text
}

/// The trace as it is described. With `UPDATE_DOCS=1` it is written before any test reads it.
static TRACE: LazyLock<String> = LazyLock::new(|| {
    let text = generated();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(folder().join("mobile.trace"), &text).expect("written");
    }
    text
});

/// The committed trace is the described one. `UPDATE_DOCS=1` writes it.
#[test]
fn the_trace_is_generated() {
    let described = &*TRACE;
    let committed = std::fs::read_to_string(folder().join("mobile.trace")).expect("there");
    assert_eq!(committed, *described);
}

/// A source that always has data uses every time of the trace, so the link is fully used.
///
/// As many packets of 1,500 bytes arrive as there are times, except those on their way at the end.
#[test]
fn a_busy_link_follows_its_trace() {
    let trace: Trace = TRACE.parse().expect("a trace");
    let cells = cells(&[
        "run.duration=20 s",
        "flows.tcp.enabled=false",
        "flows.call.enabled=false",
        "flows.flood={ wire = \"1500 B\", traffic = { kind = \"cbr\", rate = \"24 Mbit/s\" }, udp = {} }",
    ]);
    let run = result(&cells[0]);
    let of = |metric| run.value(&Subject::flow("flood"), WHOLE, metric);
    // The last packet that arrives leaves 21.12 ms before the end: 20 ms for the bottleneck, 1 ms for the access link,
    // and 0.12 ms for 1,500 bytes at its 100 Mbit/s.
    let end = Instant::START + Duration::from_secs(20);
    let before = |time: Duration| Instant::from_nanos(end.as_nanos() - time.as_nanos());
    let left = trace.bytes_by(before(Duration::from_micros(21_120))) / 1_500;
    let arrived = of(Metric::Delivered).expect("counted");
    // The first packet arrives 1.12 ms after the start of its flow, which is moved by less than a round trip of 44 ms.
    let missed = trace.bytes_by(Instant::START + Duration::from_millis(46)) / 1_500;
    assert!(
        arrived <= left as f64 && arrived >= (left - missed) as f64,
        "{arrived} of {left}"
    );
    let used = run.value(&Subject::link("bottleneck"), WHOLE, Metric::Utilisation);
    // Packets on their way at the end have been sent and count too.
    assert!(
        used.is_some_and(|used| used > 99.0 && used <= 100.0),
        "{used:?}"
    );
}

/// Utilisation compares the packets that left in a window with what the trace allowed to leave in it, even if they
/// arrive much later.
///
/// Here packets leave in the first half of each second and arrive half a second later. The source offers 20 Mbit/s of
/// which 12 Mbit/s can leave, so each time of the trace is used. In the other half nothing can leave, so there is no
/// utilisation.
#[test]
fn utilisation_counts_what_left() {
    let times: String = (1..=500)
        .chain([1_000])
        .fold(String::new(), |mut text, ms| {
            let _ = writeln!(text, "{ms}");
            text
        });
    let text = r#"
title = "half of the time"
run = { duration = "10 s", start_offset = "none" }
topology.kind = "chain"
topology.links.wire = { trace = "half.trace", delay = "500 ms", queue = "20 packets", back = { rate = "1 Mbit/s" } }
measure.windows.first = { from = "3 s", to = "3500 ms" }
measure.windows.second = { from = "3501 ms", to = "4 s" }
[flows.flood]
wire = "1500 B"
traffic = { kind = "cbr", rate = "20 Mbit/s" }
udp = {}
"#;
    let traces = [("half.trace".to_owned(), times)].into();
    let cells = ScenarioFile::parse_beside("half.toml", text, traces)
        .and_then(|file| file.cells(&Adjust::default()))
        .unwrap_or_else(|error| panic!("{error}"));
    let run = result(&cells[0]);
    let used = |window| run.value(&Subject::link("wire"), window, Metric::Utilisation);
    assert_eq!(used("first"), Some(100.0));
    assert_eq!(used("second"), None);
}

/// The delay of the call depends on the queue as the scenario's text says.
///
/// In a queue of 200 packets the call waits behind all of them, longest while the link is slow. Behind `CoDel` it waits
/// less, and in a queue of its own still less.
#[test]
fn queues_decide_what_a_slow_link_does_to_a_call() {
    let cells = cells(&[]);
    let delays: Vec<f64> = ["droptail", "codel", "fq-codel"]
        .iter()
        .map(|name| {
            let cell = cells.iter().find(|cell| cell.name == *name).expect(name);
            let run = result(cell);
            let delay = run.value(&Subject::flow("call"), WHOLE, Metric::DelayMean);
            delay.expect("delivered")
        })
        .collect();
    assert!(delays.is_sorted_by(|a, b| a > b), "{delays:?}");
    // No queue helps against the outage of 0.4 s, but that is a twenty-fifth of the time.
    assert!(delays[0] > 2.0 * delays[2], "{delays:?}");
}
