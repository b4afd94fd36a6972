//! The report of a campaign, as text.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};

use crate::campaign::Campaign;
use crate::plan::fault::all_names;

/// Returns the report of a campaign.
pub fn text(campaign: &Campaign) -> String {
    let tally = &campaign.tally;
    let mut text = String::new();
    #[expect(clippy::cast_precision_loss, reason = "printed with one digit")]
    let hours = tally.until as f64 / 3.6e12;
    let _ = writeln!(
        text,
        "{} seeds, {} packets, {} datagrams read, {hours:.1} hours of virtual time, digest {:016x}",
        campaign.seeds, tally.packets, tally.datagrams_read, campaign.digest
    );
    let mut faults = tally.faults.clone();
    for name in all_names() {
        faults.entry(name).or_default();
    }
    table(&mut text, "Faults (packets or hosts affected)", &faults);
    table(&mut text, "Application calls", &tally.acts);
    table(&mut text, "Application events", &tally.events);
    table(&mut text, "States seen", &tally.states);
    table(&mut text, "CCIDs seen", &tally.ccids);
    table(&mut text, "Sequence number wraps", &tally.wraps);
    text
}

fn table<K: Display>(text: &mut String, title: &str, rows: &BTreeMap<K, u64>) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{title}");
    for (name, count) in rows {
        let _ = writeln!(text, "  {count:>12}  {name}");
    }
}
