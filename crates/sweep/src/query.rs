//! Queries of a store, and its tables as Parquet.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use fairwire_sim::results::{Axis, make_directory};
use rusqlite::functions::FunctionFlags;
use rusqlite::limits::Limit;
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, params_from_iter};

use crate::axis::axis_columns;
use crate::columns::{Column, Values, counts, flags, labels, numbers, texts};
use crate::db::Db;
use crate::error::StoreError;
use crate::list::Listed;
use crate::name::unique;
use crate::parquet_file::Writer;
use crate::raw::list_of;
use crate::record::SOURCES;
use crate::store::Store;

/// The tables of a store that queries see.
const TABLES: [&str; 5] = ["runs", "values", "series", "scenarios", "settings"];

/// What a column of a table in Parquet has.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Texts that repeat.
    Label,
    Text,
    Count,
    Flag,
    Number,
    List,
}

impl Kind {
    fn of(table: &str, column: &str) -> Self {
        match column {
            "seed" | "packet_hops" | "simulated_ns" | "period_ns" => Self::Count,
            "perturbed" => Self::Flag,
            "values" => Self::List,
            "value" if table == "values" => Self::Number,
            "value" | "digest" | "notes" | "title" | "text" | "traces" => Self::Text,
            _ => Self::Label,
        }
    }
}

/// The most rows of a row group, which are in memory at once, and the bytes with which it ends.
const GROUP: usize = 1 << 16;
const GROUP_BYTES: usize = 16 << 20;

/// A row of an answer.
type Row = Vec<Value>;

impl Store {
    /// Returns the answer to a query in SQL, which sees the five tables and the view of each sweep. It cannot write.
    ///
    /// # Errors
    /// If the store cannot be read, and [`StoreError::Query`] if the query is wrong.
    pub fn query(&mut self, query: &str) -> Result<Vec<Column>, StoreError> {
        self.verify()?;
        let sweeps = self.sweeps()?;
        // A connection of its own: temporary tables and limits end with it.
        let mut db = Db::open(self.folder())?;
        db.read(|db| {
            add_functions(db)?;
            // A view costs time, and a store may have many.
            let asked = sweeps
                .iter()
                .filter(|sweep| query.contains(&format!("sweep_{}", sweep.id)));
            asked
                .into_iter()
                .try_for_each(|sweep| add_view(db, sweep))?;
            db.pragma_update(None, "query_only", true)?;
            db.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0).map(|_| ())
        })?;
        let path = db.path.clone();
        let wrong = |error: rusqlite::Error| match StoreError::sql("read", &path)(error) {
            StoreError::Sql(_, error) => StoreError::Query(error),
            other => other,
        };
        let db = db.get()?;
        let mut statement = db.prepare(query).map_err(wrong)?;
        if !statement.readonly() {
            return Err(StoreError::Query("it would write".to_owned()));
        }
        let names = statement.columns_with_metadata();
        // A list of numbers is a blob as others are, but for where it comes from.
        let names = names.map(|it| (it.name().to_owned(), it.table_name() == Some("list")));
        let names: Vec<(String, bool)> = names.collect();
        let mut seen = BTreeSet::new();
        if let Some((twice, _)) = names.iter().find(|(name, _)| !seen.insert(name)) {
            return Err(StoreError::Query(format!(
                "two of its columns are called '{twice}': name one with 'as', as in 'select runs.seed as run_seed'"
            )));
        }
        let mut rows = statement.query([]).map_err(wrong)?;
        let mut columns: Vec<Vec<Value>> = vec![Vec::new(); names.len()];
        while let Some(row) = rows.next().map_err(wrong)? {
            for (place, column) in columns.iter_mut().enumerate() {
                column.push(row.get(place).map_err(wrong)?);
            }
        }
        if names.is_empty() {
            return Err(StoreError::Query("it returns no table".to_owned()));
        }
        let columns = names
            .iter()
            .zip(&columns)
            .map(|((name, is_of_lists), values)| typed(name, *is_of_lists, values));
        Ok(columns.collect())
    }

    /// Writes each table as `NAME.parquet` into a folder, which is made if it is missing. Returns the paths.
    ///
    /// # Errors
    /// If the store is damaged, if a file is there already, or if one cannot be written. None of the files is there then
    /// that was not there before.
    pub fn export(&mut self, folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
        self.verify()?;
        let paths = TABLES.map(|table| folder.join(format!("{table}.parquet")));
        if let Some(path) = paths.iter().find(|it| it.symlink_metadata().is_ok()) {
            return Err(StoreError::Exported(path.clone()));
        }
        let is_missing = |it: &&Path| !it.as_os_str().is_empty() && it.symlink_metadata().is_err();
        let made: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
        make_directory(folder).map_err(StoreError::Folder)?;
        let unfinished = folder.join(format!(".unfinished-{}", unique()));
        let written = self.export_by_way_of(&unfinished, &paths);
        let _ = fs::remove_dir_all(&unfinished);
        if let Err(error) = written {
            for folder in made {
                // With something of somebody else in it, it stays.
                let _ = fs::remove_dir(folder);
            }
            return Err(error);
        }
        Ok(paths.into())
    }

    /// Writes the tables into a folder, and moves the files to their places when all are whole.
    fn export_by_way_of(&mut self, unfinished: &Path, paths: &[PathBuf]) -> Result<(), StoreError> {
        fs::create_dir(unfinished).map_err(StoreError::write(unfinished))?;
        for (table, path) in TABLES.iter().zip(paths) {
            self.export_table(table, &unfinished.join(table), path)?;
        }
        for (number, (table, path)) in TABLES.iter().zip(paths).enumerate() {
            if let Err(error) = fs::rename(unfinished.join(table), path) {
                for moved in &paths[..number] {
                    let _ = fs::remove_file(moved);
                }
                return Err(StoreError::write(path)(error));
            }
        }
        Ok(())
    }

    /// Writes a table into a file that will have the name `path`.
    fn export_table(&mut self, table: &str, file: &Path, path: &Path) -> Result<(), StoreError> {
        let failed = |error| StoreError::parquet(path)(error);
        let file = File::create_new(file).map_err(StoreError::write(path))?;
        let database = self.db.path.clone();
        let read = |error| StoreError::sql("read", &database)(error);
        let db = self.db.get()?;
        let query = format!("SELECT * FROM {}", quoted(table));
        let mut statement = db.prepare(&query).map_err(read)?;
        let names = statement.column_names();
        let columns: Vec<(String, Kind)> = names
            .map(|name| (name.to_owned(), Kind::of(table, name)))
            .collect();
        let mut found = statement.query([]).map_err(read)?;
        let mut writer = Writer::new(file, &columns_of(&columns, &[])).map_err(failed)?;
        let mut rows: Vec<Row> = Vec::new();
        let mut bytes = 0;
        while let Some(row) = found.next().map_err(read)? {
            let values = (0..columns.len()).map(|place| row.get(place));
            let values = values.collect::<Result<Row, _>>().map_err(read)?;
            bytes += values.iter().map(size_of_value).sum::<usize>();
            rows.push(values);
            if rows.len() == GROUP || bytes >= GROUP_BYTES {
                writer.write(&columns_of(&columns, &rows)).map_err(failed)?;
                rows.clear();
                bytes = 0;
            }
        }
        if !rows.is_empty() {
            writer.write(&columns_of(&columns, &rows)).map_err(failed)?;
        }
        writer.finish().map_err(failed)
    }
}

