//! The directory of results: one run writes at a time, and results of two runs are never mixed.
//!
//! A run writes into a temporary folder of the directory. At its end, the files of the run before are removed and its
//! own are renamed into their place. Files that no run wrote stay.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::file_list::{FileList, LIST};
use super::lock::{LOCK, lock};
use super::named::{make_directory, named_error, write_error};

/// The prefix of the name of the folder into which a run writes until its end.
pub const UNFINISHED: &str = "unfinished-";

/// A directory that is locked for this run until this is dropped.
#[derive(Debug)]
pub struct OutputDirectory {
    directory: PathBuf,
    /// The temporary folder.
    unfinished: PathBuf,
    /// The files that the run may write, as paths in the directory.
    files: BTreeSet<String>,
    _lock: File,
}

/// The place of published results.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Placement {
    /// In the directory itself.
    Here(PathBuf),
    /// In a folder of the directory, because they are partial and its results are complete.
    Beside(PathBuf),
}

impl Placement {
    /// Returns the directory that holds the new results.
    pub fn directory(&self) -> &Path {
        match self {
            Self::Here(path) | Self::Beside(path) => path,
        }
    }
}

impl OutputDirectory {
    /// Creates `directory` if necessary, locks it and removes folders of runs that did not end.
    ///
    /// `files` are the paths in it that the run may write; `who` describes the run to other processes.
    ///
    /// # Errors
    /// If another process writes into the directory, or if something cannot be created. It also fails if the run would
    /// overwrite a file that no run wrote, or the `scenario` that is about to run. The error names the file and says
    /// what to do.
    pub fn open(
        directory: &Path,
        files: BTreeSet<String>,
        scenario: Option<&Path>,
        who: &str,
    ) -> io::Result<Self> {
        let old = FileList::read(directory)?;
        let real = |path: &Path| path.canonicalize().ok();
        if let Some(scenario) = scenario.and_then(real)
            && let mut ours = files.union(&old.files).map(|name| directory.join(name))
            && let Some(path) = ours.find(|path| real(path).as_ref() == Some(&scenario))
        {
            return Err(would_overwrite(&path, "is the scenario that is to run"));
        }
        check(directory, &files, &old)?;
        make_directory(directory)?;
        let lock = lock(directory, who)?;
        remove_unfinished(directory)?;
        let unfinished = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(directory)
            .map_err(|error| write_error(directory, &error))?
            // Finished cells are kept even if the process is killed.
            .keep();
        FileList::new(false, files.clone()).write(&unfinished)?;
        for name in &files {
            make_folder_of(&unfinished.join(name))?;
        }
        Ok(Self {
            directory: directory.to_owned(),
            unfinished,
            files,
            _lock: lock,
        })
    }

    /// Returns the path to which the run writes the files of `folder`, or of the directory itself.
    pub fn place(&self, folder: Option<&str>) -> PathBuf {
        let unfinished = self.unfinished.clone();
        folder.map_or(unfinished.clone(), |folder| unfinished.join(folder))
    }

    /// Replaces the files of the run before by those of this run. Partial results do not replace complete ones.
    ///
    /// # Errors
    /// If a file that no run wrote would be overwritten, or if one cannot be removed or moved. The error names the file
    /// and says where the results are.
    pub fn publish(self, partial: bool) -> io::Result<Placement> {
        let old = FileList::read(&self.directory)?;
        if partial && old.is_complete_in(&self.directory) {
            return Ok(Placement::Beside(self.unfinished));
        }
        let mut files = self.files.clone();
        files.retain(|name| self.unfinished.join(name).exists());
        let new = FileList::new(!partial, files);
        // With a list of complete files in it, no later run removes the folder.
        let listed = new.write(&self.unfinished);
        let replaced = listed
            .and_then(|()| check(&self.directory, &new.files, &old))
            .and_then(|()| self.replace(&old, &new));
        replaced.map_err(|error| {
            let place = self.unfinished.display();
            let message = format!("{error}; the new results that were not moved are in {place}");
            io::Error::new(error.kind(), message)
        })?;
        Ok(Placement::Here(self.directory))
    }

