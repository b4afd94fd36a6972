//! What a store survives: other processes at work, damage, and other versions; and what can be asked of it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::Float64Array;
use arrow_array::cast::AsArray as _;
use fairwire_sweep::{Origin, Plan, Prune, Seeds, Store, StoreError};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::{cells, change, counts, numbers, old_store, open, runs, sweep, sweep_all};

fn origin() -> Origin {
    Origin::here("here", "2026-01-01")
}

/// A store can be opened and read at any moment of the changes that another process makes.
#[test]
fn a_store_is_whole_while_another_process_changes_it() {
    let (folder, other) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    sweep("5 packets", &mut open(folder.path()));
    sweep_all(&mut old_store(other.path()));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut store, mut old) = (open(folder.path()), old_store(other.path()));
            while !is_over.load(Ordering::Relaxed) {
                assert_eq!(store.merge(&mut old).expect("they are merged"), 4);
                assert_eq!(store.prune(&Prune::Stale).expect("it is pruned"), 4);
            }
        });
        let mut long_open = open(folder.path());
        for opened in 0..20 {
            let mut store = Store::open_existing(folder.path(), origin()).expect("a store");
            assert_eq!(
                store.len().expect("a count"),
                4,
                "opened {opened} times before"
            );
            store.verify().expect("it is whole");
            assert_eq!(runs("5 packets", &mut long_open).concat().len(), 4);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// Wherever a byte of the file has changed, there are no wrong results: it is an error or of no account, and a repair
/// keeps the runs that the damage does not touch.
#[test]
fn damage_is_an_error_until_it_is_repaired() {
    let whole = tempfile::tempdir().expect("a folder");
    let queues = "5 packets,6 packets";
    let mut store = open(whole.path());
    sweep(queues, &mut store);
    let expected = runs(queues, &mut store).concat();
    drop(store);
    let (_, aside) = Store::repair(whole.path(), origin()).expect("it is whole");
    assert!(aside.is_empty(), "{aside:?}");
    let bytes = fs::read(whole.path().join("store.db")).expect("its bytes");
    let (mut damaged, mut kept) = (0, 0);
    for number in 0..40 {
        let folder = tempfile::tempdir().expect("a folder");
        let mut bytes = bytes.clone();
        // The header, and then everywhere.
        let at = if number < 4 {
            number * 7
        } else {
            bytes.len() / 40 * number + 13 * number
        };
        bytes[at] ^= 4;
        fs::write(folder.path().join("store.db"), bytes).expect("it is written");
        let read = Store::open(folder.path(), origin()).and_then(|mut store| {
            let all = Plan::new(
                "test",
                cells(queues),
                Seeds::AsStated,
                &BTreeMap::new(),
                &mut store,
            )?;
            all.map_cells(&mut store, |cell| {
                let unperturbed = cell.unperturbed.iter();
                cell.runs
                    .iter()
                    .chain(unperturbed)
                    .cloned()
                    .collect::<Vec<_>>()
            })
        });
        for found in read.into_iter().flatten().flatten() {
            let same = expected
                .iter()
                .any(|it| it.digest == found.digest && it.values == found.values);
            assert!(same, "byte {at}: a wrong result");
        }
        let (mut store, aside) = Store::repair(folder.path(), origin()).expect("it is repaired");
        store.verify().expect("it is whole");
        assert_eq!(store.damaged().expect("a count"), aside.len() as u64);
        damaged += usize::from(!aside.is_empty());
        kept += store.len().expect("a count");
        let (found, done) = sweep(queues, &mut store);
        assert_eq!(found + done, 8, "byte {at}");
        for found in runs(queues, &mut store).concat() {
            let same = expected
                .iter()
                .any(|it| it.digest == found.digest && it.values == found.values);
            assert!(same, "byte {at}: a wrong result after the repair");
        }
    }
    assert!(
        damaged > 20,
        "{damaged} of 40 places have something in them"
    );
    assert!(kept > 100, "{kept} of 320 runs were kept");
}

/// A file that ends too early is damage, and so is one without anything of a database in it.
#[test]
fn a_cut_file_is_repaired() {
    for part in [0, 1, 50, 99] {
        let folder = tempfile::tempdir().expect("a folder");
        sweep("5 packets", &mut open(folder.path()));
        let path = folder.path().join("store.db");
        let length = fs::metadata(&path).expect("its length").len();
        let file = File::options().write(true).open(&path).expect("a file");
        file.set_len(length * part / 100).expect("it is cut");
        if part > 0 {
            let error = Store::open(folder.path(), origin())
                .and_then(|mut store| store.verify())
                .expect_err("it is damaged");
            assert!(error.to_string().contains("--repair"), "{error}");
            Store::repair(folder.path(), origin()).expect("it is repaired");
        }
        let (found, done) = sweep("5 packets", &mut open(folder.path()));
        assert_eq!(found + done, 4);
    }
}

/// The list of a sweep whose cells have changed is damage: a pruning would remove what it had.
#[test]
fn a_damaged_list_prunes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    sweep("5 packets", &mut open(folder.path()));
    let statement = r#"update sweep set json = replace(json, '"scenario":"', '"scenario":"0')"#;
    change(folder.path(), statement);
    let mut store = open(folder.path());
    let error = store
        .prune(&Prune::Unlisted)
        .expect_err("it is not known what is listed");
    assert!(
        error.to_string().contains("its cells have changed"),
        "{error}"
    );
    drop(store);
    let (mut store, aside) = Store::repair(folder.path(), origin()).expect("it is repaired");
    assert_eq!(aside.len(), 1);
    assert_eq!(counts(&mut store), (4, 0));
    assert_eq!(sweep("5 packets", &mut store), (4, 0));
}

