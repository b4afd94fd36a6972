//! Parts: finished runs compacted to Parquet, sorted by scenario.
//!
//! A part is a folder that is complete as soon as it has its name. `replaces.json` in it lists the parts and segments
//! whose runs it has: until they are removed, they count as not there. `checks.json` has checksums of the others.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;

use crate::checks::Checks;
use crate::columns::{labels, table, texts};
use crate::error::StoreError;
use crate::key::{RunKey, ScenarioKey};
use crate::name::{Name, machine, names, unique};
use crate::regular;
use crate::settings::settings;
use crate::sorted::Sorted;
use crate::tables::{Rows, Tables, keys, origins};
use crate::text::ScenarioText;
use crate::whole::{sync_folder, write_whole};

const RUNS: &str = "runs.parquet";
const VALUES: &str = "values.parquet";
const SERIES: &str = "series.parquet";
const SCENARIOS: &str = "scenarios.parquet";
const SETTINGS: &str = "settings.parquet";
const REPLACES: &str = "replaces.json";

/// The rows of a row group: what is read to get at one of them.
const GROUP: usize = 1 << 16;
/// The most bytes of a row group, which matters for series.
const GROUP_BYTES: usize = 16 << 20;

/// The beginning of the names of folders of parts in the making, under the store's. The machine follows, because another
/// one may be at work where locks are only seen by those of the same machine.
const UNFINISHED: &str = ".unfinished";

/// How many processes may take the next number of a part at the same time.
const MOST_AT_ONCE: u64 = 100;

/// A part to read. Its files stay open, so it can be read when another process has replaced it.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) path: PathBuf,
    runs: Sorted,
    values: Sorted,
    series: Sorted,
    texts: Sorted,
    scenarios: BTreeSet<ScenarioKey>,
    /// Its runs, each with whether the present sources computed it.
    pub(crate) keys: Vec<(RunKey, bool)>,
    /// What it replaces, by the names of files and folders.
    pub(crate) replaces: Vec<Name>,
    /// Whether all of it has been compared with its checksums.
    is_verified: bool,
}

impl Part {
    /// Opens a part; `None` if another process has just removed it.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        match Self::open_existing(path) {
            Err(_) if !path.exists() => Ok(None),
            // With the advice what to do about it.
            Err(StoreError::File { error, .. }) if error.kind() == ErrorKind::NotFound => {
                Err(StoreError::damaged(path)("a file of it is missing"))
            }
            opened => opened.map(Some),
        }
    }

    fn open_existing(path: &Path) -> Result<Self, StoreError> {
        let mut part = Self::without_runs(path)?;
        let rows = part.runs.all()?;
        part.note(&rows, &[])?;
        Ok(part)
    }

    /// Opens a part that may be damaged, without the scenarios that the damage touches. Returns with it whether there
    /// is any damage.
    pub(crate) fn salvage(path: &Path) -> Result<(Self, bool), StoreError> {
        let mut part = Self::without_runs(path)?;
        let rows = part.runs.readable()?;
        let tables = [&part.runs, &part.values, &part.series, &part.texts];
        let mut lost = Vec::new();
        for table in tables {
            lost.extend(table.damaged()?);
        }
        // They are made anew of the texts.
        let settings = match part.verify_settings() {
            Err(StoreError::Damaged { .. }) => false,
            verified => verified.map(|()| true)?,
        };
        let is_damaged = !lost.is_empty() || !settings;
        part.note(&rows, &lost)?;
        Ok((part, is_damaged))
    }

    fn verify_settings(&self) -> Result<(), StoreError> {
        let checks = Checks::read(&self.path)?;
        Sorted::open(checks.open(&self.path.join(SETTINGS))?)?.verify()
    }

    /// Fails if anything in it is damaged.
    pub(crate) fn verify(&mut self) -> Result<(), StoreError> {
        if !self.is_verified {
            let tables = [&self.runs, &self.values, &self.series, &self.texts];
            tables.into_iter().try_for_each(Sorted::verify)?;
            self.verify_settings()?;
            self.is_verified = true;
        }
        Ok(())
    }

    fn without_runs(path: &Path) -> Result<Self, StoreError> {
        let checks = Checks::read(path)?;
        let open = |name| Sorted::open(checks.open(&path.join(name))?);
        checks.open(&path.join(REPLACES))?;
        Ok(Self {
            path: path.to_owned(),
            runs: open(RUNS)?,
            values: open(VALUES)?,
            series: open(SERIES)?,
            texts: open(SCENARIOS)?,
            scenarios: BTreeSet::new(),
            keys: Vec::new(),
            replaces: replaces(path)?,
            is_verified: false,
        })
    }

    /// Takes note of its runs, without those of these ranges of scenarios.
    fn note(
        &mut self,
        runs: &[RecordBatch],
        lost: &[(ScenarioKey, ScenarioKey)],
    ) -> Result<(), StoreError> {
        let is_lost = |it: &ScenarioKey| {
            lost.iter()
                .any(|(first, last)| (first..=last).contains(&it))
        };
        for rows in runs {
            let current = origins(rows)?;
            let current = current.iter().map(|origin| origin.is_current());
            let all = keys(rows)?.into_iter().zip(current);
            self.keys
                .extend(all.filter(|(key, _)| !is_lost(&key.scenario)));
        }
        self.scenarios = self.keys.iter().map(|(key, _)| key.scenario).collect();
        Ok(())
    }

    /// Returns the file of a table.
    pub(crate) fn table(&self, table: Table) -> PathBuf {
        self.path.join(table.file())
    }

    /// Returns the scenarios of its runs, in order.
    pub(crate) fn scenarios(&self) -> impl Iterator<Item = ScenarioKey> {
        self.scenarios.iter().copied()
    }

    /// Returns the runs of a scenario as tables. It is fast if scenarios are asked for in order.
    pub(crate) fn rows(&mut self, scenario: ScenarioKey) -> Result<Rows, StoreError> {
        if !self.scenarios.contains(&scenario) {
            return Ok(Rows::default());
        }
        Ok(Rows {
            runs: self.runs.rows(scenario)?,
            values: self.values.rows(scenario)?,
            series: self.series.rows(scenario)?,
        })
    }

    /// Returns the text of a scenario, if it is here.
    pub(crate) fn text(
        &mut self,
        scenario: ScenarioKey,
    ) -> Result<Option<ScenarioText>, StoreError> {
        let rows = self.texts.rows(scenario)?;
        let Some(rows) = rows.first() else {
            return Ok(None);
        };
        let json = crate::columns::Columns(rows).texts("json")?;
        let text = json.first().map(|json| ScenarioText::read(json.as_bytes()));
        text.transpose().map_err(StoreError::damaged(&self.path))
    }
}

