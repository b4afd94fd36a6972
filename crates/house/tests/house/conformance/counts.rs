//! Checks `docs/conformance-counts.csv`: how often each RFC uses MUST and SHOULD in each section, as counted by
//! `scripts/conformance-counts`.
//!
//! The table has as many rows as there are words, or the column `reason` says how many words have no row and why: `MUST
//! 2: the same as ...; SHOULD 1: ...`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use super::citations::RFCS;
use super::table::{root, rows};

const LEVELS: [&str; 4] = ["MUST", "MUST NOT", "SHOULD", "SHOULD NOT"];

/// The number of requirement words in one section.
struct Section {
    rfc: String,
    name: String,
    /// The number of words at each level of [`LEVELS`].
    words: [usize; 4],
    reason: String,
}

/// Each word of each section has a row of its level, or a reason for having none.
#[test]
fn every_word_has_its_row() {
    let mut rows_of: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    for row in rows() {
        for section in row.sections() {
            let key = (row.rfc.clone(), section.to_owned(), row.level.clone());
            *rows_of.entry(key).or_default() += 1;
        }
    }
    let mut wrong = String::new();
    let sections = sections();
    for section in &sections {
        let reasons = match reasons(&section.reason) {
            Ok(reasons) => reasons,
            Err(problem) => {
                let _ = writeln!(wrong, "RFC {}, {}: {problem}", section.rfc, section.name);
                continue;
            }
        };
        for (level, words) in LEVELS.iter().zip(section.words) {
            let key = (
                section.rfc.clone(),
                section.name.clone(),
                (*level).to_owned(),
            );
            let rows = rows_of.get(&key).copied().unwrap_or_default();
            let excused = reasons.get(*level).copied().unwrap_or_default();
            let place = format!("RFC {}, {}: {level}", section.rfc, section.name);
            if rows + excused < words {
                let _ = writeln!(
                    wrong,
                    "{place} is there {words} times, with {rows} rows and reasons for {excused}"
                );
            } else if excused > 0 && rows + excused > words {
                let _ = writeln!(
                    wrong,
                    "{place} is there {words} times and has {rows} rows: no reason for {excused} is needed"
                );
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "docs/conformance.md against docs/conformance-counts.csv:\n{wrong}"
    );
    for rfc in RFCS {
        assert!(
            sections.iter().any(|s| s.rfc == rfc),
            "RFC {rfc} is counted"
        );
    }
}

/// A valid reason is parsed, and an invalid one is refused.
#[test]
fn reasons_have_a_form() {
    let read = reasons("MUST NOT 2: said before; and again; SHOULD 1: on routers").expect("fine");
    assert_eq!(read.get("MUST NOT"), Some(&2));
    assert_eq!(read.get("SHOULD"), Some(&1));
    assert!(reasons("").is_ok_and(|none| none.is_empty()));
    for wrong in ["open", "MUST: why", "MUST 0: why", "MUST 1:", "MAY 1: why"] {
        assert!(reasons(wrong).is_err(), "{wrong}");
    }
}

/// Returns how many words of each level a reason covers.
fn reasons(text: &str) -> Result<BTreeMap<&str, usize>, String> {
    let mut found = BTreeMap::new();
    if text.is_empty() {
        return Ok(found);
    }
    for (index, part) in text.split("; ").enumerate() {
        let form = part.split_once(": ").and_then(|(head, why)| {
            let (level, count) = head.rsplit_once(' ')?;
            let level = LEVELS.into_iter().find(|known| *known == level)?;
            let count = count.parse::<usize>().ok().filter(|count| *count > 0)?;
            (!why.is_empty()).then_some((level, count))
        });
        match form {
            Some((level, count)) => *found.entry(level).or_default() += count,
            None if index > 0 => {} // The reason before it goes on.
            None => return Err(format!("'{part}' is not of the form 'MUST 2: why'")),
        }
    }
    Ok(found)
}

/// Reads the lines of the table.
fn sections() -> Vec<Section> {
    let text = fs::read_to_string(root().join("docs/conformance-counts.csv"))
        .expect("docs/conformance-counts.csv is there");
    let mut lines = text.lines();
    let header = "rfc,section,MUST,MUST NOT,SHOULD,SHOULD NOT,reason";
    assert_eq!(lines.next(), Some(header));
    let read = |line: &str| {
        let mut cells = line.splitn(7, ',');
        let mut cell = || {
            cells
                .next()
                .unwrap_or_else(|| panic!("'{line}' is too short"))
        };
        Section {
            rfc: cell().to_owned(),
            name: cell().to_owned(),
            words: std::array::from_fn(|_| {
                let count = cell();
                count
                    .parse()
                    .unwrap_or_else(|_| panic!("'{line}': {count}?"))
            }),
            reason: cell().trim_matches('"').replace("\"\"", "\""),
        }
    };
    lines.map(read).collect()
}