/// Queries see each run once, with the axes of a sweep as numbers, and cannot write.
#[test]
fn queries_see_what_sweeps_have_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets,6 packets", &mut store);
    sweep("6 packets,7 packets", &mut store);
    let count = store.query("select count(*) from runs").expect("an answer");
    assert_eq!(numbers(&count), [12]);
    let id = store.sweeps().expect("sweeps").remove(0).id;
    let query = format!(
        r#"select sum("topology.bottleneck.queue_packets"), count(distinct cell) from sweep_{id}
        where "of" = 'one' and metric = 'goodput' and "window" = 'late'"#
    );
    let answer = store.query(&query).expect("an answer");
    let sum = answer.column(0).as_any().downcast_ref::<Float64Array>();
    // Three seeds of both cells; the unperturbed runs are not among them.
    assert!([33.0, 39.0].contains(&sum.expect("numbers").value(0)));
    let lists = store.query(
        r#"select "values", json_array_length(numbers("values")) from series where metric = 'throughput' limit 1"#,
    );
    let lists = lists.expect("an answer");
    assert_eq!(lists.column(0).as_list::<i32>().value(0).len(), 2);
    let settings =
        "select count(distinct value) from settings where path = 'topology.bottleneck.queue.limit'";
    assert_eq!(numbers(&store.query(settings).expect("an answer")), [3]);
    let there = folder.path().join("other.db");
    for wrong in [
        "select nothing from runs".to_owned(),
        "delete from run".to_owned(),
        "select 1; select 2".to_owned(),
        format!("attach '{}' as other", there.display()),
        "pragma query_only = 0".to_owned(),
        "create temp table mine as select 1".to_owned(),
        String::new(),
    ] {
        let answer = store.query(&wrong);
        assert!(
            matches!(answer, Err(StoreError::Query(_))),
            "{wrong}: {answer:?}"
        );
    }
    assert!(!there.exists());
    assert_eq!(store.len().expect("a count"), 12);
}

/// Parquet has what the store has, with the types that readers expect. No file is written over.
#[test]
fn an_export_has_every_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets", &mut store);
    let export = folder.path().join("export");
    let paths = store.export(&export).expect("they are written");
    let rows = |path: &Path| {
        let file = File::open(path).expect("a file");
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
        let schema = reader.schema().clone();
        let rows = reader
            .build()
            .expect("a reader")
            .map(|it| it.expect("rows").num_rows());
        (schema, rows.sum::<usize>())
    };
    let names: Vec<&str> = paths
        .iter()
        .filter_map(|it| it.file_stem()?.to_str())
        .collect();
    assert_eq!(names, ["runs", "values", "series", "scenarios", "settings"]);
    for (path, name) in paths.iter().zip(&names) {
        let count = store
            .query(&format!(r#"select count(*) from "{name}""#))
            .expect("a count");
        let (schema, rows) = rows(path);
        assert_eq!(
            [i64::try_from(rows).expect("few")],
            numbers(&count)[..],
            "{name}"
        );
        let type_of = |column: &str| {
            schema
                .field_with_name(column)
                .map(|it| it.data_type().to_string())
                .ok()
        };
        match *name {
            "runs" => assert_eq!(type_of("seed").as_deref(), Some("UInt64")),
            "values" => assert_eq!(type_of("value").as_deref(), Some("Float64")),
            "series" => assert!(type_of("values").is_some_and(|it| it.starts_with("List"))),
            _ => {}
        }
    }
    let error = store.export(&export).expect_err("they are there");
    assert!(error.to_string().contains("runs.parquet"), "{error}");
}
