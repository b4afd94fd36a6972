//! What a store survives: other processes at work, damage, and other versions; and what can be asked of it.

use std::fs::{self, File};
use std::sync::atomic::{AtomicBool, Ordering};

use fairwire_sim::campaign::{RunStore as _, Seeds};
use fairwire_sweep::columns::Values;
use fairwire_sweep::{Origin, Prune, Repair, Store, StoreError, task_bytes, work};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;

use crate::{
    cells, change, counts, numbers, old_store, open, plan, planned, runs, sweep, sweep_all,
};

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
    let (_, done) = Store::repair(whole.path(), origin()).expect("it is whole");
    assert_eq!(done, Repair::default());
    assert_eq!(done.to_string(), "nothing is damaged\n");
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
            let all = planned(&cells(queues), Seeds::AsStated, &mut store)?;
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
        let (mut store, repair) = Store::repair(folder.path(), origin()).expect("it is repaired");
        store.verify().expect("it is whole");
        assert_eq!(store.damaged().expect("a count"), repair.aside.len() as u64);
        let there = store.len().expect("a count");
        if !repair.aside.is_empty() {
            damaged += 1;
            assert_eq!(there, repair.runs.kept, "byte {at}");
            let all = repair.runs.kept + repair.runs.lost;
            assert!(all == 8 || repair.runs.may_be_more, "byte {at}: {repair:?}");
        }
        kept += there;
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
    // A byte is in one run, or in the page of a few; only the names of all are in one page.
    assert!(kept > 240, "{kept} of 320 runs were kept");
}

/// A file that ends too early is damage. A repair keeps the runs that it still has, and says how many those are and
/// whether the list of sweeps is whole.
#[test]
fn a_cut_file_is_repaired() {
    let whole = tempfile::tempdir().expect("a folder");
    let queues = ["5 packets", "6 packets", "7 packets", "8 packets"];
    for queue in queues {
        sweep(queue, &mut open(whole.path()));
    }
    let bytes = fs::read(whole.path().join("store.db")).expect("its bytes");
    let mut kept = Vec::new();
    for part in [1, 10, 50, 70, 90, 99] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store.db");
        fs::write(&path, &bytes[..bytes.len() * part / 100]).expect("it is written");
        let error = Store::open(folder.path(), origin())
            .and_then(|mut store| store.verify())
            .expect_err("it is damaged");
        assert!(error.to_string().contains("--repair"), "{error}");
        let (mut store, repair) = Store::repair(folder.path(), origin()).expect("it is repaired");
        store.verify().expect("it is whole");
        assert_eq!(store.len().expect("a count"), repair.runs.kept);
        let listed = store.sweeps().expect("sweeps").len() as u64;
        assert_eq!(listed, repair.sweeps.kept);
        let is_list_whole = !repair.sweeps.may_be_more && repair.sweeps.lost == 0;
        assert_eq!(repair.list_lost.is_none(), is_list_whole);
        assert!(!is_list_whole || listed == 4, "{part}: {repair}");
        let text = repair.to_string();
        for (kept, thing) in [(repair.runs.kept, "run"), (listed, "listed sweep")] {
            let s = if kept == 1 { "" } else { "s" };
            assert!(text.contains(&format!("kept {kept} {thing}{s}")), "{text}");
        }
        let (mut found, mut done) = (0, 0);
        for queue in queues {
            let (more_found, more_done) = sweep(queue, &mut store);
            (found, done) = (found + more_found, done + more_done);
        }
        assert_eq!((found, found + done), (repair.runs.kept, 16));
        kept.push(found);
    }
    assert!(kept.is_sorted(), "{kept:?}");
    // In so small a file the tables are not in the order in which the runs came.
    assert!(kept[4] >= 8 && kept[5] >= 12, "{kept:?}");
}

/// A file whose header, or whose descriptions of its tables, are damaged still has its runs.
#[test]
fn a_damaged_header_loses_nothing() {
    let whole = tempfile::tempdir().expect("a folder");
    sweep("5 packets,6 packets", &mut open(whole.path()));
    let bytes = fs::read(whole.path().join("store.db")).expect("its bytes");
    let schema = bytes.windows(12).position(|it| it == b"CREATE TABLE");
    for at in [0, 16, 20, 28, 100, schema.expect("a description")] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut bytes = bytes.clone();
        bytes[at..at + 8].fill(0x5a);
        fs::write(folder.path().join("store.db"), bytes).expect("it is written");
        let (mut store, repair) = Store::repair(folder.path(), origin()).expect("it is repaired");
        store.verify().expect("it is whole");
        assert_eq!((repair.runs.kept, repair.runs.lost), (8, 0), "byte {at}");
        assert_eq!(repair.list_lost, None, "byte {at}: {repair}");
        assert_eq!(sweep("5 packets,6 packets", &mut store), (8, 0));
    }
}

