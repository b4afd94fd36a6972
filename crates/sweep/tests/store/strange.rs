//! Stores that somebody else made, and processes on other machines.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairwire_sweep::{Origin, Prune, Store, StoreError};
use serde_json::{Value, json};

use crate::{open, segments, sweep};

/// Returns a store with one part, which says that it replaces what has these names.
fn replacing(folder: &Path, names: &[String]) -> Result<Store, StoreError> {
    let mut store = open(folder);
    sweep("5 packets", &mut store);
    store.compact().expect("it is compacted");
    let part = folder.join("parts/000001");
    let replaces = json!(names).to_string();
    fs::write(part.join("replaces.json"), &replaces).expect("it is written");
    let checks = fs::read(part.join("checks.json")).expect("checks");
    let mut checks: Value = serde_json::from_slice(&checks).expect("JSON");
    checks["replaces.json"] = json!([{
        "end": replaces.len(),
        "crc32c": crc32c::crc32c(replaces.as_bytes()),
    }]);
    fs::write(part.join("checks.json"), checks.to_string()).expect("it is written");
    Store::open(folder, Origin::here("here", "2026-01-01"))
}

/// Returns every file below a folder with its content, and every folder.
fn all(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(self::all(&path));
            all.insert(path, None);
        } else {
            let content = fs::read(&path).expect("its bytes");
            all.insert(path, Some(content));
        }
    }
    all
}

