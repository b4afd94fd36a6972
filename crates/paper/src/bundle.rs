//! The files of a paper: built in, or read from a directory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::PaperError;
use fairwire_scenario::files::read_bounded;
use fairwire_scenario::hint::name_hint;
use fairwire_scenario::shorten::{QUOTED, shorten};

/// The main file of a paper.
pub(super) const MANIFEST: &str = "paper.toml";

/// The extension of a file with the trace of a link.
const TRACE: &str = "trace";

/// The greatest length of a file of a paper, in bytes.
const LONGEST_FILE: u64 = 4 << 20;

/// The files of a paper, by name.
#[derive(Clone, Debug)]
pub struct Bundle {
    name: Cow<'static, str>,
    files: Files,
}

#[derive(Clone, Debug)]
enum Files {
    BuiltIn(&'static [(&'static str, &'static str)]),
    Read {
        directory: PathBuf,
        texts: BTreeMap<String, String>,
    },
    InMemory(BTreeMap<String, String>),
}

impl Bundle {
    /// Returns a bundle of built-in files, by their names in `papers/<name>/`.
    pub const fn built_in(
        name: &'static str,
        files: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            files: Files::BuiltIn(files),
        }
    }

    /// Reads the TOML, CSV and trace files of the paper in `directory`, and names the paper after the directory.
    ///
    /// # Errors
    /// If there is no paper, or if a file cannot be read; the error names the path.
    pub fn read(directory: &Path) -> Result<Self, PaperError> {
        let refuse = |path: &Path, error: &io::Error| {
            PaperError::file(&path.display().to_string(), format!("cannot read: {error}"))
        };
        if let Some(paper) = directory.parent().filter(|_| directory.is_file()) {
            let message = if Self::is_in(paper) {
                format!("give the directory: {}", paper.display())
            } else {
                "a paper is a directory, and this is a file".to_owned()
            };
            return Err(PaperError::file(&directory.display().to_string(), message));
        }
        let whole = directory.canonicalize();
        let whole = whole.map_err(|error| refuse(directory, &error))?;
        let name = whole.file_name().unwrap_or_default();
        let mut texts = BTreeMap::new();
        for entry in fs::read_dir(directory).map_err(|error| refuse(directory, &error))? {
            let entry = entry.map_err(|error| refuse(directory, &error))?;
            let file = PathBuf::from(entry.file_name());
            let kind = file.extension().and_then(|kind| kind.to_str());
            if let (Some("toml" | "csv" | TRACE), Some(file)) = (kind, file.to_str())
                && entry.path().is_file()
            {
                let path = directory.join(file);
                let text = read_bounded(&path, "file of a paper", LONGEST_FILE)
                    .map_err(|error| refuse(&path, &error))?;
                texts.insert(file.to_owned(), text);
            }
        }
        if !texts.contains_key(MANIFEST) {
            let message = format!("it has no {MANIFEST}, which is the main file of a paper");
            return Err(PaperError::file(&directory.display().to_string(), message));
        }
        Ok(Self {
            name: Cow::Owned(name.to_string_lossy().into_owned()),
            files: Files::Read {
                directory: directory.to_owned(),
                texts,
            },
        })
    }

    /// Returns a paper called `name` with the files `texts`, by name. Messages call a file `name/file`.
    pub fn in_memory(name: &str, texts: BTreeMap<String, String>) -> Self {
        Self {
            name: Cow::Owned(name.to_owned()),
            files: Files::InMemory(texts),
        }
    }

    /// Returns whether `directory` has a paper's main file.
    pub fn is_in(directory: &Path) -> bool {
        directory.join(MANIFEST).is_file()
    }

    /// Returns whether it comes with Fairwire.
    pub(super) fn is_built_in(&self) -> bool {
        matches!(self.files, Files::BuiltIn(_))
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the directory that it was read from, if any.
    pub fn directory(&self) -> Option<&Path> {
        match &self.files {
            Files::BuiltIn(_) | Files::InMemory(_) => None,
            Files::Read { directory, .. } => Some(directory),
        }
    }

    /// Returns the files that its scenarios can read: other scenarios and traces of links, by name.
    pub(super) fn beside(&self) -> BTreeMap<String, String> {
        let is_read = |name: &str| {
            let end = Path::new(name).extension();
            end.is_some_and(|it| it == TRACE || it == "toml")
        };
        let files = self.files().into_iter();
        let files = files.filter(|(name, _)| is_read(name));
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned()));
        files.collect()
    }

    /// Returns the path of `file` as messages show it.
    pub(super) fn path(&self, file: &str) -> String {
        match &self.files {
            Files::BuiltIn(_) => format!("papers/{}/{file}", self.name),
            Files::Read { directory, .. } => directory.join(file).display().to_string(),
            Files::InMemory(_) => format!("{}/{file}", self.name),
        }
    }

    /// Returns the text of `file`, or a message that there is none.
    pub(super) fn text(&self, file: &str) -> Result<&str, String> {
        let files = self.files();
        let found = files.iter().find(|(name, _)| *name == file);
        found.map(|(_, text)| *text).ok_or_else(|| {
            let end = Path::new(file).extension();
            let names = files.iter().map(|(name, _)| *name);
            let alike = names.filter(|name| Path::new(name).extension() == end);
            let short = shorten(file, QUOTED);
            let hint = name_hint(file, alike);
            format!("there is no file '{short}' in this paper: {hint}")
        })
    }

    /// Returns the texts of its files, by name.
    fn files(&self) -> Vec<(&str, &str)> {
        match &self.files {
            Files::BuiltIn(files) => files.to_vec(),
            Files::Read { texts, .. } | Files::InMemory(texts) => {
                let texts = texts.iter();
                texts.map(|(name, text)| (&**name, &**text)).collect()
            }
        }
    }
}

/// Returns `file:line:column` of the beginning of `span` in `text`, or only `file` without a span.
pub(super) fn place(file: &str, text: &str, span: Option<Range<usize>>) -> String {
    let before = span.and_then(|span| text.get(..span.start));
    before.map_or(file.to_owned(), |before| {
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        format!("{file}:{line}:{column}")
    })
}

/// Returns the error that `text`, which messages call `file`, is not the expected TOML.
pub(super) fn not_toml(file: &str, text: &str, error: &toml::de::Error) -> PaperError {
    PaperError::file(&place(file, text, error.span()), error.message())
}
