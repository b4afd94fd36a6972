//! Tables in the memory format of Arrow, handed over without a copy.

use std::collections::BTreeMap;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, Float64Array, Int64Array,
    ListArray, RecordBatch, RecordBatchIterator, StringArray, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat_batches;
use fairwire_sweep::columns::{Column, table};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyCapsule, PyList};

use crate::errors::InternalError;

/// A table of columns. Whatever reads the Arrow `PyCapsule` interface takes it: pyarrow, polars, pandas and `DuckDB`.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct Table(RecordBatch);

impl Table {
    /// Makes a table of columns of equal length.
    pub(crate) fn new(columns: Vec<Column>) -> PyResult<Self> {
        table(columns).map(Self).map_err(failed)
    }

    /// Makes a table of rows.
    pub(crate) fn of(rows: RecordBatch) -> Self {
        Self(rows)
    }

    /// Makes a table of the rows of several ones with equal columns; `None` without any.
    pub(crate) fn joined(tables: &[RecordBatch]) -> PyResult<Option<Self>> {
        let Some(first) = tables.first() else {
            return Ok(None);
        };
        let joined = concat_batches(&first.schema(), tables);
        Ok(Some(Self(joined.map_err(failed)?)))
    }

    /// Returns the error of a column that is not there.
    fn missing(&self, name: &str) -> PyErr {
        let names = self.names().join(", ");
        PyKeyError::new_err(format!("no column {name:?}: there are {names}"))
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.0.num_rows()
    }

    /// Returns a column that has this type.
    fn typed<A: 'static>(&self, name: &str) -> PyResult<&A> {
        let column = self.0.column_by_name(name);
        let column = column.ok_or_else(|| self.missing(name))?;
        let column = column.as_any().downcast_ref();
        column.ok_or_else(|| failed(ArrowError::CastError(name.to_owned())))
    }
}

#[pymethods]
impl Table {
    /// The names of the columns.
    #[getter]
    fn names(&self) -> Vec<String> {
        let schema = self.0.schema();
        let fields = schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.rows()
    }

    /// Returns a column as a list.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let Some(column) = self.0.column_by_name(name) else {
            return Err(self.missing(name));
        };
        let any = column.as_any();
        if let Some(values) = any.downcast_ref::<Float64Array>() {
            return PyList::new(py, values.iter());
        }
        if let Some(values) = any.downcast_ref::<UInt64Array>() {
            return PyList::new(py, values.iter());
        }
        if let Some(values) = any.downcast_ref::<Int64Array>() {
            return PyList::new(py, values.iter());
        }
        if let Some(values) = any.downcast_ref::<BooleanArray>() {
            return PyList::new(py, values.iter());
        }
        if let Some(values) = any.downcast_ref::<StringArray>() {
            return PyList::new(py, values.iter());
        }
        if let Some(values) = any.downcast_ref::<BinaryArray>() {
            let bytes = values.iter().map(|it| it.map(|it| PyBytes::new(py, it)));
            return PyList::new(py, bytes.collect::<Vec<_>>());
        }
        if let Some(values) = any.downcast_ref::<ListArray>() {
            let list = |list: ArrayRef| {
                let list = list.as_any().downcast_ref::<Float64Array>().cloned();
                list.map(|list| list.iter().collect::<Vec<_>>())
            };
            let lists: Vec<_> = values.iter().map(|it| it.and_then(list)).collect();
            return PyList::new(py, lists);
        }
        let labels = any.downcast_ref::<DictionaryArray<Int32Type>>();
        let labels = labels.and_then(DictionaryArray::downcast_dict::<StringArray>);
        match labels {
            Some(labels) => PyList::new(py, labels),
            None => Err(failed(ArrowError::CastError(name.to_owned()))),
        }
    }

    /// Returns a column of numbers as the bytes of `float64`; a missing value is not a number.
    fn numbers<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyByteArray>> {
        let column = self.typed::<Float64Array>(name)?;
        let values = column.iter().map(|value| value.unwrap_or(f64::NAN));
        let bytes: Vec<u8> = values.flat_map(f64::to_ne_bytes).collect();
        Ok(PyByteArray::new(py, &bytes))
    }

    /// Returns a column of counts as the bytes of `uint64`, and a byte for each that is 1 if it is missing.
    fn counts<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(Bound<'py, PyByteArray>, Bound<'py, PyByteArray>)> {
        let column = self.typed::<UInt64Array>(name)?;
        let values = column.iter().map(Option::unwrap_or_default);
        let bytes: Vec<u8> = values.flat_map(u64::to_ne_bytes).collect();
        let missing: Vec<u8> = column.iter().map(|it| u8::from(it.is_none())).collect();
        Ok((PyByteArray::new(py, &bytes), PyByteArray::new(py, &missing)))
    }

    /// Returns a column of texts that repeat: for each row the place of its text in a list, as the bytes of `int32` (-1
    /// if it is missing), and the list, in the order in which the texts appear.
    fn labels<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(Bound<'py, PyByteArray>, Vec<String>)> {
        let column = self.typed::<DictionaryArray<Int32Type>>(name)?;
        let texts = column.values().as_any().downcast_ref::<StringArray>();
        let texts = texts.ok_or_else(|| failed(ArrowError::CastError(name.to_owned())))?;
        let mut places = vec![None; texts.len()];
        let mut known: BTreeMap<&str, i32> = BTreeMap::new();
        let mut list: Vec<String> = Vec::new();
        let mut bytes = Vec::with_capacity(4 * column.len());
        for key in column.keys_iter() {
            let place = key.map_or(-1, |key| {
                *places[key].get_or_insert_with(|| {
                    let text = texts.value(key);
                    *known.entry(text).or_insert_with(|| {
                        list.push(text.to_owned());
                        i32::try_from(list.len() - 1).unwrap_or(-1)
                    })
                })
            });
            bytes.extend(place.to_ne_bytes());
        }
        Ok((PyByteArray::new(py, &bytes), list))
    }

    /// Returns what a column holds: `labels` (texts that repeat), `texts`, `counts`, `integers`, `flags` or
    /// `numbers`.
    fn kind(&self, name: &str) -> PyResult<&'static str> {
        let column = self.0.column_by_name(name);
        let column = column.ok_or_else(|| self.missing(name))?;
        Ok(match column.data_type() {
            DataType::Dictionary(..) => "labels",
            DataType::UInt64 => "counts",
            DataType::Int64 => "integers",
            DataType::Boolean => "flags",
            DataType::Float64 => "numbers",
            _ => "texts",
        })
    }

    /// The schema as a `PyCapsule` (the Arrow `PyCapsule` interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref()).map_err(failed)?;
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
        let batches = RecordBatchIterator::new([Ok(self.0.clone())], self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

pub(crate) fn failed(error: ArrowError) -> PyErr {
    InternalError::new_err(error.to_string())
}
