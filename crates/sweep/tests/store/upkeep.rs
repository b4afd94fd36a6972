//! What a store survives: processes that are killed, other processes at work, damage, and other versions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use fairwire_sweep::{Origin, Plan, Prune, Seeds, Store, StoreError, Table};

use crate::{cells, old_store, open, runs, segments, sweep, sweep_all};

/// Returns the folders of the parts, in order.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("parts")).expect("parts");
    let mut parts: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    parts.sort();
    parts
}

/// Copies the files of a folder into another one, at most so many.
fn copy_files(from: &Path, to: &Path, most: usize) {
    for file in fs::read_dir(from).expect("files").take(most) {
        let file = file.expect("an entry");
        fs::copy(file.path(), to.join(file.file_name())).expect("a copy");
    }
}

/// A process that was killed while it removed what a new part replaces leaves parts without files, or under another
/// name. They count as not there, and the next upkeep removes them.
#[test]
fn a_removal_that_was_cut_short_does_no_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    for queues in ["5 packets", "5 packets,6 packets"] {
        sweep(queues, &mut store);
        store.compact().expect("it is compacted");
    }
    let old = parts(folder.path());
    assert_eq!(old.len(), 2);
    let keep = tempfile::tempdir().expect("a folder");
    for (place, part) in old.iter().enumerate() {
        let copy = keep.path().join(place.to_string());
        fs::create_dir(&copy).expect("a folder");
        copy_files(part, &copy, usize::MAX);
    }
    // A sweep is removed from the list, so that its runs are pruned.
    let lists = folder.path().join("sweeps");
    for list in fs::read_dir(&lists).expect("lists") {
        fs::remove_file(list.expect("an entry").path()).expect("it is removed");
    }
    assert_eq!(sweep("6 packets", &mut store), (4, 0));
    let pruned = store.prune(&Prune::Unlisted).expect("it is pruned");
    assert_eq!((pruned.written, pruned.removed), (4, 4));
    for files in [5, 1, 0] {
        // As if the process had ended before: some files of the old parts are still there.
        for (place, part) in old.iter().enumerate() {
            fs::create_dir(part).expect("a folder");
            copy_files(&keep.path().join(place.to_string()), part, files);
        }
        let gone = folder.path().join(".removed-000001");
        fs::create_dir(&gone).expect("a folder");
        let mut store = open(folder.path());
        assert_eq!(store.len(), 4, "pruned runs do not come back");
        assert_eq!(runs("5 packets", &mut store).concat().len(), 0);
        store.compact().expect("it is compacted");
        assert_eq!(parts(folder.path()).len(), 1);
        assert!(!gone.exists());
        // The list of the sweep that this test looked at does not keep runs.
        assert_eq!(open(folder.path()).len(), 4);
    }
}

/// A store can be opened and read at any moment of the compactions and prunings of another process.
#[test]
fn a_store_is_whole_while_another_process_changes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    sweep("5 packets", &mut open(folder.path()));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut store = open(folder.path());
            for _ in 0..60 {
                // Every run moves to a new part.
                store.prune(&Prune::Stale).expect("it is pruned");
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let mut opened = 0;
        let mut long_open = open(folder.path());
        while !is_over.load(Ordering::Relaxed) {
            let mut store = open(folder.path());
            assert_eq!(store.len(), 4, "opened {opened} times before");
            assert_eq!(runs("5 packets", &mut store).concat().len(), 4);
            assert_eq!(runs("5 packets", &mut long_open).concat().len(), 4);
            opened += 1;
        }
        assert!(opened > 5, "opened {opened} times");
    });
}

/// Damage costs the frame that it hits, whatever of it is hit, and a compaction sets the segment aside.
#[test]
fn damage_costs_one_frame() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets", &mut store);
    sweep("6 packets,7 packets", &mut store);
    drop(store);
    let path = segments(folder.path()).pop().expect("a segment");
    let whole = fs::read(&path).expect("its bytes");
    let all = open(folder.path()).len();
    let marks: Vec<usize> = (0..whole.len())
        .filter(|at| whole[*at..].starts_with(b"\xf1fr\n"))
        .collect();
    assert!(marks.len() > 2, "{marks:?}");
    for mark in &marks {
        // The mark, the kind, the length, the sum and the content.
        let places = [mark + 1, mark + 4, mark + 5, mark + 8, mark + 9, mark + 20];
        // The last frame has no content.
        for at in places.into_iter().filter(|at| *at < whole.len()) {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            fs::write(&path, &flipped).expect("it is written");
            let store = open(folder.path());
            assert!(all - store.len() <= 4, "{at}: {} of {all}", store.len());
        }
    }
    // The number of the format.
    let mut flipped = whole.clone();
    flipped[9] ^= 1;
    fs::write(&path, &flipped).expect("it is written");
    let store = open(folder.path());
    assert_eq!((store.len(), store.damaged()), (all, 1));
    let mut flipped = whole.clone();
    flipped[marks[1] + 6] ^= 1;
    fs::write(&path, &flipped).expect("it is written");
    let mut store = open(folder.path());
    let left = store.len();
    assert_eq!(store.damaged(), 1);
    store.compact().expect("it is compacted");
    assert_eq!(
        (store.len(), store.damaged()),
        (left, 1),
        "it is still told"
    );
    assert!(path.with_extension("damaged").exists());
    assert_eq!(segments(folder.path()).len(), 1);
    // A power failure may leave a file without content.
    fs::write(folder.path().join("segments/x.runs"), [0; 64]).expect("a file");
    assert_eq!(open(folder.path()).damaged(), 2);
}

