//! The repair of a damaged store: what can be read goes into a new file.
//!
//! 1. The files are copied, and SQLite puts the log into the copy of the database, as far as the log is right.
//! 2. The header of the copy gets the length that the copy has: SQLite refuses a file that is shorter than its header
//!    says.
//! 3. Rows are read by their numbers, and those that cannot be read are left out. A run or a text that is kept has the
//!    right checksum.
//! 4. If something is missing, the pages with the descriptions of the tables are replaced by those of a new store, which
//!    are the same in every store, and step 3 is done again.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use fairwire_measure::counted;
use rusqlite::{OpenFlags, params};

use crate::db::{BESIDE, Db, FILE, JOURNAL, LOG, check_journal, connect, folder_of};
use crate::error::StoreError;
use crate::gap::beyond;
use crate::name::unique;
use crate::record::Origin;
use crate::store::Store;

/// The end of the names of files that were set aside.
pub(crate) const ASIDE: &str = "damaged";

/// The file that says that a repair has lost a part of the list of sweeps.
const LIST_LOST: &str = "store.db.list-lost";

/// What that file says.
const LIST_LOST_TEXT: &str = "A repair could not read all of the list of sweeps of this store. While this file is here, \
    no pruning removes the runs that no sweep lists. Start the sweeps again whose runs you want to keep: what is stored \
    is not computed again. Then remove this file.\n";

/// The most runs that are saved at once.
const SAVED_AT_ONCE: usize = 256;

/// What a repair did. Prints as lines for people.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Repair {
    /// The files that were set aside, by their new names; none if nothing was damaged.
    pub aside: Vec<PathBuf>,
    /// The runs.
    pub runs: Kept,
    /// The sweeps of the list.
    pub sweeps: Kept,
    /// The file that says that the list of sweeps is not whole.
    pub list_lost: Option<PathBuf>,
}

/// How much of something could be read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Kept {
    /// How many were kept.
    pub kept: u64,
    /// How many are known to be lost.
    pub lost: u64,
    /// Whether there may have been more, of which nothing can be read.
    pub may_be_more: bool,
}

impl Kept {
    fn text(self, thing: &str) -> String {
        let kept = counted(self.kept, thing);
        match (self.lost, self.may_be_more) {
            (0, false) => format!("kept {kept}, which is all"),
            (0, true) => format!(
                "kept {kept}; a part of the file cannot be read, and there may have been more"
            ),
            (lost, false) => format!("kept {kept}; lost {lost}, which cannot be read"),
            (lost, true) => {
                format!("kept {kept}; lost {lost}, which cannot be read, and perhaps more")
            }
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.aside.is_empty() {
            return writeln!(f, "nothing is damaged");
        }
        for path in &self.aside {
            writeln!(f, "set aside {}", path.display())?;
        }
        writeln!(f, "{}", self.runs.text("run"))?;
        writeln!(f, "{}", self.sweeps.text("listed sweep"))?;
        match &self.list_lost {
            Some(path) => writeln!(
                f,
                "the list of sweeps is not whole: {} says so, and keeps a pruning from removing what is not listed",
                path.display()
            ),
            None => Ok(()),
        }
    }
}

/// What can be read of a damaged store, by the numbers that its rows have.
#[derive(Debug, Default)]
struct Saved {
    runs: Rows,
    sweeps: Rows,
}

#[derive(Debug, Default)]
struct Rows {
    seen: BTreeSet<i64>,
    kept: BTreeSet<i64>,
    /// Whether all rows were seen.
    is_whole: bool,
}

impl Rows {
    fn is_all(&self) -> bool {
        self.is_whole && self.kept.len() == self.seen.len()
    }

