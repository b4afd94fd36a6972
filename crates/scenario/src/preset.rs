//! Completion of TCP and DCCP tables from `presets.toml` and Fairwire's profiles: the values of a preset and of a TCP's
//! law are laid under what a flow states.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use fairwire_proto::Profile;
use fairwire_proto::ccids::{CcidProfile, ccid_profile};

use super::place::{IMPLIED, SourceText};
use super::tree::{Entry, Node, Value};
use crate::transport::dccp::Dccp;
use crate::transport::tcp::Tcp;

/// Returns the contents of `presets.toml`.
fn presets() -> &'static Node {
    static PRESETS: LazyLock<Node> = LazyLock::new(|| {
        let source = Arc::new(SourceText {
            name: IMPLIED.into(),
            text: include_str!("presets.toml").into(),
        });
        Node::parse(&source).expect("a file of ours, which the tests read")
    });
    &PRESETS
}

/// Completes the table of a DCCP flow. The tables `ccid2` and `ccid3` are completed only if a CCID of the flow reads
/// them.
pub(super) fn complete_dccp(dccp: &mut Node) {
    let preset = dccp.text("preset").map(str::to_owned);
    let Some(mut set) = preset.and_then(|name| stack(&name).cloned()) else {
        return;
    };
    for table in ["ccid2", "ccid3"] {
        if !ccids(dccp).any(|profile| profile.reads(table)) {
            set.take(table);
        }
    }
    lay_under(dccp, &set);
}

/// Returns the values that the preset `name` sets for DCCP.
fn stack(name: &str) -> Option<&'static Node> {
    presets()
        .below(&["dccp", name])
        .or_else(|| profiles().get(name))
}

/// Returns what each of Fairwire's profiles sets.
fn profiles() -> &'static BTreeMap<&'static str, Node> {
    static PROFILES: LazyLock<BTreeMap<&'static str, Node>> = LazyLock::new(|| {
        let written = |profile: Profile| toml::Value::try_from(profile.config());
        let read = |profile: Profile| {
            let [set, rfc] =
                [profile, Profile::Rfc].map(|it| written(it).expect("settings are tables"));
            let set = changed(set, &rfc);
            let source = Arc::new(SourceText {
                name: IMPLIED.into(),
                text: toml::to_string(&set).expect("it was a table"),
            });
            (
                profile.name(),
                Node::parse(&source).expect("it was written by toml"),
            )
        };
        Profile::ALL.into_iter().map(read).collect()
    });
    &PROFILES
}

/// Returns what of `value` differs from `other`, in tables key by key.
fn changed(value: toml::Value, other: &toml::Value) -> toml::Value {
    let toml::Value::Table(table) = value else {
        return value;
    };
    let differs = |(key, value): (String, toml::Value)| match other.get(&key) {
        Some(same) if *same == value => None,
        Some(old @ toml::Value::Table(_)) => Some((key, changed(value, old))),
        _ => Some((key, value)),
    };
    toml::Value::Table(table.into_iter().filter_map(differs).collect())
}

/// Returns the CCIDs that the flow with the table `dccp` has at any time, in either direction.
fn ccids(dccp: &Node) -> impl Iterator<Item = &'static CcidProfile> {
    let of = |table: &Node, key: &str| {
        let ccid = table.below(&[key]).map(|ccid| &ccid.value);
        let Some(Value::Integer(ccid)) = ccid else {
            return None;
        };
        ccid_profile(u8::try_from(*ccid).ok()?.into())
    };
    let changes = dccp.below(&["ccid_changes"]).map(|changes| &changes.value);
    let changes = match changes {
        Some(Value::Array(changes)) => changes.as_slice(),
        _ => &[],
    };
    let both = [of(dccp, "ccid"), of(dccp, "back_ccid")].into_iter();
    both.chain(changes.iter().map(move |change| of(change, "ccid")))
        .flatten()
}

