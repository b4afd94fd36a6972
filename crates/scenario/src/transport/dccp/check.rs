//! The checks of DCCP's settings.

use fairwire_proto::{Ccid2Config, Ccid3Config, ConfigError};

use super::settings::{Dccp, Stack};

/// Returns the CCIDs that a flow has at any time, in either direction, with the keys that state them.
fn ccids(dccp: &Dccp) -> Vec<(&'static str, u8)> {
    let changes = dccp.ccid_changes.iter();
    [("ccid", dccp.ccid)]
        .into_iter()
        .chain(dccp.back_ccid.map(|ccid| ("back_ccid", ccid)))
        .chain(changes.map(|change| ("ccid_changes", change.ccid)))
        .collect()
}

/// Returns an error that names the first setting that is invalid or conflicts with others.
pub(super) fn check(dccp: &Dccp) -> Result<(), ConfigError> {
    if let Some(message) = dccp.security.missing() {
        return Err(ConfigError::new("security", message));
    }
    let ccids = ccids(dccp);
    let has = |ccid| ccids.iter().any(|&(_, had)| had == ccid);
    if !dccp.ccid_changes.is_sorted_by_key(|change| change.at) {
        let message = "the changes of CCID must be in the order of their times";
        return Err(ConfigError::new("ccid_changes", message));
    }
    if let Some(stack) = dccp.preset
        && stack != Stack::Rfc
        && has(4)
    {
        let stack = stack.word();
        let message = format!("{stack} has no CCID 4: take 'preset' away, or use CCID 2 or 3");
        return Err(ConfigError::new("preset", message));
    }
    let foreign = of_a_ccid(dccp).into_iter().find(|(_, is_set, wanted)| {
        let read = wanted.iter().any(|&ccid| has(ccid));
        *is_set && !read
    });
    if let Some((key, _, wanted)) = foreign {
        let wanted: Vec<String> = wanted.iter().map(u8::to_string).collect();
        let (all, any, ccid) = (wanted.join(" and "), wanted.join(" or "), dccp.ccid);
        let message = format!(
            "'{key}' is for CCID {all}, and this flow has CCID {ccid}: write ccid = {any}, or leave out '{key}'"
        );
        return Err(ConfigError::new(key, message));
    }
    if dccp.config.ecn_nonce && !dccp.config.ecn {
        let message = "nonces are sent in ECN-capable packets, and this flow has ecn = false: write ecn = true, or \
                       leave out 'ecn_nonce'";
        return Err(ConfigError::new("ecn_nonce", message));
    }
    let law = &dccp.config.ccid2.law;
    if has(2) && law.counts_marks() && !dccp.config.ecn {
        let law = law.kind();
        let message = format!(
            "law = \"{law}\" counts marks, and without ECN there are none: leave out ecn = false, or take another law"
        );
        return Err(ConfigError::new("ecn", message));
    }
    let receive = &dccp.receive;
    let rules = [
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
        (
            dccp.queue.limit.0 > 0,
            "queue.limit",
            "a send queue that holds nothing sends nothing",
        ),
    ];
    let broken = rules.into_iter().find(|(holds, ..)| !holds);
    if let Some((_, key, message)) = broken {
        return Err(ConfigError::new(key, message));
    }
    dccp.config.check()
}

/// Returns whether one of the flow's CCIDs reads `key`.
pub(super) fn is_read(dccp: &Dccp, key: &str) -> bool {
    let ccids = ccids(dccp);
    let has = |wanted: &[u8]| ccids.iter().any(|(_, ccid)| wanted.contains(ccid));
    let is_in = |table: &str| {
        let rest = key.strip_prefix(table);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut all = of_a_ccid(dccp).into_iter();
    all.all(|(known, _, wanted)| !is_in(known) || has(wanted))
}

/// Returns the keys that only some CCIDs read: the key, whether it differs from its default, and the CCIDs. Defaults
/// may be written out, as resolved scenarios do.
fn of_a_ccid(dccp: &Dccp) -> [(&'static str, bool, &'static [u8]); 6] {
    let config = &dccp.config;
    let segment = Ccid3Config::default().segment;
    [
        ("ecn_nonce", config.ecn_nonce, &[2]),
        ("send.resend", dccp.send.resend.is_some(), &[2]),
        ("ccid2", config.ccid2 != Ccid2Config::default(), &[2]),
        // CCID 4 has segments of 1460 bytes in the equation.
        ("ccid3.segment", config.ccid3.segment != segment, &[3]),
        ("ccid3", config.ccid3 != Ccid3Config::default(), &[3, 4]),
        ("send_rtt_estimate", config.send_rtt_estimate, &[3, 4]),
    ]
}