    /// Removes the files of `old` and moves those of `new` into their place.
    fn replace(&self, old: &FileList, new: &FileList) -> io::Result<()> {
        let directory = &self.directory;
        // If the process is killed, the list still names all files that runs wrote.
        let both = old.files.union(&new.files).cloned().collect();
        FileList::new(false, both).write(directory)?;
        for name in &old.files {
            let path = directory.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(named_error("remove", &path, &error));
                }
                _ => {}
            }
        }
        for folder in old.files.iter().filter_map(|name| folder_of(name)) {
            // A folder with other files in it stays.
            let _ = fs::remove_dir(directory.join(folder));
        }
        for name in &new.files {
            let path = directory.join(name);
            make_folder_of(&path)?;
            let moved = fs::rename(self.unfinished.join(name), &path);
            moved.map_err(|error| write_error(&path, &error))?;
        }
        new.write(directory)?;
        let removed = fs::remove_dir_all(&self.unfinished);
        removed.map_err(|error| named_error("remove", &self.unfinished, &error))
    }
}

/// Returns whether `path` is in `directory` and the place of one of the `files` of a run, or of what goes with them.
/// Neither needs to be there yet.
pub fn is_of_results(path: &Path, directory: &Path, files: &BTreeSet<String>) -> bool {
    let (path, directory) = (whole(path), whole(directory));
    let Ok(name) = path.strip_prefix(&directory) else {
        return false;
    };
    let mut taken = files
        .iter()
        .map(Path::new)
        .chain([LIST, LOCK].map(Path::new));
    // One may also be in the place of the folder of the other.
    taken.any(|file| name.starts_with(file) || file.starts_with(name))
}

/// Returns a path without links, as far as it is there.
fn whole(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    // With nothing after it, the separator that `join` adds is no part of the name.
    found.map_or(path, |found| found.components().collect())
}

/// Checks that no file in `directory` would be overwritten unless `old` lists it, and that no file of either lies behind
/// a link: whoever made the list may have made the link, to files that no run wrote.
fn check(directory: &Path, files: &BTreeSet<String>, old: &FileList) -> io::Result<()> {
    for name in files.union(&old.files) {
        for folder in Path::new(name).ancestors().skip(1) {
            let folder = directory.join(folder);
            let found = folder.symlink_metadata();
            if folder != *directory && found.is_ok_and(|found| !found.is_dir()) {
                return Err(would_overwrite(&folder, "is not a directory"));
            }
        }
    }
    for name in files {
        let path = directory.join(name);
        let is_ours = |file: fs::Metadata| !file.is_dir() && old.files.contains(name);
        if path.symlink_metadata().is_ok_and(|file| !is_ours(file)) {
            let what = "was not written by an earlier run of fairwire";
            return Err(would_overwrite(&path, what));
        }
    }
    Ok(())
}

/// Removes the folders in `directory` of runs that did not end.
fn remove_unfinished(directory: &Path) -> io::Result<()> {
    let entries =
        fs::read_dir(directory).map_err(|error| named_error("read", directory, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| named_error("read", directory, &error))?;
        let path = entry.path();
        let is_named_so = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let is_left = |listed: FileList| !listed.complete && !listed.files.is_empty();
        if is_named_so && FileList::read(&path).is_ok_and(is_left) {
            fs::remove_dir_all(&path).map_err(|error| named_error("remove", &path, &error))?;
        }
    }
    Ok(())
}

fn make_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| write_error(folder, &error))
}

/// Returns the folder of a path in the directory, unless that is the directory itself.
fn folder_of(name: &str) -> Option<&Path> {
    let folder = Path::new(name).parent();
    folder.filter(|folder| !folder.as_os_str().is_empty())
}

/// Returns the error that a file must not be overwritten.
fn would_overwrite(path: &Path, what: &str) -> io::Error {
    let message = format!(
        "{} {what}, and this run would overwrite it: move it away, or choose another directory",
        path.display()
    );
    io::Error::new(io::ErrorKind::AlreadyExists, message)
}
