//! Checks `docs/conformance-counts.csv`: how often each RFC uses MUST and SHOULD in each section, as counted by
//! `scripts/conformance-counts`.
//!
//! The table has as many rows as there are words, or the column `reason` says how many words have no row and why: `MUST
//! 2: the same as ...; SHOULD 1: ...`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

use super::citations::RFCS;
use super::table::{read, rows};

const LEVELS: [&str; 4] = ["MUST", "MUST NOT", "SHOULD", "SHOULD NOT"];

/// The requirement words of one section.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    rfc: u16,
    section: String,
    #[serde(rename = "MUST")]
    must: usize,
    #[serde(rename = "MUST NOT")]
    must_not: usize,
    #[serde(rename = "SHOULD")]
    should: usize,
    #[serde(rename = "SHOULD NOT")]
    should_not: usize,
    reason: String,
}

impl Words {
    /// Returns their number at each level of [`LEVELS`].
    fn by_level(&self) -> [usize; 4] {
        [self.must, self.must_not, self.should, self.should_not]
    }
}

/// Each word of each section has a row of its level, or a reason for having none.
#[test]
fn every_word_has_its_row() {
    let mut rows_of: BTreeMap<(u16, String, String), usize> = BTreeMap::new();
    for (_, row) in rows() {
        for section in row.sections() {
            let key = (row.rfc, section.to_owned(), row.level.clone());
            *rows_of.entry(key).or_default() += 1;
        }
    }
    let mut wrong = String::new();
    let sections = read::<Words>("docs/conformance-counts.csv");
    for (_, section) in &sections {
        let reasons = match reasons(&section.reason) {
            Ok(reasons) => reasons,
            Err(problem) => {
                let _ = writeln!(wrong, "RFC {}, {}: {problem}", section.rfc, section.section);
                continue;
            }
        };
        for (level, words) in LEVELS.iter().zip(section.by_level()) {
            let key = (section.rfc, section.section.clone(), (*level).to_owned());
            let rows = rows_of.get(&key).copied().unwrap_or_default();
            let excused = reasons.get(*level).copied().unwrap_or_default();
            let place = format!("RFC {}, {}: {level}", section.rfc, section.section);
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
        "docs/conformance.csv against docs/conformance-counts.csv:\n{wrong}"
    );
    for rfc in RFCS {
        assert!(
            sections.iter().any(|(_, section)| section.rfc == rfc),
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
