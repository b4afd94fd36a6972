//! Stores that somebody else made.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use fairwire_sim::campaign::RunStore as _;
use fairwire_sweep::{Origin, Store, StoreError, task_bytes, work};

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
                text.contains(&format!("{name} is a symbolic link")),
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

/// A named pipe or a directory in the place of any file of a store is no file of a store, and a repair leaves it where it
/// is. Nobody waits for what comes out of a pipe.
#[test]
fn what_is_no_file_is_told_and_stays() {
    for (command, what) in [("mkfifo", "a pipe or a device"), ("mkdir", "a directory")] {
        for name in FILES {
            let folder = tempfile::tempdir().expect("a folder");
            sweep("5 packets", &mut open(folder.path()));
            let path = folder.path().join(name);
            let _ = fs::remove_file(&path);
            let made = Command::new(command).arg(&path).status();
            assert!(made.expect("a command").success());
            for opened in [
                Store::open(folder.path(), origin()).map(|_| ()),
                Store::open_existing(folder.path(), origin()).map(|_| ()),
                Store::repair(folder.path(), origin()).map(|_| ()),
            ] {
                let text = opened.expect_err("it is refused").to_string();
                let expected = format!("{} is {what}, and the files of a store", path.display());
                assert!(text.starts_with(&expected), "{text}");
            }
            assert!(path.exists(), "{name}");
        }
    }
}

/// What has the name of the folder, or of one above it, and is none is named; so is a folder that cannot be looked into.
/// A store can be named by its file.
#[test]
fn the_name_of_a_store_may_be_wrong() {
    let place = tempfile::tempdir().expect("a folder");
    let (file, dangling, circle) = (
        place.path().join("file"),
        place.path().join("dangling"),
        place.path().join("circle"),
    );
    fs::write(&file, "mine").expect("it is written");
    symlink(place.path().join("nowhere"), &dangling).expect("a link");
    symlink(&circle, &circle).expect("a link");
    let text = |folder: &Path| {
        let opened = [
            Store::open(folder, origin()).map(|_| ()),
            Store::open_existing(folder, origin()).map(|_| ()),
            Store::repair(folder, origin()).map(|_| ()),
        ];
        let texts = opened.map(|it| it.expect_err("it is refused").to_string());
        assert_eq!(texts[1], texts[2]);
        texts
    };
    for (folder, named, what) in [
        (file.clone(), &file, "is a file"),
        (file.join("store"), &file, "is a file"),
        (
            dangling.clone(),
            &dangling,
            "is a link to something that is not there",
        ),
        (
            dangling.join("store"),
            &dangling,
            "is a link to something that is not there",
        ),
    ] {
        let expected = format!("{} {what}, and a store is a folder: ", named.display());
        for text in text(&folder) {
            assert!(text.starts_with(&expected), "{text}");
        }
    }
    let expected = "Too many levels of symbolic links";
    for text in text(&circle) {
        assert!(text.contains(expected), "{text}");
    }
    let folder = place.path().join("store");
    sweep("5 packets", &mut open(&folder));
    for mut store in [
        Store::open_existing(&folder.join("store.db"), origin()).expect("a store"),
        Store::open(&folder.join("store.db"), origin()).expect("a store"),
    ] {
        assert_eq!(store.len().expect("a count"), 4);
        assert_eq!(store.folder(), folder);
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
    let (_, done) = Store::repair(folder.path(), origin()).expect("it is repaired");
    assert!(file.exists() && !done.aside.is_empty());
    assert_eq!((done.runs.kept, done.runs.lost), (4, 0));
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
    let (origin, stop) = (store.origin(), AtomicBool::new(false));
    let done = work(&task_bytes(&task), &origin, &stop).expect("a run");
    plan.keep(task.number, done, &mut store)
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

/// An empty file may be one that another process is about to fill, or all that a full disk had room for.
#[test]
fn an_empty_file_becomes_a_store() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("store.db"), "").expect("a file");
    for opened in [
        Store::open_existing(folder.path(), origin()).map(|_| ()),
        Store::repair(folder.path(), origin()).map(|_| ()),
    ] {
        let error = opened.expect_err("no store");
        assert!(matches!(error, StoreError::Empty(_)), "{error}");
        let text = "store.db is empty: nothing was ever stored in it";
        assert!(error.to_string().contains(text), "{error}");
    }
    assert_eq!(sweep("5 packets", &mut open(folder.path())), (0, 4));
}
