//! Runs and scenarios as rows of the tables of a store.
//!
//! SQLite has no numbers above 2^63: a seed above is negative there.

use std::collections::BTreeMap;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use sha2::{Digest, Sha256};

use crate::error::wrong_type;
use crate::raw::{Name, RawRun, RawRuns, list_bytes, list_of};
use crate::settings::settings;
use crate::text::ScenarioText;

/// Puts runs into the tables, and returns how many were not there.
pub(crate) fn insert(
    db: &Connection,
    raw: &RawRuns,
    names: &mut BTreeMap<Name, i64>,
    text: &dyn Fn(&str) -> Option<ScenarioText>,
) -> rusqlite::Result<u64> {
    let mut numbers = Vec::with_capacity(raw.names.len());
    for name in &raw.names {
        let number = match names.get(name) {
            Some(number) => *number,
            None => name_number(db, name)?,
        };
        names.insert(name.clone(), number);
        numbers.push(number);
    }
    let mut scenarios: BTreeMap<&str, i64> = BTreeMap::new();
    let mut run_row = db.prepare_cached(
        "INSERT OR IGNORE INTO run (scenario, seed, perturbed, sources, origin, digest, packet_hops, simulated_ns, \
         period_ns, notes, checksum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?;
    let mut value_row = db.prepare_cached("INSERT INTO value VALUES (?1, ?2, ?3, ?4)")?;
    let mut list_row = db.prepare_cached("INSERT INTO list VALUES (?1, ?2, ?3, ?4)")?;
    let mut new = 0;
    for run in &raw.runs {
        let scenario = match scenarios.get(run.scenario.as_str()) {
            Some(number) => *number,
            None => scenario_number(db, &run.scenario, text)?,
        };
        scenarios.insert(&run.scenario, scenario);
        let sources = number_of(db, "sources", "sources = ?1", params![run.sources])?;
        let origin = params![run.version, run.host, run.date];
        let origin = number_of(
            db,
            "origin",
            "version = ?1 AND host = ?2 AND date = ?3",
            origin,
        )?;
        let inserted = run_row.execute(params![
            scenario,
            run.seed.cast_signed(),
            run.perturbed,
            sources,
            origin,
            run.digest,
            run.packet_hops.cast_signed(),
            run.simulated_ns.cast_signed(),
            run.period_ns.cast_signed(),
            run.notes,
            run.checksum(&raw.names),
        ])?;
        if inserted == 0 {
            continue;
        }
        new += 1;
        let number = db.last_insert_rowid();
        let name = |name: &usize| numbers.get(*name).copied().unwrap_or_default();
        for (place, (of, value)) in (0i64..).zip(&run.values) {
            value_row.execute(params![number, place, name(of), value])?;
        }
        for (place, (of, values)) in (0i64..).zip(&run.series) {
            list_row.execute(params![number, place, name(of), list_bytes(values)])?;
        }
    }
    Ok(new)
}

/// Returns the number of a row, which it makes if it is missing. `condition` names all columns.
fn number_of(
    db: &Connection,
    table: &str,
    condition: &str,
    parameters: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<i64> {
    let found = format!("SELECT id FROM {table} WHERE {condition}");
    let found = db
        .prepare_cached(&found)?
        .query_row(parameters, |row| row.get(0))
        .optional()?;
    if let Some(number) = found {
        return Ok(number);
    }
    let columns: Vec<&str> = condition
        .split(" AND ")
        .filter_map(|it| it.split(" = ").next())
        .collect();
    let marks = vec!["?"; columns.len()].join(", ");
    let columns = columns.join(", ");
    db.prepare_cached(&format!("INSERT INTO {table} ({columns}) VALUES ({marks})"))?
        .execute(parameters)?;
    Ok(db.last_insert_rowid())
}

fn name_number(db: &Connection, name: &Name) -> rusqlite::Result<i64> {
    let condition = "kind = ?1 AND \"of\" = ?2 AND \"window\" = ?3 AND metric = ?4 AND unit = ?5";
    let parameters = params![name.kind, name.of, name.window, name.metric, name.unit];
    number_of(db, "name", condition, parameters)
}

/// Returns the number of a scenario. If it is missing, its text and its settings are kept, too.
fn scenario_number(
    db: &Connection,
    scenario: &str,
    text: &dyn Fn(&str) -> Option<ScenarioText>,
) -> rusqlite::Result<i64> {
    let mut found = db.prepare_cached("SELECT id FROM scenario WHERE scenario = ?1")?;
    if let Some(number) = found.query_row([scenario], |row| row.get(0)).optional()? {
        return Ok(number);
    }
    let text = text(scenario).unwrap_or_else(|| {
        ScenarioText::new(scenario, String::new(), String::new(), BTreeMap::new())
    });
    let mut traces: BTreeMap<&str, i64> = BTreeMap::new();
    for (name, trace) in &text.resolved.traces {
        let hash = Sha256::digest(trace).to_vec();
        let found = "SELECT id FROM trace WHERE hash = ?1";
        let found = db.query_row(found, [&hash], |row| row.get(0)).optional()?;
        let number = if let Some(number) = found {
            number
        } else {
            db.execute(
                "INSERT INTO trace (hash, text) VALUES (?1, ?2)",
                params![hash, trace],
            )?;
            db.last_insert_rowid()
        };
        traces.insert(name, number);
    }
    let traces = serde_json::to_string(&traces).expect("numbers are JSON");
    db.execute(
        "INSERT INTO scenario (scenario, title, text, traces, checksum) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![scenario, text.title, text.resolved.text, traces, text.checksum()],
    )?;
    let number = db.last_insert_rowid();
    let mut row = db.prepare_cached("INSERT INTO setting VALUES (?1, ?2, ?3)")?;
    for (path, value) in settings(Some(&text)) {
        let path = number_of(db, "path", "path = ?1", params![path])?;
        row.execute(params![number, path, value])?;
    }
    Ok(number)
}

/// Returns the text of a scenario with its checksum.
pub(crate) fn scenario_text(
    db: &Connection,
    scenario: &str,
) -> rusqlite::Result<Option<(ScenarioText, i64)>> {
    let mut found = db
        .prepare_cached("SELECT title, text, traces, checksum FROM scenario WHERE scenario = ?1")?;
    let read = |row: &Row<'_>| {
        Ok((
            row.get(0)?,
            row.get(1)?,
            row.get::<_, String>(2)?,
            row.get(3)?,
        ))
    };
    let Some((title, text, traces, sum)) = found.query_row([scenario], read).optional()? else {
        return Ok(None);
    };
    let numbers: BTreeMap<String, i64> = serde_json::from_str(&traces)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(2, Type::Text, error.into()))?;
    let mut traces = BTreeMap::new();
    let mut trace = db.prepare_cached("SELECT text FROM trace WHERE id = ?1")?;
    for (name, number) in numbers {
        traces.insert(name, trace.query_row([number], |row| row.get(0))?);
    }
    Ok(Some((
        ScenarioText::new(scenario, title, text, traces),
        sum,
    )))
}

