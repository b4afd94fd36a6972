//! `docs/adversarial.md` names tests that exist and are named for what they send.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use super::is_test;
use super::table::{Files, names, root};

/// The kinds of hostile input that have their tests, each a row or more.
const ITEMS: std::ops::RangeInclusive<u8> = 1..=31;

/// Every item has a row; every test of it exists, and its name begins with the item's number.
#[test]
fn every_item_has_its_tests() {
    let text = fs::read_to_string(root().join("docs/adversarial.md"))
        .expect("docs/adversarial.md is there");
    let mut files = Files::default();
    let mut found = BTreeSet::new();
    let mut wrong = String::new();
    for (line, text) in (1..).zip(text.lines()) {
        let Some(inner) = text.strip_prefix('|').and_then(|t| t.strip_suffix('|')) else {
            assert!(!text.contains('|'), "line {line}: half a row");
            continue;
        };
        let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
        let [item, sent, outcome, tests] = cells[..] else {
            panic!("line {line}: {} columns, not 4", cells.len());
        };
        let Ok(item) = item.parse::<u8>() else {
            continue;
        };
        found.insert(item);
        let tests = names(tests);
        if sent.is_empty() || outcome.is_empty() || tests.is_empty() {
            let _ = writeln!(wrong, "line {line}: an empty column");
        }
        for test in tests {
            let Some((file, name)) = test.split_once("::") else {
                let _ = writeln!(wrong, "line {line}: '{test}' is not file::name");
                continue;
            };
            if !is_named_for(name, item) {
                let _ = writeln!(wrong, "line {line}: {name} is not named for item {item}");
            }
            if !is_test(files.read(file), name) {
                let _ = writeln!(wrong, "line {line}: there is no test {test}");
            }
        }
    }
    for item in ITEMS.filter(|item| !found.contains(item)) {
        let _ = writeln!(wrong, "item {item} has no row");
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// `item_4_...`, or `items_4_and_9_...` for both.
fn is_named_for(name: &str, item: u8) -> bool {
    let item = item.to_string();
    let mut words = name.split('_');
    match words.next() {
        Some("item") => words.next() == Some(&item),
        Some("items") => {
            let (first, and, second) = (words.next(), words.next(), words.next());
            and == Some("and") && [first, second].contains(&Some(&item))
        }
        _ => false,
    }
}

/// The rule of the names refuses what does not follow it.
#[test]
fn names_are_told_apart() {
    assert!(is_named_for("item_4_lengths", 4));
    assert!(is_named_for("items_4_and_9_lengths", 9));
    for name in ["item_42_lengths", "items_4_or_9", "lengths_4", "item"] {
        assert!(!is_named_for(name, 4), "{name}");
    }
}