/// Returns what a part replaces, by the names of files and folders.
fn replaces(part: &Path) -> Result<Vec<Name>, StoreError> {
    let file = part.join(REPLACES);
    let json = regular::read(&file)?;
    serde_json::from_slice(&json).map_err(StoreError::damaged(&file))
}

/// A table of a part.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Table {
    /// The runs.
    Runs,
    /// Their values.
    Values,
    /// Their series.
    Series,
    /// The scenarios.
    Scenarios,
    /// The values of the scenarios' keys.
    Settings,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 5] = [
        Self::Runs,
        Self::Values,
        Self::Series,
        Self::Scenarios,
        Self::Settings,
    ];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Values => "values",
            Self::Series => "series",
            Self::Scenarios => "scenarios",
            Self::Settings => "settings",
        }
    }

    const fn file(self) -> &'static str {
        match self {
            Self::Runs => RUNS,
            Self::Values => VALUES,
            Self::Series => SERIES,
            Self::Scenarios => SCENARIOS,
            Self::Settings => SETTINGS,
        }
    }
}

/// A part in the making.
#[derive(Debug)]
pub(crate) struct PartWriter {
    /// The folder, under a name that no reader takes for a part.
    folder: PathBuf,
    runs: Output,
    values: Output,
    series: Output,
    texts: Output,
    settings: Output,
}

impl PartWriter {
    /// Begins a part of the store in `folder`, which only one process does at a time.
    pub(crate) fn create(store: &Path, host: &str) -> Result<Self, StoreError> {
        for folder in unfinished(store, host)? {
            fs::remove_dir_all(&folder).map_err(StoreError::write(&folder))?;
        }
        let name = format!("{UNFINISHED}-{}-{}", machine(host), unique());
        let folder = store.join(name);
        fs::create_dir(&folder).map_err(StoreError::write(&folder))?;
        Self::within(folder)
    }

    /// Begins to write the files of a part into a folder, which is empty.
    pub(crate) fn within(folder: PathBuf) -> Result<Self, StoreError> {
        let none = Tables::of(&[])?;
        Ok(Self {
            runs: Output::create(&folder, RUNS, &none.runs)?,
            values: Output::create(&folder, VALUES, &none.values)?,
            series: Output::create(&folder, SERIES, &none.series)?,
            texts: Output::create(&folder, SCENARIOS, &text_table(None)?)?,
            settings: Output::create(&folder, SETTINGS, &settings(None)?)?,
            folder,
        })
    }

    /// Adds runs of a scenario. Scenarios come in order.
    pub(crate) fn add(&mut self, rows: &Rows) -> Result<(), StoreError> {
        let (runs, values) = (&mut self.runs, &mut self.values);
        rows.runs.iter().try_for_each(|it| runs.write(it))?;
        rows.values.iter().try_for_each(|it| values.write(it))?;
        rows.series.iter().try_for_each(|it| self.series.write(it))
    }

