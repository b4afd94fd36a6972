//! The list of the files that a run wrote into a directory.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::named::{named_error, write_error};

/// The name of the list.
pub(super) const LIST: &str = "fairwire-out.json";
/// The temporary name of the list while it is written.
const NEW_LIST: &str = ".fairwire-out.json.new";

/// The list of the files that a run wrote.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct FileList {
    /// The version of the program that wrote it.
    fairwire: String,
    /// Whether these are all files of a run that ended.
    pub(super) complete: bool,
    /// Paths in the directory, as `voip/results.csv`.
    pub(super) files: BTreeSet<String>,
}

impl FileList {
    pub(super) fn new(complete: bool, files: BTreeSet<String>) -> Self {
        Self {
            fairwire: env!("CARGO_PKG_VERSION").to_owned(),
            complete,
            files,
        }
    }

    /// Reads the list in `directory`; without one, it is empty.
    pub(super) fn read(directory: &Path) -> io::Result<Self> {
        use io::ErrorKind::{NotADirectory, NotFound};

        let path = directory.join(LIST);
        let text = match fs::read(&path) {
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
                return Ok(Self::default());
            }
            read => read.map_err(|error| named_error("read", &path, &error))?,
        };
        let listed = serde_json::from_slice::<Self>(&text).ok();
        let stays = |listed: &Self| listed.files.iter().all(|name| is_within(name));
        listed.filter(stays).ok_or_else(|| {
            let message = format!(
                "{} is not a list of files that fairwire wrote: move it away, or choose another directory",
                path.display()
            );
            io::Error::new(io::ErrorKind::AlreadyExists, message)
        })
    }

    /// Writes the list atomically: a reader sees either the old list or the new one.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        let new = directory.join(NEW_LIST);
        let path = directory.join(LIST);
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &path));
        written.map_err(|error| write_error(&path, &error))
    }

    /// Returns whether `directory` holds files of a run that ended.
    pub(super) fn is_complete_in(&self, directory: &Path) -> bool {
        self.complete && self.files.iter().any(|name| directory.join(name).exists())
    }
}

/// Returns whether the path stays within its directory.
fn is_within(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)))
}