/// A store whose first file is lost is the same store. One that lacks a file of a part says so, and can be repaired.
#[test]
fn what_is_lost_is_said_or_made_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets", &mut store);
    store.compact().expect("it is compacted");
    let origin = || store.origin().as_ref().clone();
    let manifest = folder.path().join("store.json");
    fs::remove_file(&manifest).expect("it is removed");
    assert_eq!(open(folder.path()).len(), 4);
    fs::write(&manifest, "{").expect("it is written");
    let error = Store::open(folder.path(), origin()).expect_err("its format is not known");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    let (repaired, aside) = Store::repair(folder.path(), origin()).expect("it is repaired");
    assert_eq!(aside, [folder.path().join("store.json.damaged")]);
    assert_eq!(repaired.len(), 4);

    let part = parts(folder.path()).remove(0);
    fs::remove_file(part.join("values.parquet")).expect("it is removed");
    let error = Store::open(folder.path(), origin()).expect_err("a part lacks a file");
    let text = "is damaged: a file of it is missing. Repair the store";
    assert!(error.to_string().contains(text), "{error}");
    let (mut repaired, aside) = Store::repair(folder.path(), origin()).expect("it is repaired");
    assert_eq!(aside, [part.with_extension("damaged")]);
    assert_eq!((repaired.len(), repaired.damaged()), (0, 1));
    assert_eq!(sweep("5 packets", &mut repaired), (0, 4));
}

/// A part of which any byte has changed gives no wrong results: it is an error, and a repair keeps the scenarios that
/// the damage does not touch.
#[test]
fn damage_of_a_part_is_an_error_until_it_is_repaired() {
    let queues = "5 packets,6 packets";
    for file in ["runs", "values", "series", "scenarios", "settings"] {
        for place in [1, 2, 3] {
            let folder = tempfile::tempdir().expect("a folder");
            let mut store = open(folder.path());
            sweep("5 packets", &mut store);
            store.compact().expect("it is compacted");
            sweep(queues, &mut store);
            store.compact().expect("it is compacted");
            let origin = || Origin::here("here", "2026-01-01");
            let expected = runs(queues, &mut store).concat();
            let (_, aside) = Store::repair(folder.path(), origin()).expect("it is whole");
            assert!(aside.is_empty(), "{aside:?}");

            let part = parts(folder.path()).remove(0);
            let path = part.join(format!("{file}.parquet"));
            let mut bytes = fs::read(&path).expect("its bytes");
            let at = bytes.len() * place / 4;
            bytes[at] ^= 4;
            fs::write(&path, bytes).expect("it is written");
            let read = Store::open(folder.path(), origin()).and_then(|mut store| {
                let all = Plan::new(
                    "test",
                    cells(queues),
                    Seeds::AsStated,
                    &BTreeMap::new(),
                    &mut store,
                )?;
                all.map_cells(&mut store, |cell| cell.runs.len())
            });
            // What only queries read is not read here.
            let is_read = !["scenarios", "settings"].contains(&file);
            let is_error = matches!(&read, Err(StoreError::Damaged { .. }));
            assert!(is_error || !is_read, "{file}, byte {at}: {read:?}");

            let (mut store, aside) =
                Store::repair(folder.path(), origin()).expect("it is repaired");
            assert_eq!(aside, [part.with_extension("damaged")], "{file}, byte {at}");
            let (found, done) = sweep(queues, &mut store);
            assert_eq!(found + done, 8);
            assert!(found >= 4, "the other part stays: {file}, byte {at}");
            let found = runs(queues, &mut store).concat();
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(
                    (&found.digest, &found.values),
                    (&expected.digest, &expected.values)
                );
            }
            store.compact().expect("it is compacted");
            assert_eq!(open(folder.path()).len(), 8);
        }
    }
}

/// A store that a newer version wrote stays as it is: this version cannot tell what is damaged in it.
#[test]
fn a_newer_store_is_not_repaired() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets", &mut store);
    store.compact().expect("it is compacted");
    let origin = store.origin().as_ref().clone();
    drop(store);
    let part = parts(folder.path()).remove(0);
    fs::remove_file(part.join("checks.json")).expect("it is removed");
    fs::write(folder.path().join("store.json"), r#"{"format": 7}"#).expect("it is written");
    let error = Store::repair(folder.path(), origin).expect_err("a newer store");
    assert!(matches!(error, StoreError::Newer { .. }), "{error}");
    assert!(part.is_dir());
}

