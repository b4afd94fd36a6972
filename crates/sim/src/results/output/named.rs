//! Errors that name their file.

use std::fs;
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

/// Makes a directory and those above it, where they are missing.
///
/// # Errors
/// If it cannot be made. The error names what is in the way.
pub fn make_directory(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory).map_err(|error| match obstacle(directory) {
        Some(obstacle) => {
            let message = format!("cannot make {}: {obstacle}", directory.display());
            io::Error::new(io::ErrorKind::NotADirectory, message)
        }
        None => write_error(directory, &error),
    })
}

/// Returns what is in the place of a directory, or of one above it, and is none: a file, or a link that leads nowhere.
pub fn obstacle(directory: &Path) -> Option<String> {
    let there = directory
        .ancestors()
        .find(|path| path.symlink_metadata().is_ok())?;
    let name = there.display();
    match there.metadata() {
        Ok(found) if found.is_dir() => None,
        Ok(found) if found.is_file() => Some(format!("{name} is a file")),
        Ok(_) => Some(format!("{name} is no directory")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Some(format!("{name} is a link to something that is not there"))
        }
        Err(_) => None,
    }
}
