//! The lock on a directory: a file in it that is locked while a run writes there.
//!
//! The lock goes with the process, however it ends. The file stays, unless its directory goes: then
//! whoever had opened it before locks a file that is no longer there, while a third makes a new one and
//! locks that. So a lock counts only if its file still is what its path leads to.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use super::named;

/// The file that is locked.
pub(super) const LOCK: &str = ".fairwire.lock";

/// How often a file may go away between opening and locking it; each time a run has ended in between.
const TRIES: u32 = 16;

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Makes `directory` if it is not there and locks it; `who` tells others what runs.
    ///
    /// # Errors
    /// If another process has it, and who that is; or if the file cannot be made.
    pub(super) fn take(directory: &Path, who: &str) -> io::Result<Self> {
        let path = directory.join(LOCK);
        for _ in 0..TRIES {
            fs::create_dir_all(directory).map_err(|error| named("write", directory, &error))?;
            let mut options = File::options();
            let open = options.read(true).write(true).create(true).truncate(false);
            let file = match open.open(&path) {
                // The directory went in between.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(|error| named("write", &path, &error))?,
            };
            if let Some(mut file) = locked(file, &path, directory)? {
                sign(&mut file, who).map_err(|error| named("write", &path, &error))?;
                return Ok(Self { _file: file });
            }
        }
        let message = format!(
            "{} is made and removed all the while: wait until other runs end, or choose another directory",
            path.display()
        );
        Err(io::Error::new(io::ErrorKind::ResourceBusy, message))
    }
}

/// `file` with the lock on it; nothing if it is not, or no longer, what `path` leads to.
fn locked(mut file: File, path: &Path, directory: &Path) -> io::Result<Option<File>> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(directory, &mut file)),
        Err(TryLockError::Error(error)) => return Err(named("lock", path, &error)),
    }
    let there = is_at(&file, path).map_err(|error| named("read", path, &error))?;
    Ok(there.then_some(file))
}

/// Does `path` lead to `file`?
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;

    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (ours.dev(), ours.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Does `path` lead to a file? Whether it is the same is not told everywhere.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}

/// Writes into the lock's file who has it.
fn sign(lock: &mut File, who: &str) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "process {}: {who}", std::process::id())
}

/// That another process has the lock, and what it said of itself.
fn in_use(directory: &Path, lock: &mut File) -> io::Error {
    // As much as fits a line or two. Where a lock keeps others from reading, the words are missing.
    let mut said = Vec::new();
    let _ = lock.take(300).read_to_end(&mut said);
    let said: String = String::from_utf8_lossy(&said)
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    let said = if said.is_empty() {
        "another process".to_owned()
    } else {
        said
    };
    let message = format!(
        "{} is being written by {said}; wait until it ends, or choose another directory",
        directory.display()
    );
    io::Error::new(io::ErrorKind::ResourceBusy, message)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, File};

    use super::{LOCK, Lock, locked};

    /// Whoever opened a lock's file before it was removed has no lock, whether a new one stands in its
    /// place or none; the new one is free.
    #[test]
    fn a_file_that_was_removed_locks_nothing() {
        let unique = format!("fairwire-lock-{}", std::process::id());
        let directory = std::env::temp_dir().join(unique);
        fs::create_dir_all(&directory).expect("a directory");
        let path = directory.join(LOCK);
        let make = || File::create(&path).expect("a file");
        let (early, late) = (make(), make());
        fs::remove_file(&path).expect("removed");
        let is_ours = |file| locked(file, &path, &directory).expect("not in use");
        assert!(is_ours(early).is_none(), "no file is there");
        let new = make();
        assert!(is_ours(late).is_none(), "another file is there");
        let held = is_ours(new).expect("the file that is there");
        let refused = Lock::take(&directory, "a test").expect_err("it is held");
        assert!(
            refused.to_string().contains("is being written by"),
            "{refused}"
        );
        drop(held);
        Lock::take(&directory, "a test").expect("free");
        fs::remove_dir_all(&directory).expect("removed");
    }
}
