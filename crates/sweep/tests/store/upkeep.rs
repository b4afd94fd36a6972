//! What a store survives: processes that are killed, other processes at work, damage, and other versions.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use fairwire_sweep::{Prune, Store};

use crate::{old_store, open, runs, segments, sweep, sweep_all};

/// Returns the folders of the parts, in order.
fn parts(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("parts")).expect("parts");
    let mut parts: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    parts.sort();
    parts
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
        fs::create_dir(keep.path().join(place.to_string())).expect("a folder");
        for file in fs::read_dir(part).expect("files") {
            let file = file.expect("an entry");
            let copy = keep.path().join(place.to_string()).join(file.file_name());
            fs::copy(file.path(), copy).expect("a copy");
        }
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
            let copies = fs::read_dir(keep.path().join(place.to_string())).expect("copies");
            for copy in copies.take(files) {
                let copy = copy.expect("an entry");
                fs::copy(copy.path(), part.join(copy.file_name())).expect("a copy");
            }
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
        for at in [mark + 1, mark + 4, mark + 5, mark + 8, mark + 9, mark + 20] {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            fs::write(&path, &flipped).expect("it is written");
            let store = open(folder.path());
            assert!(all - store.len() <= 4, "{at}: {} of {all}", store.len());
        }
    }
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

/// A store whose first file is lost is the same store, and a part that lacks a file says what to do about it.
#[test]
fn what_is_lost_is_said_or_made_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets", &mut store);
    store.compact().expect("it is compacted");
    fs::remove_file(folder.path().join("store.json")).expect("it is removed");
    assert_eq!(open(folder.path()).len(), 4);
    let part = parts(folder.path()).remove(0);
    fs::remove_file(part.join("values.parquet")).expect("it is removed");
    let origin = store.origin().as_ref().clone();
    let error = Store::open(folder.path(), origin).expect_err("a part lacks a file");
    let text = "is damaged: a file of it is missing. If it is removed (of a part: its folder), its runs are done again";
    assert!(error.to_string().ends_with(text), "{error}");
    fs::remove_dir_all(part).expect("it is removed");
    assert_eq!(sweep("5 packets", &mut open(folder.path())), (0, 4));
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
