//! Regular files: what a store is made of.
//!
//! Somebody else may have made the store. A named pipe in the place of a file would keep a reader waiting for ever, so
//! the kind of a file is looked at before it is opened.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use crate::error::StoreError;

/// Opens a file to read. What is there and no regular file is damage.
pub(crate) fn open(path: &Path) -> Result<File, StoreError> {
    check(path)?;
    File::open(path).map_err(StoreError::read(path))
}

/// Reads a file. What is there and no regular file is damage.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    check(path)?;
    fs::read(path).map_err(StoreError::read(path))
}

/// Fails if something else than a regular file is there. A symbolic link counts as what it leads to.
pub(crate) fn check(path: &Path) -> Result<(), StoreError> {
    match fs::metadata(path) {
        Ok(there) if there.is_file() => Ok(()),
        Ok(_) => Err(StoreError::damaged(path)("it is not a regular file")),
        // The caller makes it, or finds out when it opens it.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreError::read(path)(error)),
    }
}
