//! The directory that results are written into: one run at a time, and never a mixture of two.
//!
//! A run writes into a temporary folder of the directory. At its end the files of the run before go, and
//! its own are renamed into their place. What is no file of a run stays.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::listed::Listed;
use super::lock::lock;
use super::named::{named, unwritten};

/// How the name of the folder begins into which a run writes until its end.
pub const UNFINISHED: &str = "unfinished-";

/// A directory that is ours until this is dropped.
#[derive(Debug)]
pub struct OutputDirectory {
    directory: PathBuf,
    /// The temporary folder.
    unfinished: PathBuf,
    /// What the run may write, as paths in the directory.
    files: BTreeSet<String>,
    _lock: File,
}

/// Where results came to lie.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Published {
    /// In the directory itself.
    Here(PathBuf),
    /// In a folder of it, since they are partial and those in the directory are not.
    Beside(PathBuf),
}

impl Published {
    /// The directory that holds the new results.
    pub fn directory(&self) -> &Path {
        match self {
            Self::Here(path) | Self::Beside(path) => path,
        }
    }
}

impl OutputDirectory {
    /// Makes `directory` if it is not there, and locks it; `who` tells others what runs. `files` are the paths
    /// in it that the run may write. Folders that runs left which did not come to their end are removed.
    ///
    /// # Errors
    /// If another process writes into it, if a file that is none of ours would be written over, if `scenario`,
    /// which is about to run, would be, or if something cannot be made. The error names the file and says what
    /// to do.
    pub fn claim(
        directory: &Path,
        files: BTreeSet<String>,
        scenario: Option<&Path>,
        who: &str,
    ) -> io::Result<Self> {
        let old = Listed::read(directory)?;
        let whole = |path: &Path| path.canonicalize().ok();
        if let Some(scenario) = scenario.and_then(whole)
            && let mut ours = files.union(&old.files).map(|name| directory.join(name))
            && let Some(path) = ours.find(|path| whole(path).as_ref() == Some(&scenario))
        {
            return Err(in_the_way(&path, "is the scenario that is to run"));
        }
        check(directory, &files, &old)?;
        fs::create_dir_all(directory).map_err(|error| unwritten(directory, &error))?;
        let lock = lock(directory, who)?;
        remove_unfinished(directory)?;
        let unfinished = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempdir_in(directory)
            .map_err(|error| unwritten(directory, &error))?
            // What a run has finished is kept, whatever comes.
            .keep();
        Listed::new(false, files.clone()).write(&unfinished)?;
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

    /// Where the run writes what belongs into `folder`, or into the directory itself.
    pub fn place(&self, folder: Option<&str>) -> PathBuf {
        let unfinished = self.unfinished.clone();
        folder.map_or(unfinished.clone(), |folder| unfinished.join(folder))
    }

    /// Puts what was written in the place of what was there before. Partial results do not replace complete ones.
    ///
    /// # Errors
    /// If a file that is none of ours would be written over, or if one cannot be removed or moved. The error
    /// names it and says where the results are.
    pub fn publish(self, partial: bool) -> io::Result<Published> {
        let old = Listed::read(&self.directory)?;
        if partial && old.is_complete_in(&self.directory) {
            return Ok(Published::Beside(self.unfinished));
        }
        let mut files = self.files.clone();
        files.retain(|name| self.unfinished.join(name).exists());
        let new = Listed::new(!partial, files);
        // With the list of a run that came to its end no later run removes the folder.
        let listed = new.write(&self.unfinished);
        let replaced = listed
            .and_then(|()| check(&self.directory, &new.files, &old))
            .and_then(|()| self.replace(&old, &new));
        replaced.map_err(|error| {
            let place = self.unfinished.display();
            let message = format!("{error}; what was not moved of the new results is in {place}");
            io::Error::new(error.kind(), message)
        })?;
        Ok(Published::Here(self.directory))
    }

    /// Removes the files of `old` and moves those of `new` into their place.
    fn replace(&self, old: &Listed, new: &Listed) -> io::Result<()> {
        let directory = &self.directory;
        // A kill leaves no file of ours that the list does not name.
        let both = old.files.union(&new.files).cloned().collect();
        Listed::new(false, both).write(directory)?;
        for name in &old.files {
            let path = directory.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(named("remove", &path, &error));
                }
                _ => {}
            }
        }
        for folder in old.files.iter().filter_map(|name| folder_of(name)) {
            // It stays if anything else is in it.
            let _ = fs::remove_dir(directory.join(folder));
        }
        for name in &new.files {
            let path = directory.join(name);
            make_folder_of(&path)?;
            let moved = fs::rename(self.unfinished.join(name), &path);
            moved.map_err(|error| unwritten(&path, &error))?;
        }
        new.write(directory)?;
        let removed = fs::remove_dir_all(&self.unfinished);
        removed.map_err(|error| named("remove", &self.unfinished, &error))
    }
}

/// Refuses if one of `files` would be written over a file in `directory` that `old` does not list.
fn check(directory: &Path, files: &BTreeSet<String>, old: &Listed) -> io::Result<()> {
    for name in files {
        if let Some(folder) = folder_of(name).map(|folder| directory.join(folder))
            && folder.symlink_metadata().is_ok()
            && !folder.is_dir()
        {
            return Err(in_the_way(&folder, "is no directory"));
        }
        let path = directory.join(name);
        let is_ours = |file: fs::Metadata| !file.is_dir() && old.files.contains(name);
        if path.symlink_metadata().is_ok_and(|file| !is_ours(file)) {
            let what = "was not written by an earlier run of fairwire";
            return Err(in_the_way(&path, what));
        }
    }
    Ok(())
}

/// Removes what runs left in `directory` that did not come to their end.
fn remove_unfinished(directory: &Path) -> io::Result<()> {
    let entries = fs::read_dir(directory).map_err(|error| named("read", directory, &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| named("read", directory, &error))?;
        let path = entry.path();
        let is_named_so = entry.file_name().to_string_lossy().starts_with(UNFINISHED);
        let is_left = |listed: Listed| !listed.complete && !listed.files.is_empty();
        if is_named_so && Listed::read(&path).is_ok_and(is_left) {
            fs::remove_dir_all(&path).map_err(|error| named("remove", &path, &error))?;
        }
    }
    Ok(())
}

fn make_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))
}

/// The folder that a path in the directory leads into, if it is not the directory itself.
fn folder_of(name: &str) -> Option<&Path> {
    let folder = Path::new(name).parent();
    folder.filter(|folder| !folder.as_os_str().is_empty())
}

/// That a file would be written over which must not be.
fn in_the_way(path: &Path, what: &str) -> io::Error {
    let message = format!(
        "{} {what}, and this run would write over it: move it away, or choose another directory",
        path.display()
    );
    io::Error::new(io::ErrorKind::AlreadyExists, message)
}
