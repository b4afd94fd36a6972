//! What is in the file of a store, also of one that another version has written.

use std::path::Path;

use fairwire_sweep::{Prune, gap};
use rusqlite::Connection;

use crate::{change, counts, old_store, open, sweep_all};

fn database(folder: &Path) -> Connection {
    Connection::open(folder.join("store.db")).expect("a store")
}

/// Returns the numbers of the rows that a query selects, in their first column.
fn numbers(database: &Connection, query: &str) -> Vec<i64> {
    let mut query = database.prepare(query).expect("SQL");
    let numbers = query.query_map([], |row| row.get(0)).expect("rows");
    numbers.map(|number| number.expect("a number")).collect()
}

/// The first pages of the tables are where they are in a new store, also after a pruning.
#[test]
fn every_store_has_its_tables_at_the_same_places() {
    let (one, other) = (tempfile::tempdir(), tempfile::tempdir());
    let (one, other) = (one.expect("a folder"), other.expect("a folder"));
    for folder in [&one, &other] {
        open(folder.path());
    }
    let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) \
                INSERT INTO path (path) SELECT i FROM n; DELETE FROM path WHERE id < 1000; VACUUM";
    change(other.path(), rows);
    let roots = |folder: &Path| {
        let roots = "SELECT rootpage FROM sqlite_schema ORDER BY name";
        numbers(&database(folder), roots)
    };
    assert!(roots(one.path()).len() > 10);
    assert_eq!(roots(one.path()), roots(other.path()));
}

/// The numbers that cannot be read are left out, few or many.
#[test]
fn a_gap_is_skipped() {
    let beyond = |from, to: Option<i64>| {
        gap::beyond(from, &mut |number| {
            Ok::<_, ()>(to.is_some_and(|to| number >= to))
        })
    };
    for (from, to) in [(5, 6), (5, 300), (5, 100_000), (1, i64::MAX - 1)] {
        assert_eq!(beyond(from, Some(to)), Ok(Some(to)), "{from} to {to}");
    }
    assert_eq!(beyond(5, None), Ok(None));
}

/// Makes runs of a store those of a version with another metric. One has the greatest seed, and a value that is no number.
fn alter(database: &Connection) {
    let statements = "UPDATE name SET metric = 'flavour' WHERE metric = 'throughput'; \
                      UPDATE run SET seed = -1 WHERE id = 1; UPDATE value SET value = NULL WHERE run = 1 AND place = 1";
    database
        .execute_batch(statements)
        .expect("they are altered");
    for run in numbers(database, "SELECT id FROM run") {
        let sum = checksum(database, run).expect("the rows of a run");
        let update = "UPDATE run SET checksum = ?2 WHERE id = ?1";
        database
            .execute(update, (run, sum))
            .expect("it has its checksum");
    }
}

/// Returns the checksum of everything in a run: texts, numbers, and what its values and series are of, each after its
/// length.
fn checksum(database: &Connection, run: i64) -> rusqlite::Result<u32> {
    let mut sum = 0;
    let mut add = |bytes: &[u8]| {
        sum = crc32c::crc32c_append(sum, &(bytes.len() as u64).to_le_bytes());
        sum = crc32c::crc32c_append(sum, bytes);
    };
    let texts = "SELECT s.scenario, r.digest, r.notes, o.version, c.sources, o.host, o.date, r.seed, r.perturbed, \
                 r.packet_hops, r.simulated_ns, r.period_ns FROM run r JOIN scenario s ON s.id = r.scenario \
                 JOIN sources c ON c.id = r.sources JOIN origin o ON o.id = r.origin WHERE r.id = ?1";
    database.query_row(texts, [run], |row| {
        for text in 0..7 {
            add(row.get::<_, String>(text)?.as_bytes());
        }
        let mut numbers = Vec::new();
        for number in 7..12 {
            numbers.extend(row.get::<_, i64>(number)?.to_le_bytes());
        }
        add(&numbers);
        Ok(())
    })?;
    for (table, column) in [("value", "value"), ("list", "numbers")] {
        let rows = format!(
            "SELECT n.kind, n.\"of\", n.\"window\", n.metric, n.unit, t.{column} FROM {table} t \
             JOIN name n ON n.id = t.name WHERE t.run = ?1 ORDER BY t.place"
        );
        let mut rows = database.prepare(&rows)?;
        let mut rows = rows.query([run])?;
        while let Some(row) = rows.next()? {
            for text in 0..5 {
                add(row.get::<_, String>(text)?.as_bytes());
            }
            if table == "list" {
                add(&row.get::<_, Vec<u8>>(5)?);
            } else {
                let value: Option<f64> = row.get(5)?;
                add(&value.unwrap_or(f64::NAN).to_le_bytes());
            }
        }
    }
    Ok(sum)
}

/// Runs of other sources may have metrics that this version does not know. They are kept, merged, checked, exported and
/// pruned all the same.
#[test]
fn other_versions_may_have_other_metrics() {
    let folders = [tempfile::tempdir(), tempfile::tempdir()];
    let [one, other] = folders.map(|folder| folder.expect("a folder"));
    let mut old = old_store(one.path());
    sweep_all(&mut old);
    drop(old);
    alter(&database(one.path()));
    let (mut old, mut store) = (old_store(one.path()), open(other.path()));
    old.verify().expect("it is whole");
    assert_eq!(store.merge(&mut old).expect("they are merged"), 4);
    assert_eq!(store.merge(&mut old).expect("they are there"), 0);
    store.verify().expect("it is whole");
    let copied = database(other.path());
    let flavours = "SELECT DISTINCT seed FROM \"values\" WHERE metric = 'flavour' ORDER BY seed";
    assert_eq!(
        numbers(&copied, flavours)[0],
        -1,
        "SQLite has no numbers above 2^63"
    );
    let sums = "SELECT checksum FROM run ORDER BY seed, perturbed";
    assert_eq!(numbers(&copied, sums), numbers(&database(one.path()), sums));
    let export = other.path().join("export");
    assert_eq!(store.export(&export).expect("files").len(), 5);
    assert_eq!(counts(&mut store), (0, 4));
    assert_eq!(store.prune(&Prune::Stale).expect("it is pruned"), 4);
    assert_eq!(counts(&mut store), (0, 0));
}
