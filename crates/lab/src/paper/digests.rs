//! Golden digests of a paper's quick run: what was seen on the wires, by cell and seed.
//!
//! `papers/<name>/digests.toml` holds them. They are made from the very runs that the tables are
//! made from, so a table cannot move without a digest that moved.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use crate::results::Results;

/// The name of the file in the paper's directory.
pub const FILE: &str = "digests.toml";

/// Digests by cell, then by run: `seed 1`, `seed 2`, ... and `unperturbed`.
pub type Golden = BTreeMap<String, BTreeMap<String, String>>;

/// A run that does not look as it did.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Moved {
    /// The cell.
    pub cell: String,
    /// The run.
    pub run: String,
    /// What is written, if anything.
    pub golden: Option<String>,
    /// What came out, if it was run.
    pub now: Option<String>,
}

/// The digests of `results`.
pub fn digests(results: &Results) -> Golden {
    let mut golden = Golden::new();
    for cell in &results.cells {
        let runs = golden.entry(cell.name.clone()).or_default();
        for run in &cell.runs {
            runs.insert(format!("seed {}", run.seed), run.digest.to_string());
        }
        if let Some(run) = &cell.unperturbed {
            runs.insert("unperturbed".into(), run.digest.to_string());
        }
    }
    golden
}

/// Reads what [`write`] wrote.
///
/// # Errors
/// If it is no TOML of this shape.
pub fn read(text: &str) -> Result<Golden, toml::de::Error> {
    toml::from_str(text)
}

/// `golden` as the text of a file.
pub fn write(golden: &Golden) -> String {
    let mut text = String::from(
        "# Golden digests of the quick run: `fairwire paper NAME --quick --update-digests` writes\n\
         # them. CHANGELOG.md says which results moved and why.\n",
    );
    for (cell, runs) in golden {
        let _ = writeln!(text, "\n[{cell}]");
        for (run, digest) in runs {
            let _ = writeln!(text, "\"{run}\" = \"{digest}\"");
        }
    }
    text
}

/// The file of the paper `name` in the source tree that the working directory is in, if it is in one.
pub fn file_in_source_tree(name: &str) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors()
        .map(|directory| directory.join("papers").join(name).join(FILE))
        .find(|file| file.is_file())
}

/// What differs; `now` may hold more seeds than were written, and they must be the same as far
/// as both go. A cell or run that is written and was not run differs, too.
pub fn compare(golden: &Golden, now: &Golden) -> Vec<Moved> {
    let mut moved = Vec::new();
    for (cell, runs) in golden {
        for (run, digest) in runs {
            let found = now.get(cell).and_then(|runs| runs.get(run));
            if found != Some(digest) {
                moved.push(difference(cell, run, Some(digest), found));
            }
        }
    }
    for (cell, runs) in now.iter().filter(|(cell, _)| !golden.contains_key(*cell)) {
        moved.extend(
            runs.iter()
                .map(|(run, digest)| difference(cell, run, None, Some(digest))),
        );
    }
    moved
}

fn difference(cell: &str, run: &str, golden: Option<&String>, now: Option<&String>) -> Moved {
    Moved {
        cell: cell.to_owned(),
        run: run.to_owned(),
        golden: golden.cloned(),
        now: now.cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Golden, compare, read, write};

    fn golden(text: &str) -> Golden {
        read(text).expect("reads")
    }

    /// What is written is read back; runs that differ, are missing or are new are listed.
    #[test]
    fn differences_are_listed() {
        let written =
            golden("[a]\n\"seed 1\" = \"x\"\n\"seed 2\" = \"y\"\n[b]\nunperturbed = \"z\"\n");
        assert_eq!(golden(&write(&written)), written);
        assert!(compare(&written, &written).is_empty());
        let more = golden(
            "[a]\n\"seed 1\" = \"x\"\n\"seed 2\" = \"y\"\n\"seed 3\" = \"w\"\n[b]\nunperturbed = \"z\"\n",
        );
        assert!(
            compare(&written, &more).is_empty(),
            "more seeds than written are no difference"
        );
        let now = golden("[a]\n\"seed 1\" = \"x\"\n\"seed 2\" = \"Y\"\n[c]\nunperturbed = \"z\"\n");
        let moved: Vec<String> = compare(&written, &now)
            .iter()
            .map(|moved| format!("{} {}", moved.cell, moved.run))
            .collect();
        assert_eq!(moved, ["a seed 2", "b unperturbed", "c unperturbed"]);
    }
}