/// Where the list of sweeps is not known to be whole, or is empty, a pruning of what is not listed removes nothing and
/// says what to do. A store into which runs of such a store were merged does the same.
#[test]
fn a_lost_list_prunes_nothing() {
    let (folder, other) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    sweep("5 packets", &mut open(folder.path()));
    sweep("6 packets", &mut open(folder.path()));
    let damage = "update sweep set json = 'no JSON' where rowid = 1";
    change(folder.path(), damage);
    let (mut store, repair) = Store::repair(folder.path(), origin()).expect("it is repaired");
    assert_eq!((repair.sweeps.kept, repair.sweeps.lost), (1, 1));
    assert_eq!(counts(&mut store), (8, 0));
    let lost = store.list_lost().expect("a note");
    assert!(fs::read_to_string(&lost).is_ok_and(|it| it.contains("remove this file")));
    let error = store
        .prune(&Prune::Unlisted)
        .expect_err("the list is not whole");
    assert!(
        error.to_string().contains("start the sweeps again"),
        "{error}"
    );
    let mut merged = open(other.path());
    sweep("7 packets", &mut merged);
    merged.merge(&mut store).expect("they are merged");
    assert!(merged.prune(&Prune::Unlisted).is_err());
    assert_eq!((counts(&mut store), counts(&mut merged)), ((8, 0), (12, 0)));
    sweep("5 packets", &mut store);
    fs::remove_file(lost).expect("it is removed");
    assert_eq!(store.prune(&Prune::Unlisted).expect("it is pruned"), 0);
    for sweep in store.sweeps().expect("sweeps") {
        store.forget(&sweep.id).expect("it is forgotten");
    }
    let error = store
        .prune(&Prune::Unlisted)
        .expect_err("nothing is listed");
    assert!(error.to_string().contains("all of its 8 runs"), "{error}");
    assert_eq!(counts(&mut store), (8, 0));
}

/// A merge keeps what both lists know of the same sweep: the seeds of both, and the rest of the newer one, whichever way
/// it is done and however often.
#[test]
fn a_merge_keeps_both_entries_of_a_sweep() {
    let seeds = |from: u64, count: u64| Seeds::These((from..from + count).collect());
    let make = |date: &str, host: &str, seeds: Seeds| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = Store::open(folder.path(), Origin::here(host, date)).expect("a store");
        planned(&cells("5 packets"), seeds, &mut store).expect("a plan");
        (folder, store)
    };
    for is_swapped in [false, true] {
        let one = make("2026-01-01", "one", seeds(1, 3));
        let two = make("2026-02-01", "two", seeds(1, 30));
        let ((_one, mut into), (_two, mut from)) = if is_swapped { (two, one) } else { (one, two) };
        for _ in 0..2 {
            into.merge(&mut from).expect("they are merged");
            let listed = into.sweeps().expect("sweeps");
            assert_eq!(listed.len(), 1);
            let mut seeds: Vec<&str> = listed[0].seeds.split(" and ").collect();
            seeds.sort_unstable();
            assert_eq!(seeds, ["1 to 3", "1 to 30"]);
            assert_eq!(listed[0].origin.host, "two");
        }
    }
}

/// What is in a log whose bytes have changed is computed again; what was in the file before stays. A sweep that has ended
/// leaves no log.
#[test]
fn a_damaged_log_loses_what_it_had() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets", &mut store);
    assert!(!folder.path().join("store.db-wal").exists());
    let mut reader = open(folder.path());
    assert_eq!(reader.len().expect("a count"), 4);
    let mut plan = plan("6 packets", &mut store);
    let task = plan
        .take(1, &mut store)
        .expect("the store")
        .expect("a task");
    let stop = AtomicBool::new(false);
    let done = work(&task_bytes(&task), &store.origin(), &stop).expect("a run");
    plan.keep(task.number, done, &mut store)
        .expect("it is kept");
    let killed = tempfile::tempdir().expect("a folder");
    let copy = |name: &str| fs::read(folder.path().join(name)).expect("its bytes");
    fs::write(killed.path().join("store.db"), copy("store.db")).expect("it is written");
    let mut log = copy("store.db-wal");
    // In the first frame, after the header of the log.
    log[100] ^= 1;
    fs::write(killed.path().join("store.db-wal"), log).expect("it is written");
    let mut store = open(killed.path());
    store.verify().expect("it is whole");
    assert_eq!(store.len().expect("a count"), 4);
    assert_eq!(sweep("5 packets,6 packets", &mut store), (4, 4));
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
    let (mut store, repair) = Store::repair(folder.path(), origin()).expect("it is repaired");
    assert_eq!(repair.aside.len(), 1);
    assert_eq!((repair.sweeps.kept, repair.sweeps.lost), (0, 1));
    assert_eq!(counts(&mut store), (4, 0));
    assert_eq!(sweep("5 packets", &mut store), (4, 0));
}

