//! What `preset` and the window law set beside what a flow states.

use std::collections::BTreeSet;
use std::time::Duration;

use fairwire_proto::Profile;
use fairwire_scenario::{Explained, explain};

use super::family::text;
use super::{cells, refused, with_set};

/// Returns what is explained of the flow `one` with this transport.
fn explained(transport: &str) -> Vec<Explained> {
    let flow = format!("flows.one={{ wire = \"1000 B\", traffic = \"greedy\", {transport} }}");
    explain(&cells(&text("", ""), &with_set(&[flow]))[0])
}

/// The table in docs/models/dccp.md lists exactly what each stack sets.
#[test]
fn the_table_of_stacks_is_in_step() {
    let text = include_str!("../../../../docs/models/dccp.md");
    let (_, text) = text.split_once("## What each sets").expect("a section");
    let (text, _) = text.split_once("\n## ").expect("the next one");
    let rows = text.lines().filter(|line| line.starts_with("| "));
    let rows = rows.map(|line| -> Vec<String> {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.replace(['`', ' '], "")).collect()
    });
    let mut rows = rows.skip_while(|row| row[0] != "key");
    let head = rows.next().expect("the head of the table");
    let mut told = BTreeSet::new();
    for row in rows {
        for (name, value) in head.iter().zip(&row).skip(2) {
            if !value.is_empty() {
                told.insert(format!("{name}: {} = {value}", row[0]));
            }
        }
    }
    let mut sets = BTreeSet::new();
    for name in &head[2..] {
        // Of a table of a CCID only a flow that has the CCID at some time gets what is set.
        let changes = "ccid_changes = [{ at = \"1 s\", ccid = 3 }]";
        for line in explained(&format!(
            "dccp = {{ ccid = 2, preset = \"{name}\", {changes} }}"
        )) {
            if line.source == "preset" {
                let key = line.path.trim_start_matches("flows.one.dccp.");
                let value = line.value.replace(['"', ' '], "");
                let value = value.replace("true", "yes").replace("false", "no");
                sets.insert(format!("{name}: {key} = {value}"));
            }
        }
    }
    let apart: Vec<&String> = told.symmetric_difference(&sets).collect();
    assert!(apart.is_empty(), "{apart:#?}");
    let unknown = with_set(&["flows.one.dccp={ ccid = 2, preset = \"x\" }"]);
    let known = format!(
        "write one of rfc, interactive, live, bulk, {}\n",
        head[2..].join(", ")
    );
    let error = refused(&super::family::text("", ""), &unknown);
    assert!(error.contains(&known), "{error}");
}

/// A profile sets what the sockets' profile of this name sets, unless the file states another value.
#[test]
fn profiles_are_presets() {
    for profile in Profile::ALL {
        let dccp = format!("ccid = 2, preset = \"{profile}\", ccid2.min_rto = \"1 s\"");
        let flow =
            format!("flows.one={{ wire = \"1000 B\", traffic = \"greedy\", dccp = {{ {dccp} }} }}");
        let cells = cells(&text("", ""), &with_set(&[flow]));
        let one = cells[0].scenario.flows.get("one").expect("there");
        let mut wanted = profile.config().ccid2;
        wanted.min_rto = Duration::from_secs(1);
        let dccp = one.dccp.as_ref().expect("DCCP");
        assert_eq!(dccp.config.ccid2, wanted, "{profile}");
    }
}

/// A preset's values are told apart from the law's and from the defaults.
#[test]
fn presets_are_read() {
    for (tcp, key, source) in [
        ("preset = \"ns2\"", "window", "preset"),
        ("preset = \"ns2\"", "initial_ssthresh", "preset"),
        ("preset = \"ns2\"", "law.kind", "default"),
        (
            "preset = \"ns2\", law = \"vegas\"",
            "limited_transmit",
            "preset",
        ),
        ("preset = \"ns2\", law = \"vegas\"", "law.alpha", "default"),
        ("preset = \"ns2\", law = \"cubic\"", "recovery", "law"),
        ("preset = \"modern\"", "law.kind", "preset"),
        ("preset = \"modern\", law = \"veno\"", "recovery", "preset"),
        ("preset = \"modern\", law = \"veno\"", "law.beta", "default"),
        (
            "preset = \"modern\", law = \"vegas\"",
            "law.alpha",
            "preset",
        ),
    ] {
        let lines = explained(&format!("tcp = {{ {tcp} }}"));
        let path = format!("flows.one.tcp.{key}");
        let line = lines.iter().find(|line| line.path == path);
        assert_eq!(line.map(|line| line.source), Some(source), "{tcp}: {key}");
    }
}
