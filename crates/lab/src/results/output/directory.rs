//! The directory that results are written into: one run at a time, and never a mixture of two.
//!
//! 1. [`OutputDirectory::claim`] locks it, and refuses where a file would be written over that no run of
//!    ours wrote.
//! 2. The run writes into the folder [`UNFINISHED`] within, cell by cell, so that what is computed is kept
//!    whatever comes; the results of the run before stay where they are.
//! 3. [`OutputDirectory::publish`] takes these away and puts the new ones in their place, unless the new
//!    ones are of a run that did not come to its end and the old ones are of one that did.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::contents::{Contents, LIST, Listed};
use super::named;

/// Where a run writes until it is at its end.
pub const UNFINISHED: &str = "unfinished";
/// The file that is locked while a run writes. It stays; the lock goes with the process.
const LOCK: &str = ".fairwire.lock";

/// A directory that is ours until this is dropped.
#[derive(Debug)]
pub struct OutputDirectory {
    directory: PathBuf,
    contents: Contents,
    /// The scenario that runs, which is never removed.
    scenario: Option<PathBuf>,
    who: String,
    locks: Vec<(PathBuf, File)>,
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
    /// Makes `directory` if it is not there and locks it; `who` tells others what runs. What a run left
    /// in [`UNFINISHED`] is removed.
    ///
    /// # Errors
    /// If another process writes into it, if a file of another kind would be written over (`scenario`,
    /// which is about to run, is one), or if something cannot be made. The error names the file and says
    /// what to do; nothing that was there is touched then.
    pub fn claim(
        directory: &Path,
        contents: Contents,
        scenario: Option<&Path>,
        who: &str,
    ) -> io::Result<Self> {
        let scenario = scenario.and_then(|path| path.canonicalize().ok());
        let mut claimed = Self {
            directory: directory.to_owned(),
            contents,
            scenario,
            who: who.to_owned(),
            locks: Vec::new(),
        };
        // Before the first file is made, and again when nobody else can make one.
        claimed.check()?;
        fs::create_dir_all(directory).map_err(|error| named("write", directory, &error))?;
        claimed.lock(directory)?;
        claimed.check()?;
        let old = Listed::read(directory)?;
        let folders = old.folders.iter().chain(claimed.contents.folders.keys());
        let folders: BTreeSet<PathBuf> = folders.map(|name| directory.join(name)).collect();
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            claimed.lock(folder)?;
        }
        let staging = claimed.staging();
        remove_listed(&staging, claimed.scenario.as_deref())?;
        prepare(&staging, &claimed.contents)?;
        Ok(claimed)
    }

    /// Where the run writes what belongs into `folder`, or into the directory itself.
    pub fn place(&self, folder: Option<&str>) -> PathBuf {
        let staging = self.staging();
        folder.map_or(staging.clone(), |folder| staging.join(folder))
    }

    /// Puts what was written in the place of what was there before, if it is all of a run or nothing
    /// whole would be lost.
    ///
    /// # Errors
    /// If a file cannot be removed or moved; the error names it. What is not moved stays where it was written.
    pub fn publish(mut self, partial: bool) -> io::Result<Published> {
        let staging = self.staging();
        if partial && holds_finished(&self.directory, &self.contents)? {
            return Ok(Published::Beside(staging));
        }
        let directory = self.directory.clone();
        let contents = std::mem::take(&mut self.contents);
        let moved = self.replace(&staging, &directory, &contents, !partial);
        moved.map_err(|error| {
            let message = format!("{error}; the new results are in {}", staging.display());
            io::Error::new(error.kind(), message)
        })?;
        Ok(Published::Here(directory))
    }

    fn staging(&self) -> PathBuf {
        self.directory.join(UNFINISHED)
    }

    /// Refuses if a file that is not ours would be written over.
    fn check(&self) -> io::Result<()> {
        let scenario = self.scenario.as_deref();
        check(&self.directory, &self.contents, scenario)?;
        check(&self.staging(), &self.contents, scenario)
    }

    fn lock(&mut self, directory: &Path) -> io::Result<()> {
        if self.locks.iter().any(|(locked, _)| locked == directory) {
            return Ok(());
        }
        let path = directory.join(LOCK);
        let mut options = File::options();
        let open = options.read(true).write(true).create(true).truncate(false);
        let mut file = open
            .open(&path)
            .map_err(|error| named("write", &path, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(directory, &mut file)),
            Err(TryLockError::Error(error)) => return Err(named("lock", &path, &error)),
        }
        sign(&mut file, &self.who).map_err(|error| named("write", &path, &error))?;
        self.locks.push((directory.to_owned(), file));
        Ok(())
    }

    /// Moves what is in `staging` into `directory`. The old files go first, so the directory never
    /// holds files of both; the list comes before everything, so it never holds a file that no list names.
    fn replace(
        &mut self,
        staging: &Path,
        directory: &Path,
        contents: &Contents,
        complete: bool,
    ) -> io::Result<()> {
        fs::create_dir_all(directory).map_err(|error| named("write", directory, &error))?;
        self.lock(directory)?;
        check(directory, contents, self.scenario.as_deref())?;
        let mut files = contents.files.clone();
        let mut folders: BTreeSet<String> = contents.folders.keys().cloned().collect();
        let old = Listed::read(directory)?;
        let stale: Vec<PathBuf> = old
            .folders
            .difference(&folders)
            .map(|name| directory.join(name))
            .collect();
        let both = Listed::new(
            false,
            old.files.union(&files).cloned().collect(),
            old.folders.union(&folders).cloned().collect(),
        );
        both.write(directory)?;
        for folder in stale {
            remove_listed(&folder, self.scenario.as_deref())?;
        }
        for name in &old.files {
            remove(&directory.join(name), self.scenario.as_deref())?;
        }
        for (name, contents) in &contents.folders {
            self.replace(
                &staging.join(name),
                &directory.join(name),
                contents,
                complete,
            )?;
        }
        for name in &files {
            let to = directory.join(name);
            match fs::rename(staging.join(name), &to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(named("write", &to, &error));
                }
                _ => {}
            }
        }
        files.retain(|name| directory.join(name).exists());
        folders.retain(|name| directory.join(name).exists());
        Listed::new(complete, files, folders).write(directory)?;
        remove_listed(staging, None)
    }
}

