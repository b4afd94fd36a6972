//! A table of Parquet that is sorted by scenario.

use std::str::FromStr;

use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};

use crate::checks::Checked;
use crate::columns::Columns;
use crate::error::StoreError;
use crate::key::ScenarioKey;

/// A table to read, with the row group that was read last.
#[derive(Debug)]
pub(crate) struct Sorted {
    checked: Checked,
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
    pub(crate) fn open(checked: Checked) -> Result<Self, StoreError> {
        let path = &checked.path;
        let metadata = ArrowReaderMetadata::load(&checked.file, ArrowReaderOptions::new())
            .map_err(StoreError::unread(path))?;
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
            checked,
            metadata,
            last: None,
        })
    }

    /// Returns all rows.
    pub(crate) fn all(&self) -> Result<Vec<RecordBatch>, StoreError> {
        self.read((0..self.ranges.len()).collect())
    }

    /// Returns the rows of the row groups that are not damaged.
    pub(crate) fn readable(&self) -> Result<Vec<RecordBatch>, StoreError> {
        let damaged = self.damaged_groups()?;
        let groups = 0..self.ranges.len();
        self.read(groups.filter(|it| !damaged.contains(it)).collect())
    }

    /// Returns the first and the last scenario of each damaged row group.
    pub(crate) fn damaged(&self) -> Result<Vec<(ScenarioKey, ScenarioKey)>, StoreError> {
        let groups = self.damaged_groups()?.into_iter();
        Ok(groups.map(|group| self.ranges[group]).collect())
    }

    fn damaged_groups(&self) -> Result<Vec<usize>, StoreError> {
        let mut damaged = Vec::new();
        for group in 0..self.ranges.len() {
            match self.checked.check(group) {
                Ok(()) => {}
                Err(StoreError::Damaged { .. }) => damaged.push(group),
                Err(error) => return Err(error),
            }
        }
        Ok(damaged)
    }

    /// Fails if a row group is damaged.
    pub(crate) fn verify(&self) -> Result<(), StoreError> {
        (0..self.ranges.len()).try_for_each(|group| self.checked.check(group))
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
                split(&rows, &mut stretches).map_err(StoreError::damaged(&self.checked.path))?;
            }
            self.last = Some((group, stretches));
        }
        Ok(self.last.as_ref().map_or(&[], |(_, it)| it.as_slice()))
    }

    fn read(&self, groups: Vec<usize>) -> Result<Vec<RecordBatch>, StoreError> {
        groups.iter().try_for_each(|it| self.checked.check(*it))?;
        let Checked { path, file, .. } = &self.checked;
        let file = file.try_clone().map_err(StoreError::read(path))?;
        let rows = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
            .with_row_groups(groups)
            .with_batch_size(1 << 16)
            .build()
            .map_err(StoreError::unread(path))?;
        rows.collect::<Result<_, _>>()
            .map_err(StoreError::unread(path))
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
