//! Errors that name the file.

use std::io;
use std::path::Path;

/// `error` with what could not be done to which file.
pub(super) fn named(doing: &str, path: &Path, error: &io::Error) -> io::Error {
    let message = format!("cannot {doing} {}: {error}", path.display());
    io::Error::new(error.kind(), message)
}

/// That `path` cannot be written, and why.
pub(super) fn unwritten(path: &Path, error: &io::Error) -> io::Error {
    named("write", path, error)
}
