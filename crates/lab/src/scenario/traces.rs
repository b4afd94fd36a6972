//! Where the traces of a scenario are found, and how they are read: each once for all cells.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use fairwire_net::Trace;

use super::place::{Place, ScenarioError, SourceText};
use super::shorten::{QUOTED, shorten};
use super::topology::Topology;
use super::trace::name;
use super::tree::Node;

/// No trace is longer.
const LONGEST_FILE: u64 = 32 << 20;

/// Where the traces of a scenario are.
#[derive(Clone, Debug, Default)]
pub(super) enum Beside {
    /// Nowhere: the scenario is in no folder.
    #[default]
    Nowhere,
    /// In files; paths begin in this folder.
    Folder(PathBuf),
    /// Here, by the paths that the scenario writes.
    Texts(Arc<BTreeMap<String, String>>),
}

/// Traces that were read, each once for all cells.
pub(super) struct Traces<'a> {
    beside: &'a Beside,
    /// By [plain](plain) path.
    known: BTreeMap<String, Arc<Trace>>,
}

impl Beside {
    /// What `path` leads to.
    fn read(&self, path: &str) -> io::Result<(String, String)> {
        match self {
            Self::Nowhere => {
                let message = "this scenario is in no file, and traces are found beside the file";
                Err(io::Error::other(message))
            }
            Self::Folder(folder) => {
                let path = folder.join(path);
                Ok((path.display().to_string(), read_bounded(&path)?))
            }
            Self::Texts(texts) => {
                let whole = plain(path);
                let mut texts = texts.iter().filter(|(name, _)| plain(name) == whole);
                match texts.next() {
                    Some((_, text)) => Ok((path.to_owned(), text.clone())),
                    None => Err(io::Error::from(io::ErrorKind::NotFound)),
                }
            }
        }
    }

    /// In which folder `path` begins, in words; nothing if it says so itself.
    fn folder(&self, path: &str) -> String {
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

    /// The trace at `path`, which stands at `place`.
    fn trace(&self, path: &str, place: &Place) -> Result<Arc<Trace>, ScenarioError> {
        let (name, text) = self.read(path).map_err(|error| {
            let folder = self.folder(path);
            let path = shorten(path, QUOTED);
            let message = format!("cannot read the trace '{path}'{folder}: {error}");
            ScenarioError::at(message, place)
        })?;
        let read = text.parse::<Trace>();
        read.map(Arc::new).map_err(|error| match error.line() {
            Some(line) => {
                let lines = text.split_inclusive('\n');
                let start = lines.take(line - 1).map(str::len).sum();
                let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
                let source = Arc::new(SourceText { name, text });
                ScenarioError::at(error.to_string(), &Place::new(&source, start..end))
            }
            None => ScenarioError::at(format!("{name}: {error}"), place),
        })
    }
}

impl<'a> Traces<'a> {
    /// None yet; they are in `beside`.
    pub(super) fn of(beside: &'a Beside) -> Self {
        Self {
            beside,
            known: BTreeMap::new(),
        }
    }

    /// Reads the traces of `topology`, which was read from `tree`.
    pub(super) fn fill(&mut self, topology: &Topology, tree: &Node) -> Result<(), ScenarioError> {
        for (path, link) in topology.directions() {
            let Some(file) = &link.trace else {
                continue;
            };
            let whole = plain(file.path());
            if !self.known.contains_key(&whole) {
                let place = &tree.nearest(&format!("topology.{path}.trace")).place;
                let own = file.name();
                if let Some(other) = self.known.keys().find(|path| name(path) == own) {
                    let path = file.path();
                    let short = |text: &str| shorten(text, QUOTED);
                    let (path, other, own) = (short(path), short(other), short(&own));
                    let message = format!(
                        "'{path}' and '{other}' would both be called '{own}' among the results: rename one of them"
                    );
                    return Err(ScenarioError::at(message, place));
                }
                let trace = self.beside.trace(file.path(), place)?;
                self.known.insert(whole.clone(), trace);
            }
            file.fill(&self.known[&whole]);
        }
        Ok(())
    }
}

/// `path` without the parts that lead nowhere: `./a.trace` is `a.trace`.
fn plain(path: &str) -> String {
    let parts = Path::new(path).components();
    let parts: PathBuf = parts.filter(|part| *part != Component::CurDir).collect();
    parts.to_string_lossy().into_owned()
}

/// The text of a file.
fn read_bounded(path: &Path) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut text = String::new();
    let mut file = File::open(path)?.take(LONGEST_FILE + 1);
    file.read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST_FILE {
        let message = format!("it is longer than {LONGEST_FILE} bytes, so it is no trace");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
