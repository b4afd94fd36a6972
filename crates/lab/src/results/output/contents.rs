//! Which files of a directory are ours: what a run is going to write, and the list of what it wrote.
//!
//! The list stands in the directory as [`LIST`]. It is written before the files that it names and again
//! after them, so a run that is killed leaves no file of ours that no list names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{named, write_synced};
use crate::scenario::Cell;

/// The list of our files in a directory of ours.
pub(super) const LIST: &str = "fairwire-out.json";

/// What a run is going to write into a directory.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    pub(super) files: BTreeSet<String>,
    pub(super) folders: BTreeMap<String, Contents>,
}

impl Contents {
    /// These files.
    pub fn of_files(names: &[&str]) -> Self {
        Self {
            files: names.iter().map(|name| (*name).to_owned()).collect(),
            folders: BTreeMap::new(),
        }
    }

    /// The results of these cells.
    pub fn of_cells(cells: &[Cell]) -> Self {
        let mut contents = Self::of_files(&super::FILES);
        let resolved = cells.iter().map(|cell| format!("{}.toml", cell.name));
        contents.files.extend(resolved);
        contents
    }

    /// These files as well.
    pub fn and_files(mut self, names: &[&str]) -> Self {
        self.files
            .extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// The folder `name` as well, with what is in it.
    pub fn and_folder(mut self, name: &str, contents: Self) -> Self {
        self.folders.insert(name.to_owned(), contents);
        self
    }
}

/// What an earlier run wrote into a directory.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Listed {
    /// The version that wrote it.
    fairwire: String,
    /// Is it all of a run that came to its end?
    pub(super) complete: bool,
    /// Are its files about to move to where the run was to put them? It stays where they could not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) moving: bool,
    pub(super) files: BTreeSet<String>,
    /// Each has a list of its own.
    pub(super) folders: BTreeSet<String>,
}

impl Listed {
    pub(super) fn new(complete: bool, files: BTreeSet<String>, folders: BTreeSet<String>) -> Self {
        Self {
            fairwire: env!("CARGO_PKG_VERSION").to_owned(),
            complete,
            moving: false,
            files,
            folders,
        }
    }

    /// The same list of a run that is over, whose files are about to move.
    pub(super) fn moving(self, complete: bool) -> Self {
        Self {
            complete,
            moving: true,
            ..self
        }
    }

    /// The same list where they stay.
    pub(super) fn left(self) -> Self {
        Self {
            moving: false,
            ..self
        }
    }

    /// The list in `directory`; an empty one where there is none.
    pub(super) fn read(directory: &Path) -> io::Result<Self> {
        let path = directory.join(LIST);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Ok(Self::default());
            }
            Err(error) => return Err(named("read", &path, &error)),
        };
        let listed = serde_json::from_slice::<Self>(&text).ok();
        let plain = |listed: &Self| listed.files.iter().chain(&listed.folders).all(is_plain);
        listed.filter(plain).ok_or_else(|| {
            let message = format!(
                "{} is not a list of files that fairwire wrote: move it away, or choose another directory",
                path.display()
            );
            io::Error::new(io::ErrorKind::AlreadyExists, message)
        })
    }

    /// Writes the list.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        text.push(b'\n');
        write_synced(directory, LIST, &text)
    }
}

/// Is it the name of a file that a run of ours can have written? Others could lead out of the directory.
#[expect(clippy::ptr_arg, reason = "it filters iterators over strings")]
pub(super) fn is_plain(name: &String) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', ':', '\0'])
}
