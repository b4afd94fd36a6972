//! The checks of DCCP's settings.

use fairwire_proto::ccids::{CcidProfile, ccid_profile, ccid_profiles};
use fairwire_proto::{Config, ConfigError};
use fairwire_wire::Ccid;
use serde_json::{Map, Value};

use super::settings::{Dccp, is_one_of_ccids};

/// Returns the CCIDs that a flow has at any time, in either direction, with the keys that state them.
fn ccids(dccp: &Dccp) -> impl Iterator<Item = (&'static str, Ccid)> {
    let changes = dccp.ccid_changes.iter();
    [("ccid", dccp.ccid)]
        .into_iter()
        .chain(dccp.back_ccid.map(|ccid| ("back_ccid", ccid)))
        .chain(changes.map(|change| ("ccid_changes", change.ccid)))
        .map(|(key, number)| (key, Ccid::new(number)))
}

/// Returns the profiles of these CCIDs.
fn profiles(dccp: &Dccp) -> impl Iterator<Item = &'static CcidProfile> {
    ccids(dccp).filter_map(|(_, ccid)| ccid_profile(ccid))
}

/// Returns the numbers of these CCIDs with `between` between them.
fn numbers(ccids: impl Iterator<Item = Ccid>, between: &str) -> String {
    let numbers: Vec<String> = ccids.map(|ccid| ccid.number().to_string()).collect();
    numbers.join(between)
}

/// Returns an error that names the first setting that is invalid or conflicts with others.
pub(super) fn check(dccp: &Dccp) -> Result<(), ConfigError> {
    if let Some(message) = dccp.security.missing(cfg!(feature = "dtls")) {
        return Err(ConfigError::new("security", message));
    }
    if let Some((key, _)) = ccids(dccp).find(|&(_, ccid)| ccid_profile(ccid).is_none()) {
        return Err(ConfigError::new(key, is_one_of_ccids()));
    }
    if !dccp.ccid_changes.is_sorted_by_key(|change| change.at) {
        let message = "the changes of CCID must be in the order of their times";
        return Err(ConfigError::new("ccid_changes", message));
    }
    if let Some(stack) = dccp.preset
        && let Some(known) = stack.ccids()
        && let Some((_, ccid)) = ccids(dccp).find(|(_, ccid)| !known.contains(ccid))
    {
        let stack = stack.word();
        let message = format!(
            "{stack} has no {ccid}: take 'preset' away, or use CCID {}",
            numbers(known.iter().copied(), " or ")
        );
        return Err(ConfigError::new("preset", message));
    }
    if let Some(key) = foreign(dccp) {
        let readers = || {
            let all = ccid_profiles().filter(|profile| profile.reads(setting_of(&key)));
            all.map(CcidProfile::ccid)
        };
        let (all, any) = (numbers(readers(), " and "), numbers(readers(), " or "));
        let ccid = dccp.ccid;
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
    if profiles(dccp).any(CcidProfile::has_window_law) && law.counts_marks() && !dccp.config.ecn {
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
    let key = setting_of(key);
    let is_read = |profile: &CcidProfile| profile.reads(key);
    profiles(dccp).any(is_read) || !ccid_profiles().any(is_read)
}

/// The key of a flow that stands for the setting `resend`.
const RESEND: &str = "send.resend";

/// Returns the setting of a connection that is stated by `key`.
fn setting_of(key: &str) -> &str {
    if key == RESEND { "resend" } else { key }
}

/// Returns the first key of another CCID's setting with a value of its own. Defaults may be written out, as resolved
/// scenarios do.
fn foreign(dccp: &Dccp) -> Option<String> {
    let (ours, defaults) = (json(&dccp.config), json(&Config::default()));
    let keys = ours.iter().flat_map(|(name, value)| {
        let default = &defaults[name];
        match value.as_object() {
            Some(table) => table
                .iter()
                .filter(|(key, value)| default.get(key) != Some(value))
                .map(|(key, _)| format!("{name}.{key}"))
                .collect(),
            None if value == default => Vec::new(),
            None => vec![name.clone()],
        }
    });
    let resend = dccp.send.resend.map(|_| RESEND.to_owned());
    keys.chain(resend).find(|key| !is_read(dccp, key))
}

fn json(config: &Config) -> Map<String, Value> {
    match serde_json::to_value(config) {
        Ok(Value::Object(table)) => table,
        _ => Map::new(),
    }
}