/// A part replaces segments and parts of its own store, whatever names somebody has written into it: nothing else is
/// removed or moved.
#[test]
fn a_part_removes_nothing_but_segments_and_parts() {
    let outside = tempfile::tempdir().expect("a folder");
    let file = outside.path().join("thesis.txt");
    fs::write(&file, "mine").expect("it is written");
    let above = format!(
        "../../{}/thesis.txt",
        outside
            .path()
            .file_name()
            .expect("a name")
            .to_string_lossy()
    );
    for name in [
        file.display().to_string(),
        above,
        "../store.json".to_owned(),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        match replacing(folder.path(), std::slice::from_ref(&name)) {
            Err(StoreError::Damaged { .. }) => {}
            Err(error) => panic!("{name}: {error}"),
            Ok(mut store) => {
                let _ = store.compact();
            }
        }
        assert!(file.exists(), "{name}");
        assert!(folder.path().join("store.json").exists(), "{name}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = replacing(folder.path(), &["notes.txt".to_owned()]).expect("a store");
    let notes = folder.path().join("segments/notes.txt");
    fs::write(&notes, "mine").expect("it is written");
    store.prune(&Prune::Stale).expect("it is pruned");
    assert!(notes.exists());
}

/// A store whose folders are links to other folders is refused: what is in those is not the store's.
#[test]
fn the_folders_of_a_store_are_its_own() {
    let outside = tempfile::tempdir().expect("a folder");
    let file = outside.path().join("thesis.runs");
    fs::write(&file, "mine").expect("it is written");
    let folder = tempfile::tempdir().expect("a folder");
    drop(replacing(folder.path(), &["thesis.runs".to_owned()]));
    let _ = fs::remove_dir_all(folder.path().join("segments"));
    symlink(outside.path(), folder.path().join("segments")).expect("a link");
    let origin = || Origin::here("here", "2026-01-01");
    for opened in [
        Store::open(folder.path(), origin()),
        Store::repair(folder.path(), origin()).map(|(store, _)| store),
    ] {
        let text = match opened {
            Err(error) => error.to_string(),
            Ok(mut store) => format!("{:?}", store.compact()),
        };
        assert!(text.contains("segments: it is a symbolic link"), "{text}");
    }
    assert!(file.exists());
}

/// A named pipe in the place of any file of a store, as somebody else may have made it, is damage that is named. Nobody
/// waits for what comes out of it. A repair sets it aside.
#[test]
fn a_named_pipe_keeps_nobody_waiting() {
    let origin = || Origin::here("here", "2026-01-01");
    let names = [
        "segments/strange.runs",
        "store.json",
        "sweeps/strange.json",
        "parts/000001/checks.json",
        "parts/000001/values.parquet",
        "parts/000001/replaces.json",
    ];
    for name in names {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = open(folder.path());
        sweep("5 packets", &mut store);
        store.compact().expect("it is compacted");
        drop(store);
        let path = folder.path().join(name);
        let _ = fs::remove_file(&path);
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo").success());
        // Whoever reads it gets this, and then waits for more.
        let mut pipe = OpenOptions::new().read(true).write(true).open(&path);
        let pipe = pipe.as_mut().expect("it opens");
        pipe.write_all(&[0; 64]).expect("there is room");
        let looked = Store::open_existing(folder.path(), origin()).and_then(|mut store| {
            store.verify()?;
            store.sweeps().map(|_| ())
        });
        let text = looked.expect_err("it is damaged").to_string();
        let expected = format!("{} is damaged: it is not a regular file.", path.display());
        assert!(text.starts_with(&expected), "{text}");
        let (mut store, aside) = Store::repair(folder.path(), origin()).expect("it is repaired");
        assert_eq!(aside.len(), 1, "{name}: {aside:?}");
        store.verify().expect("it is whole");
        assert!(store.sweeps().is_ok());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    let path = folder.path().join(".upkeep.lock");
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo").success());
    let text = store.compact().expect_err("it cannot lock").to_string();
    assert!(
        text.ends_with("it is not a regular file: remove it"),
        "{text}"
    );
}

/// Looking at a store, or asking for what it has, writes and removes nothing.
#[test]
fn reading_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets", &mut store);
    store.compact().expect("it is compacted");
    sweep("6 packets", &mut store);
    drop(store);
    fs::remove_dir_all(folder.path().join("sweeps")).expect("it is removed");
    let before = all(folder.path());
    let origin = Origin::here("here", "2026-01-01");
    let mut store = Store::open_existing(folder.path(), origin).expect("a store");
    assert_eq!((store.len(), store.stale(), store.damaged()), (8, 0, 0));
    assert!(store.sweeps().expect("sweeps").is_empty());
    store.verify().expect("it is whole");
    assert_eq!(all(folder.path()), before);
    let export = tempfile::tempdir().expect("a folder");
    assert!(store.export_segments(export.path()).expect("it is written"));
    assert_eq!(all(folder.path()), before);
    assert!(export.path().join("values.parquet").exists());
    // What is in parts is not exported again.
    store.compact().expect("it is compacted");
    let export = tempfile::tempdir().expect("a folder");
    assert!(!store.export_segments(export.path()).expect("it is written"));
}

/// Where machines do not see each other's locks, a compaction leaves a segment of another machine alone until its writer
/// has ended it, or until a repair.
#[test]
fn a_segment_of_another_machine_may_be_at_work() {
    let folder = tempfile::tempdir().expect("a folder");
    sweep("5 packets", &mut open(folder.path()));
    let ended = fs::read(segments(folder.path()).pop().expect("a segment")).expect("its bytes");
    // Without the last frame, which says that the writer has ended it.
    let last = ended
        .windows(4)
        .rposition(|it| it == b"\xf1fr\n")
        .expect("a frame");
    for path in segments(folder.path()) {
        fs::remove_file(path).expect("it is removed");
    }
    let other = folder
        .path()
        .join("segments/other-00000000000000000000000000000000-1.runs");
    fs::write(&other, &ended[..last]).expect("it is written");
    let mut store = open(folder.path());
    assert_eq!(store.len(), 4, "its runs count");
    assert_eq!(store.compact().expect("nothing to do").written, 0);
    store.prune(&Prune::Stale).expect("it is pruned");
    assert!(other.exists());

    let mut writer = OpenOptions::new()
        .append(true)
        .open(&other)
        .expect("a file");
    writer.write_all(&ended[last..]).expect("it is ended");
    assert_eq!(store.compact().expect("it is compacted").written, 4);
    assert!(!other.exists());

    fs::write(&other, &ended[..last]).expect("it is written");
    let origin = Origin::here("here", "2026-01-01");
    Store::repair(folder.path(), origin).expect("it is repaired");
    assert!(!other.exists());
    assert_eq!(open(folder.path()).len(), 4);
}

/// A part that another machine has begun is not touched.
#[test]
fn a_part_in_the_making_of_another_machine_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets", &mut store);
    let other = folder
        .path()
        .join(".unfinished-00000000000000000000000000000000-1");
    fs::create_dir(&other).expect("a folder");
    fs::write(other.join("runs.parquet"), "half").expect("it is written");
    assert_eq!(store.compact().expect("it is compacted").written, 4);
    assert!(other.join("runs.parquet").exists());
}
