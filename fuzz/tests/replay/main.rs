//! Replays every input of the committed corpora, and every input that once failed.
//!
//! The targets check their bounds themselves, in counted steps and bytes, so the results are the same on every machine.

mod seeds;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use fairwire_fuzz::{TARGETS, Target};

/// Each target has a corpus, and no input of it breaks a promise.
#[test]
fn corpora_are_replayed() {
    let failed = each_target(|target| {
        let inputs = inputs("corpus", target);
        assert!(!inputs.is_empty(), "{} has no corpus", target.name);
        replay(target, &inputs)
    });
    assert!(
        failed.is_empty(),
        "these inputs fail:\n{}",
        failed.join("\n")
    );
}

/// Inputs that once failed do not fail again.
#[test]
fn regressions_stay_mended() {
    let failed = each_target(|target| replay(target, &inputs("regressions", target)));
    assert!(
        failed.is_empty(),
        "these inputs fail:\n{}",
        failed.join("\n")
    );
}

/// Every folder belongs to a target, because others would never be replayed, and the committed corpora stay small.
#[test]
fn corpora_belong_to_targets_and_are_small() {
    for kind in ["corpus", "regressions"] {
        for folder in list(&root().join(kind)) {
            let name = folder.file_name().expect("a folder").to_string_lossy();
            let known = TARGETS.iter().any(|target| target.name == name);
            assert!(known, "{} belongs to no target", folder.display());
        }
    }
    let sizes = TARGETS.iter().flat_map(|target| inputs("corpus", target));
    let total: usize = sizes.map(|(_, data)| data.len()).sum();
    assert!(total < 2 << 20, "{total} bytes: scripts/fuzz --minimize");
}

/// Runs `work` for each target on a thread of its own, and returns all failures.
fn each_target(work: impl Fn(&Target) -> Vec<String> + Sync) -> Vec<String> {
    let work = &work;
    std::thread::scope(|scope| {
        let running: Vec<_> = TARGETS
            .iter()
            .map(|target| scope.spawn(move || work(target)))
            .collect();
        let mut failed = Vec::new();
        for thread in running {
            failed.extend(thread.join().expect("a target with a corpus"));
        }
        failed
    })
}

/// Runs the inputs, and returns those that failed, with the reasons.
fn replay(target: &Target, inputs: &[(PathBuf, Vec<u8>)]) -> Vec<String> {
    let mut failed = Vec::new();
    for (path, data) in inputs {
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(data)));
        if let Err(panic) = outcome {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            failed.push(format!("{}: {}", path.display(), text.unwrap_or("?")));
        }
    }
    failed
}

/// Returns the files of `kind` for this target, by name.
fn inputs(kind: &str, target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let files = list(&root().join(kind).join(target.name));
    let read = |path: PathBuf| {
        let data = fs::read(&path).expect("a readable input");
        (path, data)
    };
    files.into_iter().map(read).collect()
}

/// Returns what is in a folder, by name; nothing if there is no such folder.
fn list(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.extension().is_none_or(|end| end != "md"))
        .collect();
    paths.sort();
    paths
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