/// A sweep does not replace its entry in the list if that is damaged: only a repair knows what is lost.
#[test]
fn a_damaged_entry_of_a_sweep_stays() {
    for statement in [
        r#"update sweep set json = replace(json, '"scenario":"', '"scenario":"0')"#,
        "update sweep set json = 'zz'",
        "update sweep set json = x'00'",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        sweep("5 packets", &mut open(folder.path()));
        change(folder.path(), statement);
        let planned = planned(
            &cells("5 packets"),
            Seeds::AsStated,
            &mut open(folder.path()),
        );
        let is_damage = matches!(planned, Err(StoreError::Damaged { .. }));
        assert!(is_damage, "{statement}: {planned:?}");
        let mut store = open(folder.path());
        let listed = store.sweeps();
        assert!(listed.is_err(), "{statement}: {listed:?}");
        drop(store);
        let (mut store, repair) = Store::repair(folder.path(), origin()).expect("it is repaired");
        assert_eq!(
            (repair.sweeps.kept, repair.sweeps.lost),
            (0, 1),
            "{statement}"
        );
        assert_eq!(sweep("5 packets", &mut store), (4, 0), "{statement}");
    }
}

/// A row that somebody has changed is damage, also where the checksum of no run says so, and a repair ends it.
#[test]
fn a_changed_row_is_damage() {
    for statement in [
        "update run set perturbed = 7 where id = 1",
        "update run set scenario = 99 where id = 1",
        "update run set sources = 99",
        "update run set origin = 99 where id = 1",
        "update scenario set traces = 'zz'",
        "update scenario set traces = '{\"fading\": 99}'",
        "update value set value = 'many' where run = 1 and place = 1",
        "update list set numbers = 'many' where run = 1 and place = 1",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        sweep("5 packets", &mut open(folder.path()));
        change(folder.path(), statement);
        let verified = open(folder.path()).verify();
        let is_damage = matches!(verified, Err(StoreError::Damaged { .. }));
        assert!(is_damage, "{statement}: {verified:?}");
        let (mut store, repair) = Store::repair(folder.path(), origin()).expect("it is repaired");
        assert_eq!(repair.aside.len(), 1, "{statement}");
        store.verify().expect("it is whole");
        let (found, done) = sweep("5 packets", &mut store);
        assert_eq!(found, repair.runs.kept, "{statement}");
        assert_eq!(found + done, 4, "{statement}");
    }
}

/// A value of a type that its column does not have is damage, and the error names the run, or what else it is of, and
/// the column.
#[test]
fn a_value_of_another_type_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    sweep("5 packets", &mut open(folder.path()));
    let bytes = fs::read(folder.path().join("store.db")).expect("its bytes");
    let (run, scenario) = ("the run of seed 1 of scenario ", "scenario ");
    for (statement, of, what) in [
        (
            "update run set seed = 'one' where id = 1",
            "the run with the number 1: ",
            "seed has a value of type text",
        ),
        (
            "update run set packet_hops = 1.5",
            run,
            "packet_hops has a value of type real",
        ),
        (
            "update run set notes = x'00'",
            run,
            "notes has a value of type blob",
        ),
        (
            "update run set checksum = 'x'",
            run,
            "checksum has a value of type text",
        ),
        ("update run set perturbed = 7", run, "perturbed has 7"),
        (
            "update value set value = 'many'",
            run,
            "value has a value of type text",
        ),
        (
            "update list set numbers = 'many'",
            run,
            "numbers has a value of type text",
        ),
        (
            "update name set metric = x'00' where id = 1",
            run,
            "metric has a value of type blob",
        ),
        (
            "update scenario set title = x'00'",
            scenario,
            "title has a value of type blob",
        ),
        (
            "update setting set value = x'00'",
            "the settings of scenario ",
            "value has a value of type blob",
        ),
        (
            "update sweep set json = x'00'",
            "the list of sweeps: ",
            "json has a value of type blob",
        ),
    ] {
        fs::write(folder.path().join("store.db"), &bytes).expect("it is written");
        let is_of_run = statement.starts_with("update run") && !statement.contains("where");
        let end = if is_of_run {
            " where perturbed and seed = 1"
        } else {
            ""
        };
        change(folder.path(), &format!("{statement}{end}"));
        let verified = Store::open_existing(folder.path(), origin()).and_then(|mut it| it.verify());
        let Err(StoreError::Damaged { reason, .. }) = verified else {
            panic!("{statement}: {verified:?}");
        };
        assert!(reason.starts_with(of), "{statement}: {reason}");
        assert!(
            reason.ends_with(&format!(": the column {what}")),
            "{statement}: {reason}"
        );
    }
}

