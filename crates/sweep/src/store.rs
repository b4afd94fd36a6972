//! The store: a folder of finished runs.
//!
//! | path | what |
//! |---|---|
//! | `store.json` | the number of the format |
//! | `segments/` | runs of sweeps at work or interrupted; each process appends to one of its own |
//! | `parts/` | runs compacted to Parquet |
//! | `sweeps/` | a file for each sweep: when, where, by which version, and its cells |
//! | `*/*.damaged` | what a compaction or a repair found damaged: nothing reads it |
//!
//! Several processes may use a store. A run is known by its key, so one that is there twice counts once.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::bytes::encode;
use crate::error::{FORMAT, StoreError};
use crate::frame::Kind;
use crate::key::{RunKey, SOURCES, ScenarioKey};
use crate::name::{Name, names};
use crate::part::{Part, Table};
use crate::record::{Origin, Recorded};
use crate::regular;
use crate::segment::{ASIDE, ENDING, Segment, Writer};
use crate::tables::AnyRun;
use crate::text::ScenarioText;
use crate::whole::write_whole;

const MANIFEST: &str = "store.json";

/// The folders of a store.
const FOLDERS: [&str; 3] = ["segments", "parts", "sweeps"];

/// The file that is locked during an upkeep.
pub(crate) const LOCK: &str = ".upkeep.lock";

/// How often the folder is looked through when it changes meanwhile.
const MOST_LOOKS: usize = 10;

/// How often a sweep looks for what others have added.
const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Deserialize, Serialize)]
struct Manifest {
    format: u32,
}

/// A folder of finished runs, open for reading and appending.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    origin: Arc<Origin>,
    writer: Option<Writer>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) parts: Vec<Part>,
    /// The runs that the present sources computed.
    known: BTreeSet<RunKey>,
    /// The runs that other sources computed.
    stale: BTreeSet<RunKey>,
    /// How many damaged files were set aside.
    aside: u64,
    /// The scenarios whose texts are in the writer's segment.
    defined: BTreeSet<ScenarioKey>,
    /// When it last took note of what others have added.
    looked: Instant,
}