/// Completes the table of a TCP flow.
pub(super) fn complete(tcp: &mut Node) {
    let preset = tcp.text("preset").map(str::to_owned);
    let preset = preset.and_then(|name| presets().below(&["preset", &name]));
    let stated = law(tcp).map(str::to_owned);
    let law = stated
        .as_deref()
        .or_else(|| law(preset?))
        .unwrap_or("newreno");
    let sets = [
        preset.and_then(|preset| preset.below(&[CASES, law])),
        preset,
        presets().below(&["law", law]),
    ];
    for set in sets.into_iter().flatten() {
        lay_under(tcp, set);
    }
    if let Some(preset) = preset {
        follow(tcp, preset);
    }
}

/// Sets the keys that have the value of another key of the same table, unless they are stated.
fn follow(tcp: &mut Node, preset: &Node) {
    let Some(Value::Table(pairs)) = preset.below(&[FOLLOWERS]).map(|pairs| &pairs.value) else {
        return;
    };
    for pair in pairs {
        let Value::Text(leader) = &pair.node.value else {
            continue;
        };
        let Some(leader) = tcp.below(&[leader]).cloned() else {
            continue;
        };
        let Value::Table(entries) = &mut tcp.value else {
            return;
        };
        if !entries.iter().any(|entry| entry.name == pair.name) {
            entries.push(Entry {
                node: Node {
                    place: pair.node.place.clone(),
                    provenance: None,
                    ..leader
                },
                ..pair.clone()
            });
        }
    }
}

/// Returns the window law that `table` names.
fn law(table: &Node) -> Option<&str> {
    table.below(&["law"])?.kind()
}

/// The key of the values that a preset sets for one law only.
const CASES: &str = "when";

/// The key of the table of keys that have the value of another key.
const FOLLOWERS: &str = "follows";

/// Adds to `table` what `set` has and it lacks, and does the same in the tables that both have.
fn lay_under(table: &mut Node, set: &Node) {
    // A law of another kind has settings of its own.
    if table.kind().is_some() && table.kind() != set.kind() {
        return;
    }
    let (Value::Table(entries), Value::Table(new)) = (&mut table.value, &set.value) else {
        return;
    };
    for entry in new.iter().filter(|entry| !is_of_presets(&entry.name)) {
        match entries.iter_mut().find(|old| old.name == entry.name) {
            Some(old) => lay_under(&mut old.node, &entry.node),
            None => entries.push(entry.clone()),
        }
    }
}

/// Returns whether `name` is a table about a preset's values rather than a key of a flow.
fn is_of_presets(name: &str) -> bool {
    [CASES, FOLLOWERS].contains(&name)
}

/// Returns whether the preset of `dccp` sets `key`, a dotted path.
pub(super) fn is_of_stack(dccp: &Dccp, key: &str) -> bool {
    let stack = dccp.preset.and_then(|preset| stack(preset.word()));
    let names: Vec<&str> = key.split('.').collect();
    stack.is_some_and(|stack| stack.below(&names).is_some())
}

/// Returns whether the preset of `tcp` sets `key`, given as the names down to it.
pub(super) fn is_of_preset(tcp: &Tcp, key: &[&str]) -> bool {
    let Some(preset) = tcp.preset else {
        return false;
    };
    let preset = toml::Value::try_from(preset).ok();
    let preset = preset.as_ref().and_then(toml::Value::as_str);
    preset.is_some_and(|preset| sets(preset, tcp.law.kind(), key))
}

/// Returns whether the window law `law` of a TCP sets `key`, given as the names down to it.
pub(super) fn is_of_law(law: &str, key: &[&str]) -> bool {
    let set = presets().below(&["law", law]);
    set.is_some_and(|set| set.below(key).is_some())
}

/// Returns whether `preset` sets `key` for a flow of this law.
fn sets(preset: &str, law: &str, key: &[&str]) -> bool {
    let cases: [&[&str]; 3] = [
        &["preset", preset, CASES, law],
        &["preset", preset],
        &["preset", preset, FOLLOWERS],
    ];
    let mut sets = cases.iter().filter_map(|path| presets().below(path));
    sets.any(|set| match key {
        ["law", ..] if self::law(set) != Some(law) => false,
        _ => set.below(key).is_some(),
    })
}
