//! Shortened runs: whatever is beyond their end is left out, and a note says so.

use super::topology::{Topology, Wireless};
use super::tree::{Node, Value};
use super::{Flow, Measure, Named, Scenario, Wlan};
use fairwire_units::Duration;

/// Removes from `scenario` what would happen after its end: flows, windows, hand-offs and changes of CCID. Windows that
/// would end later end with the run. `tree`, from which it was read, loses the same hand-offs, because their places are
/// found by number. Returns a note on what was removed.
pub(super) fn fit(scenario: &mut Scenario, tree: &mut Node) -> Option<String> {
    let end = scenario.run.duration;
    let mut gone = Vec::new();
    for (name, flow) in &mut scenario.flows.0 {
        flow_until(end, (name, flow), &mut gone);
    }
    if let Topology::Wlan(Wireless { wlan, .. }) = &mut scenario.topology {
        hand_offs(end, (wlan, tree), &mut gone);
    }
    let cut = windows(end, &mut scenario.measure, &mut gone);
    let ends = (!cut.is_empty()).then(|| format!("{} with it", list(&cut, "ends", "end")));
    let gone = (!gone.is_empty()).then(|| list(&gone, "is left out", "are left out"));
    let told: Vec<String> = gone.into_iter().chain(ends).collect();
    (!told.is_empty()).then(|| format!("the run ends at {end}: {}", told.join("; ")))
}

/// Returns `things` in a row, followed by the verb for their number.
fn list(things: &[String], one: &str, many: &str) -> String {
    let verb = if things.len() == 1 { one } else { many };
    format!("{} {verb}", things.join(", "))
}

fn flow_until(end: Duration, (name, flow): (&str, &mut Flow), gone: &mut Vec<String>) {
    if !flow.enabled {
        return;
    }
    if flow.start >= end {
        flow.enabled = false;
        gone.push(format!("flow '{name}' (from {})", flow.start));
        return;
    }
    if let Some(dccp) = &mut flow.dccp {
        dccp.ccid_changes.retain(|change| {
            let stays = change.at < end;
            if !stays {
                let (ccid, at) = (change.ccid, change.at);
                gone.push(format!("the change of '{name}' to CCID {ccid} (at {at})"));
            }
            stays
        });
    }
}

fn hand_offs(end: Duration, (wlan, tree): (&mut Wlan, &mut Node), gone: &mut Vec<String>) {
    let list = tree.below_mut(&["topology", "wlan", "handoffs"]);
    if let Some(Value::Array(items)) = list.map(|list| &mut list.value) {
        let mut stays = wlan.handoffs.iter().map(|one| one.at < end);
        items.retain(|_| stays.next().unwrap_or(true));
    }
    wlan.handoffs.retain(|one| {
        let stays = one.at < end;
        if !stays {
            gone.push(format!("the hand-off of '{}' (at {})", one.station, one.at));
        }
        stays
    });
}

/// Returns the windows that now end with the run.
fn windows(end: Duration, measure: &mut Measure, gone: &mut Vec<String>) -> Vec<String> {
    let (mut kept, mut cut) = (Vec::new(), Vec::new());
    for (name, mut window) in std::mem::take(&mut measure.windows).0 {
        let from = window.from.unwrap_or_default();
        if from >= end {
            gone.push(format!("window '{name}' (from {from})"));
            measure.baseline = measure.baseline.take().filter(|known| *known != name);
            continue;
        }
        if window.to.is_some_and(|to| to > end) {
            window.to = Some(end);
            cut.push(format!("window '{name}'"));
        }
        kept.push((name, window));
    }
    measure.windows = Named(kept);
    cut
}