/// Makes a folder to write into, its list first.
fn prepare(staging: &Path, contents: &Contents) -> io::Result<()> {
    fs::create_dir_all(staging).map_err(|error| named("write", staging, &error))?;
    let folders = contents.folders.keys().cloned().collect();
    Listed::new(false, contents.files.clone(), folders).write(staging)?;
    for (name, contents) in &contents.folders {
        prepare(&staging.join(name), contents)?;
    }
    Ok(())
}

/// Refuses if a file in `directory` that no list of ours names, or the scenario, would be written over.
fn check(directory: &Path, contents: &Contents, scenario: Option<&Path>) -> io::Result<()> {
    let old = Listed::read(directory)?;
    let refuse = |path: &Path, what: &str| {
        let message = format!(
            "{} {what}, and this run would write over it: move it away, or choose another directory",
            path.display()
        );
        Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
    };
    for name in &contents.files {
        let path = directory.join(name);
        let Ok(file) = path.symlink_metadata() else {
            continue;
        };
        if is(&path, scenario) {
            return refuse(&path, "is the scenario that is to run");
        }
        if file.is_dir() || !old.files.contains(name) {
            return refuse(&path, "was not written by an earlier run of fairwire");
        }
    }
    for (name, contents) in &contents.folders {
        let path = directory.join(name);
        if path.symlink_metadata().is_ok_and(|file| !file.is_dir()) {
            return refuse(&path, "is no directory");
        }
        check(&path, contents, scenario)?;
    }
    Ok(())
}

/// Are there, where `contents` would go, results of a run that came to its end?
fn holds_finished(directory: &Path, contents: &Contents) -> io::Result<bool> {
    let old = Listed::read(directory)?;
    if old.complete && old.files.iter().any(|name| directory.join(name).exists()) {
        return Ok(true);
    }
    for (name, contents) in &contents.folders {
        if holds_finished(&directory.join(name), contents)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Removes what the list in `directory` names, and the directory if nothing else is in it.
fn remove_listed(directory: &Path, keep: Option<&Path>) -> io::Result<()> {
    if !directory.is_dir() {
        return Ok(());
    }
    let listed = Listed::read(directory)?;
    for name in &listed.folders {
        remove_listed(&directory.join(name), keep)?;
    }
    for name in &listed.files {
        remove(&directory.join(name), keep)?;
    }
    // The list goes last: what cannot be removed now is known the next time.
    remove(&directory.join(LIST), None)?;
    remove(&directory.join(LOCK), None)?;
    // What is not ours stays, and the directory with it.
    let _ = fs::remove_dir(directory);
    Ok(())
}

/// Removes a file of ours, and what is left of it where writing it was cut off.
fn remove(path: &Path, keep: Option<&Path>) -> io::Result<()> {
    let beside = super::beside(path);
    for path in [path, &beside] {
        if is(path, keep) {
            continue;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(named("remove", path, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Is `path` the file `known`, which is canonical?
fn is(path: &Path, known: Option<&Path>) -> bool {
    known.is_some_and(|known| path.canonicalize().is_ok_and(|path| path == known))
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
