//! The directory that results are written into: one run at a time, and never a mixture of two.
//!
//! 1. [`OutputDirectory::claim`] locks it, and refuses where a file would be written over that no run of
//!    ours wrote.
//! 2. The run writes into the folder [`UNFINISHED`] within, cell by cell, so that what is computed is kept
//!    whatever comes; the results of the run before stay where they are.
//! 3. [`OutputDirectory::publish`] takes these away and puts the new ones in their place, unless the new
//!    ones are of a run that did not come to its end and the old ones are of one that did. Every folder is
//!    locked and checked before the first file goes; where that fails nothing is moved, and the list in
//!    [`UNFINISHED`] says so, that no later run removes what is there.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::contents::{Contents, LIST, Listed};
use super::lock::{LOCK, Lock};
use super::named;

/// Where a run writes until it is at its end.
pub const UNFINISHED: &str = "unfinished";

/// A directory that is ours until this is dropped.
#[derive(Debug)]
pub struct OutputDirectory {
    directory: PathBuf,
    contents: Contents,
    /// The scenario that runs, which is never removed.
    scenario: Option<PathBuf>,
    who: String,
    locks: Vec<(PathBuf, Lock)>,
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
    /// Makes `directory` if it is not there and locks it; `who` tells others what runs. What a killed run
    /// left in [`UNFINISHED`] is removed.
    ///
    /// # Errors
    /// If another process writes into it, if a file of another kind would be written over (`scenario`,
    /// which is about to run, is one), if [`UNFINISHED`] holds results that are nowhere else, or if something
    /// cannot be made. The error names the file and says what to do; nothing that was there is touched then.
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
        claimed.lock(directory)?;
        let old = Listed::read(directory)?;
        let folders = old.folders.iter().chain(claimed.contents.folders.keys());
        let folders: BTreeSet<PathBuf> = folders.map(|name| directory.join(name)).collect();
        for folder in folders {
            claimed.lock_listed(&folder)?;
        }
        let staging = claimed.staging();
        claimed.lock(&staging)?;
        claimed.lock_listed(&staging)?;
        claimed.check()?;
        remove_files(&staging, claimed.scenario.as_deref())?;
        // Its folders went, and their locks with them.
        let within = |path: &Path| path != staging && path.starts_with(&staging);
        claimed.locks.retain(|(path, _)| !within(path));
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
    /// If a folder is in use, if a file of another kind would be written over, or if one cannot be removed or
    /// moved. The error names it and says where the results are; no later run removes them.
    pub fn publish(mut self, partial: bool) -> io::Result<Published> {
        let staging = self.staging();
        let directory = self.directory.clone();
        let contents = std::mem::take(&mut self.contents);
        if partial && holds_finished(&directory, &contents)? {
            return Ok(Published::Beside(staging));
        }
        let new = staging.display();
        let told = |what: String| move |error: io::Error| with_more(&error, &what);
        let list = Listed::read(&staging)?.moving(!partial);
        list.write(&staging).map_err(told(format!(
            "the new results are in {new}: take them away before the next run, which would remove them"
        )))?;
        self.secure(&contents).map_err(told(format!(
            "nothing was moved: the new results are in {new}; move them away before the next run"
        )))?;
        // Another run may have come to its end in a folder before it was locked.
        if partial && holds_finished(&directory, &contents)? {
            list.left().write(&staging)?;
            return Ok(Published::Beside(staging));
        }
        self.replace(&staging, &directory, &contents, !partial)
            .map_err(told(format!(
                "the new results are in {} as far as they were moved, the others in {new}; move them away before the next run",
                directory.display()
            )))?;
        Ok(Published::Here(directory))
    }

    fn staging(&self) -> PathBuf {
        self.directory.join(UNFINISHED)
    }

    /// Refuses if a file that is not ours would be written over, or results removed that are nowhere else.
    fn check(&self) -> io::Result<()> {
        let scenario = self.scenario.as_deref();
        let staging = self.staging();
        check(&self.directory, &self.contents, scenario)?;
        check_left(&staging)?;
        check(&staging, &self.contents, scenario)
    }

    fn lock(&mut self, directory: &Path) -> io::Result<()> {
        if !self.locks.iter().any(|(locked, _)| locked == directory) {
            let lock = Lock::take(directory, &self.who)?;
            self.locks.push((directory.to_owned(), lock));
        }
        Ok(())
    }

    /// Locks a directory, if it is there, and the folders that its list names.
    fn lock_listed(&mut self, directory: &Path) -> io::Result<()> {
        if !directory.is_dir() {
            return Ok(());
        }
        self.lock(directory)?;
        for folder in Listed::read(directory)?.folders {
            self.lock_listed(&directory.join(folder))?;
        }
        Ok(())
    }

    /// Locks everything that is going to change, and then checks all of it.
    fn secure(&mut self, contents: &Contents) -> io::Result<()> {
        let directory = self.directory.clone();
        self.lock_listed(&directory)?;
        self.lock_contents(&directory, contents)?;
        check(&directory, contents, self.scenario.as_deref())
    }

    /// Makes and locks the folders of `contents`.
    fn lock_contents(&mut self, directory: &Path, contents: &Contents) -> io::Result<()> {
        for (name, contents) in &contents.folders {
            let folder = directory.join(name);
            // It may hold the results of another kind of run, with folders.
            self.lock(&folder)?;
            self.lock_listed(&folder)?;
            self.lock_contents(&folder, contents)?;
        }
        Ok(())
    }

    /// Moves what is in `staging` into `directory`, which is [secured](Self::secure). The old files go first,
    /// so the directory never holds files of both; the list comes before everything, so it never holds a file
    /// that no list names.
    fn replace(
        &self,
        staging: &Path,
        directory: &Path,
        contents: &Contents,
        complete: bool,
    ) -> io::Result<()> {
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

/// Refuses if `staging` holds what is more than the rest of a killed run, and is nowhere else.
fn check_left(staging: &Path) -> io::Result<()> {
    let what = if Listed::read(staging)?.moving {
        "results that could not be moved out of it, or not all of them"
    } else if holds_finished(staging, &Contents::default())? {
        "the results of a run that came to its end"
    } else {
        return Ok(());
    };
    let message = format!(
        "{} holds {what}, and this run would remove them: move it away, or choose another directory",
        staging.display()
    );
    Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
}

/// Are there, where `contents` would go or in its place, results of a run that came to its end?
fn holds_finished(directory: &Path, contents: &Contents) -> io::Result<bool> {
    let old = Listed::read(directory)?;
    if old.complete && old.files.iter().any(|name| directory.join(name).exists()) {
        return Ok(true);
    }
    let none = Contents::default();
    let goes = |name| contents.folders.get(name).unwrap_or(&none);
    let folders = old.folders.iter().chain(contents.folders.keys());
    for name in folders {
        if holds_finished(&directory.join(name), goes(name))? {
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
    remove_files(directory, keep)?;
    remove(&directory.join(LOCK), None)?;
    // What is not ours stays, and the directory with it.
    let _ = fs::remove_dir(directory);
    Ok(())
}

/// Removes what the list in `directory` names.
fn remove_files(directory: &Path, keep: Option<&Path>) -> io::Result<()> {
    let listed = Listed::read(directory)?;
    for name in &listed.folders {
        remove_listed(&directory.join(name), keep)?;
    }
    for name in &listed.files {
        remove(&directory.join(name), keep)?;
    }
    // The list goes last: what cannot be removed now is known the next time.
    remove(&directory.join(LIST), None)
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

/// An error with what has become of the results.
fn with_more(error: &io::Error, more: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{error}; {more}"))
}
