//! Directories from before there were lists: what stands in them is known by `results.json`, which names
//! the cells, or by `papers.json`, which names the papers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::contents::{Listed, is_plain};

/// Everything of one run at once; it lists the cells.
const RESULTS: &str = "results.json";
/// Everything of all papers at once; it lists the papers.
const PAPERS: &str = "papers.json";

/// The other files whose names do not depend on the scenario, a paper's report included.
const FILES: [&str; 10] = [
    "results.csv",
    "summary.csv",
    "runs.csv",
    "series.csv",
    "tables.csv",
    "verdicts.csv",
    "figures.csv",
    "paper.json",
    "report.txt",
    "report.html",
];
/// The other files of all papers.
const FILES_OF_ALL: [&str; 5] = [
    "summary.txt",
    "tables.csv",
    "verdicts.csv",
    "figures.csv",
    "report.html",
];

/// As much of `results.json` as is needed.
#[derive(Deserialize)]
struct ResultsFile {
    #[serde(rename = "name")]
    _name: String,
    #[serde(rename = "version")]
    _version: String,
    #[serde(rename = "partial")]
    _partial: bool,
    cells: Vec<Cell>,
}

#[derive(Deserialize)]
struct Cell {
    name: String,
}

/// As much of `papers.json`.
#[derive(Deserialize)]
struct PapersFile {
    #[serde(rename = "version")]
    _version: String,
    #[serde(rename = "partial")]
    _partial: bool,
    papers: Vec<Paper>,
}

#[derive(Deserialize)]
struct Paper {
    paper: String,
}

/// What was written into `directory`; nothing where no file of ours says so.
pub(super) fn listed(directory: &Path) -> Option<Listed> {
    let mut files: BTreeSet<String> = BTreeSet::new();
    let mut folders = BTreeSet::new();
    if let Some(results) = read::<ResultsFile>(&directory.join(RESULTS)) {
        let cells = results.cells.into_iter().map(|cell| cell.name);
        let resolved = cells.filter(is_plain).map(|cell| format!("{cell}.toml"));
        files.extend(resolved);
        files.extend(FILES.into_iter().chain([RESULTS]).map(str::to_owned));
    }
    if let Some(all) = read::<PapersFile>(&directory.join(PAPERS)) {
        folders.extend(all.papers.into_iter().map(|one| one.paper).filter(is_plain));
        files.extend(FILES_OF_ALL.into_iter().chain([PAPERS]).map(str::to_owned));
    }
    (!files.is_empty()).then(|| Listed::new(true, files, folders))
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}
