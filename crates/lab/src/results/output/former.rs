//! What a former run left in a directory of results: it would stand beside the new run's files as
//! if it were theirs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Everything at once; it lists the cells.
const RESULTS: &str = "results.json";

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

/// Removes what the run wrote whose `results.json` is in `directory`, `keep` excepted. Where there
/// is none, or none of ours, nothing is removed.
pub(super) fn remove(directory: &Path, keep: Option<&Path>) -> Result<(), (PathBuf, io::Error)> {
    let list = directory.join(RESULTS);
    let Some(cells) = fs::read(&list).ok().and_then(|text| cells(&text)) else {
        return Ok(());
    };
    let keep = keep.and_then(|path| path.canonicalize().ok());
    let resolved = cells.iter().map(|cell| format!("{cell}.toml"));
    let files = FILES.iter().map(|name| (*name).to_owned());
    // The list goes last, so that what cannot be removed now is known the next time.
    for name in resolved.chain(files).chain([RESULTS.to_owned()]) {
        let path = directory.join(name);
        if keep.is_some() && path.canonicalize().ok() == keep {
            continue;
        }
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err((path, error)),
            _ => {}
        }
    }
    Ok(())
}

/// The cells of a `results.json` of ours. Names that no cell can have are left out: they could lead
/// out of the directory.
fn cells(text: &[u8]) -> Option<Vec<String>> {
    let results: Value = serde_json::from_slice(text).ok()?;
    for key in ["name", "version"] {
        results.get(key)?.as_str()?;
    }
    results.get("partial")?.as_bool()?;
    let names = results.get("cells")?.as_array()?.iter();
    let names = names.filter_map(|cell| cell.get("name")?.as_str());
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let names = names.filter(|name| !name.is_empty() && name.chars().all(plain));
    Some(names.map(str::to_owned).collect())
}