    /// Adds the text of a scenario. Scenarios come in order.
    pub(crate) fn add_text(&mut self, text: &ScenarioText) -> Result<(), StoreError> {
        self.texts.write(&text_table(Some(text))?)?;
        self.settings.write(&settings(Some(text))?)
    }

    /// Removes what was written of a part that cannot be completed.
    pub(crate) fn abandon(store: &Path, host: &str) {
        for folder in unfinished(store, host).unwrap_or_default() {
            // It is in nobody's way, and the next one tries again.
            let _ = fs::remove_dir_all(folder);
        }
    }

    /// Completes the files of the part. Returns its folder.
    pub(crate) fn complete(self, replaces: &[Name]) -> Result<PathBuf, StoreError> {
        let mut checks = Checks::default();
        for output in [
            self.runs,
            self.values,
            self.series,
            self.texts,
            self.settings,
        ] {
            output.finish(&mut checks)?;
        }
        let json = serde_json::to_vec(replaces).expect("texts are JSON");
        write_whole(&self.folder.join(REPLACES), &json)?;
        checks.add(&self.folder.join(REPLACES), &[])?;
        checks.write(&self.folder)?;
        Ok(self.folder)
    }

    /// Completes the part under a name of its own.
    pub(crate) fn finish(self, replaces: &[Name]) -> Result<PathBuf, StoreError> {
        let folder = self.complete(replaces)?;
        let store = folder.parent().unwrap_or(Path::new(""));
        let parts = &store.join("parts");
        let names = fs::read_dir(parts).map_err(StoreError::read(parts))?;
        // Those that were set aside count: no name is used again.
        let numbers = names.filter_map(|entry| {
            let path = entry.ok()?.path();
            path.file_stem()?.to_str()?.parse::<u64>().ok()
        });
        let mut number = numbers.max().unwrap_or(0);
        let most = number.saturating_add(MOST_AT_ONCE);
        loop {
            number = number.saturating_add(1);
            let path = parts.join(format!("{number:06}"));
            match fs::rename(&folder, &path) {
                Ok(()) => {
                    sync_folder(parts);
                    return Ok(path);
                }
                // Another machine took the number.
                Err(_) if path.exists() && number < most => {}
                Err(error) => return Err(StoreError::write(&path)(error)),
            }
        }
    }
}

/// Returns the folders of parts that processes of this machine have not completed.
fn unfinished(store: &Path, host: &str) -> Result<Vec<PathBuf>, StoreError> {
    let own = format!("{UNFINISHED}-{}-", machine(host));
    let mut names = names(store)?;
    names.retain(|name| name.starts_with(&own));
    Ok(names.iter().map(|name| store.join(name)).collect())
}

/// A table of Parquet that is being written.
#[derive(Debug)]
struct Output {
    writer: ArrowWriter<File>,
    path: PathBuf,
}

impl Output {
    fn create(folder: &Path, name: &str, example: &RecordBatch) -> Result<Self, StoreError> {
        let path = folder.join(name);
        let file = File::create_new(&path).map_err(StoreError::write(&path))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP))
            .set_max_row_group_bytes(Some(GROUP_BYTES))
            .build();
        let writer = ArrowWriter::try_new(file, example.schema(), Some(properties))
            .map_err(StoreError::parquet(&path))?;
        Ok(Self { writer, path })
    }

    fn write(&mut self, rows: &RecordBatch) -> Result<(), StoreError> {
        let written = self.writer.write(rows);
        written.map_err(StoreError::parquet(&self.path))
    }

    fn finish(mut self, checks: &mut Checks) -> Result<(), StoreError> {
        let path = &self.path;
        self.writer.flush().map_err(StoreError::parquet(path))?;
        let groups = self.writer.flushed_row_groups().iter();
        let ends = groups.map(|group| {
            let columns = group.columns().iter().map(ColumnChunkMetaData::byte_range);
            columns
                .map(|(from, length)| from + length)
                .max()
                .unwrap_or(0)
        });
        let ends: Vec<u64> = ends.collect();
        let file = self.writer.into_inner();
        let file = file.map_err(StoreError::parquet(path))?;
        file.sync_all().map_err(StoreError::write(path))?;
        checks.add(path, &ends)
    }
}

/// Returns a row with the text of a scenario, or none.
fn text_table(text: Option<&ScenarioText>) -> Result<RecordBatch, StoreError> {
    let key = text.map(|it| it.scenario.to_string());
    let json = text.map(|it| String::from_utf8_lossy(&it.write()).into_owned());
    Ok(table(vec![
        labels("scenario", key.as_deref().into_iter()),
        texts("title", text.iter().map(|it| it.title.as_str())),
        texts("text", text.iter().map(|it| it.resolved.text.as_str())),
        texts("json", json.as_deref().into_iter()),
    ])?)
}
