//! Errors that name their file.

use std::io;
use std::path::Path;

/// Returns `error` with the failed operation and its file.
pub(super) fn named(doing: &str, path: &Path, error: &io::Error) -> io::Error {
    let message = format!("cannot {doing} {}: {error}", path.display());
    io::Error::new(error.kind(), message)
}

/// Returns the error that `path` cannot be written.
pub(super) fn unwritten(path: &Path, error: &io::Error) -> io::Error {
    named("write", path, error)
}
