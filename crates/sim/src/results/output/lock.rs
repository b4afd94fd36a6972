//! The lock on a directory: a file that is locked while a run writes there.
//!
//! The lock is released when the process ends, in whatever way; the file stays.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

use super::named::{named_error, write_error};

/// The name of the locked file.
pub(super) const LOCK: &str = ".fairwire.lock";

/// Locks `directory` until the returned file is dropped; `who` describes the run to other processes.
///
/// # Errors
/// If another process holds the lock, which the error describes, or if the file cannot be created.
pub(super) fn lock(directory: &Path, who: &str) -> io::Result<File> {
    let path = directory.join(LOCK);
    if path.is_symlink() {
        let message = format!(
            "{} is a link, and not the lock of a run: remove it, or choose another directory",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    let mut options = File::options();
    let open = options.read(true).write(true).create(true).truncate(false);
    let mut file = open
        .open(&path)
        .map_err(|error| write_error(&path, &error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(directory, &mut file)),
        Err(TryLockError::Error(error)) => return Err(named_error("lock", &path, &error)),
    }
    let signed = file.set_len(0);
    let signed = signed.and_then(|()| writeln!(file, "process {}: {who}", std::process::id()));
    signed.map_err(|error| write_error(&path, &error))?;
    Ok(file)
}

/// Returns the error that another process holds the lock, with that process's description.
fn in_use(directory: &Path, lock: &mut File) -> io::Error {
    // This reads a line or two at most. If the lock prevents reading, the description is missing.
    let mut said = Vec::new();
    let _ = lock.take(300).read_to_end(&mut said);
    let mut said = String::from_utf8_lossy(&said).into_owned();
    said.retain(|c| !c.is_control());
    if said.is_empty() {
        "another process".clone_into(&mut said);
    }
    let message = format!(
        "{} is being written by {said}; wait until it ends, or choose another directory",
        directory.display()
    );
    io::Error::new(io::ErrorKind::ResourceBusy, message)
}