/// Adds the function `numbers`: the values of a series as JSON, for `json_each`.
fn add_functions(db: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    db.create_scalar_function("numbers", 1, flags, |context| {
        let list = context.get_raw(0).as_blob().ok().and_then(list_of);
        // What is no number is null in JSON.
        Ok(list.map(|list| serde_json::to_string(&list).unwrap_or_default()))
    })
}

/// Makes the view of a sweep: its values, with the cells and their axes.
fn add_view(db: &Connection, sweep: &Listed) -> rusqlite::Result<()> {
    const TAKEN: [&str; 9] = [
        "cell", "scenario", "seed", "kind", "of", "window", "metric", "value", "unit",
    ];
    let mut names = vec!["cell".to_owned(), "scenario".to_owned()];
    let cells = &sweep.cells;
    let mut columns = vec![
        texts("cell", cells.iter().map(|it| it.cell.as_str())).1,
        texts("scenario", cells.iter().map(|it| it.scenario.as_str())).1,
    ];
    for (name, column) in axes_of(sweep) {
        let prefix = if TAKEN.contains(&name.as_str()) || names.contains(&name) {
            "axis-"
        } else {
            ""
        };
        names.push(format!("{prefix}{name}"));
        columns.push(column);
    }
    let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    let (cells, view) = (
        quoted(&format!("cells_{}", sweep.id)),
        quoted(&format!("sweep_{}", sweep.id)),
    );
    db.execute_batch(&format!("CREATE TEMP TABLE {cells} ({})", names.join(", ")))?;
    let marks = vec!["?"; names.len()].join(", ");
    let mut insert = db.prepare(&format!("INSERT INTO {cells} VALUES ({marks})"))?;
    for row in 0..sweep.cells.len() {
        insert.execute(params_from_iter(
            columns.iter().map(|column| value_at(column, row)),
        ))?;
    }
    let axes: Vec<String> = names[2..].iter().map(|name| format!("c.{name}")).collect();
    let axes = [&["v.unit".to_owned()], &axes[..]].concat().join(", ");
    db.execute_batch(&format!(
        "CREATE TEMP VIEW {view} AS SELECT c.cell, v.seed, v.kind, iif(v.kind = 'all', 'all', v.\"of\") AS \"of\", \
         v.\"window\", v.metric, v.value, {axes} FROM {cells} c JOIN main.\"values\" v \
         ON v.scenario = c.scenario WHERE v.perturbed AND v.sources = '{SOURCES}'"
    ))
}

