//! Runs as bytes: for each of the three tables its length (8 bytes, little-endian) and an Arrow stream.

use std::io::Cursor;

use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;

use crate::record::Recorded;
use crate::tables::Tables;

/// Returns runs as bytes.
///
/// # Errors
/// None in practice.
pub fn encode(runs: &[Recorded]) -> Result<Vec<u8>, ArrowError> {
    encode_tables(&Tables::of(runs)?)
}

/// Returns runs that are in tables as bytes.
pub(crate) fn encode_tables(tables: &Tables) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = Vec::new();
    for table in [&tables.runs, &tables.values, &tables.series] {
        let at = bytes.len();
        bytes.extend_from_slice(&[0; 8]);
        let mut writer = StreamWriter::try_new(&mut bytes, &table.schema())?;
        writer.write(table)?;
        writer.finish()?;
        drop(writer);
        let length = (bytes.len() - at - 8) as u64;
        bytes[at..at + 8].copy_from_slice(&length.to_le_bytes());
    }
    Ok(bytes)
}

/// Returns the tables that [`encode`] made bytes of.
///
/// # Errors
/// If the bytes are not that, or come from another version.
pub fn decode(mut bytes: &[u8]) -> Result<Tables, ArrowError> {
    let mut next = || {
        let short = || ArrowError::ParseError("the runs end too early".to_owned());
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| short())?;
        let (stream, rest) = rest.split_at_checked(length).ok_or_else(short)?;
        bytes = rest;
        let mut reader = StreamReader::try_new(Cursor::new(stream), None)?;
        reader.next().ok_or_else(short)?
    };
    Ok(Tables {
        runs: next()?,
        values: next()?,
        series: next()?,
    })
}
