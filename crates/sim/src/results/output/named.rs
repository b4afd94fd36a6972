//! Errors that name their file.

use std::io;
use std::path::Path;

/// Returns `error` with the failed operation and its file.
pub(super) fn named_error(doing: &str, path: &Path, error: &io::Error) -> io::Error {
    let message = format!("cannot {doing} {}: {error}", path.display());
    io::Error::new(error.kind(), message)
}

/// Returns the error that `path` cannot be written.
pub(super) fn write_error(path: &Path, error: &io::Error) -> io::Error {
    named_error("write", path, error)
}
