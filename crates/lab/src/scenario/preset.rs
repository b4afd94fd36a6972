//! What a TCP's variant and preset stand for: `presets.toml`, laid under what a flow states.

use std::sync::{Arc, LazyLock};

use super::place::{FOLLOWS, SourceText};
use super::tree::{Node, Value};

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
    let stated = tcp.text("variant").map(str::to_owned);
    let variant = stated
        .as_deref()
        .or_else(|| preset?.text("variant"))
        .unwrap_or("newreno");
    let sets = [
        preset.and_then(|preset| preset.below(&["when", variant])),
        preset,
        presets().below(&["variant", variant]),
    ];
    for set in sets.into_iter().flatten() {
        lay_under(tcp, set);
    }
}

/// States in `table` what `set` has and it does not; the tables of `set` are its cases.
fn lay_under(table: &mut Node, set: &Node) {
    let (Value::Table(entries), Value::Table(new)) = (&mut table.value, &set.value) else {
        return;
    };
    for entry in new {
        let is_case = matches!(entry.node.value, Value::Table(_));
        if !is_case && !entries.iter().any(|old| old.name == entry.name) {
            entries.push(entry.clone());
        }
    }
}

/// Does `preset` set `key`, for a flow of this variant?
pub(super) fn sets(preset: &str, variant: &str, key: &str) -> bool {
    let cases: [&[&str]; 2] = [&["preset", preset, "when", variant], &["preset", preset]];
    cases
        .iter()
        .filter_map(|path| presets().below(path))
        .any(|set| {
            set.names().contains(&key) && key != "variant"
                || key == "variant" && set.text(key).is_some()
        })
}

#[cfg(test)]
mod tests {
    use super::{presets, sets};

    /// The data reads; a preset's values are told from the variant's.
    #[test]
    fn presets_are_read() {
        assert_eq!(presets().names(), ["variant", "preset"]);
        assert!(sets("ns2", "newreno", "window"));
        assert!(sets("ns2", "reno", "recovery"));
        assert!(!sets("ns2", "cubic", "recovery"));
        assert!(sets("modern", "veno", "recovery"));
        assert!(!sets("ns2", "sack", "variant") && sets("modern", "cubic", "variant"));
    }
}
