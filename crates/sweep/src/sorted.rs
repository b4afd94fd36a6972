//! A table of Parquet that is sorted by scenario.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};

use crate::columns::Columns;
use crate::error::StoreError;
use crate::key::ScenarioKey;

/// A table to read, with the row group that was read last.
#[derive(Debug)]
pub(crate) struct Sorted {
    path: PathBuf,
    file: File,
    metadata: ArrowReaderMetadata,
    /// The first and the last scenario of each row group.
    ranges: Vec<(ScenarioKey, ScenarioKey)>,
    last: Option<(usize, Vec<Stretch>)>,
}

/// Rows of one scenario.
#[derive(Clone, Debug)]
struct Stretch {
    scenario: ScenarioKey,
    rows: RecordBatch,
}

impl Sorted {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(StoreError::read(path))?;
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
            .map_err(StoreError::damaged(path))?;
        let groups = metadata.metadata().row_groups().iter();
        let ranges = groups.map(|group| {
            let statistics = group.column(0).statistics();
            let bound = |bytes: Option<&[u8]>| {
                let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
                let key = text.and_then(|text| ScenarioKey::from_str(text).ok());
                key.ok_or_else(|| StoreError::damaged(path)("a row group has no bounds"))
            };
            let first = bound(statistics.and_then(|it| it.min_bytes_opt()))?;
            Ok((first, bound(statistics.and_then(|it| it.max_bytes_opt()))?))
        });
        Ok(Self {
            ranges: ranges.collect::<Result<_, StoreError>>()?,
            path: path.to_owned(),
            file,
            metadata,
            last: None,
        })
    }

    /// Returns all rows.
    pub(crate) fn all(&self) -> Result<Vec<RecordBatch>, StoreError> {
        self.read((0..self.ranges.len()).collect())
    }

    /// Returns the rows of a scenario.
    pub(crate) fn rows(&mut self, scenario: ScenarioKey) -> Result<Vec<RecordBatch>, StoreError> {
        let ranges = self.ranges.iter().enumerate();
        let groups: Vec<usize> = ranges
            .filter(|(_, (first, last))| (first..=last).contains(&&scenario))
            .map(|(group, _)| group)
            .collect();
        let mut all = Vec::new();
        for group in groups {
            let stretches = self.group(group)?.iter();
            let found = stretches.filter(|it| it.scenario == scenario);
            all.extend(found.map(|it| it.rows.clone()));
        }
        Ok(all)
    }

    fn group(&mut self, group: usize) -> Result<&[Stretch], StoreError> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != group) {
            let mut stretches = Vec::new();
            for rows in self.read(vec![group])? {
                split(&rows, &mut stretches).map_err(StoreError::damaged(&self.path))?;
            }
            self.last = Some((group, stretches));
        }
        Ok(self.last.as_ref().map_or(&[], |(_, it)| it.as_slice()))
    }

    fn read(&self, groups: Vec<usize>) -> Result<Vec<RecordBatch>, StoreError> {
        let file = self
            .file
            .try_clone()
            .map_err(StoreError::read(&self.path))?;
        let rows = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
            .with_row_groups(groups)
            .with_batch_size(1 << 16)
            .build()
            .map_err(StoreError::damaged(&self.path))?;
        rows.collect::<Result<_, _>>()
            .map_err(StoreError::damaged(&self.path))
    }
}

/// Splits rows where the scenario changes.
fn split(rows: &RecordBatch, stretches: &mut Vec<Stretch>) -> Result<(), String> {
    let texts = Columns(rows)
        .texts("scenario")
        .map_err(|it| it.to_string())?;
    let mut from = 0;
    for same in texts.chunk_by(|one, other| one == other) {
        let key = ScenarioKey::from_str(same[0]);
        stretches.push(Stretch {
            scenario: key.map_err(|_| format!("'{}' is no key of a scenario", same[0]))?,
            rows: rows.slice(from, same.len()),
        });
        from += same.len();
    }
    Ok(())
}
