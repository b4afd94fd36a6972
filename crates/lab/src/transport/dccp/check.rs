//! What DCCP's settings refuse.

use fairwire_cc::default_law;

use super::settings::{Dccp, FirstIntervalName, LossMeanName};

/// The CCIDs that a flow has at any time, in either direction, with the keys that say so.
fn ccids(dccp: &Dccp) -> Vec<(&'static str, u8)> {
    let changes = dccp.ccid_changes.iter();
    [("ccid", dccp.ccid)]
        .into_iter()
        .chain(dccp.back_ccid.map(|ccid| ("back_ccid", ccid)))
        .chain(changes.map(|change| ("ccid_changes", change.ccid)))
        .collect()
}

/// The setting that cannot be or does not go with the others, and what would.
pub(super) fn problem(dccp: &Dccp) -> Option<(&'static str, String)> {
    let ccids = ccids(dccp);
    let known = |ccid: u8| (2..=4).contains(&ccid);
    if let Some(&(key, _)) = ccids.iter().find(|(_, ccid)| !known(*ccid)) {
        let message =
            "there are CCID 2 (TCP-like), CCID 3 (TFRC) and CCID 4 (TFRC for small packets)";
        return Some((key, message.to_owned()));
    }
    let has = |ccid| ccids.iter().any(|&(_, had)| had == ccid);
    if !dccp.ccid_changes.is_sorted_by_key(|change| change.at) {
        let message = "the changes of CCID stand in the order of their times";
        return Some(("ccid_changes", message.to_owned()));
    }
    if !has(2)
        && let Some(foreign) = foreign(dccp.ccid, "CCID 2 only", &ccid_2_keys(dccp))
    {
        return Some(foreign);
    }
    if !has(3)
        && !has(4)
        && let Some(foreign) = foreign(dccp.ccid, "CCID 3 and 4", &tfrc_keys(dccp))
    {
        return Some(foreign);
    }
    let receive = &dccp.receive;
    let coverage = "checksum coverage is 0 for everything, or 1 to 15";
    let rules = [
        (
            has(3) || !has(4) || dccp.segment == Dccp::default_segment(),
            "segment",
            "'segment' is for CCID 3 only: CCID 4 has segments of 1460 bytes in the equation",
        ),
        (dccp.checksum_coverage <= 15, "checksum_coverage", coverage),
        (
            dccp.minimum_checksum_coverage <= 15,
            "minimum_checksum_coverage",
            coverage,
        ),
        (
            receive.limit.0 > 0,
            "receive.limit",
            "a receive queue has room for a packet at least",
        ),
        (
            receive.every.is_none_or(|every| !every.is_zero()),
            "receive.every",
            "an application that reads at once has no 'every'",
        ),
        (dccp.b >= 1.0, "b", "b is at least one packet"),
        (
            dccp.t_rto_rtts > 0.0,
            "t_rto_rtts",
            "t_rto_rtts is more than zero round trips",
        ),
        (
            dccp.queue.limit.0 > 0,
            "queue.limit",
            "a send queue that holds nothing sends nothing",
        ),
    ];
    let broken = rules.into_iter().find(|(holds, ..)| !holds);
    broken.map(|(_, key, message)| (key, message.to_owned()))
}

/// Does one of the CCIDs that a flow has read `key`?
pub(super) fn is_read(dccp: &Dccp, key: &str) -> bool {
    let ccids = ccids(dccp);
    let has = |wanted: &[u8]| ccids.iter().any(|(_, ccid)| wanted.contains(ccid));
    let is_among = |keys: Vec<(&str, bool)>| keys.iter().any(|(known, _)| *known == key);
    if key == "segment" {
        return has(&[3]);
    }
    (has(&[2]) || !is_among(ccid_2_keys(dccp))) && (has(&[3, 4]) || !is_among(tfrc_keys(dccp)))
}

/// What only CCID 2 reads, and whether it is set to anything but its default.
fn ccid_2_keys(dccp: &Dccp) -> Vec<(&'static str, bool)> {
    vec![
        ("law", dccp.law != default_law()),
        ("initial_ssthresh", dccp.initial_ssthresh.is_some()),
        ("initial_window", dccp.initial_window.is_some()),
        ("idle", dccp.idle.is_some()),
        ("ecn_nonce", dccp.ecn_nonce),
        ("min_rto", dccp.min_rto != Dccp::default_min_rto()),
    ]
}

/// The same of CCID 3 and 4.
fn tfrc_keys(dccp: &Dccp) -> Vec<(&'static str, bool)> {
    let other_t_rto = (dccp.t_rto_rtts - Dccp::DEFAULT_T_RTO_RTTS).abs() > f64::EPSILON;
    vec![
        ("segment", dccp.segment != Dccp::default_segment()),
        ("b", dccp.b > 1.0),
        ("t_rto_rtts", other_t_rto),
        ("oscillation_reduction", !dccp.oscillation_reduction),
        ("history_discounting", !dccp.history_discounting),
        ("loss_mean", dccp.loss_mean != LossMeanName::Known),
        (
            "first_interval",
            dccp.first_interval != FirstIntervalName::LargestRate,
        ),
        ("send_rtt_estimate", dccp.send_rtt_estimate),
        ("feedback", !dccp.feedback.is_default()),
    ]
}

/// The first key that is set though it is for others. Defaults may be written out: resolved scenarios do so.
fn foreign(
    ccid: u8,
    others: &str,
    keys: &[(&'static str, bool)],
) -> Option<(&'static str, String)> {
    let &(key, _) = keys.iter().find(|(_, is_set)| *is_set)?;
    let message = format!("'{key}' is for {others}, and this flow has CCID {ccid}");
    Some((key, message))
}
