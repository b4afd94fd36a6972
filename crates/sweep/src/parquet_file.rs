//! Tables as Parquet.

use std::fs::File;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};

use crate::columns::{Column, Values};

/// Writes a table into a file, a group of rows at a time.
pub(crate) struct Writer(SerializedFileWriter<File>);

impl Writer {
    /// Begins a table with the columns of `table`, of whatever rows.
    pub(crate) fn new(file: File, table: &[Column]) -> Result<Self> {
        let fields: Result<Vec<TypePtr>> = table
            .iter()
            .map(|(name, values)| field(name, values).map(Arc::new))
            .collect();
        let schema = Type::group_type_builder("schema").with_fields(fields?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let (schema, properties) = (Arc::new(schema.build()?), Arc::new(properties.build()));
        SerializedFileWriter::new(file, schema, properties).map(Self)
    }

    /// Adds rows. Their columns have the types of the first ones.
    pub(crate) fn write(&mut self, table: &[Column]) -> Result<()> {
        let mut group = self.0.next_row_group()?;
        for (_, values) in table {
            if let Some(mut column) = group.next_column()? {
                write_column(&mut column, values)?;
                column.close()?;
            }
        }
        group.close().map(|_| ())
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<()> {
        self.0.close().map(|_| ())
    }
}

/// Returns the type of a column. Any value may be missing.
fn field(name: &str, values: &Values) -> Result<Type> {
    let optional = |name: &str, physical, logical| {
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
    };
    let integers = |is_signed| LogicalType::integer(64, is_signed);
    match values {
        Values::Labels { .. } | Values::Texts(_) => {
            optional(name, Physical::BYTE_ARRAY, Some(LogicalType::String))
        }
        Values::Bytes(_) => optional(name, Physical::BYTE_ARRAY, None),
        Values::Numbers(_) => optional(name, Physical::DOUBLE, None),
        Values::Counts(_) => optional(name, Physical::INT64, Some(integers(false))),
        Values::Integers(_) => optional(name, Physical::INT64, Some(integers(true))),
        Values::Flags(_) => optional(name, Physical::BOOLEAN, None),
        // As Parquet's own text on lists has it: a group of a repeated group of elements.
        Values::Lists(_) => {
            let element = optional("element", Physical::DOUBLE, None)?;
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![Arc::new(element)])
                .build()?;
            Type::group_type_builder(name)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(Some(LogicalType::List))
                .with_fields(vec![Arc::new(list)])
                .build()
        }
    }
}

fn write_column(column: &mut SerializedColumnWriter<'_>, values: &Values) -> Result<()> {
    match values {
        Values::Labels { texts, places } => {
            let texts: Vec<ByteArray> = texts.iter().map(|it| it.as_str().into()).collect();
            flat::<ByteArrayType>(column, places.iter().map(|&it| Some(texts[it].clone())))
        }
        Values::Texts(values) => {
            flat::<ByteArrayType>(column, values.iter().map(|it| Some(it.as_deref()?.into())))
        }
        Values::Bytes(values) => {
            flat::<ByteArrayType>(column, values.iter().map(|it| Some(it.clone()?.into())))
        }
        Values::Numbers(values) => flat::<DoubleType>(column, values.iter().copied()),
        Values::Counts(values) => {
            flat::<Int64Type>(column, values.iter().map(|it| it.map(u64::cast_signed)))
        }
        Values::Integers(values) => flat::<Int64Type>(column, values.iter().copied()),
        Values::Flags(values) => flat::<BoolType>(column, values.iter().copied()),
        Values::Lists(values) => lists(column, values),
    }
}

/// Writes values, some of which may be missing.
fn flat<T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    // How much of the way to a value is there: nothing, or all.
    let mut levels = Vec::new();
    let there: Vec<T::T> = values
        .inspect(|it| levels.push(i16::from(it.is_some())))
        .flatten()
        .collect();
    let column = column.typed::<T>();
    column.write_batch(&there, Some(&levels), None).map(|_| ())
}

/// Writes lists, some of which may be missing.
fn lists(column: &mut SerializedColumnWriter<'_>, values: &[Option<Vec<f64>>]) -> Result<()> {
    const MISSING: i16 = 0;
    const EMPTY: i16 = 1;
    const ELEMENT: i16 = 3;
    let mut levels = Vec::new();
    // Whether a place begins a list or goes on with one.
    let mut repeated = Vec::new();
    let mut elements = Vec::new();
    for list in values {
        let list = list.as_deref();
        let (level, count) = match list.map(<[f64]>::len) {
            None => (MISSING, 1),
            Some(0) => (EMPTY, 1),
            Some(count) => (ELEMENT, count),
        };
        levels.extend(std::iter::repeat_n(level, count));
        repeated.extend((0..count).map(|place| i16::from(place > 0)));
        elements.extend_from_slice(list.unwrap_or_default());
    }
    let column = column.typed::<DoubleType>();
    column
        .write_batch(&elements, Some(&levels), Some(&repeated))
        .map(|_| ())
}
