//! Stores that somebody else made.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fairwire_sweep::{Origin, Store, StoreError, work};

use crate::{change, open, plan, sweep};

/// The files that a store may have.
const FILES: [&str; 4] = [
    "store.db",
    "store.db-wal",
    "store.db-shm",
    "store.db-journal",
];

fn origin() -> Origin {
    Origin::here("here", "2026-01-01")
}

/// Returns every file in a folder with its content.
fn all(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(folder).expect("a folder");
    let files = files.map(|entry| entry.expect("an entry").path());
    files
        .map(|path| (path.clone(), fs::read(path).expect("its bytes")))
        .collect()
}

/// A link in the place of any file of a store is refused: what it leads to is not the store's.
#[test]
fn the_files_of_a_store_are_its_own() {
    let outside = tempfile::tempdir().expect("a folder");
    let file = outside.path().join("thesis.txt");
    fs::write(&file, "mine").expect("it is written");
    for name in FILES {
        let folder = tempfile::tempdir().expect("a folder");
        sweep("5 packets", &mut open(folder.path()));
        let path = folder.path().join(name);
        let _ = fs::remove_file(&path);
        symlink(&file, &path).expect("a link");
        for opened in [
            Store::open(folder.path(), origin()).map(|_| ()),
            Store::open_existing(folder.path(), origin()).map(|_| ()),
            Store::repair(folder.path(), origin()).map(|_| ()),
        ] {
            let text = opened.expect_err("it is refused").to_string();
            assert!(
                text.contains(&format!("{name}: it is a symbolic link")),
                "{text}"
            );
        }
        assert_eq!(fs::read(&file).expect("its bytes"), b"mine");
    }
}

/// The folder itself may be reached by a link.
#[test]
fn a_folder_may_be_a_link() {
    let outside = tempfile::tempdir().expect("a folder");
    let folder = outside.path().join("link");
    fs::create_dir(outside.path().join("real")).expect("a folder");
    symlink(outside.path().join("real"), &folder).expect("a link");
    assert_eq!(sweep("5 packets", &mut open(&folder)), (0, 4));
    assert_eq!(
        sweep("5 packets", &mut open(&outside.path().join("real"))),
        (4, 0)
    );
}

/// A named pipe in the place of any file of a store is damage that is named. Nobody waits for what comes out of it. A
/// repair sets it aside.
#[test]
fn a_named_pipe_keeps_nobody_waiting() {
    for name in FILES {
        let folder = tempfile::tempdir().expect("a folder");
        sweep("5 packets", &mut open(folder.path()));
        let path = folder.path().join(name);
        let _ = fs::remove_file(&path);
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo").success());
        let error = Store::open_existing(folder.path(), origin()).expect_err("it is damaged");
        let expected = format!("{} is damaged: it is not a regular file.", path.display());
        assert!(error.to_string().starts_with(&expected), "{error}");
        let (mut store, aside) = Store::repair(folder.path(), origin()).expect("it is repaired");
        assert!(!aside.is_empty(), "{name}");
        store.verify().expect("it is whole");
    }
}

/// Code that somebody has put into the database never runs: a store with a trigger, a view or a table of its own is
/// refused.
#[test]
fn a_store_has_no_code() {
    let added = "has mine in it, which Fairwire did not make";
    for (code, text) in [
        (
            "create trigger mine after insert on run begin delete from value; end",
            added,
        ),
        ("create view mine as select 1", added),
        (
            "drop view runs; create view runs as select 'x' as scenario",
            "its tables are not those of a store",
        ),
        ("create table mine (id integer)", added),
        ("create index mine on run (seed)", added),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        sweep("5 packets", &mut open(folder.path()));
        change(folder.path(), code);
        for opened in [
            Store::open(folder.path(), origin()),
            Store::open_existing(folder.path(), origin()),
        ] {
            let error = opened.expect_err(code);
            assert!(error.to_string().contains(text), "{code}: {error}");
        }
    }
}