impl Store {
    /// Opens the store in `folder`, and makes it if the folder is missing or empty.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn open(folder: &Path, origin: Origin) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(StoreError::write(folder))?;
        let manifest = folder.join(MANIFEST);
        if !manifest.exists() {
            let entries = fs::read_dir(folder).map_err(StoreError::read(folder))?;
            let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            let is_other = names.any(|name| !name.starts_with('.')) && !is_store(folder);
            if is_other && !manifest.exists() {
                return Err(StoreError::NotAStore(folder.to_owned()));
            }
            let json = json!(Manifest { format: FORMAT }).to_string();
            write_whole(&manifest, json.as_bytes())?;
        }
        let store = Self::open_existing(folder, origin)?;
        make_folders(folder)?;
        Ok(store)
    }

    /// Opens the store in `folder`. This writes nothing, and so does reading what it has.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn open_existing(folder: &Path, origin: Origin) -> Result<Self, StoreError> {
        check_format(folder)?;
        check_folders(folder)?;
        let mut store = Self {
            folder: folder.to_owned(),
            origin: Arc::new(origin),
            writer: None,
            segments: Vec::new(),
            parts: Vec::new(),
            known: BTreeSet::new(),
            stale: BTreeSet::new(),
            aside: 0,
            defined: BTreeSet::new(),
            looked: now(),
        };
        store.refresh()?;
        Ok(store)
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns where and when the runs that it is given are computed.
    pub fn origin(&self) -> &Arc<Origin> {
        &self.origin
    }

    /// Returns whether the store has a run of the present sources.
    pub fn has(&self, run: &RunKey) -> bool {
        self.known.contains(run)
    }

    /// Returns how many runs of the present sources it has.
    pub fn len(&self) -> u64 {
        self.known.len() as u64
    }

    /// Returns whether it has no run of the present sources.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Returns how many runs other sources computed.
    pub fn stale(&self) -> u64 {
        self.stale.len() as u64
    }

    /// Returns how many frames of segments cannot be read, and how many files and folders with damage a compaction or a
    /// [`repair`](Self::repair) has set aside, as `*.damaged`.
    pub fn damaged(&self) -> u64 {
        let frames: u64 = self.segments.iter().map(|it| it.damaged).sum();
        frames + self.aside
    }

    /// Returns the Parquet files of a table. Runs in segments are not among them ([`compact`](Self::compact)).
    pub fn files(&self, table: Table) -> Vec<PathBuf> {
        self.parts.iter().map(|part| part.table(table)).collect()
    }

    /// Compares the files of [`files`](Self::files) with their checksums, each once, for readers that do not.
    ///
    /// # Errors
    /// If one is damaged or cannot be read.
    pub fn verify(&mut self) -> Result<(), StoreError> {
        self.parts.iter_mut().try_for_each(Part::verify)
    }

    /// Takes note of what other processes have added.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        self.look(true)
    }

    /// Like [`refresh`](Self::refresh), but seldom enough to be called for each task, and without the segment of this
    /// process, whose runs it knows. Returns whether it looked.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub(crate) fn refresh_at_times(&mut self) -> Result<bool, StoreError> {
        let is_time = now().duration_since(self.looked) >= LOOK_EVERY;
        if is_time {
            self.look(false)?;
        }
        Ok(is_time)
    }

    /// Returns whether another process adds runs now.
    pub(crate) fn has_others(&self) -> bool {
        self.others().next().is_some()
    }

    /// Returns whether this process should begin with the last runs: of the processes that add runs now, in the order
    /// of their segments' names, every other one does. `None` before it has a segment.
    pub(crate) fn begins_at_the_end(&self) -> Option<bool> {
        let own = self.own()?;
        let before = self.others().filter(|path| *path < own).count();
        Some(before % 2 == 1)
    }

    /// Returns the segments to which other processes append.
    fn others(&self) -> impl Iterator<Item = &PathBuf> {
        let own = self.own();
        let others = self.segments.iter();
        let others = others.filter(move |it| Some(&it.path) != own && it.is_at_work());
        others.map(|segment| &segment.path)
    }

    /// Returns the segment of this process.
    fn own(&self) -> Option<&PathBuf> {
        self.writer.as_ref().map(|writer| &writer.path)
    }

    fn look(&mut self, is_own_wanted: bool) -> Result<(), StoreError> {
        self.looked = now();
        let mut tries = 0;
        // Again if another process has moved runs from segments or parts to a new part meanwhile.
        while !self.look_once(is_own_wanted)? && tries < MOST_LOOKS {
            tries += 1;
        }
        Ok(())
    }

    /// Returns false if something was removed that had been there a moment before.
    fn look_once(&mut self, is_own_wanted: bool) -> Result<bool, StoreError> {
        // Segments first: a compaction makes the part before it removes the segments.
        let segments: Vec<PathBuf> = paths(&self.folder.join("segments"))?;
        let mut parts = paths(&self.folder.join("parts"))?;
        let lists = paths(&self.folder.join("sweeps"))?;
        let all = segments.iter().chain(&parts).chain(&lists);
        self.aside = all.filter(|it| has_end(it, ASIDE)).count() as u64;
        parts.retain(|it| is_part(it));
        let (replaced, parts_are_still) = self.look_for_parts(parts)?;
        let mut is_still = parts_are_still.is_still;
        let count = self.segments.len();
        let is_there =
            |path: &PathBuf| segments.contains(path) && !replaced.contains(name(path).as_str());
        self.segments.retain(|segment| is_there(&segment.path));
        let is_any_gone = parts_are_still.is_any_gone || self.segments.len() < count;
        let skipped = self.own().filter(|_| !is_own_wanted && !is_any_gone);
        let skipped = skipped.cloned();
        for path in segments.iter().filter(|path| has_end(path, ENDING)) {
            let is_known = self.segments.iter().any(|segment| segment.path == *path);
            if is_known || replaced.contains(name(path).as_str()) || skipped.as_ref() == Some(path)
            {
                continue;
            }
            match Segment::open(path)? {
                Some(segment) => self.segments.push(segment),
                None => is_still &= path.exists(),
            }
        }
        let segments = self.segments.iter_mut();
        for segment in segments.filter(|it| skipped.as_ref() != Some(&it.path)) {
            let old = segment.refresh()?;
            note(&mut self.known, &mut self.stale, &segment.keys[old..]);
        }
        if is_any_gone {
            // A pruning may have removed runs.
            self.known.clear();
            self.stale.clear();
            let parts = self.parts.iter().map(|it| &it.keys);
            for keys in parts.chain(self.segments.iter().map(|it| &it.keys)) {
                note(&mut self.known, &mut self.stale, keys);
            }
        }
        Ok(is_still)
    }

    /// Opens the parts at these paths that no other one replaces. Returns the names of what is replaced.
    fn look_for_parts(
        &mut self,
        paths: Vec<PathBuf>,
    ) -> Result<(BTreeSet<Name>, Looked), StoreError> {
        let (mut found, mut replaced) = (Vec::new(), BTreeSet::new());
        let mut looked = Looked {
            is_still: true,
            is_any_gone: false,
        };
        // The newest first, so that none is opened that another one replaces.
        for path in paths.into_iter().rev() {
            if replaced.contains(name(&path).as_str()) {
                continue;
            }
            let old = self.parts.iter().position(|part| part.path == path);
            let part = match old {
                Some(place) => Some(self.parts.swap_remove(place)),
                None => Part::open(&path)?,
            };
            let Some(part) = part else {
                looked.is_still = false;
                continue;
            };
            replaced.extend(part.replaces.iter().cloned());
            if old.is_none() {
                note(&mut self.known, &mut self.stale, &part.keys);
            }
            found.push(part);
        }
        found.reverse();
        looked.is_any_gone = !self.parts.is_empty();
        self.parts = found;
        Ok((replaced, looked))
    }

    /// Reads everything anew.
    pub(crate) fn reload(&mut self) -> Result<(), StoreError> {
        self.close()?;
        self.segments.clear();
        self.parts.clear();
        self.known.clear();
        self.stale.clear();
        self.refresh()
    }

    /// Appends finished runs of one scenario or several. `text` returns the text of a scenario.
    ///
    /// # Errors
    /// If they cannot be written; what was there before stays whole.
    pub(crate) fn append(
        &mut self,
        runs: &[Recorded],
        text: &dyn Fn(ScenarioKey) -> Option<ScenarioText>,
    ) -> Result<(), StoreError> {
        let keys: Vec<(RunKey, bool)> = runs
            .iter()
            .map(|run| (run.key(), run.origin.is_current()))
            .collect();
        let content = encode(runs)?;
        self.append_bytes(&content, &keys, text)
    }

    /// Appends finished runs with these keys, which [`encode`] made bytes of.
    pub(crate) fn append_bytes(
        &mut self,
        content: &[u8],
        keys: &[(RunKey, bool)],
        text: &dyn Fn(ScenarioKey) -> Option<ScenarioText>,
    ) -> Result<(), StoreError> {
        if self.writer.as_ref().is_some_and(Writer::is_full) {
            self.close()?;
        }
        let mut writer = if let Some(writer) = self.writer.take() {
            writer
        } else {
            self.defined.clear();
            let segments = self.folder.join("segments");
            fs::create_dir_all(&segments).map_err(StoreError::write(&segments))?;
            Writer::create(&segments, &self.origin.host)?
        };
        let mut write = || {
            for (run, _) in keys {
                if self.defined.insert(run.scenario)
                    && let Some(text) = text(run.scenario)
                {
                    writer.append(Kind::Scenario, &text.write())?;
                }
            }
            writer.append(Kind::Runs, content)
        };
        let written = write();
        self.writer = Some(writer);
        if written.is_err() {
            // Their texts may not have been written.
            self.defined.clear();
        }
        written?;
        note(&mut self.known, &mut self.stale, keys);
        Ok(())
    }

    /// Ends the segment of this process and waits until it is on the disk.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn close(&mut self) -> Result<(), StoreError> {
        match self.writer.take() {
            Some(writer) => writer.end(),
            None => Ok(()),
        }
    }

    /// Returns the scenarios of all its runs, in order.
    pub(crate) fn scenarios(&self) -> BTreeSet<ScenarioKey> {
        let parts = self.parts.iter().flat_map(Part::scenarios);
        let segments = self.segments.iter().flat_map(Segment::scenarios);
        parts.chain(segments).collect()
    }

    /// Returns the runs of a scenario that the present sources computed, each once, the unperturbed one first and then
    /// in order of their seeds.
    ///
    /// It is fast if scenarios are asked for in order.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn load(&mut self, scenario: ScenarioKey) -> Result<Vec<Recorded>, StoreError> {
        let is_current = |(_, sources): &AnyRun| sources == SOURCES;
        let mut all = Vec::new();
        // What other sources computed may have metrics that this version does not know.
        for part in &mut self.parts {
            all.extend(part.rows(scenario)?.filtered(&is_current)?.records()?);
        }
        for segment in &mut self.segments {
            for rows in segment.rows(scenario) {
                all.extend(rows?.filtered(&is_current)?.records()?);
            }
        }
        all.sort_by_key(|run| (run.run.perturbed, run.run.seed));
        all.dedup_by_key(|run| (run.run.perturbed, run.run.seed));
        Ok(all)
    }

    /// Returns the text of a scenario, if it is known.
    pub(crate) fn text(
        &mut self,
        scenario: ScenarioKey,
    ) -> Result<Option<ScenarioText>, StoreError> {
        for segment in &mut self.segments {
            if let Some(text) = segment.text(scenario)? {
                return Ok(Some(text));
            }
        }
        for part in &mut self.parts {
            if let Some(text) = part.text(scenario)? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }
}

