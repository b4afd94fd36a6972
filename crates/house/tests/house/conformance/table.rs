//! Reads `docs/conformance.csv`, and the names that other tables of the documentation give.

use std::collections::BTreeMap;
use std::fs;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::sources::root;

/// What stands between two values in one cell.
const BETWEEN: &str = "; ";

/// A row of the list: one requirement.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) rfc: u16,
    #[serde(rename = "section")]
    written_sections: String,
    pub(crate) level: String,
    pub(crate) requirement: String,
    #[serde(rename = "where", deserialize_with = "several")]
    pub(crate) places: Vec<String>,
    #[serde(rename = "test", deserialize_with = "several")]
    pub(crate) tests: Vec<String>,
    pub(crate) status: String,
}

impl Row {
    /// Returns the sections that the row is about, with errata, as it writes them.
    pub(crate) fn written_sections(&self) -> String {
        self.written_sections.replace(BETWEEN, ", ")
    }

    /// Returns the sections that the row is about, without errata.
    pub(crate) fn sections(&self) -> impl Iterator<Item = &str> {
        self.written_sections
            .split(BETWEEN)
            .filter(|part| !part.starts_with("erratum "))
    }

    /// Returns whether the requirement is met, at least in part.
    pub(crate) fn is_met(&self) -> bool {
        self.status == "met" || self.status.starts_with("partly: ")
    }
}

/// Returns the rows of the list, in order, each with its line.
pub(crate) fn rows() -> Vec<(u64, Row)> {
    let rows = read("docs/conformance.csv");
    assert!(rows.len() > 100, "the list was read");
    rows
}

/// Returns the rows of a CSV file of the repository, each with its line.
pub(crate) fn read<T: DeserializeOwned>(path: &str) -> Vec<(u64, T)> {
    let mut reader =
        csv::Reader::from_path(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let headers = reader.headers().expect("a row of headers").clone();
    reader
        .records()
        .map(|record| {
            let record = record.unwrap_or_else(|error| panic!("{path}: {error}"));
            let line = record.position().expect("a record of a file").line();
            let row = record
                .deserialize(Some(&headers))
                .unwrap_or_else(|error| panic!("{path}:{line}: {error}"));
            (line, row)
        })
        .collect()
}

fn several<'de, D: Deserializer<'de>>(cell: D) -> Result<Vec<String>, D::Error> {
    let cell = String::deserialize(cell)?;
    let names = cell.split(BETWEEN).filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

/// Returns the names in a cell of a table of Markdown; `-` means none.
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
