//! Files that are written in pieces, either plain or compressed with gzip.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::named::write_error;

/// The extension of a compressed file.
pub(super) const GZ: &str = ".gz";

/// A file that is compressed if its name ends in [`GZ`].
#[derive(Debug)]
pub(super) enum Sink {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<File>),
}

impl Sink {
    /// Creates the file.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        let gzip = path.extension().is_some_and(|end| *end == GZ[1..]);
        Ok(if gzip {
            Self::Gzip(GzEncoder::new(file, Compression::default()))
        } else {
            Self::Plain(BufWriter::new(file))
        })
    }

    /// Writes everything that is still buffered.
    pub(super) fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut file) => file.flush(),
            Self::Gzip(file) => file.finish().map(drop),
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Gzip(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(file) => file.flush(),
            Self::Gzip(file) => file.flush(),
        }
    }
}

/// A CSV file; its errors name it.
#[derive(Debug)]
pub(super) struct Table {
    path: PathBuf,
    rows: csv::Writer<Sink>,
}

impl Table {
    /// Creates the file `name` in `directory` with a header row of `columns`.
    pub(super) fn create<T: AsRef<str>>(
        directory: &Path,
        name: &str,
        columns: &[T],
    ) -> io::Result<Self> {
        let path = directory.join(name);
        let sink = Sink::create(&path).map_err(|error| write_error(&path, &error))?;
        let rows = csv::Writer::from_writer(sink);
        let mut table = Self { path, rows };
        table.row(columns.iter().map(AsRef::as_ref))?;
        table.flush()?;
        Ok(table)
    }

    /// Adds a row.
    pub(super) fn row<T: AsRef<[u8]>>(
        &mut self,
        fields: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        let written = self.rows.write_record(fields);
        written.map_err(|error| write_error(&self.path, &error.into()))
    }

    /// Writes everything that is still buffered, so that all rows can be read.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.rows
            .flush()
            .map_err(|error| write_error(&self.path, &error))
    }

    /// Completes the file.
    pub(super) fn finish(self) -> io::Result<()> {
        let sink = self.rows.into_inner();
        sink.map_err(|error| write_error(&self.path, error.error()))?
            .finish()
            .map_err(|error| write_error(&self.path, &error))
    }
}
