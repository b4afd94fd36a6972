//! Tables, in the memory format of Arrow for whoever asks for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Float64Type;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_schema::ArrowError;
use arrow_schema::ffi::FFI_ArrowSchema;
use fairwire_sweep::columns::{Column, Values};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyCapsule, PyList};

use crate::errors::InternalError;

/// A table of columns. Whatever reads the Arrow `PyCapsule` interface takes it: pyarrow, polars, pandas and `DuckDB`.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct Table(Vec<Column>);

impl Table {
    /// Makes a table of columns of equal length.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self(columns)
    }

    /// Makes a table of the rows of several ones with equal columns; one without columns if there is none.
    pub(crate) fn joined(tables: impl IntoIterator<Item = Vec<Column>>) -> PyResult<Self> {
        let mut tables = tables.into_iter();
        let mut joined = tables.next().unwrap_or_default();
        for table in tables {
            for ((name, values), (other, more)) in joined.iter_mut().zip(table) {
                if *name != other || !values.append(more) {
                    let text = format!("the columns {name:?} of two tables differ");
                    return Err(InternalError::new_err(text));
                }
            }
        }
        Ok(Self(joined))
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.0.first().map_or(0, |(_, values)| values.rows())
    }

    /// Returns a column.
    fn values(&self, name: &str) -> PyResult<&Values> {
        let column = self.0.iter().find(|(other, _)| other == name);
        column.map(|(_, values)| values).ok_or_else(|| {
            let names = self.names().join(", ");
            PyKeyError::new_err(format!("no column {name:?}: there are {names}"))
        })
    }

    /// Returns the columns as Arrow has them.
    fn batch(&self) -> PyResult<RecordBatch> {
        // Any column may lack values, so that tables of several cells have equal types.
        let columns = self.0.iter();
        let columns = columns.map(|(name, values)| (name, array(values), true));
        RecordBatch::try_from_iter_with_nullable(columns).map_err(failed)
    }
}

/// Returns a column as Arrow has it.
fn array(values: &Values) -> ArrayRef {
    match values {
        Values::Labels { texts, places } => {
            let texts: StringArray = texts.iter().map(Some).collect();
            let key = |&place| i32::try_from(place).expect("2^31 texts do not fit into memory");
            let places: Int32Array = places.iter().map(key).map(Some).collect();
            Arc::new(DictionaryArray::new(places, Arc::new(texts)))
        }
        Values::Texts(rows) => Arc::new(rows.iter().map(Option::as_deref).collect::<StringArray>()),
        Values::Numbers(rows) => Arc::new(Float64Array::from(rows.clone())),
        Values::Counts(rows) => Arc::new(UInt64Array::from(rows.clone())),
        Values::Integers(rows) => Arc::new(Int64Array::from(rows.clone())),
        Values::Flags(rows) => Arc::new(BooleanArray::from(rows.clone())),
        Values::Lists(rows) => {
            let lists = rows.iter().map(|list| {
                let list = list.as_deref()?;
                Some(list.iter().copied().map(Some))
            });
            Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(lists))
        }
        Values::Bytes(rows) => Arc::new(rows.iter().map(Option::as_deref).collect::<BinaryArray>()),
    }
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    /// Returns a column as a list.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        match self.values(name)? {
            Values::Labels { texts, places } => {
                PyList::new(py, places.iter().map(|&it| &texts[it]))
            }
            Values::Texts(rows) => PyList::new(py, rows),
            Values::Numbers(rows) => PyList::new(py, rows),
            Values::Counts(rows) => PyList::new(py, rows),
            Values::Integers(rows) => PyList::new(py, rows),
            Values::Flags(rows) => PyList::new(py, rows),
            Values::Lists(rows) => PyList::new(py, rows),
            Values::Bytes(rows) => {
                let bytes = rows.iter().map(|it| Some(PyBytes::new(py, it.as_ref()?)));
                PyList::new(py, bytes)
            }
        }
    }

    /// Returns a column of numbers as the bytes of `float64`; a missing value is not a number.
    fn numbers<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyByteArray>> {
        let Values::Numbers(rows) = self.values(name)? else {
            return Err(other_kind(name));
        };
        let values = rows.iter().map(|value| value.unwrap_or(f64::NAN));
        let bytes: Vec<u8> = values.flat_map(f64::to_ne_bytes).collect();
        Ok(PyByteArray::new(py, &bytes))
    }

    /// Returns a column of counts as the bytes of `uint64`, and a byte for each that is 1 if it is missing.
    fn counts<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(Bound<'py, PyByteArray>, Bound<'py, PyByteArray>)> {
        let Values::Counts(rows) = self.values(name)? else {
            return Err(other_kind(name));
        };
        let values = rows.iter().map(|it| it.unwrap_or_default());
        let bytes: Vec<u8> = values.flat_map(u64::to_ne_bytes).collect();
        let missing: Vec<u8> = rows.iter().map(|it| u8::from(it.is_none())).collect();
        Ok((PyByteArray::new(py, &bytes), PyByteArray::new(py, &missing)))
    }

    /// Returns a column of texts that repeat: for each row the place of its text in a list, as the bytes of `int32`, and
    /// the list, in the order in which the texts appear.
    fn labels<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(Bound<'py, PyByteArray>, Vec<String>)> {
        let Values::Labels { texts, places } = self.values(name)? else {
            return Err(other_kind(name));
        };
        let mut known: BTreeMap<&str, i32> = BTreeMap::new();
        let mut list: Vec<String> = Vec::new();
        // Joined tables have a text more than once.
        let of_text: Vec<i32> = texts
            .iter()
            .map(|text| {
                *known.entry(text).or_insert_with(|| {
                    list.push(text.clone());
                    i32::try_from(list.len() - 1).unwrap_or(-1)
                })
            })
            .collect();
        let bytes = places.iter().flat_map(|&it| of_text[it].to_ne_bytes());
        let bytes: Vec<u8> = bytes.collect();
        Ok((PyByteArray::new(py, &bytes), list))
    }

    /// Returns what a column holds: `labels` (texts that repeat), `texts`, `counts`, `integers`, `flags` or
    /// `numbers`.
    fn kind(&self, name: &str) -> PyResult<&'static str> {
        Ok(match self.values(name)? {
            Values::Labels { .. } => "labels",
            Values::Counts(_) => "counts",
            Values::Integers(_) => "integers",
            Values::Flags(_) => "flags",
            Values::Numbers(_) => "numbers",
            _ => "texts",
        })
    }

    /// The schema as a `PyCapsule` (the Arrow `PyCapsule` interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch()?.schema().as_ref()).map_err(failed)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The columns as a `PyCapsule` (the Arrow `PyCapsule` interface). The types are always those of the table.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batch = self.batch()?;
        let schema = batch.schema();
        let batches = RecordBatchIterator::new([Ok(batch)], schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn other_kind(name: &str) -> PyErr {
    InternalError::new_err(format!("the column {name:?} is of another kind"))
}

fn failed(error: ArrowError) -> PyErr {
    InternalError::new_err(error.to_string())
}
