//! The lock on a directory: a file in it that is locked while a run writes there. The lock goes with the
//! process, however it ends; the file stays.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

use super::named::{named, unwritten};

/// The file that is locked.
const LOCK: &str = ".fairwire.lock";

/// Locks `directory` until the file is dropped; `who` tells others what runs.
///
/// # Errors
/// If another process has it, and who that is; or if the file cannot be made.
pub(super) fn lock(directory: &Path, who: &str) -> io::Result<File> {
    let path = directory.join(LOCK);
    let mut options = File::options();
    let open = options.read(true).write(true).create(true).truncate(false);
    let mut file = open.open(&path).map_err(|error| unwritten(&path, &error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(directory, &mut file)),
        Err(TryLockError::Error(error)) => return Err(named("lock", &path, &error)),
    }
    let signed = file.set_len(0);
    let signed = signed.and_then(|()| writeln!(file, "process {}: {who}", std::process::id()));
    signed.map_err(|error| unwritten(&path, &error))?;
    Ok(file)
}

/// That another process has the lock, and what it said of itself.
fn in_use(directory: &Path, lock: &mut File) -> io::Error {
    // As much as fits a line or two. Where a lock keeps others from reading, the words are missing.
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
