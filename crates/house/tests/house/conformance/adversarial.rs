//! Checks that the tests that `docs/adversarial.md` names exist, and that their names have the right numbers.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::RangeInclusive;

use super::is_test;
use super::table::{Files, names};
use crate::sources::text_of;

/// The numbers of the kinds of hostile input; each has one row or more.
const ITEMS: RangeInclusive<u8> = 1..=35;

/// The numbers of the findings of the security review.
const FINDINGS: RangeInclusive<u8> = 1..=23;

/// Every item and every finding has a row. Every test of a row exists, and its name begins with the number. A row
/// without tests says that it is not built.
#[test]
fn every_item_has_its_tests() {
    let text = text_of("docs/adversarial.md");
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
        let (kind, number) = item.split_once(' ').unwrap_or(("item", item));
        let Ok(item) = number.parse::<u8>() else {
            continue;
        };
        found.insert((kind.to_owned(), item));
        let tests = names(tests);
        let is_untested = tests.is_empty() && !outcome.starts_with("*not built*");
        if sent.is_empty() || outcome.is_empty() || is_untested {
            let _ = writeln!(wrong, "line {line}: an empty column");
        }
        for test in tests {
            let Some((file, name)) = test.split_once("::") else {
                let _ = writeln!(wrong, "line {line}: '{test}' is not file::name");
                continue;
            };
            if !is_named_for(name, kind, item) {
                let _ = writeln!(wrong, "line {line}: {name} is not named for {kind} {item}");
            }
            if !is_test(files.read(file), name) {
                let _ = writeln!(wrong, "line {line}: there is no test {test}");
            }
        }
    }
    let items = ITEMS.map(|number| ("item".to_owned(), number));
    let findings = FINDINGS.map(|number| ("finding".to_owned(), number));
    for row in items.chain(findings).filter(|row| !found.contains(row)) {
        let _ = writeln!(wrong, "{} {} has no row", row.0, row.1);
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Returns whether a test has the name `item_4_...` or `finding_4_...`, or `items_4_and_9_...` for both items.
fn is_named_for(name: &str, kind: &str, number: u8) -> bool {
    let item = number.to_string();
    let mut words = name.split('_');
    match words.next() {
        Some(first) if first == kind => words.next() == Some(&item),
        Some("items") if kind == "item" => {
            let (first, and, second) = (words.next(), words.next(), words.next());
            and == Some("and") && [first, second].contains(&Some(&item))
        }
        _ => false,
    }
}

/// Names that do not follow the rule are refused.
#[test]
fn names_are_told_apart() {
    assert!(is_named_for("item_4_lengths", "item", 4));
    assert!(is_named_for("items_4_and_9_lengths", "item", 9));
    assert!(is_named_for("finding_4_silence", "finding", 4));
    for name in ["item_42_x", "items_4_or_9", "x_4", "item", "finding_4_x"] {
        assert!(!is_named_for(name, "item", 4), "{name}");
    }
}
