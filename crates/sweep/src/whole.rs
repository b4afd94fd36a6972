//! Files that are on the disk as a whole or not at all.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use crate::error::StoreError;
use crate::name::unique;

/// Writes a file that has all of its content as soon as it has its name.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Others may write into the folder too: a name that they foresee could be a link to another file.
    let unfinished = path.with_file_name(format!(".{name}.{}", unique()));
    let write = || {
        let mut file = File::create_new(&unfinished)?;
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
