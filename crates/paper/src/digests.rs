//! Golden digests of a paper's quick run, by cell and seed: what each run shows on the wires.
//!
//! They are in `papers/<name>/digests.toml`. They come from the same runs as the tables, so a table cannot change
//! without a change of a digest.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use fairwire_sim::results::Results;

/// The name of the file in the paper's directory.
pub const FILE: &str = "digests.toml";

/// Digests by cell, then by run: `seed 1`, `seed 2`, ... and `unperturbed`.
pub type Golden = BTreeMap<String, BTreeMap<String, String>>;

/// A run whose digest differs from the golden one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ChangedDigest {
    /// The cell.
    pub cell: String,
    /// The run.
    pub run: String,
    /// The golden digest, if there is one.
    pub golden: Option<String>,
    /// The digest of this run, if it was run.
    pub now: Option<String>,
}

/// Returns the digests of `results`.
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

/// Reads what [`write()`] wrote.
///
/// # Errors
/// If it is not TOML of this shape.
pub fn read(text: &str) -> Result<Golden, toml::de::Error> {
    toml::from_str(text)
}

/// Returns `golden` as the text of a file.
pub fn write(golden: &Golden) -> String {
    let mut text = String::from(
        "# Golden digests of the quick run: `fairwire paper NAME --quick --update-digests` writes\n\
         # them. docs/results-that-move.md says which, and why.\n",
    );
    for (cell, runs) in golden {
        let _ = writeln!(text, "\n[{cell}]");
        for (run, digest) in runs {
            let _ = writeln!(text, "\"{run}\" = \"{digest}\"");
        }
    }
    text
}

/// Returns the digests of the runs with the first `seeds` seeds, and of the unperturbed ones.
pub fn of_first(golden: &Golden, seeds: u32) -> Golden {
    let is_kept = |run: &str| {
        let seed = run.strip_prefix("seed ").map(str::parse);
        !matches!(seed, Some(Ok(seed)) if u64::from(seeds) < seed)
    };
    let mut kept = golden.clone();
    for runs in kept.values_mut() {
        runs.retain(|run, _| is_kept(run));
    }
    kept
}

/// Finds the digest file of the paper `name` in the source tree around the working directory, if there is one.
pub fn file_in_source_tree(name: &str) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors()
        .map(|directory| directory.join("papers").join(name).join(FILE))
        .find(|file| file.is_file())
}

/// Lists the differences between `golden` and `now`.
///
/// `now` may hold more seeds of a cell than `golden`; these are ignored. A golden cell or run that was not run is a
/// difference.
pub fn compare(golden: &Golden, now: &Golden) -> Vec<ChangedDigest> {
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

fn difference(
    cell: &str,
    run: &str,
    golden: Option<&String>,
    now: Option<&String>,
) -> ChangedDigest {
    ChangedDigest {
        cell: cell.to_owned(),
        run: run.to_owned(),
        golden: golden.cloned(),
        now: now.cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Golden, compare, of_first, read, write};

    fn golden(text: &str) -> Golden {
        read(text).expect("reads")
    }

    /// Written digests are read back. Runs that differ or are missing are listed, and so are new cells.
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

    /// With fewer seeds the runs of the others are not looked for; unperturbed runs always are.
    #[test]
    fn fewer_seeds_can_be_compared() {
        let all = golden("[a]\n\"seed 1\" = \"x\"\n\"seed 2\" = \"y\"\nunperturbed = \"z\"\n");
        let first = golden("[a]\n\"seed 1\" = \"x\"\nunperturbed = \"z\"\n");
        assert_eq!(of_first(&all, 1), first);
        assert_eq!(of_first(&all, 2), all);
    }
}
