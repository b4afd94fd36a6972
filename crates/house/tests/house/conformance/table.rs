//! Reads the table of `docs/conformance.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The columns of each table.
const HEADER: [&str; 7] = [
    "RFC",
    "Section",
    "Level",
    "Requirement",
    "Where",
    "Test",
    "Status",
];

/// A row of the table: one requirement.
pub(crate) struct Row {
    pub(crate) line: usize,
    pub(crate) rfc: String,
    pub(crate) section: String,
    pub(crate) level: String,
    pub(crate) requirement: String,
    pub(crate) places: Vec<String>,
    pub(crate) tests: Vec<String>,
    pub(crate) status: String,
}

impl Row {
    /// Returns the sections that the row is about, without errata.
    pub(crate) fn sections(&self) -> impl Iterator<Item = &str> {
        self.section
            .split(", ")
            .filter(|part| !part.starts_with("erratum "))
    }

    /// Returns whether the requirement is met, at least in part.
    pub(crate) fn is_met(&self) -> bool {
        self.status == "met" || self.status.starts_with("partly: ")
    }
}

/// Returns the root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the rows of all tables, in order.
pub(crate) fn rows() -> Vec<Row> {
    let text = fs::read_to_string(root().join("docs/conformance.md"))
        .expect("docs/conformance.md is there");
    let mut rows = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let Some(inner) = text.strip_prefix('|').and_then(|t| t.strip_suffix('|')) else {
            assert!(!text.contains('|'), "line {line}: half a row");
            continue;
        };
        let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
        let rule = cells
            .iter()
            .all(|cell| cell.chars().all(|c| c == '-') && cell.len() > 2);
        if rule || cells == HEADER {
            continue;
        }
        let [rfc, section, level, requirement, places, tests, status] = cells[..] else {
            panic!("line {line}: {} columns, not {}", cells.len(), HEADER.len());
        };
        rows.push(Row {
            line,
            rfc: rfc.to_owned(),
            section: section.to_owned(),
            level: level.to_owned(),
            requirement: requirement.to_owned(),
            places: names(places),
            tests: names(tests),
            status: status.to_owned(),
        });
    }
    assert!(rows.len() > 100, "the table was read");
    rows
}

/// Returns the names in a cell; `-` means none.
pub(crate) fn names(cell: &str) -> Vec<String> {
    if cell == "-" {
        return Vec::new();
    }
    cell.split(", ")
        .map(|name| name.trim_matches('`').to_owned())
        .collect()
}

/// Source files, each read once.
#[derive(Default)]
pub(crate) struct Files(BTreeMap<String, Option<String>>);

impl Files {
    /// Returns the text of a file, if it exists.
    pub(crate) fn read(&mut self, file: &str) -> Option<&str> {
        let read = || fs::read_to_string(root().join(file)).ok();
        self.0
            .entry(file.to_owned())
            .or_insert_with(read)
            .as_deref()
    }
}
