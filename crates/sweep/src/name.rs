//! Names of files and folders in a store.
//!
//! Anybody may have made a store, so a name that is read from one of its files is a [`Name`] before a path is made of
//! it.

use std::borrow::Borrow;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::error::StoreError;

/// The name of a file or folder: one plain component of a path, which is not hidden.
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(try_from = "String")]
pub(crate) struct Name(String);

impl Name {
    /// Returns the last component of a path; `None` if it is not a name.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        Self::try_from(path.file_name()?.to_str()?.to_owned()).ok()
    }

    /// Returns its path in `folder`.
    pub(crate) fn within(&self, folder: &Path) -> PathBuf {
        folder.join(&self.0)
    }
}

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        // The colon ends the name of a drive on some systems.
        let is_plain =
            !text.is_empty() && !text.starts_with('.') && !text.contains(['/', '\\', ':', '\0']);
        if is_plain {
            Ok(Self(text))
        } else {
            Err(format!("{text:?} is not the name of a file in a store"))
        }
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// Returns 16 hexadecimal digits that nobody can foresee.
pub(crate) fn unique() -> String {
    // The keys of a `RandomState` are drawn by the system.
    format!("{:016x}", RandomState::new().build_hasher().finish())
}

/// Returns what tells this machine, since its last start, from any other: processes with an equal one have the same
/// kernel, and so see each other's locks on every file system. On systems that do not say, it is the name `host`.
pub(crate) fn machine(host: &str) -> String {
    static BOOT: OnceLock<Option<String>> = OnceLock::new();
    let boot = BOOT.get_or_init(|| {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
        (digits.len() == 32).then_some(digits)
    });
    boot.clone().unwrap_or_else(|| plain(host))
}

/// Returns the letters and digits of the name of a host.
pub(crate) fn plain(host: &str) -> String {
    host.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// Returns the names in a folder, in order. A folder that is missing has none.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(StoreError::read(folder))?,
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Name;

    /// A name never leads out of the folder that it is in.
    #[test]
    fn a_name_is_one_plain_component() {
        for text in ["000001", "host-1-a.runs", "a b", "ä.json"] {
            let name = Name::try_from(text.to_owned()).expect("a name");
            assert_eq!(name.within(Path::new("/s")), Path::new("/s").join(text));
        }
        for text in [
            "", ".", "..", ".hidden", "/etc", "../x", "a/b", "a/", "C:x", "a\\b", "a\0",
        ] {
            assert!(Name::try_from(text.to_owned()).is_err(), "{text:?}");
        }
    }
}
