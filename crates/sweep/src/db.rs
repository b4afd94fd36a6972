//! The file of a store: a database of SQLite.
//!
//! While runs are added, the database has a write-ahead log (`store.db-wal`, with its index `store.db-shm`): a commit is
//! one append, and readers wait for nobody. Both files are removed when the last process ends in order. The index is
//! memory that processes of one machine share, so on a network file system the database has a rollback journal instead.
//!
//! Somebody else may have made the file. So nothing in it is trusted to be code: see [`check_schema`].

use std::fs;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::id;
use std::time::Duration;

use fairwire_sim::results::obstacle;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::error::StoreError;
use crate::schema::{APPLICATION, FORMAT, SCHEMA};

/// The file, in the folder of a store.
pub(crate) const FILE: &str = "store.db";

/// What SQLite puts beside it: the log, its index, and the rollback journal.
pub(crate) const BESIDE: [&str; 3] = [LOG, INDEX, JOURNAL];
pub(crate) const LOG: &str = "store.db-wal";
const INDEX: &str = "store.db-shm";
pub(crate) const JOURNAL: &str = "store.db-journal";

/// The manifest of stores of format 1.
const OLD: &str = "store.json";

/// How long a process waits for another one that writes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The end of a rollback journal that names other files, which SQLite would remove.
const NAMES_FILES: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// An open database.
#[derive(Debug)]
pub(crate) struct Db {
    folder: PathBuf,
    pub(crate) path: PathBuf,
    /// None only while it is opened again.
    connection: Option<Connection>,
    is_writable: bool,
    /// A forked process must not use the connection of its parent.
    process: u32,
}

impl Db {
    /// Opens the store in `folder`, and makes it if the folder is missing or empty.
    pub(crate) fn make(folder: &Path) -> Result<Self, StoreError> {
        let folder = &folder_of(folder);
        check_folder(folder)?;
        fs::create_dir_all(folder).map_err(StoreError::write(folder))?;
        let path = folder.join(FILE);
        if !is_there(&path)? {
            check_old(folder)?;
            let entries = fs::read_dir(folder).map_err(StoreError::read(folder))?;
            let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            let is_other = |name: &String| !name.starts_with('.') && !is_of_store(name);
            if names.any(|name| is_other(&name)) && !is_there(&path)? {
                return Err(StoreError::NotAStore(folder.to_owned()));
            }
        }
        let mut connection = connect(
            folder,
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        )?;
        create(&mut connection).map_err(StoreError::sql("write", &path))?;
        Self::checked(folder, path, connection, true)
    }

    /// Opens the store in `folder`. Reading from it writes nothing.
    pub(crate) fn open(folder: &Path) -> Result<Self, StoreError> {
        let folder = &folder_of(folder);
        check_folder(folder)?;
        let path = folder.join(FILE);
        if !is_there(&path)? {
            check_old(folder)?;
            return Err(StoreError::NoStore(folder.to_owned()));
        }
        let has = |name| fs::metadata(folder.join(name)).is_ok_and(|it| it.len() > 0);
        if has(JOURNAL) {
            // A process that was killed may have left it. Whoever opens the file to write takes back what is half done.
            let connection = connect(folder, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            check_schema(&connection, folder, &path).map_err(unended(folder, JOURNAL))?;
        }
        let has_log_alone = has(LOG) && !folder.join(INDEX).exists();
        let connection = connect(folder, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let opened = Self::checked(folder, path, connection, false);
        if has_log_alone {
            return opened.map_err(unended(folder, LOG));
        }
        opened
    }

    fn checked(
        folder: &Path,
        path: PathBuf,
        connection: Connection,
        is_writable: bool,
    ) -> Result<Self, StoreError> {
        check_schema(&connection, folder, &path)?;
        Ok(Self {
            folder: folder.to_owned(),
            path,
            connection: Some(connection),
            is_writable,
            process: id(),
        })
    }

    /// Returns the folder of the store.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the connection.
    pub(crate) fn get(&mut self) -> Result<&mut Connection, StoreError> {
        if self.process != id() {
            *self = if self.is_writable {
                Self::make(&self.folder)?
            } else {
                Self::open(&self.folder)?
            };
        }
        self.connection
            .as_mut()
            .ok_or_else(|| StoreError::NoStore(self.folder.clone()))
    }

    /// Returns a connection that may write.
    pub(crate) fn writable(&mut self) -> Result<&mut Connection, StoreError> {
        if !self.is_writable {
            *self = Self::make(&self.folder)?;
        }
        self.get()
    }

    /// Does `read` with the connection.
    pub(crate) fn read<T>(
        &mut self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let done = read(self.get()?);
        done.map_err(StoreError::sql("read", &self.path))
    }

    /// Does `write` as a whole or not at all.
    pub(crate) fn write<T>(
        &mut self,
        write: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let write = |connection: &mut Connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = write(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        let done = write(self.writable()?);
        done.map_err(StoreError::sql("write", &self.path))
    }

    /// Prepares for many commits.
    pub(crate) fn begin_log(&mut self) -> Result<(), StoreError> {
        let has_log = may_have_log(&self.folder);
        let connection = self.writable()?;
        if has_log {
            // If somebody reads at this moment, the rollback journal serves as well.
            let _ = switch(connection, "wal");
            let _ = connection.pragma_update(None, "synchronous", "normal");
        }
        Ok(())
    }

    /// Puts everything into the one file, if no other process has it open. Everything is on the disk then.
    pub(crate) fn end_log(&mut self) {
        if let Ok(connection) = self.get() {
            let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            let _ = switch(connection, "delete");
        }
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        if self.process != id() {
            // Its parent's: to close it would be to write into it.
            std::mem::forget(self.connection.take());
        }
    }
}

/// Changes the kind of journal, which nobody else may use at that moment.
fn switch(connection: &Connection, mode: &str) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::from_millis(50))?;
    let switched = connection.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(()));
    connection.busy_timeout(PATIENCE)?;
    switched
}