/// A repair brings nothing back that was pruned: what the damaged part replaces stays replaced.
#[test]
fn a_repair_knows_what_is_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets,6 packets", &mut store);
    store.compact().expect("it is compacted");
    let old = parts(folder.path()).remove(0);
    let keep = tempfile::tempdir().expect("a folder");
    copy_files(&old, keep.path(), usize::MAX);
    for list in fs::read_dir(folder.path().join("sweeps")).expect("lists") {
        fs::remove_file(list.expect("an entry").path()).expect("it is removed");
    }
    assert_eq!(sweep("6 packets", &mut store), (4, 0));
    store.prune(&Prune::Unlisted).expect("it is pruned");
    // As if the pruning had ended before it removed the old part; then the new one is damaged where only queries look.
    fs::create_dir(&old).expect("a folder");
    copy_files(keep.path(), &old, usize::MAX);
    let damaged = parts(folder.path()).pop().expect("a part");
    let path = damaged.join("settings.parquet");
    let mut bytes = fs::read(&path).expect("its bytes");
    bytes[50] ^= 1;
    fs::write(&path, bytes).expect("it is written");
    let origin = store.origin().as_ref().clone();
    let (mut store, aside) = Store::repair(folder.path(), origin).expect("it is repaired");
    assert_eq!(aside, [damaged.with_extension("damaged")]);
    assert_eq!((store.len(), store.files(Table::Runs).len()), (4, 1));
    assert_eq!(sweep("6 packets", &mut store), (4, 0));
}

/// The list of a sweep that cannot be read keeps nobody from the runs, and a repair sets it aside.
#[test]
fn a_damaged_list_is_set_aside() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets", &mut store);
    let listed = fs::read_dir(folder.path().join("sweeps")).expect("lists");
    let listed = listed.map(|it| it.expect("an entry").path()).next();
    let listed = fs::read_to_string(listed.expect("a list")).expect("its text");
    // A digit of a scenario's key: a pruning would remove that scenario.
    let at = listed.find("scenario\":\"").expect("a key") + 11;
    let other = if &listed[at..=at] == "0" { "1" } else { "0" };
    let changed = format!("{}{other}{}", &listed[..at], &listed[at + 1..]);
    for broken in ["{", changed.as_str()] {
        let list = folder.path().join("sweeps/broken.json");
        fs::write(&list, broken).expect("it is written");
        let error = store.sweeps().expect_err("one cannot be read");
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
        store
            .prune(&Prune::Unlisted)
            .expect_err("it is not known what is listed");
        let origin = store.origin().as_ref().clone();
        let (repaired, aside) = Store::repair(folder.path(), origin).expect("it is repaired");
        assert_eq!(aside, [list.with_extension("json.damaged")]);
        assert_eq!(repaired.sweeps().expect("sweeps").len(), 1);
    }
}

/// Runs of other sources may have metrics that this version does not know. They can be kept, merged and pruned.
#[test]
fn other_versions_may_have_other_metrics() {
    let other = tempfile::tempdir().expect("a folder");
    let mut old = old_store(other.path());
    sweep_all(&mut old);
    drop(old);
    let path = segments(other.path()).pop().expect("a segment");
    let changed = with_other_metric(&fs::read(&path).expect("its bytes"));
    fs::write(&path, changed).expect("it is written");

    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    assert_eq!(sweep("5 packets", &mut store), (0, 4));
    let expected = runs("5 packets", &mut store);
    let mut old = open(other.path());
    assert_eq!((old.len(), old.stale()), (0, 4));
    assert_eq!(store.merge(&mut old).expect("they are merged"), 4);
    // All are in one part, and runs of the same seed keep their own values.
    store.prune(&Prune::Unlisted).expect("it is pruned");
    assert_eq!(
        (parts(folder.path()).len(), store.len(), store.stale()),
        (1, 4, 4)
    );
    let found = runs("5 packets", &mut store);
    for (found, expected) in found.concat().iter().zip(expected.concat()) {
        assert_eq!(found.digest, expected.digest);
        assert_eq!(found.values, expected.values);
        assert_eq!(found.series.len(), expected.series.len());
    }
    let pruned = store.prune(&Prune::Stale).expect("it is pruned");
    assert_eq!((pruned.written, pruned.removed), (4, 4));
}

/// Returns a segment in whose frames a metric has a name that nobody knows.
fn with_other_metric(segment: &[u8]) -> Vec<u8> {
    let mut changed = segment.to_vec();
    let mut at = 12;
    while at < changed.len() {
        let length = u32::from_le_bytes(changed[at + 5..at + 9].try_into().expect("four"));
        let (content, end) = (at + 13, at + 13 + length as usize);
        for place in content..end - 10 {
            if &changed[place..place + 10] == b"throughput" {
                changed[place] = b'T';
            }
        }
        let kind = crc32c::crc32c(&changed[at + 4..at + 9]);
        let sum = crc32c::crc32c_append(kind, &changed[content..end]);
        changed[at + 9..content].copy_from_slice(&sum.to_le_bytes());
        at = end;
    }
    assert_ne!(changed, segment);
    changed
}
