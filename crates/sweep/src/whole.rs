//! Files that are on the disk as a whole or not at all.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::StoreError;

/// How many files this process has written, so that two threads do not use the same name.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Writes a file that has all of its content as soon as it has its name.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let unfinished = path.with_file_name(format!(".{name}.{}-{number}", std::process::id()));
    let write = || {
        let mut file = File::create(&unfinished)?;
        file.write_all(content)?;
        // Otherwise a power failure may leave an empty file under the name.
        file.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&unfinished);
        StoreError::write(path)(error)
    })?;
    sync_folder(path.parent().unwrap_or(Path::new("")));
    Ok(())
}

/// Waits until the names in a folder are on the disk. Not every file system does this for folders.
pub(crate) fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}