/// Returns a column for each axis of a sweep, as of the tables of its results.
fn axes_of(sweep: &Listed) -> Vec<Column> {
    let axes = Axis::of(&sweep.cells.iter().map(|cell| cell.axes.as_slice()));
    let columns = axes.iter().flat_map(|axis| {
        let values = sweep.cells.iter().map(move |cell| {
            let value = cell.axes.iter().find(|(name, _)| *name == axis.name);
            value.map(|(_, value)| value.as_str())
        });
        axis_columns(axis, values)
    });
    columns.collect()
}

/// Returns a value of a column of an axis as SQLite has it.
fn value_at(column: &Values, row: usize) -> Value {
    let found = match column {
        Values::Integers(values) => values[row].map(Value::Integer),
        Values::Numbers(values) => values[row].map(Value::Real),
        Values::Flags(values) => values[row].map(|it| Value::Integer(it.into())),
        Values::Texts(values) => values[row].clone().map(Value::Text),
        Values::Labels { texts, places } => Some(Value::Text(texts[places[row]].clone())),
        // No axis has such values.
        Values::Counts(_) | Values::Lists(_) | Values::Bytes(_) => None,
    };
    found.unwrap_or(Value::Null)
}

/// Returns the bytes of a value beside those of its place.
fn size_of_value(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => bytes.len(),
        _ => 0,
    }
}

/// Returns rows of a table with the types that its columns have in Parquet.
fn columns_of(columns: &[(String, Kind)], rows: &[Row]) -> Vec<Column> {
    let columns = columns.iter().enumerate().map(|(place, (name, kind))| {
        let values = || rows.iter().map(move |row| &row[place]);
        match kind {
            Kind::Label => labels(name, values().map(|it| text_of(it).unwrap_or_default())),
            Kind::Text => texts(name, values().map(|it| text_of(it).unwrap_or_default())),
            Kind::Count => counts(
                name,
                values().map(|it| integer_of(it).map(i64::cast_unsigned)),
            ),
            Kind::Flag => flags(name, values().map(|it| integer_of(it) == Some(1))),
            Kind::Number => numbers(
                name,
                values().map(|it| Some(number_of(it).unwrap_or(f64::NAN))),
            ),
            Kind::List => (name.clone(), Values::Lists(values().map(list_at).collect())),
        }
    });
    columns.collect()
}

/// Returns a column of an answer with the type that all of its values have. `is_of_lists` is whether its blobs are lists
/// of numbers.
fn typed(name: &str, is_of_lists: bool, values: &[Value]) -> Column {
    let there = || values.iter().filter(|it| **it != Value::Null);
    let all = |wanted: &[Type]| there().all(|it| wanted.contains(&it.data_type()));
    let column = if all(&[Type::Integer]) {
        Values::Integers(values.iter().map(integer_of).collect())
    } else if all(&[Type::Integer, Type::Real]) {
        Values::Numbers(values.iter().map(number_of).collect())
    } else if is_of_lists && there().all(|it| list_at(it).is_some()) {
        Values::Lists(values.iter().map(list_at).collect())
    } else if all(&[Type::Blob]) {
        Values::Bytes(
            values
                .iter()
                .map(|it| Some(blob_of(it)?.to_vec()))
                .collect(),
        )
    } else {
        Values::Texts(values.iter().map(shown).collect())
    };
    (name.to_owned(), column)
}

fn integer_of(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(value) => Some(*value),
        _ => None,
    }
}

fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(value) => Some(*value as f64),
        Value::Real(value) => Some(*value),
        _ => None,
    }
}

fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::Text(value) => Some(value),
        _ => None,
    }
}

fn blob_of(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Blob(value) => Some(value),
        _ => None,
    }
}

fn list_at(value: &Value) -> Option<Vec<f64>> {
    blob_of(value).and_then(list_of)
}

/// Returns a value of a column that has values of several types.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Integer(value) => Some(value.to_string()),
        Value::Real(value) => Some(value.to_string()),
        Value::Text(value) => Some(value.clone()),
        // As SQL has it.
        Value::Blob(value) => {
            let digits = value.iter().flat_map(|byte| [byte >> 4, byte & 15]);
            let digits = digits.filter_map(|digit| char::from_digit(digit.into(), 16));
            Some(format!("x'{}'", digits.collect::<String>()))
        }
    }
}

/// Returns a name as SQL has it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
