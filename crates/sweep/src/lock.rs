//! Locks on files, between processes.

use std::fs::{File, TryLockError};
use std::process::id;

/// A file that is locked as long as this lives.
///
/// A forked process has the file too, so that closing it here would not be enough. If that process ends in order, it
/// does not unlock what is not its own.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
    process: u32,
}

impl Lock {
    /// Locks a file, unless another process has.
    pub(crate) fn on(file: File) -> Result<Self, TryLockError> {
        file.try_lock()?;
        Ok(Self {
            file,
            process: id(),
        })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.process == id() {
            // If it fails, closing the file unlocks it.
            let _ = self.file.unlock();
        }
    }
}
