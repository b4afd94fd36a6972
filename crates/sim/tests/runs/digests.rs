//! The golden digests of every file of `scenarios/` hold in every build.

use std::path::{Path, PathBuf};

use fairwire_sim::digests;

/// Returns the scenario files of `scenarios/`, in order. Papers have their own digests.
fn scenario_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = std::fs::read_dir(folder).expect("readable");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .filter(|path| path.file_name().is_some_and(|name| name != digests::FILE))
        .collect();
    files.sort();
    files
}

/// All runs have their golden digests.
///
/// If a change is intended, `fairwire run FILE --update-digests` writes the new ones.
#[test]
fn golden_digests_hold() {
    let files = scenario_files();
    assert!(files.len() >= 2, "{files:?}");
    let mut wrong = Vec::new();
    for file in files {
        let moved = digests::check(&file).unwrap_or_else(|error| panic!("{error}"));
        wrong.extend(
            moved
                .into_iter()
                .map(|cell| format!("{}: {cell:?}", file.display())),
        );
    }
    assert!(wrong.is_empty(), "digests moved:\n{}", wrong.join("\n"));
}