/// What happened while the folder was looked through.
struct Looked {
    /// Nothing was removed meanwhile.
    is_still: bool,
    /// Something was removed that was known before.
    is_any_gone: bool,
}

fn note(known: &mut BTreeSet<RunKey>, stale: &mut BTreeSet<RunKey>, keys: &[(RunKey, bool)]) {
    for (key, is_current) in keys {
        if *is_current {
            known.insert(*key);
        } else {
            stale.insert(*key);
        }
    }
}

/// Returns whether a path in `parts` has the name of a part.
pub(crate) fn is_part(path: &Path) -> bool {
    name(path).parse::<u64>().is_ok()
}

/// Returns whether a folder has the folders of a store.
pub(crate) fn is_store(folder: &Path) -> bool {
    FOLDERS.iter().all(|name| folder.join(name).is_dir())
}

/// Makes the folders of a store that are missing.
pub(crate) fn make_folders(folder: &Path) -> Result<(), StoreError> {
    FOLDERS.iter().try_for_each(|name| {
        let path = folder.join(name);
        fs::create_dir_all(&path).map_err(StoreError::write(&path))
    })
}

/// Returns an error if a folder of a store is a link: files elsewhere would be taken for the store's, and removed.
pub(crate) fn check_folders(folder: &Path) -> Result<(), StoreError> {
    for name in FOLDERS.into_iter().chain([LOCK]) {
        let path = folder.join(name);
        if path.is_symlink() {
            let text = "it is a symbolic link, and a store has its own files";
            return Err(StoreError::read(&path)(std::io::Error::other(text)));
        }
    }
    Ok(())
}

