//! What a TCP's law and preset stand for: `presets.toml`, laid under what a flow states.

use std::sync::{Arc, LazyLock};

use super::place::{FOLLOWS, SourceText};
use super::tree::{Node, Value};
use crate::transport::tcp::Tcp;

/// The data.
fn presets() -> &'static Node {
    static PRESETS: LazyLock<Node> = LazyLock::new(|| {
        let source = Arc::new(SourceText {
            name: FOLLOWS.into(),
            text: include_str!("presets.toml").into(),
        });
        Node::parse(&source).expect("a file of ours, which the tests read")
    });
    &PRESETS
}

/// Completes the table of a TCP.
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
}

/// The window law that `table` names.
fn law(table: &Node) -> Option<&str> {
    table.below(&["law"])?.kind()
}

/// The key of a preset's cases.
const CASES: &str = "when";

/// States in `table` what `set` has and it does not.
fn lay_under(table: &mut Node, set: &Node) {
    let (Value::Table(entries), Value::Table(new)) = (&mut table.value, &set.value) else {
        return;
    };
    for entry in new {
        let is_there = entries.iter().any(|old| old.name == entry.name);
        if entry.name != CASES && !is_there {
            entries.push(entry.clone());
        }
    }
}

/// Is the value of `key` the preset's of `tcp`, if nobody states another?
pub(super) fn is_of_preset(tcp: &Tcp, key: &str) -> bool {
    let Some(preset) = tcp.preset else {
        return false;
    };
    let preset = toml::Value::try_from(preset).ok();
    let preset = preset.as_ref().and_then(toml::Value::as_str);
    preset.is_some_and(|preset| sets(preset, tcp.law.kind(), key))
}

/// Does `preset` set `key`, for a flow of this law?
fn sets(preset: &str, law: &str, key: &str) -> bool {
    let cases: [&[&str]; 2] = [&["preset", preset, CASES, law], &["preset", preset]];
    let mut sets = cases.iter().filter_map(|path| presets().below(path));
    key != CASES && sets.any(|set| set.names().contains(&key))
}

#[cfg(test)]
mod tests {
    use super::{presets, sets};

    /// The data reads; a preset's values are told from the law's.
    #[test]
    fn presets_are_read() {
        assert_eq!(presets().names(), ["law", "preset"]);
        assert!(sets("ns2", "newreno", "window"));
        assert!(sets("ns2", "vegas", "limited_transmit"));
        assert!(!sets("ns2", "cubic", "recovery"));
        assert!(sets("modern", "veno", "recovery"));
        assert!(!sets("ns2", "newreno", "law") && sets("modern", "cubic", "law"));
    }
}
