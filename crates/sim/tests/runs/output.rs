//! Directories that a run shares with earlier runs, with other processes, and with files that no run wrote.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fairwire_sim::results::{OutputDirectory, Placement, UNFINISHED};
use tempfile::TempDir;

fn scratch() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns the paths of all files, except lists and locks.
fn files(place: &Path) -> BTreeSet<String> {
    fn gather(directory: &Path, before: &str, files: &mut BTreeSet<String>) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_dir() {
                gather(&entry.path(), &format!("{before}{name}/"), files);
            } else if name != "fairwire-out.json" && name != ".fairwire.lock" {
                files.insert(format!("{before}{name}"));
            }
        }
    }
    let mut found = BTreeSet::new();
    gather(place, "", &mut found);
    found
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, text).expect("written");
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn open(place: &Path, files: &[&str]) -> Result<OutputDirectory, String> {
    let claimed = OutputDirectory::open(place, names(files), None, "a test");
    claimed.map_err(|error| error.to_string())
}

/// Returns the directory of a run that wrote `text` into each of `files` and has not published them.
fn written(place: &Path, files: &[&str], text: &str) -> OutputDirectory {
    let claimed = open(place, files).expect("claimed");
    for file in files {
        fs::write(claimed.place(None).join(file), text).expect("written");
    }
    claimed
}

fn run(place: &Path, files: &[&str], text: &str, partial: bool) -> Placement {
    let written = written(place, files, text);
    written.publish(partial).expect("published")
}

/// Returns the folders of runs that did not end.
fn unfinished(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).expect("a directory").flatten();
    let is_unfinished = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(UNFINISHED)
    };
    entries
        .map(|entry| entry.path())
        .filter(is_unfinished)
        .collect()
}

/// The files and folders of an earlier run are removed when a new one is published, and other files stay.
#[test]
fn a_run_replaces_the_one_before() {
    let place = scratch();
    let place = place.path();
    let first = ["a.csv", "one.toml", "satellite/a.csv", "voip/a.csv"];
    run(place, &first, "first", false);
    write(&place.join("mine.txt"), "mine");
    write(&place.join("satellite/notes.txt"), "mine");
    let at = run(place, &["a.csv", "two.toml"], "second", false);
    assert_eq!(at, Placement::Here(place.to_owned()));
    let left = ["a.csv", "mine.txt", "satellite/notes.txt", "two.toml"];
    assert_eq!(files(place), names(&left));
    assert_eq!(read(&place.join("a.csv")), "second");
    assert_eq!(read(&place.join("mine.txt")), "mine");
    assert!(!place.join("voip").exists());
}

/// The old results stay while a new run writes, and if it is killed. The next run removes what the killed one wrote.
#[test]
fn a_killed_run_leaves_the_old_results() {
    let place = scratch();
    let place = place.path();
    run(place, &["a.csv"], "old", false);
    let killed = open(place, &["a.csv", "b.csv"]).expect("claimed");
    fs::write(killed.place(None).join("b.csv"), "cut o").expect("written");
    drop(killed);
    assert_eq!(read(&place.join("a.csv")), "old");
    assert_eq!(read(&unfinished(place)[0].join("b.csv")), "cut o");
    // A folder of that name that no run made stays.
    write(&place.join("unfinished-business/b.csv"), "mine");
    run(place, &["a.csv"], "new", false);
    let left = ["a.csv", "unfinished-business/b.csv"];
    assert_eq!(files(place), names(&left));
}

/// Partial results replace only partial results.
#[test]
fn partial_results_do_not_replace_whole_ones() {
    let place = scratch();
    let place = place.path();
    let here = Placement::Here(place.to_owned());
    assert_eq!(run(place, &["a.csv"], "part", true), here);
    assert_eq!(run(place, &["a.csv"], "another part", true), here);
    assert_eq!(read(&place.join("a.csv")), "another part");
    assert_eq!(run(place, &["a.csv"], "whole", false), here);
    let beside = run(place, &["a.csv"], "part", true);
    assert_eq!(beside, Placement::Beside(unfinished(place)[0].clone()));
    assert_eq!(read(&place.join("a.csv")), "whole");
    assert_eq!(read(&beside.directory().join("a.csv")), "part");
    assert_eq!(run(place, &["a.csv"], "whole again", false), here);
    assert_eq!(files(place), names(&["a.csv"]));
}

/// A file that no run wrote is refused before anything changes; not even a lock is created.
#[test]
fn foreign_files_are_refused() {
    let place = scratch();
    let place = place.path();
    write(&place.join("a.csv"), "mine");
    let error = open(place, &["a.csv", "b.csv"]).expect_err("not ours");
    assert!(error.contains("a.csv was not written by"), "{error}");
    assert!(error.contains("choose another directory"), "{error}");
    let left = fs::read_dir(place).expect("a directory").count();
    assert_eq!(left, 1, "the file alone");
    fs::remove_file(place.join("a.csv")).expect("removed");
    write(&place.join("voip/b.csv"), "mine");
    let error = open(place, &["voip/b.csv"]).expect_err("not ours");
    assert!(error.contains("b.csv was not"), "{error}");
    write(&place.join("satellite"), "mine");
    let error = open(place, &["satellite/b.csv"]).expect_err("not ours");
    assert!(error.contains("satellite is not a directory"), "{error}");
    assert_eq!(files(place), names(&["satellite", "voip/b.csv"]));
    // A directory in the place of a file is refused as well.
    run(place, &["a.csv"], "ours", false);
    fs::remove_file(place.join("a.csv")).expect("removed");
    write(&place.join("a.csv/mine"), "mine");
    assert!(open(place, &["a.csv"]).is_err());
}