/// What somebody has added is no damage, so a repair is refused as well, and the
/// store is whole once it is gone.
#[test]
fn what_was_added_can_be_taken_away() {
    let folder = tempfile::tempdir().expect("a folder");
    sweep("5 packets", &mut open(folder.path()));
    change(folder.path(), "create index mine on run (seed)");
    let error = Store::repair(folder.path(), origin()).expect_err("it is not damaged");
    let text = error.to_string();
    assert!(text.contains("has mine in it"), "{text}");
    change(folder.path(), "drop index mine");
    let mut store = Store::open_existing(folder.path(), origin()).expect("it is whole");
    store.verify().expect("nothing is damaged");
}

/// A rollback journal may name a file of a transaction over several databases, which SQLite removes at the end. Ours
/// never do, so one that does is refused, and the file stays.
#[test]
fn a_journal_removes_no_other_file() {
    let outside = tempfile::tempdir().expect("a folder");
    let file = outside.path().join("thesis.txt");
    fs::write(&file, "mine").expect("it is written");
    let folder = tempfile::tempdir().expect("a folder");
    sweep("5 packets", &mut open(folder.path()));
    let name = file.display().to_string().into_bytes();
    let mut journal = vec![0; 512];
    journal[..8].copy_from_slice(&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    // No pages; one page before; a sector of 512 bytes and pages of 4,096.
    journal[19] = 1;
    journal[22] = 2;
    journal[26] = 16;
    journal.extend([0, 0, 0, 1]);
    journal.extend(&name);
    journal.extend(u32::try_from(name.len()).expect("short").to_be_bytes());
    journal.extend(
        name.iter()
            .fold(0u32, |sum, byte| sum + u32::from(*byte))
            .to_be_bytes(),
    );
    journal.extend([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    fs::write(folder.path().join("store.db-journal"), journal).expect("it is written");
    for opened in [
        Store::open_existing(folder.path(), origin()),
        Store::open(folder.path(), origin()),
    ] {
        let error = opened.expect_err("it is refused");
        assert!(
            error.to_string().contains("it names other files"),
            "{error}"
        );
    }
    assert!(file.exists());
    let (_, aside) = Store::repair(folder.path(), origin()).expect("it is repaired");
    assert!(file.exists() && !aside.is_empty());
}

/// Looking at a store, or asking for what it has, writes and removes nothing, also where a process was killed: only the
/// index of its log is made again.
#[test]
fn reading_writes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    sweep("5 packets", &mut open(folder.path()));
    let before = all(folder.path());
    assert_eq!(before.len(), 1, "a sweep that has ended leaves one file");
    look(folder.path(), 4);
    assert_eq!(all(folder.path()), before);

    let mut store = open(folder.path());
    let mut plan = plan("6 packets", &mut store);
    let task = plan
        .take(1, &mut store)
        .expect("the store")
        .expect("a task");
    let (origin, stop) = (Arc::clone(store.origin()), AtomicBool::new(false));
    let done = work(&plan.bytes(&task), &origin, &stop).expect("a run");
    plan.keep(task.number(), &done, &mut store)
        .expect("it is kept");
    let killed = tempfile::tempdir().expect("a folder");
    for name in ["store.db", "store.db-wal"] {
        fs::copy(folder.path().join(name), killed.path().join(name)).expect("a copy");
    }
    let before = all(killed.path());
    look(killed.path(), 5);
    let mut after = all(killed.path());
    after.remove(&killed.path().join("store.db-shm"));
    assert_eq!(after, before);
}

fn look(folder: &Path, runs: u64) {
    let mut store = Store::open_existing(folder, origin()).expect("a store");
    assert_eq!(store.len().expect("a count"), runs);
    assert_eq!(
        (
            store.stale().expect("a count"),
            store.damaged().expect("a count")
        ),
        (0, 0)
    );
    assert!(!store.sweeps().expect("sweeps").is_empty());
    store.verify().expect("it is whole");
    store.query("select * from runs").expect("an answer");
}

/// An empty file may be one that another process is about to fill.
#[test]
fn an_empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.path().join("store.db"))
        .expect("a file");
    file.write_all(b"").expect("nothing");
    let error = Store::open_existing(folder.path(), origin()).expect_err("no store");
    assert!(
        matches!(error, StoreError::NotAStore(_) | StoreError::NoStore(_)),
        "{error}"
    );
    assert_eq!(sweep("5 packets", &mut open(folder.path())), (0, 4));
}
