//! Columns of tables in Arrow's memory format: making them.

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

/// Returns a column of lists of numbers, some of which may be missing. NaN is kept as it is.
pub(crate) fn lists(name: &str, values: impl Iterator<Item = Option<Vec<f64>>>) -> Column {
    let lists = values.map(|list| Some(list?.into_iter().map(Some)));
    let lists = ListArray::from_iter_primitive::<Float64Type, _, _>(lists);
    (name.to_owned(), Arc::new(lists))
}

/// Returns a text of a column of texts that repeat.
pub(crate) fn label_at(column: &ArrayRef, row: usize) -> Option<String> {
    let labels = column
        .as_any()
        .downcast_ref::<DictionaryArray<Int32Type>>()?;
    let texts = labels.values().as_any().downcast_ref::<StringArray>()?;
    Some(texts.value(labels.key(row)?).to_owned())
}
