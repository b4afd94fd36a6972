//! Checks that every citation in the code has a row in the table, and every row a citation.
//!
//! A citation is `RFC N, S` or `RFC N, section S` in a comment of the crates in [`CRATES`], outside of tests, where N
//! is one of [`RFCS`] or [`ALSO`]. S is the number of a section, or several numbers joined by commas, "and" or "to". An
//! appendix is `appendix A.2`. A line break within a comment counts as a space.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use super::table::{Row, rows};
use crate::sources::{files_below, root};

/// The RFCs that the table covers completely.
pub(crate) const RFCS: [u16; 12] = [
    4340, 4341, 4342, 5238, 5348, 5595, 5596, 5622, 6323, 6773, 8311, 9147,
];
/// RFCs with rows for the parts that we follow; their requirement words are not counted.
const ALSO: [u16; 3] = [8899, 9000, 9853];
/// The crates whose citations count: those of the protocol.
const CRATES: [&str; 5] = ["wire", "proto", "cc", "io", "tls"];

/// The places that cite each section: RFC and section, with file and line.
type Citations = BTreeMap<(u16, String), BTreeSet<(String, usize)>>;

/// Every section that the code cites has a row in the table.
#[test]
fn every_citation_has_its_row() {
    let rows = rows();
    let mut missing = String::new();
    for ((rfc, section), places) in citations() {
        if !rows.iter().any(|(_, row)| is_about(row, rfc, &section)) {
            let places: Vec<_> = places
                .iter()
                .map(|(file, line)| format!("{file}:{line}"))
                .collect();
            let _ = writeln!(missing, "RFC {rfc}, {section}: {}", places.join(" "));
        }
    }
    assert!(
        missing.is_empty(),
        "sections that the code cites and docs/conformance.csv has no row for:\n{missing}"
    );
}

/// Every row that is met, or partly met, is cited in a file that it names.
#[test]
fn every_row_has_its_citation() {
    let citations = citations();
    let mut missing = String::new();
    for (line, row) in rows().iter().filter(|(_, row)| row.is_met()) {
        let files: BTreeSet<&str> = row
            .places
            .iter()
            .filter_map(|place| place.split("::").next())
            .collect();
        for section in row.sections() {
            let cited = citations
                .get(&(row.rfc, section.to_owned()))
                .is_some_and(|at| at.iter().any(|(file, _)| files.contains(file.as_str())));
            if !cited && !files.is_empty() {
                let files: Vec<_> = files.iter().copied().collect();
                let _ = writeln!(
                    missing,
                    "line {line}: no comment 'RFC {}, {section}' in {}",
                    row.rfc,
                    files.join(" or ")
                );
            }
        }
    }
    assert!(
        missing.is_empty(),
        "rows of docs/conformance.csv whose section is not cited where it is met:\n{missing}"
    );
}

/// The parser finds citations and nothing else.
#[test]
fn citations_are_told_apart() {
    let source = "//! One (RFC 4340, sections 7.5, 8.1 and\n//! 8.5; RFC 9999, section 1).\n\
        // Not RFC 4342 alone, nor RFC 4342, 5622.\nlet text = \"RFC 4340, 9.9\";\n\
        /// RFC 5348, 4.3, step 4; RFC 4340, appendix A.2. RFC\n    /// 6773, section\n\
        /// 3.8 to 3.9.\n#[cfg(test)]\nmod tests {\n// RFC 4340, 1.1\n}\n";
    let mut found = Citations::new();
    read_source("a.rs", source, &mut found);
    let found: Vec<String> = found
        .iter()
        .flat_map(|((rfc, section), at)| {
            at.iter().map(move |(_, n)| format!("{rfc} {section} {n}"))
        })
        .collect();
    let expected = [
        "4340 7.5 1",
        "4340 8.1 1",
        "4340 8.5 1",
        "4340 A.2 5",
        "5348 4.3 5",
        "6773 3.8 5",
        "6773 3.9 5",
    ];
    assert_eq!(found, expected);
}

fn is_about(row: &Row, rfc: u16, section: &str) -> bool {
    row.rfc == rfc && row.sections().any(|s| s == section)
}

/// Returns all citations of the crates.
fn citations() -> Citations {
    let mut citations = Citations::new();
    for folder in CRATES.map(|name| root().join("crates").join(name).join("src")) {
        for file in files_below(&folder, "rs") {
            let path = file.strip_prefix(root()).expect("a file of the repository");
            let is_test = path
                .iter()
                .any(|part| part == "tests" || part == "tests.rs");
            if !is_test {
                let source = fs::read_to_string(&file).expect("a source can be read");
                let path = path.to_str().expect("names are ASCII");
                read_source(path, &source, &mut citations);
            }
        }
    }
    assert!(citations.len() > 100, "the sources were read");
    citations
}

/// Reads the citations of one source file, up to its tests.
fn read_source(file: &str, source: &str, citations: &mut Citations) {
    let source = source
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    let (mut comment, mut begins) = (String::new(), 1);
    for (number, line) in (1..).zip(source.lines()) {
        if let Some(text) = line.trim_start().strip_prefix("//") {
            if comment.is_empty() {
                begins = number;
            }
            comment.push_str(text.trim_start_matches(['/', '!']).trim());
            comment.push(' ');
        } else if !comment.is_empty() {
            read_comment(file, begins, &comment, citations);
            comment.clear();
        }
    }
    read_comment(file, begins, &comment, citations);
}

/// Reads the citations of one comment.
fn read_comment(file: &str, line: usize, comment: &str, citations: &mut Citations) {
    for cited in comment.split("RFC ").skip(1) {
        let Some((rfc, rest)) = cited.split_once(", ") else {
            continue;
        };
        let Ok(rfc) = rfc.parse() else {
            continue;
        };
        if !RFCS.contains(&rfc) && !ALSO.contains(&rfc) {
            continue;
        }
        for section in sections(rest) {
            citations
                .entry((rfc, section))
                .or_default()
                .insert((file.to_owned(), line));
        }
    }
}

/// Returns the sections at the beginning of a text.
fn sections(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text
        .trim_start_matches("sections ")
        .trim_start_matches("section ");
    loop {
        let plain = rest
            .trim_start_matches("appendix ")
            .trim_start_matches("Appendix ");
        let end = plain.find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
        let word = plain[..end.unwrap_or(plain.len())].trim_end_matches('.');
        let short = word
            .split('.')
            .all(|part| part.len() <= 2 && part.chars().all(|c| c.is_ascii_digit()));
        let appendix = plain.len() < rest.len() && super::is_section(word);
        if !(appendix || (short && super::is_section(word))) {
            return found;
        }
        found.push(word.to_owned());
        let after = &plain[word.len()..];
        let Some(next) = [", and ", ", ", " and ", " to "]
            .iter()
            .find_map(|joint| after.strip_prefix(joint))
        else {
            return found;
        };
        rest = next;
    }
}
