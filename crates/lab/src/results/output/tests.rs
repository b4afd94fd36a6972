//! Directories that runs share with earlier runs, with other runs, and with files that are not ours.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Contents, OutputDirectory, Published, UNFINISHED};

/// A directory of the test's own, which goes with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let unique = format!("fairwire-output-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(unique))
    }

    /// Every file in it by its path, lists and locks left out.
    fn files(&self) -> BTreeSet<String> {
        let mut files = BTreeSet::new();
        gather(&self.0, "", &mut files);
        files
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

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

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn claim(place: &Scratch, contents: Contents) -> Result<OutputDirectory, String> {
    let claimed = OutputDirectory::claim(&place.0, contents, None, "a test");
    claimed.map_err(|error| error.to_string())
}

/// Runs: every file of `files` holds `text`.
fn run(place: &Scratch, files: &[&str], text: &str, partial: bool) -> Published {
    let claimed = claim(place, Contents::of_files(files)).expect("claimed");
    for file in files {
        fs::write(claimed.place(None).join(file), text).expect("written");
    }
    claimed.publish(partial).expect("published")
}

/// Nothing of an earlier run stands beside a new one, and what is not ours stays.
#[test]
fn a_run_replaces_the_one_before() {
    let place = Scratch::new("again");
    run(&place, &["a.csv", "one.toml"], "first", false);
    place.write("mine.txt", "mine");
    let at = run(&place, &["a.csv", "two.toml"], "second", false);
    assert_eq!(at, Published::Here(place.0.clone()));
    assert_eq!(place.files(), names(&["a.csv", "mine.txt", "two.toml"]));
    assert_eq!(place.read("a.csv"), "second");
    assert_eq!(place.read("mine.txt"), "mine");
}

/// The old results stay while the new run is on, and when it is killed; the next run takes away what
/// the killed one left.
#[test]
fn a_killed_run_leaves_the_old_results() {
    let place = Scratch::new("killed");
    run(&place, &["a.csv"], "old", false);
    let claimed = claim(&place, Contents::of_files(&["a.csv", "b.csv"])).expect("claimed");
    fs::write(claimed.place(None).join("b.csv"), "cut o").expect("written");
    fs::write(claimed.place(None).join(".a.csv.new"), "cut o").expect("written");
    drop(claimed);
    assert_eq!(place.read("a.csv"), "old");
    assert_eq!(place.read("unfinished/b.csv"), "cut o");
    run(&place, &["a.csv"], "new", false);
    assert_eq!(place.files(), names(&["a.csv"]));
    assert!(!place.0.join(UNFINISHED).exists());
}

/// A run that did not come to its end never replaces one that did, only another such run.
#[test]
fn partial_results_do_not_replace_whole_ones() {
    let place = Scratch::new("partial");
    let here = Published::Here(place.0.clone());
    assert_eq!(run(&place, &["a.csv"], "part", true), here);
    assert_eq!(run(&place, &["a.csv"], "another part", true), here);
    assert_eq!(place.read("a.csv"), "another part");
    assert_eq!(run(&place, &["a.csv"], "whole", false), here);
    let beside = Published::Beside(place.0.join(UNFINISHED));
    assert_eq!(run(&place, &["a.csv"], "part", true), beside);
    assert_eq!(place.read("a.csv"), "whole");
    assert_eq!(place.read("unfinished/a.csv"), "part");
    assert_eq!(run(&place, &["a.csv"], "whole again", false), here);
    assert_eq!(place.files(), names(&["a.csv"]));
}

/// A file that no list of ours names is refused before anything is touched: not even a lock is left.
#[test]
fn foreign_files_are_refused() {
    let place = Scratch::new("foreign");
    place.write("a.csv", "mine");
    let contents = || Contents::of_files(&["a.csv", "b.csv"]);
    let error = claim(&place, contents()).expect_err("not ours");
    assert!(error.contains("a.csv was not written by"), "{error}");
    assert!(error.contains("choose another directory"), "{error}");
    let left = fs::read_dir(&place.0).expect("a directory").count();
    assert_eq!(left, 1, "the file alone");
    fs::remove_file(place.0.join("a.csv")).expect("removed");
    place.write("voip/b.csv", "mine");
    let error = claim(&place, Contents::default().and_folder("voip", contents()));
    assert!(error.expect_err("not ours").contains("b.csv was not"));
    assert_eq!(place.files(), names(&["voip/b.csv"]));
    // A directory where a file of ours was is not ours.
    run(&place, &["a.csv"], "ours", false);
    fs::remove_file(place.0.join("a.csv")).expect("removed");
    place.write("a.csv/mine", "mine");
    assert!(claim(&place, contents()).is_err());
}

/// A file that comes into being while the run is on is not written over at its end either; the results
/// are where they were written.
#[test]
fn a_file_that_came_meanwhile_stays() {
    let place = Scratch::new("meanwhile");
    let claimed = claim(&place, Contents::of_files(&["a.csv"])).expect("claimed");
    fs::write(claimed.place(None).join("a.csv"), "ours").expect("written");
    place.write("a.csv", "mine");
    let error = claimed.publish(false).expect_err("not ours").to_string();
    assert!(error.contains("the new results are in"), "{error}");
    assert_eq!(place.read("a.csv"), "mine");
    assert_eq!(place.read("unfinished/a.csv"), "ours");
}

/// While one run writes, another is refused with who it is, in the directory and in its folders; when
/// it is over, none is.
#[test]
fn one_run_at_a_time() {
    let place = Scratch::new("two");
    let with_folder = || Contents::default().and_folder("voip", Contents::of_files(&["a.csv"]));
    claim(&place, with_folder())
        .expect("claimed")
        .publish(false)
        .expect("published");
    let first = claim(&place, with_folder()).expect("claimed");
    let error = claim(&place, Contents::default()).expect_err("in use");
    let pid = std::process::id();
    assert!(error.contains(&format!("process {pid}: a test")), "{error}");
    assert!(error.contains("wait until it ends"), "{error}");
    let folder = Scratch(place.0.join("voip"));
    let error = claim(&folder, Contents::of_files(&["a.csv"])).expect_err("in use");
    assert!(error.contains("voip is being written by"), "{error}");
    drop(first);
    claim(&folder, Contents::of_files(&["a.csv"])).expect("claimed");
}

/// A folder that is in use, or that holds somebody's file, when the run ends: nothing is removed and nothing
/// moved, not in part either, and no later run removes the new results.
#[test]
fn results_that_cannot_move_stay_together() {
    let place = Scratch::new("stuck");
    let of_one = || Contents::of_files(&["a.csv"]);
    let with_folders = || {
        of_one()
            .and_folder("satellite", of_one())
            .and_folder("voip", of_one())
    };
    run(&place, &["a.csv"], "old", true);
    let voip = Scratch(place.0.join("voip"));
    let ends = |partial: bool, meanwhile: &dyn Fn() -> Option<OutputDirectory>| {
        let claimed = claim(&place, with_folders()).expect("claimed");
        for folder in [None, Some("satellite"), Some("voip")] {
            fs::write(claimed.place(folder).join("a.csv"), "new").expect("written");
        }
        let other = meanwhile();
        let error = claimed.publish(partial).expect_err("it cannot move");
        drop(other);
        error.to_string()
    };
    let all_stays = || {
        assert_eq!(place.read("a.csv"), "old");
        assert!(!place.0.join("satellite/a.csv").exists());
        for file in ["a.csv", "satellite/a.csv", "voip/a.csv"] {
            assert_eq!(place.read(&format!("unfinished/{file}")), "new");
        }
        let error = claim(&place, of_one()).expect_err("it would remove them");
        assert!(error.contains("could not be moved out of it"), "{error}");
        assert!(error.contains("unfinished") && error.contains("move it away"));
    };

    let error = ends(true, &|| Some(claim(&voip, of_one()).expect("claimed")));
    assert!(error.contains("voip is being written by"), "{error}");
    assert!(error.contains("nothing was moved"), "{error}");
    all_stays();
    fs::remove_dir_all(place.0.join(UNFINISHED)).expect("taken away");

    let error = ends(false, &|| {
        place.write("voip/a.csv", "mine");
        None
    });
    assert!(error.contains("a.csv was not written by"), "{error}");
    assert!(error.contains("nothing was moved"), "{error}");
    all_stays();
    assert_eq!(place.read("voip/a.csv"), "mine");
    fs::remove_dir_all(place.0.join(UNFINISHED)).expect("taken away");
    run(&place, &["a.csv"], "newer", false);
    assert_eq!(place.read("a.csv"), "newer");
}

/// A folder that another run finished meanwhile, on its own, is not replaced by a partial run.
#[test]
fn whole_results_that_came_meanwhile_stay() {
    let place = Scratch::new("whole");
    let of_one = || Contents::of_files(&["a.csv"]);
    let claimed = claim(&place, of_one().and_folder("voip", of_one())).expect("claimed");
    fs::write(claimed.place(Some("voip")).join("a.csv"), "part").expect("written");
    let voip = Scratch(place.0.join("voip"));
    run(&voip, &["a.csv"], "whole", false);
    let beside = Published::Beside(place.0.join(UNFINISHED));
    assert_eq!(claimed.publish(true).expect("published"), beside);
    assert_eq!(place.read("voip/a.csv"), "whole");
    assert_eq!(place.read("unfinished/voip/a.csv"), "part");
    run(&place, &["a.csv"], "new", false);
    assert!(!place.0.join(UNFINISHED).exists());
}

/// Results that somebody wrote into a directory called `unfinished` are results: neither those of a run
/// that came to its end nor those of one that is on go for another run beside them.
#[test]
fn a_directory_called_unfinished() {
    let place = Scratch::new("called");
    let inner = Scratch(place.0.join(UNFINISHED));
    let of_one = || Contents::of_files(&["a.csv"]);
    run(&inner, &["a.csv"], "whole", false);
    let error = claim(&place, of_one()).expect_err("it would remove them");
    assert!(error.contains("of a run that came to its end"), "{error}");
    assert_eq!(inner.read("a.csv"), "whole");
    fs::remove_dir_all(&inner.0).expect("taken away");

    let first = claim(&inner, of_one()).expect("claimed");
    let error = claim(&place, of_one()).expect_err("in use");
    assert!(error.contains("unfinished is being written by"), "{error}");
    assert!(first.place(None).is_dir());
    drop(first);
    let _outer = claim(&place, of_one()).expect("claimed");
    let error = claim(&inner, of_one()).expect_err("in use");
    assert!(error.contains("unfinished is being written by"), "{error}");
}

/// One paper into a directory that held all of them: their folders go, but for what is not ours.
#[test]
fn folders_of_an_earlier_run_go() {
    let place = Scratch::new("folders");
    let of_one = || Contents::of_files(&["a.csv"]);
    let both = of_one()
        .and_folder("voip", of_one())
        .and_folder("satellite", of_one());
    let claimed = claim(&place, both).expect("claimed");
    for folder in [None, Some("voip"), Some("satellite")] {
        fs::write(claimed.place(folder).join("a.csv"), "old").expect("written");
    }
    claimed.publish(false).expect("published");
    assert_eq!(place.read("voip/a.csv"), "old");
    place.write("satellite/notes.txt", "mine");
    run(&place, &["report.txt"], "new", false);
    assert_eq!(place.files(), names(&["report.txt", "satellite/notes.txt"]));
    assert!(!place.0.join("voip").exists());
}

/// A list that is not ours, or that leads out of the directory, is refused.
#[test]
fn lists_are_not_trusted() {
    let outside = Scratch::new("outside");
    outside.write("precious", "mine");
    for text in [
        "mine",
        r#"{"fairwire": "0", "complete": true, "files": ["../precious"], "folders": []}"#,
        r#"{"fairwire": "0", "complete": true, "files": [], "folders": [".."]}"#,
        r#"{"fairwire": "0", "complete": true, "files": [""], "folders": []}"#,
    ] {
        let place = Scratch(outside.0.join("in"));
        place.write("fairwire-out.json", text);
        let error = claim(&place, Contents::of_files(&["a.csv"])).expect_err(text);
        assert!(error.contains("fairwire-out.json is not a list"), "{error}");
        assert_eq!(outside.read("precious"), "mine");
    }
}

/// The scenario that runs is neither removed nor written over.
#[test]
fn the_scenario_stays() {
    let place = Scratch::new("scenario");
    run(&place, &["base.toml"], "resolved", false);
    let scenario = place.0.join("base.toml");
    let again = |files: &[&str]| {
        let contents = Contents::of_files(files);
        OutputDirectory::claim(&place.0, contents, Some(&scenario), "a test")
    };
    let error = again(&["base.toml"]).expect_err("over itself").to_string();
    assert!(error.contains("is the scenario that is to run"), "{error}");
    again(&["other.toml"])
        .expect("claimed")
        .publish(false)
        .expect("published");
    assert_eq!(place.files(), names(&["base.toml"]));
}

/// What cannot be made is an error with its name.
#[test]
fn a_full_disk_is_told() {
    let place = Scratch::new("full");
    fs::write(&place.0, "a file where a directory should be").expect("written");
    let error = claim(&place, Contents::of_files(&["a.csv"])).expect_err("no directory");
    assert!(
        error.contains("cannot write") && error.contains("fairwire-output-full"),
        "{error}"
    );
    fs::remove_file(&place.0).expect("removed");
}
