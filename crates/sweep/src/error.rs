//! Why a store cannot be used.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fairwire_sim::campaign::PlanError;
use parquet::errors::ParquetError;
use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

use crate::schema::FORMAT;

/// Why a store cannot be read or written. What was written before stays whole.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file cannot be read or written: the folder is missing, the disk is full.
    #[error("cannot {what} {path}: {error}")]
    File {
        /// What was to be done: `read`, `write`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The store was made by a newer version of Fairwire.
    #[error(
        "{path} is a store of format {format}, and this version of Fairwire knows formats up to {FORMAT}: use a \
         newer version, or another folder"
    )]
    Newer {
        /// The folder of the store.
        path: PathBuf,
        /// The number of its format.
        format: i64,
    },
    /// The store was made by an early version of Fairwire, as a folder of Parquet files.
    #[error(
        "{0} is a store of an early version of Fairwire, which this one does not read: give a new folder, and its \
         runs are done again"
    )]
    Old(PathBuf),
    /// The database has tables, views, indices or triggers that are not those of a store.
    #[error(
        "{path} has {names} in it, which Fairwire did not make, so it is not used: remove what was added (in sqlite3 \
         with DROP), and the store is whole"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// Their names.
        names: String,
    },
    /// The folder has other files, and no store can be made in it.
    #[error("{0} has files, but is not a store: give a new or empty folder")]
    NotAStore(PathBuf),
    /// The file of the store has nothing in it.
    #[error(
        "{0} is empty: nothing was ever stored in it, because the disk was full or the sweep was ended at once. The next \
         sweep makes a store of it"
    )]
    Empty(PathBuf),
    /// Something that is no folder has the name of the folder.
    #[error("{0}, and a store is a folder: give another name, or move it away")]
    NotAFolder(String),
    /// Something that is no file is in the place of a file of the store.
    #[error(
        "{path} is {what}, and the files of a store are regular files: move it away, or give another folder"
    )]
    NotAFile {
        /// Its path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A process ended without putting its log into the database, and that cannot be made up for here.
    #[error(
        "{path} cannot be read without writing into it: a sweep was killed there and left {file}, which has to be taken \
         in first ({error}). Give yourself the right to write into the folder, or look at a copy of it"
    )]
    Unended {
        /// The folder of the store.
        path: PathBuf,
        /// What was left.
        file: &'static str,
        /// What the system says.
        error: io::Error,
    },
    /// The list of sweeps is not whole, so it is unknown which runs are in no sweep.
    #[error(
        "a part of the list of sweeps was lost when the store was repaired, so nobody knows which runs are in no sweep: \
         start the sweeps again whose runs you want to keep (what is stored is not computed again), remove {0}, and \
         prune then"
    )]
    ListLost(PathBuf),
    /// No sweep would be listed, so a pruning of what is not listed would remove everything.
    #[error(
        "no sweep would be left on the list of {path}, so that {} would be removed: start the sweeps again whose runs you want to keep (what \
         is stored is not computed again), or remove the folder",
        match .runs {
            1 => "its run".to_owned(),
            runs => format!("all of its {runs} runs"),
        }
    )]
    NothingListed {
        /// The folder of the store.
        path: PathBuf,
        /// How many runs it has.
        runs: u64,
    },
    /// A folder cannot be made.
    #[error("{0}")]
    Folder(io::Error),
    /// An export would write over a file.
    #[error(
        "{0} is there already, and an export writes over no file: give another folder, or move it away"
    )]
    Exported(PathBuf),
    /// Something is wrong with a plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// There is no store in the folder, or no folder.
    #[error("there is no store in {0}: a sweep makes one")]
    NoStore(PathBuf),
    /// Another process has kept the store locked for too long.
    #[error("another process keeps {0} locked: wait until it has ended")]
    Busy(PathBuf),
    /// A file is not what it should be.
    #[error(
        "{path} is damaged: {reason}. Repair the store (`fairwire store DIR --repair`, in Python `Store(DIR, \
         repair=True)`): what can be read stays, and lost runs are done again"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// No sweep has this identifier.
    #[error("the store lists no sweep {0}: `fairwire store DIR` shows which ones there are")]
    NoSweep(String),
    /// A query is wrong.
    #[error("the query cannot be answered: {0}")]
    Query(String),
    /// The database refuses a statement, which is a bug.
    #[error("{0} cannot be used: {1}")]
    Sql(PathBuf, String),
}

impl StoreError {
    /// Returns a function that makes an error of why `path` cannot be read.
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        Self::file("read", path)
    }

    /// Returns a function that makes an error of why `path` cannot be written.
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        Self::file("write", path)
    }

    fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| Self::File { what, path, error }
    }

    /// Returns a function that makes an error of what is wrong with `path`.
    pub(crate) fn damaged<E: fmt::Display>(path: &Path) -> impl FnOnce(E) -> Self + use<E> {
        let path = path.to_owned();
        move |error| Self::Damaged {
            path,
            reason: error.to_string(),
        }
    }

    /// Says what of the file is damaged, if that is the error.
    pub(crate) fn within(self, what: &str) -> Self {
        match self {
            Self::Damaged { path, reason } => Self::Damaged {
                path,
                reason: format!("{what}: {reason}"),
            },
            error => error,
        }
    }

    /// Returns a function that makes an error of why the database at `path` cannot be read or written.
    pub(crate) fn sql(
        what: &'static str,
        path: &Path,
    ) -> impl FnOnce(rusqlite::Error) -> Self + use<> {
        let path = path.to_owned();
        move |error| match error.sqlite_error_code() {
            _ if is_damage(&error) => {
                Self::damaged(&path)(wrong_type(&error).unwrap_or_else(|| error.to_string()))
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy(path),
            _ if is_full(&error) => {
                let full = io::Error::new(io::ErrorKind::StorageFull, "the disk is full");
                Self::file(what, &path)(full)
            }
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::PermissionDenied
                | ErrorCode::TooBig,
            ) => Self::file(what, &path)(io::Error::other(error.to_string())),
            _ => Self::Sql(path, error.to_string()),
        }
    }

    /// Returns a function that makes an error of why Parquet cannot be written to `path`.
    pub(crate) fn parquet(path: &Path) -> impl FnOnce(ParquetError) -> Self + use<> {
        let write = Self::write(path);
        move |error| {
            write(match error {
                // What the system said, and not what it came through.
                ParquetError::External(error) => match error.downcast::<io::Error>() {
                    Ok(error) => *error,
                    Err(error) => io::Error::other(error),
                },
                error => io::Error::other(error),
            })
        }
    }
}

/// Returns what is wrong with a row that has a value of a type that its column does not have; `None` for other errors.
pub(crate) fn wrong_type(error: &rusqlite::Error) -> Option<String> {
    match error {
        rusqlite::Error::InvalidColumnType(_, column, kind) => {
            let kind = kind.to_string().to_lowercase();
            Some(format!("the column {column} has a value of type {kind}"))
        }
        _ => None,
    }
}

/// Returns whether an error of SQLite means that the disk has no room: for the database, or for the index of its log.
fn is_full(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| {
        error.code == ErrorCode::DiskFull || error.extended_code == SQLITE_IOERR_SHMSIZE
    })
}

/// Returns whether an error of SQLite means that a file is not what was written.
fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    ) || matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            // A row that another one names.
            | rusqlite::Error::QueryReturnedNoRows
            | rusqlite::Error::Utf8Error(..)
    )
}