/// Returns the runs that a condition selects, and the checksum that each was written with; or in words which run has a
/// value of a type that its column does not have.
pub(crate) fn select(
    db: &Connection,
    condition: &str,
    parameters: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<Result<(RawRuns, Vec<i64>), String>> {
    let mut all = RawRuns::default();
    let (mut sums, mut names) = (Vec::new(), BTreeMap::new());
    let mut rows = db.prepare_cached(&format!(
        "SELECT r.id, s.scenario, r.seed, r.perturbed, r.digest, r.packet_hops, r.simulated_ns, r.period_ns, r.notes, \
         o.version, c.sources, o.host, o.date, r.checksum FROM run r JOIN scenario s ON s.id = r.scenario \
         JOIN sources c ON c.id = r.sources JOIN origin o ON o.id = r.origin WHERE {condition} ORDER BY r.id"
    ))?;
    let mut rows = rows.query(parameters)?;
    while let Some(row) = rows.next()? {
        match run_of(db, row, &mut all.names, &mut names) {
            Ok((run, sum)) => {
                all.runs.push(run);
                sums.push(sum);
            }
            Err(error) => {
                let reason = match error {
                    rusqlite::Error::IntegralValueOutOfRange(place, value) => {
                        format!(
                            "the column {} has {value}",
                            row.as_ref().column_name(place)?
                        )
                    }
                    error => wrong_type(&error).ok_or(error)?,
                };
                return Ok(Err(format!("{}: {reason}", called(row)?)));
            }
        }
    }
    Ok(Ok((all, sums)))
}

/// Returns what a run of [`select`] is called in messages: by its number if that is all that can be read.
fn called(row: &Row<'_>) -> rusqlite::Result<String> {
    let (seed, scenario) = (row.get::<_, i64>(2), row.get::<_, String>(1));
    Ok(
        match seed.and_then(|seed| Ok((seed.cast_unsigned(), scenario?))) {
            Ok((seed, scenario)) => format!("the run of seed {seed} of scenario {scenario}"),
            Err(_) => format!("the run with the number {}", row.get::<_, i64>(0)?),
        },
    )
}

/// Returns a run of [`select`], and its checksum.
fn run_of(
    db: &Connection,
    row: &Row<'_>,
    list: &mut Vec<Name>,
    places: &mut BTreeMap<i64, usize>,
) -> rusqlite::Result<(RawRun, i64)> {
    let number: i64 = row.get(0)?;
    let unsigned = |place| Ok::<u64, rusqlite::Error>(row.get::<_, i64>(place)?.cast_unsigned());
    let mut run = RawRun {
        scenario: row.get(1)?,
        seed: unsigned(2)?,
        perturbed: match row.get(3)? {
            0 => false,
            1 => true,
            other => return Err(rusqlite::Error::IntegralValueOutOfRange(3, other)),
        },
        digest: row.get(4)?,
        packet_hops: unsigned(5)?,
        simulated_ns: unsigned(6)?,
        period_ns: unsigned(7)?,
        notes: row.get(8)?,
        version: row.get(9)?,
        sources: row.get(10)?,
        host: row.get(11)?,
        date: row.get(12)?,
        ..RawRun::default()
    };
    let mut values =
        db.prepare_cached("SELECT name, value FROM value WHERE run = ?1 ORDER BY place")?;
    let mut values = values.query([number])?;
    while let Some(row) = values.next()? {
        let name = known(db, row.get(0)?, list, places)?;
        // SQLite keeps what is no number as a missing one.
        run.values
            .push((name, row.get::<_, Option<f64>>(1)?.unwrap_or(f64::NAN)));
    }
    let mut lists =
        db.prepare_cached("SELECT name, numbers FROM list WHERE run = ?1 ORDER BY place")?;
    let mut lists = lists.query([number])?;
    while let Some(row) = lists.next()? {
        let name = known(db, row.get(0)?, list, places)?;
        let numbers = list_of(&row.get::<_, Vec<u8>>(1)?);
        // Of another length it is damaged, and the checksum is another one.
        run.series.push((name, numbers.unwrap_or_default()));
    }
    Ok((run, row.get(13)?))
}

/// Returns the place in `list` of the name with this number in the database.
fn known(
    db: &Connection,
    number: i64,
    list: &mut Vec<Name>,
    places: &mut BTreeMap<i64, usize>,
) -> rusqlite::Result<usize> {
    if let Some(place) = places.get(&number) {
        return Ok(*place);
    }
    let mut found =
        db.prepare_cached("SELECT kind, \"of\", \"window\", metric, unit FROM name WHERE id = ?1")?;
    let name = found.query_row([number], |row| {
        Ok(Name {
            kind: row.get(0)?,
            of: row.get(1)?,
            window: row.get(2)?,
            metric: row.get(3)?,
            unit: row.get(4)?,
        })
    });
    // A name that is missing is damage, and the checksum is another one.
    list.push(name.optional()?.unwrap_or_default());
    places.insert(number, list.len() - 1);
    Ok(list.len() - 1)
}