/// Opens the database in a folder, with nothing allowed that a store does not need.
pub(crate) fn connect(folder: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    for name in BESIDE.into_iter().chain([FILE]) {
        check_file(&folder.join(name))?;
    }
    let path = folder.join(FILE);
    check_journal(&folder.join(JOURNAL))?;
    // Its name may lead through links; the file itself may not be one.
    let real = folder
        .canonicalize()
        .map_err(StoreError::read(folder))?
        .join(FILE);
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let open = || {
        let connection = Connection::open_with_flags(real, flags)?;
        connection.busy_timeout(PATIENCE)?;
        for (setting, value) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
            // A reader removes no log that another process may need.
            (
                DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
                flags.contains(OpenFlags::SQLITE_OPEN_READ_ONLY),
            ),
        ] {
            connection.set_db_config(setting, value)?;
        }
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.pragma_update(None, "mmap_size", 0)?;
        connection.pragma_update(None, "temp_store", "memory")?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    };
    open().map_err(StoreError::sql("open", &path))
}

/// Makes the tables of a new store.
pub(crate) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let tables: i64 =
        transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables > 0 {
        return Ok(());
    }
    for statement in SCHEMA {
        transaction.execute_batch(statement)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// Fails unless the database is a store of this format, with its tables and views and nothing else: a trigger, or a view
/// of somebody else, would be code that runs when runs are added or queried.
fn check_schema(connection: &Connection, folder: &Path, path: &Path) -> Result<(), StoreError> {
    let read = || {
        let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let (application, format) = (number("application_id")?, number("user_version")?);
        let mut objects =
            connection.prepare("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL")?;
        let objects = objects.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let objects: Vec<(String, String)> = objects.collect::<Result<_, _>>()?;
        Ok((application, format, objects))
    };
    let (application, format, objects) = read().map_err(StoreError::sql("read", path))?;
    let has = |wanted: &&str| objects.iter().any(|(_, text)| text == *wanted);
    let is_whole = SCHEMA.iter().all(has);
    let foreign = objects
        .iter()
        .filter(|(_, text)| !SCHEMA.contains(&text.as_str()));
    let foreign: Vec<&str> = foreign.map(|(name, _)| name.as_str()).collect();
    if objects.is_empty() && application == 0 {
        return Err(StoreError::Empty(path.to_owned()));
    }
    if application != APPLICATION && !is_whole {
        return Err(StoreError::NotAStore(folder.to_owned()));
    }
    match format {
        _ if application != APPLICATION => {}
        ..FORMAT => return Err(StoreError::Old(folder.to_owned())),
        FORMAT if is_whole && foreign.is_empty() => return Ok(()),
        FORMAT if is_whole => {
            return Err(StoreError::Foreign {
                path: path.to_owned(),
                names: foreign.join(", "),
            });
        }
        FORMAT => {}
        _ => {
            return Err(StoreError::Newer {
                path: folder.to_owned(),
                format,
            });
        }
    }
    Err(StoreError::damaged(path)(
        "its tables are not those of a store",
    ))
}

/// Fails if there is a store of format 1.
fn check_old(folder: &Path) -> Result<(), StoreError> {
    if folder.join(OLD).exists() {
        return Err(StoreError::Old(folder.to_owned()));
    }
    Ok(())
}

/// Returns the folder of a store that is named by its folder, or by its file.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    let is_file = path.file_name().is_some_and(|name| name == FILE)
        && path.symlink_metadata().is_ok_and(|it| it.is_file());
    match path.parent() {
        Some(folder) if is_file && folder.as_os_str().is_empty() => PathBuf::from("."),
        Some(folder) if is_file => folder.to_owned(),
        _ => path.to_owned(),
    }
}

