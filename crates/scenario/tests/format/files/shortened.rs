//! Runs that are shorter than their file states.

use fairwire_scenario::{Adjust, Cell, Topology, Wireless, notes};
use fairwire_units::Duration;

use super::super::{cells, refusal, refused, with_set};

const LONG: &str = r#"
title = "a minute"
run.duration = "60 s"
[topology]
kind = "wlan"
access = { rate = "100 Mbit/s", delay = "1 ms" }
[topology.wlan]
aps.hall = { channel = 1 }
aps.garden = { channel = 6 }
stations.walker = { ap = "hall" }
handoffs = [
  { station = "walker", at = "10 s", to = "garden" },
  { station = "walker", at = "40 s", to = "hall" },
]
[flows.early]
sender = "walker"
receiver = "right"
wire = "1000 B"
traffic = "greedy"
dccp = { ccid = 2, ccid_changes = [{ at = "15 s", ccid = 3 }, { at = "45 s", ccid = 2 }] }
[flows.late]
start = "30 s"
sender = "left"
receiver = "walker"
wire = "1000 B"
traffic = "greedy"
tcp = {}
[measure]
baseline = "third"
windows.first = { to = "10 s" }
windows.second = { from = "10 s", to = "30 s" }
windows.third = { from = "30 s" }
"#;

/// Returns the numbers of flows that take part, windows, hand-offs and changes of CCID.
fn there(cell: &Cell) -> (usize, usize, usize, usize) {
    let scenario = &cell.scenario;
    let Topology::Wlan(Wireless { wlan, .. }) = &scenario.topology else {
        panic!("a wlan");
    };
    let early = scenario
        .flows
        .get("early")
        .and_then(|flow| flow.dccp.as_ref());
    (
        scenario.enabled_flows().count(),
        scenario.measure.windows.iter().count(),
        wlan.handoffs.len(),
        early.map_or(0, |dccp| dccp.ccid_changes.len()),
    )
}

/// `--duration`, `--set` and a cell shorten a run alike. Flows, windows, hand-offs and changes of CCID beyond its end
/// are left out, a window that would end later ends with the run, and one note says so.
#[test]
fn what_is_beyond_the_end_is_left_out_and_told() {
    let by_option = Adjust {
        duration: Some(Duration::from_secs(20).into()),
        ..Adjust::default()
    };
    let by_set = with_set(&["run.duration=20s"]);
    let by_cell = format!("{LONG}\n[cells.short.run]\nduration = \"20 s\"\n");
    let all = [
        cells(LONG, &by_option),
        cells(LONG, &by_set),
        cells(&by_cell, &Adjust::default()),
    ];
    for cells in &all {
        assert_eq!(there(&cells[0]), (1, 2, 1, 1));
        let measure = &cells[0].scenario.measure;
        assert_eq!(measure.baseline, None);
        let second = measure.windows.get("second").expect("a window");
        assert_eq!(second.to, Some(Duration::from_secs(20)));
        assert_eq!(
            notes(cells),
            [
                "the run ends at 20s: the change of 'early' to CCID 2 (at 45s), flow 'late' (from 30s), the hand-off of \
              'walker' (at 40s), window 'third' (from 30s) are left out; window 'second' ends with it"
            ]
        );
    }
    let whole = cells(LONG, &Adjust::default());
    assert_eq!(there(&whole[0]), (2, 3, 2, 2));
    assert_eq!(notes(&whole), [""; 0]);
}

/// In a file that states the duration itself, anything beyond the end is an error.
#[test]
fn a_file_keeps_to_its_own_duration() {
    for (from, to, says) in [
        (
            "start = \"30 s\"",
            "start = \"60 s\"",
            "the flow starts after the run of 60s has ended",
        ),
        (
            "at = \"40 s\"",
            "at = \"60 s\"",
            "this hand-off never happens",
        ),
        (
            "at = \"45 s\"",
            "at = \"60 s\"",
            "a change of CCID never happens",
        ),
        (
            "third = { from = \"30 s\"",
            "third = { from = \"60 s\"",
            "ends within the run",
        ),
    ] {
        let error = refusal(&LONG.replace(from, to));
        assert!(error.contains(says), "{error}");
    }
    let gone = Adjust {
        duration: Some(Duration::from_millis(1).into()),
        ..with_set(&["flows.early.start=1s"])
    };
    let error = refused(LONG, &gone);
    assert!(error.contains("no flow takes part"), "{error}");
}