/// Returns an error if the store in a folder has a format that is not known.
pub(crate) fn check_format(folder: &Path) -> Result<(), StoreError> {
    let path = folder.join(MANIFEST);
    let json = regular::read(&path).map_err(|error| match error {
        StoreError::File { error, .. } if error.kind() == ErrorKind::NotFound => {
            StoreError::NoStore(folder.to_owned())
        }
        other => other,
    })?;
    let manifest: Manifest = serde_json::from_slice(&json).map_err(StoreError::damaged(&path))?;
    if manifest.format > FORMAT {
        return Err(StoreError::Newer {
            path: folder.to_owned(),
            format: manifest.format,
        });
    }
    Ok(())
}

/// Returns the files or folders in a folder, in order, without hidden ones.
pub(crate) fn paths(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let names = names(folder)?.into_iter();
    let names = names.filter_map(|name| Name::try_from(name).ok());
    Ok(names.map(|name| name.within(folder)).collect())
}

/// Returns the name of a file or folder.
pub(crate) fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[expect(
    clippy::disallowed_methods,
    reason = "how often a folder is looked at changes no result"
)]
fn now() -> Instant {
    Instant::now()
}

pub(crate) fn has_end(path: &Path, end: &str) -> bool {
    path.extension().is_some_and(|it| it == end)
}