/// A blob is bytes in an answer, and as SQL has it among texts; the lists of the store are lists of numbers.
#[test]
fn an_answer_has_blobs_as_bytes() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets", &mut store);
    let mut column = |query: &str| store.query(query).expect("an answer").remove(0).1;
    let bytes = column("select x'000102030405060708' union all select null");
    assert_eq!(bytes, Values::Bytes(vec![Some((0..=8).collect()), None]));
    let eight = column("select x'0001020304050607'");
    assert_eq!(eight, Values::Bytes(vec![Some((0..=7).collect())]));
    let Values::Texts(mixed) = column("select x'00ff' union all select 'text'") else {
        panic!("texts");
    };
    assert_eq!(mixed[0].as_deref(), Some("x'00ff'"));
    for query in [
        "select \"values\" as v from series",
        "select numbers from list",
    ] {
        let Values::Lists(lists) = column(query) else {
            panic!("lists");
        };
        assert_eq!(lists[0].as_ref().map(Vec::len), Some(2));
    }
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
    // Three seeds of both cells; the unperturbed runs are not among them.
    let sums = [33.0, 39.0].map(|sum| Values::Numbers(vec![Some(sum)]));
    assert!(sums.contains(&answer[0].1));
    let lists = store.query(
        r#"select "values", json_array_length(numbers("values")) from series where metric = 'throughput' limit 1"#,
    );
    assert_eq!(numbers(&lists.expect("an answer")[1..]), [2]);
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

/// Returns a value of the store as an export has it, or the values of a list.
fn expected(column: &str, values: &Values, row: usize) -> Vec<Field> {
    match values {
        Values::Integers(rows) if column == "perturbed" => vec![Field::Bool(rows[row] == Some(1))],
        Values::Integers(rows) => {
            let count = rows[row].and_then(|it| it.try_into().ok());
            vec![Field::ULong(count.expect("a count"))]
        }
        Values::Numbers(rows) => vec![Field::Double(rows[row].expect("a number"))],
        Values::Texts(rows) => vec![Field::Str(rows[row].clone().expect("a text"))],
        Values::Lists(rows) => {
            let list = rows[row].as_ref().expect("a list");
            list.iter().copied().map(Field::Double).collect()
        }
        other => panic!("an answer has no such column: {other:?}"),
    }
}

/// Parquet has every value that the store has, with the types that readers expect. No file is written over.
#[test]
fn an_export_has_every_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    sweep("5 packets", &mut store);
    let export = folder.path().join("export");
    let paths = store.export(&export).expect("they are written");
    let names = paths.iter().filter_map(|it| it.file_stem()?.to_str());
    let names: Vec<&str> = names.collect();
    assert_eq!(names, ["runs", "values", "series", "scenarios", "settings"]);
    for (path, name) in paths.iter().zip(&names) {
        let there = store.query(&format!(r#"select * from "{name}""#));
        let there = there.expect("an answer");
        let reader = SerializedFileReader::new(File::open(path).expect("a file"));
        let reader = reader.expect("Parquet");
        let rows = reader.get_row_iter(None).expect("rows");
        let rows: Vec<_> = rows.map(|row| row.expect("a row")).collect();
        assert!(!rows.is_empty(), "{name}");
        for (place, (column, values)) in there.iter().enumerate() {
            assert_eq!(values.rows(), rows.len(), "{name}");
            for (number, row) in rows.iter().enumerate() {
                let (title, field) = row.get_column_iter().nth(place).expect("a column");
                assert_eq!(title, column, "{name}");
                let found = match field {
                    Field::ListInternal(list) => list.elements(),
                    field => std::slice::from_ref(field),
                };
                assert_eq!(found, expected(column, values, number), "{name}: {column}");
            }
        }
    }
    let error = store.export(&export).expect_err("they are there");
    assert!(error.to_string().contains("runs.parquet"), "{error}");
}
