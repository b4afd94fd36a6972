//! Columns of tables in Arrow's memory format: making them, and reading them back.

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, ListArray, RecordBatch,
    StringArray, UInt64Array,
};
use arrow_schema::ArrowError;

/// A column: its name and its values.
pub type Column = (String, ArrayRef);

/// Makes a table of columns of equal length.
///
/// # Errors
/// If there are no columns, or if their lengths differ.
pub fn table(columns: Vec<Column>) -> Result<RecordBatch, ArrowError> {
    // Any column may lack values, so that tables of several cells have equal types.
    let columns = columns
        .into_iter()
        .map(|(name, values)| (name, values, true));
    RecordBatch::try_from_iter_with_nullable(columns)
}

/// Returns a column of texts that repeat: each distinct text is kept once.
pub fn labels<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> Column {
    let labels: DictionaryArray<Int32Type> = values.collect();
    (name.to_owned(), Arc::new(labels))
}

/// Returns a column of texts.
pub fn texts<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> Column {
    let texts: StringArray = values.map(Some).collect();
    (name.to_owned(), Arc::new(texts))
}

/// Returns a column of numbers, some of which may be missing.
pub fn numbers(name: &str, values: impl Iterator<Item = Option<f64>>) -> Column {
    let numbers: Float64Array = values.collect();
    (name.to_owned(), Arc::new(numbers))
}

/// Returns a column of counts, some of which may be missing.
pub fn counts(name: &str, values: impl Iterator<Item = Option<u64>>) -> Column {
    let counts: UInt64Array = values.collect();
    (name.to_owned(), Arc::new(counts))
}

/// Returns a column of true and false.
pub fn flags(name: &str, values: impl Iterator<Item = bool>) -> Column {
    let flags: BooleanArray = values.map(Some).collect();
    (name.to_owned(), Arc::new(flags))
}

/// Returns a column of lists of numbers. NaN is kept as it is.
pub(crate) fn lists<'a>(name: &str, values: impl Iterator<Item = &'a [f64]>) -> Column {
    let lists = values.map(|list| Some(list.iter().copied().map(Some)));
    let lists = ListArray::from_iter_primitive::<Float64Type, _, _>(lists);
    (name.to_owned(), Arc::new(lists))
}

/// A table to read from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'a>(pub(crate) &'a RecordBatch);

impl<'a> Columns<'a> {
    fn column<T: 'static>(self, name: &str) -> Result<&'a T, ArrowError> {
        let column = self.0.column_by_name(name);
        let column = column.and_then(|column| column.as_any().downcast_ref());
        column.ok_or_else(|| wrong(name))
    }

    /// Returns a column of texts, repeating or not. A missing text is empty.
    pub(crate) fn texts(self, name: &str) -> Result<Vec<&'a str>, ArrowError> {
        if let Ok(texts) = self.column::<StringArray>(name) {
            return Ok(texts.iter().map(Option::unwrap_or_default).collect());
        }
        let labels = self.column::<DictionaryArray<Int32Type>>(name)?;
        let labels = labels.downcast_dict::<StringArray>();
        let labels = labels.ok_or_else(|| wrong(name))?;
        Ok(labels.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Returns a column of counts without missing ones.
    pub(crate) fn counts(self, name: &str) -> Result<&'a [u64], ArrowError> {
        let counts = self.column::<UInt64Array>(name)?;
        if counts.null_count() > 0 {
            return Err(wrong(name));
        }
        Ok(counts.values())
    }

    /// Returns a column of numbers without missing ones.
    pub(crate) fn numbers(self, name: &str) -> Result<&'a [f64], ArrowError> {
        let numbers = self.column::<Float64Array>(name)?;
        if numbers.null_count() > 0 {
            return Err(wrong(name));
        }
        Ok(numbers.values())
    }

    /// Returns a column of true and false.
    pub(crate) fn flags(self, name: &str) -> Result<&'a BooleanArray, ArrowError> {
        self.column(name)
    }

    /// Returns a column of lists of numbers.
    pub(crate) fn lists(self, name: &str) -> Result<Vec<Vec<f64>>, ArrowError> {
        let lists = self.column::<ListArray>(name)?;
        let lists = lists.iter().map(|list| {
            let list = list.ok_or_else(|| wrong(name))?;
            let list = list.as_any().downcast_ref::<Float64Array>();
            Ok(list.ok_or_else(|| wrong(name))?.values().to_vec())
        });
        lists.collect()
    }
}

fn wrong(name: &str) -> ArrowError {
    ArrowError::SchemaError(format!("the column {name} is missing or of another type"))
}