/// A file that is created while a run writes is not overwritten at its end.
///
/// Nothing is moved, and no later run removes the results.
#[test]
fn a_file_that_came_meanwhile_stays() {
    let place = scratch();
    let place = place.path();
    run(place, &["a.csv"], "old", true);
    let complete = written(place, &["a.csv", "b.csv"], "new");
    write(&place.join("b.csv"), "mine");
    let error = complete.publish(false).expect_err("not ours").to_string();
    assert!(error.contains("b.csv was not written by"), "{error}");
    assert!(
        error.contains("results that were not moved are in"),
        "{error}"
    );
    assert_eq!(read(&place.join("a.csv")), "old");
    assert_eq!(read(&place.join("b.csv")), "mine");
    run(place, &["a.csv"], "newer", false);
    assert_eq!(read(&unfinished(place)[0].join("a.csv")), "new");
}

/// While one run writes, another is refused with a description of the first; afterwards it is accepted.
#[test]
fn one_run_at_a_time() {
    let place = scratch();
    let place = place.path();
    let first = open(place, &["a.csv"]).expect("claimed");
    let error = open(place, &["b.csv"]).expect_err("in use");
    let pid = std::process::id();
    assert!(error.contains(&format!("process {pid}: a test")), "{error}");
    assert!(error.contains("wait until it ends"), "{error}");
    drop(first);
    open(place, &["b.csv"]).expect("claimed");
}

/// A list of another program is refused, and so is one with a path outside the directory.
#[test]
fn lists_are_not_trusted() {
    let outside = scratch();
    let precious = outside.path().join("precious");
    write(&precious, "mine");
    for text in [
        "mine",
        r#"{"fairwire": "0", "complete": true, "files": ["../precious"]}"#,
        r#"{"fairwire": "0", "complete": true, "files": ["voip/../../precious"]}"#,
        r#"{"fairwire": "0", "complete": true, "files": ["/precious"]}"#,
        r#"{"fairwire": "0", "complete": true, "files": [""]}"#,
    ] {
        let place = outside.path().join("in");
        write(&place.join("fairwire-out.json"), text);
        let error = open(&place, &["a.csv"]).expect_err(text);
        assert!(error.contains("fairwire-out.json is not a list"), "{error}");
        assert_eq!(read(&precious), "mine");
    }
}

/// A run that would remove or overwrite its scenario is refused.
#[test]
fn the_scenario_stays() {
    let place = scratch();
    let place = place.path();
    run(place, &["base.toml"], "resolved", false);
    let scenario = place.join("base.toml");
    for file in ["base.toml", "other.toml"] {
        let claimed = OutputDirectory::open(place, names(&[file]), Some(&scenario), "a test");
        let error = claimed.expect_err("over itself").to_string();
        assert!(error.contains("is the scenario that is to run"), "{error}");
    }
    assert_eq!(files(place), names(&["base.toml"]));
}

/// An error names what is in the place of the directory.
#[test]
fn a_file_in_the_place_of_the_directory_is_told() {
    let place = scratch();
    let place = place.path().join("taken");
    fs::write(&place, "a file where a directory should be").expect("written");
    let error = open(&place, &["a.csv"]).expect_err("not a directory");
    let place = place.display();
    assert_eq!(error, format!("cannot make {place}: {place} is a file"));
}

/// A directory that somebody else made can have links in it and a list that names files behind them. Neither is followed.
#[test]
fn links_in_somebody_elses_directory_are_not_followed() {
    let place = scratch();
    let (results, outside) = (place.path().join("results"), place.path().join("outside"));
    write(&outside.join("f"), "kept");
    let list = r#"{"fairwire":"0.1.0","complete":true,"files":["cell/f"]}"#;
    write(&results.join("fairwire-out.json"), list);
    std::os::unix::fs::symlink(&outside, results.join("cell")).expect("a link");
    let refused = open(&results, &["other"]).expect_err("a link");
    assert!(refused.contains("cell is not a directory"), "{refused}");

    let results = place.path().join("locked");
    fs::create_dir(&results).expect("a directory");
    std::os::unix::fs::symlink(outside.join("f"), results.join(".fairwire.lock")).expect("a link");
    let refused = open(&results, &["other"]).expect_err("a link");
    assert!(refused.contains(".fairwire.lock is a link"), "{refused}");
    assert_eq!(read(&outside.join("f")), "kept");
}