/// Fails if something that is no folder has the name of the folder, or of one above it, or if that cannot be told.
fn check_folder(folder: &Path) -> Result<(), StoreError> {
    if let Some(obstacle) = obstacle(folder) {
        return Err(StoreError::NotAFolder(obstacle));
    }
    match folder.metadata() {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::read(folder)(error)),
        _ => Ok(()),
    }
}

/// Returns whether a file is there, whatever it is.
///
/// # Errors
/// If that cannot be told, because the folder cannot be read.
fn is_there(path: &Path) -> Result<bool, StoreError> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StoreError::read(path)(error)),
    }
}

/// Returns a function that gives an error of the system its cause: what a process left has to be put into the database
/// first, and that cannot be written.
fn unended(folder: &Path, file: &'static str) -> impl FnOnce(StoreError) -> StoreError + use<> {
    let path = folder.to_owned();
    move |error| match error {
        StoreError::File { error, .. } => StoreError::Unended { path, file, error },
        error => error,
    }
}

/// Fails if something is there that is no regular file: a link would make another file the store's, and a named pipe
/// would keep its reader waiting for ever.
fn check_file(path: &Path) -> Result<(), StoreError> {
    let what = match fs::symlink_metadata(path) {
        Ok(there) if there.is_file() => return Ok(()),
        Ok(there) if there.is_symlink() => "a symbolic link",
        Ok(there) if there.is_dir() => "a directory",
        Ok(_) => "a pipe or a device",
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(StoreError::read(path)(error)),
    };
    Err(StoreError::NotAFile {
        path: path.to_owned(),
        what,
    })
}

/// Fails if a rollback journal names other files. Ours never do, and SQLite would remove the one that is named.
pub(crate) fn check_journal(path: &Path) -> Result<(), StoreError> {
    let read = || {
        let mut file = fs::File::open(path)?;
        let mut end = [0; NAMES_FILES.len()];
        file.seek(SeekFrom::End(-8))?;
        file.read_exact(&mut end)?;
        io::Result::Ok(end)
    };
    match read() {
        Ok(end) if end == NAMES_FILES => Err(StoreError::damaged(path)("it names other files")),
        // It is not there, or shorter than any that SQLite uses.
        _ => Ok(()),
    }
}

/// Returns whether a file is one of those of a store.
fn is_of_store(name: &str) -> bool {
    name.starts_with(FILE)
}

/// Returns whether a database in the folder may have a log. The processes that use it share the index of the log in
/// memory, by a file in the folder: not on a network file system, which other machines may use at the same time. A
/// database with a log and no room for the index, which takes 32 kB, could not be read.
#[cfg(target_os = "linux")]
fn may_have_log(folder: &Path) -> bool {
    /// NFS, SMB, CIFS, 9P, AFS, Coda, Ceph, FUSE, Lustre, GPFS, `BeeGFS` and OCFS2, as `statfs` names them.
    const NETWORK: [i64; 13] = [
        0x6969,
        0xfe53_4d42,
        0xff53_4d42,
        0x517b,
        0x0102_1997,
        0x5346_414f,
        0x7375_7245,
        0x00c3_6400,
        0x6573_5546,
        0x0bd0_0bd0,
        0x4750_4653,
        0x1983_0326,
        0x7461_636f,
    ];
    const ROOM: u64 = 128 << 10;
    let is_local = |found: rustix::fs::StatFs| !NETWORK.contains(&(found.f_type & 0xffff_ffff));
    let has_room =
        |found: rustix::fs::StatVfs| found.f_bavail.saturating_mul(found.f_frsize) >= ROOM;
    rustix::fs::statfs(folder).is_ok_and(is_local)
        && rustix::fs::statvfs(folder).is_ok_and(has_room)
}

#[cfg(not(target_os = "linux"))]
fn may_have_log(_folder: &Path) -> bool {
    true
}