    fn counts(&self) -> Kept {
        Kept {
            kept: self.kept.len() as u64,
            lost: (self.seen.len() - self.kept.len()) as u64,
            may_be_more: !self.is_whole,
        }
    }
}

impl Store {
    /// Opens the store in `folder`, whose file may be damaged. A damaged file gets a name with `.damaged` at its end,
    /// which nothing reads; the runs and sweeps that can be read go into a new one. The others are done again when a
    /// sweep wants them. Call it when no sweep is at work.
    ///
    /// Returns the store and what was done.
    ///
    /// # Errors
    /// See [`StoreError`]. Nothing has changed then.
    pub fn repair(folder: &Path, origin: Origin) -> Result<(Self, Repair), StoreError> {
        let folder = &folder_of(folder);
        let checked = Self::open_existing(folder, origin.clone());
        match checked.and_then(|mut store| store.verify().map(|()| store)) {
            Ok(store) => return Ok((store, Repair::default())),
            Err(StoreError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        let scratch = folder.join(format!(".unfinished-{}", unique()));
        fs::create_dir(&scratch).map_err(StoreError::write(&scratch))?;
        let repaired = replace(folder, &scratch, &origin);
        // It has a copy, and what it is called does no harm.
        let _ = fs::remove_dir_all(&scratch);
        let repaired = repaired?;
        Ok((Self::open(folder, origin)?, repaired))
    }

    /// Returns the file that says that the list of sweeps is not whole, if there is one.
    pub fn list_lost(&self) -> Option<PathBuf> {
        let path = self.folder().join(LIST_LOST);
        path.symlink_metadata().is_ok().then_some(path)
    }

    /// Says that the list of sweeps is not whole.
    pub(crate) fn note_list_lost(&self) -> Result<(), StoreError> {
        note_list_lost(self.folder()).map(|_| ())
    }

    /// Adds what can be read of a damaged store.
    fn save(&mut self, old: &mut Self, saved: &mut Saved) -> Result<(), StoreError> {
        let (runs, is_whole) = numbers(&mut old.db, "run", "id")?;
        saved.runs.seen.extend(runs);
        saved.runs.is_whole |= is_whole;
        // A run of which only values are left is lost, and known to be.
        for table in ["value", "list"] {
            saved
                .runs
                .seen
                .extend(numbers(&mut old.db, table, "run")?.0);
        }
        let missing: Vec<i64> = saved
            .runs
            .seen
            .difference(&saved.runs.kept)
            .copied()
            .collect();
        for some in missing.chunks(SAVED_AT_ONCE) {
            if self.save_runs(old, some)? {
                saved.runs.kept.extend(some);
                continue;
            }
            for one in some {
                if self.save_runs(old, &[*one])? {
                    saved.runs.kept.insert(*one);
                }
            }
        }
        let (sweeps, is_whole) = numbers(&mut old.db, "sweep", "rowid")?;
        saved.sweeps.seen.extend(sweeps);
        saved.sweeps.is_whole |= is_whole;
        for number in saved.sweeps.seen.difference(&saved.sweeps.kept.clone()) {
            let listed = old.listed("rowid = ?1", params![number]);
            if let Some([sweep]) = unless_damaged(listed)?.as_deref() {
                self.enlist(sweep)?;
                saved.sweeps.kept.insert(*number);
            }
        }
        self.close()
    }

    /// Adds runs by their numbers, which are sorted. Returns whether all of them can be read.
    fn save_runs(&mut self, old: &mut Self, numbers: &[i64]) -> Result<bool, StoreError> {
        let (Some(first), Some(last)) = (numbers.first(), numbers.last()) else {
            return Ok(true);
        };
        let copied = self.copy(old, *first, last.saturating_add(1));
        Ok(unless_damaged(copied)?.is_some_and(|(there, _)| there == numbers.len()))
    }
}

/// Puts a new file in the place of a damaged one.
fn replace(folder: &Path, scratch: &Path, origin: &Origin) -> Result<Repair, StoreError> {
    let (copy, fresh, new) = (
        scratch.join("copy"),
        scratch.join("fresh"),
        scratch.join("new"),
    );
    let mut store = Store::open(&new, origin.clone())?;
    let mut saved = Saved::default();
    copy_files(folder, &copy)?;
    save_copy(&mut store, &copy, origin, &mut saved)?;
    if !saved.runs.is_all() || !saved.sweeps.is_all() {
        drop(Db::make(&fresh)?);
        describe_again(&copy, &fresh)?;
        save_copy(&mut store, &copy, origin, &mut saved)?;
    }
    drop(store);
    let list_lost = if saved.sweeps.is_all() {
        None
    } else {
        Some(note_list_lost(folder)?)
    };
    let mut aside = Vec::new();
    for name in BESIDE.into_iter().chain([FILE]) {
        let path = folder.join(name);
        if path.exists() {
            let mut to = folder.join(format!("{name}.{ASIDE}"));
            if to.exists() {
                to = folder.join(format!("{name}.{}.{ASIDE}", unique()));
            }
            fs::rename(&path, &to).map_err(StoreError::write(&to))?;
            aside.push(to);
        }
    }
    let path = folder.join(FILE);
    fs::rename(new.join(FILE), &path).map_err(StoreError::write(&path))?;
    Ok(Repair {
        aside,
        runs: saved.runs.counts(),
        sweeps: saved.sweeps.counts(),
        list_lost,
    })
}

fn note_list_lost(folder: &Path) -> Result<PathBuf, StoreError> {
    let path = folder.join(LIST_LOST);
    fs::write(&path, LIST_LOST_TEXT).map_err(StoreError::write(&path))?;
    Ok(path)
}

/// Copies the files of a store, and takes the log in.
fn copy_files(folder: &Path, copy: &Path) -> Result<(), StoreError> {
    fs::create_dir(copy).map_err(StoreError::write(copy))?;
    for name in [FILE, LOG, JOURNAL] {
        let (from, to) = (folder.join(name), copy.join(name));
        if !from.exists() || (name == JOURNAL && check_journal(&from).is_err()) {
            continue;
        }
        fs::copy(&from, &to).map_err(StoreError::write(&to))?;
    }
    if let Ok(connection) = connect(copy, OpenFlags::SQLITE_OPEN_READ_WRITE) {
        // What cannot be taken in stays beside it, and is read from there.
        let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
    let path = copy.join(FILE);
    mend_header(&path).map_err(StoreError::write(&path))
}

/// Adds what can be read of a copy.
fn save_copy(
    store: &mut Store,
    copy: &Path,
    origin: &Origin,
    saved: &mut Saved,
) -> Result<(), StoreError> {
    match unless_damaged(Store::open_existing(copy, origin.clone()))? {
        Some(mut old) => store.save(&mut old, saved),
        None => Ok(()),
    }
}

/// Gives the header of a database the length that the file has.
fn mend_header(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let length = file.metadata()?.len();
    let mut header = [0; 100];
    if file.read_exact(&mut header).is_err() {
        return Ok(());
    }
    let page = u64::from(page_size(&header));
    let pages = u32::try_from(length.div_ceil(page)).unwrap_or(u32::MAX);
    file.seek(SeekFrom::Start(28))?;
    file.write_all(&pages.to_be_bytes())
}

/// Returns the size of the pages of a database by its header; that of a new one if the header is wrong.
fn page_size(header: &[u8; 100]) -> u32 {
    match u16::from_be_bytes([header[16], header[17]]) {
        1 => 1 << 16,
        size if size >= 512 && size.is_power_of_two() => size.into(),
        _ => 4_096,
    }
}

/// Writes the descriptions of the tables, and the header, as a new store has them: whatever is not the first page of a
/// table there.
fn describe_again(copy: &Path, fresh: &Path) -> Result<(), StoreError> {
    let path = copy.join(FILE);
    let roots: BTreeSet<i64> = Db::open(fresh)?.read(|db| {
        let mut roots = db.prepare("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0")?;
        roots.query_map([], |row| row.get(0))?.collect()
    })?;
    let write = || {
        let bytes = fs::read(fresh.join(FILE))?;
        let mut file = File::options().write(true).open(&path)?;
        let size = bytes.first_chunk().map_or(4_096, page_size) as usize;
        for (number, (page, at)) in (1..).zip(bytes.chunks(size).zip((0..).step_by(size))) {
            if !roots.contains(&number) {
                file.seek(SeekFrom::Start(at))?;
                file.write_all(page)?;
            }
        }
        for name in BESIDE {
            match fs::remove_file(copy.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        mend_header(&path)
    };
    write().map_err(StoreError::write(&path))
}

/// Returns the numbers that the rows of a table have in a column, as far as they can be read, and whether that is all of
/// them. The column is the first one of the key.
fn numbers(db: &mut Db, table: &str, column: &str) -> Result<(Vec<i64>, bool), StoreError> {
    let query = format!("SELECT min({column}) FROM \"{table}\" WHERE {column} >= ?1");
    // `None` if it cannot be read; within it, the least number from `from` on.
    let mut at_least = |from: i64| {
        let least = db.read(|db| {
            db.prepare_cached(&query)?
                .query_row([from], |row| row.get(0))
        });
        let least: Option<Option<i64>> = unless_damaged(least)?;
        // A damaged page may lead elsewhere.
        Ok::<_, StoreError>(least.filter(|least| least.is_none_or(|it| it >= from)))
    };
    let (mut all, mut is_whole) = (Vec::new(), true);
    let mut from = 1;
    loop {
        match at_least(from)? {
            Some(Some(number)) => {
                all.push(number);
                from = number.saturating_add(1);
                if number == i64::MAX {
                    break;
                }
            }
            Some(None) => break,
            None => {
                is_whole = false;
                let at_least = &mut |from| Ok::<_, StoreError>(at_least(from)?.is_some());
                match beyond(from, at_least)? {
                    Some(next) => from = next,
                    None => break,
                }
            }
        }
    }
    Ok((all, is_whole))
}

/// Returns nothing if a store was too damaged to read it.
fn unless_damaged<T>(read: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match read {
        Err(StoreError::Damaged { .. } | StoreError::Sql(..) | StoreError::Empty(_)) => Ok(None),
        read => read.map(Some),
    }
}
