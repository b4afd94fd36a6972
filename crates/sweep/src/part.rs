//! Parts: finished runs compacted to Parquet, sorted by scenario.
//!
//! A part is a folder that is complete as soon as it has its name. `replaces.json` in it lists the parts and segments
//! whose runs it has: until they are removed, they count as not there.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::columns::{labels, table, texts};
use crate::error::StoreError;
use crate::key::{RunKey, ScenarioKey};
use crate::record::Recorded;
use crate::settings::settings;
use crate::sorted::Sorted;
use crate::tables::{Tables, assemble, keys, origins};
use crate::text::ScenarioText;

const RUNS: &str = "runs.parquet";
const VALUES: &str = "values.parquet";
const SERIES: &str = "series.parquet";
const SCENARIOS: &str = "scenarios.parquet";
const SETTINGS: &str = "settings.parquet";
const REPLACES: &str = "replaces.json";

/// The rows of a row group: what is read to get at one of them.
const GROUP: usize = 1 << 16;

/// A part to read. Its files stay open, so it can be read when another process has replaced it.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) path: PathBuf,
    runs: Sorted,
    values: Sorted,
    series: Sorted,
    texts: Sorted,
    scenarios: BTreeSet<ScenarioKey>,
    /// What it replaces, by the names of files and folders.
    pub(crate) replaces: Vec<String>,
}

impl Part {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = path.join(REPLACES);
        let replaces = fs::read(&file).map_err(StoreError::read(&file))?;
        let replaces = serde_json::from_slice(&replaces).map_err(StoreError::damaged(&file))?;
        Ok(Self {
            path: path.to_owned(),
            runs: Sorted::open(&path.join(RUNS))?,
            values: Sorted::open(&path.join(VALUES))?,
            series: Sorted::open(&path.join(SERIES))?,
            texts: Sorted::open(&path.join(SCENARIOS))?,
            scenarios: BTreeSet::new(),
            replaces,
        })
    }

    /// Reads the keys of its runs, each with whether the present sources computed it.
    pub(crate) fn keys(&mut self) -> Result<Vec<(RunKey, bool)>, StoreError> {
        let mut all = Vec::new();
        for rows in self.runs.all()? {
            let current = origins(&rows)?;
            let current = current.iter().map(|origin| origin.is_current());
            all.extend(keys(&rows)?.into_iter().zip(current));
        }
        self.scenarios = all.iter().map(|(key, _)| key.scenario).collect();
        Ok(all)
    }

    /// Returns the scenarios of its runs, in order.
    pub(crate) fn scenarios(&self) -> impl Iterator<Item = ScenarioKey> {
        self.scenarios.iter().copied()
    }

    /// Returns the runs of a scenario. It is fast if scenarios are asked for in order.
    pub(crate) fn load(&mut self, scenario: ScenarioKey) -> Result<Vec<Recorded>, StoreError> {
        if !self.scenarios.contains(&scenario) {
            return Ok(Vec::new());
        }
        let runs = self.runs.rows(scenario)?;
        let (values, series) = (self.values.rows(scenario)?, self.series.rows(scenario)?);
        Ok(assemble(&runs, &values, &series)?)
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
    /// Begins a part in `parts`, which only one process does at a time.
    pub(crate) fn create(parts: &Path) -> Result<Self, StoreError> {
        let folder = parts.join(".unfinished");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(StoreError::write(&folder))?;
        }
        fs::create_dir(&folder).map_err(StoreError::write(&folder))?;
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

    /// Adds the runs of a scenario. Scenarios come in order.
    pub(crate) fn add(
        &mut self,
        text: Option<&ScenarioText>,
        runs: &[Recorded],
    ) -> Result<(), StoreError> {
        let tables = Tables::of(runs)?;
        self.runs.write(&tables.runs)?;
        self.values.write(&tables.values)?;
        self.series.write(&tables.series)?;
        if text.is_some() {
            self.texts.write(&text_table(text)?)?;
            self.settings.write(&settings(text)?)?;
        }
        Ok(())
    }

    /// Completes the part under a name of its own.
    pub(crate) fn finish(self, replaces: &[String]) -> Result<PathBuf, StoreError> {
        for output in [
            self.runs,
            self.values,
            self.series,
            self.texts,
            self.settings,
        ] {
            output.finish()?;
        }
        let file = self.folder.join(REPLACES);
        let json = serde_json::to_vec(replaces).expect("texts are JSON");
        fs::write(&file, json).map_err(StoreError::write(&file))?;
        let parts = self.folder.parent().unwrap_or(Path::new(""));
        let names = fs::read_dir(parts).map_err(StoreError::read(parts))?;
        let numbers =
            names.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u64>().ok());
        let path = parts.join(format!("{:06}", numbers.max().map_or(1, |it| it + 1)));
        fs::rename(&self.folder, &path).map_err(StoreError::write(&path))?;
        // So that the name is on the disk, too; not every file system does this for folders.
        let _ = File::open(parts).and_then(|folder| folder.sync_all());
        Ok(path)
    }
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
        let file = File::create(&path).map_err(StoreError::write(&path))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP))
            .build();
        let writer = ArrowWriter::try_new(file, example.schema(), Some(properties))
            .map_err(StoreError::parquet(&path))?;
        Ok(Self { writer, path })
    }

    fn write(&mut self, rows: &RecordBatch) -> Result<(), StoreError> {
        let written = self.writer.write(rows);
        written.map_err(StoreError::parquet(&self.path))
    }

    fn finish(self) -> Result<(), StoreError> {
        let file = self
            .writer
            .into_inner()
            .map_err(StoreError::parquet(&self.path))?;
        file.sync_all().map_err(StoreError::write(&self.path))
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
