//! Files beside a scenario: the traces of its links, and the files that it extends.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Where the files beside a scenario are found.
#[derive(Clone, Debug, Default)]
pub(super) enum Files {
    /// Nowhere: the scenario is in no folder.
    #[default]
    Nowhere,
    /// In files; relative paths begin in this folder.
    Folder(PathBuf),
    /// In memory, by the paths that the scenario writes.
    Texts(Arc<BTreeMap<String, String>>),
}

impl Files {
    /// Reads the text at `path`, at most `most` bytes long, and returns the name for messages and the text. `what` is
    /// the word for the expected file in messages.
    pub(super) fn read(&self, path: &str, what: &str, most: u64) -> io::Result<(String, String)> {
        match self {
            Self::Nowhere => {
                let message =
                    format!("this scenario is in no file, and a {what} is found beside the file");
                Err(io::Error::other(message))
            }
            Self::Folder(folder) => {
                let path = folder.join(path);
                if !fs::metadata(&path)?.is_file() {
                    return Err(io::Error::other("it is not a file"));
                }
                let text = read_bounded(&path, what, most)?;
                Ok((path.display().to_string(), text))
            }
            Self::Texts(texts) => {
                let whole = plain(path);
                let mut texts = texts.iter().filter(|(name, _)| plain(name) == whole);
                match texts.next() {
                    Some((_, text)) => Ok((path.to_owned(), text.clone())),
                    None => Err(io::Error::other("there is no such file")),
                }
            }
        }
    }

    /// Returns the folder in which `path` begins, in words; empty if `path` is absolute.
    pub(super) fn folder(&self, path: &str) -> String {
        let Self::Folder(folder) = self else {
            return String::new();
        };
        if Path::new(path).is_absolute() {
            return String::new();
        }
        let here = Path::new(".");
        let folder = if folder.as_os_str().is_empty() {
            here
        } else {
            folder
        };
        format!(" in the scenario's folder, '{}'", folder.display())
    }
}

/// Returns `path` without `.` components: `./a.trace` is `a.trace`.
pub(super) fn plain(path: &str) -> String {
    let parts = Path::new(path).components();
    let parts: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
    parts.to_string_lossy().into_owned()
}

/// Reads the text of the file at `path`, which should be a `what` and at most `most` bytes long.
///
/// # Errors
/// If it cannot be read, is longer, or is no text.
pub fn read_bounded(path: &Path, what: &str, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut file = File::open(path)?.take(most.saturating_add(1));
    file.read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let message = format!("it is longer than {most} bytes, the most for a {what}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..valid]);
        let line = before.matches('\n').count() + 1;
        let message = format!("it is not a text file: line {line} is not UTF-8");
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}
