//! The store: a folder of finished runs.
//!
//! | path | what |
//! |---|---|
//! | `store.json` | the number of the format |
//! | `segments/` | runs of sweeps at work or interrupted; each process appends to one of its own |
//! | `parts/` | runs compacted to Parquet |
//! | `sweeps/` | a file for each sweep: when, where, by which version, and its cells |
//!
//! Several processes may use a store. A run is known by its key, so one that is there twice counts once.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::bytes::encode;
use crate::error::{FORMAT, StoreError};
use crate::frame::Kind;
use crate::key::{RunKey, ScenarioKey};
use crate::part::Part;
use crate::record::{Origin, Recorded};
use crate::segment::{ENDING, Segment, Writer};
use crate::text::ScenarioText;

const MANIFEST: &str = "store.json";

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
    /// The scenarios whose texts are in the writer's segment.
    defined: BTreeSet<ScenarioKey>,
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
            if names.any(|name| !name.starts_with('.')) && !manifest.exists() {
                return Err(StoreError::NotAStore(folder.to_owned()));
            }
            let json = json!(Manifest { format: FORMAT }).to_string();
            write_whole(&manifest, json.as_bytes())?;
        }
        Self::open_existing(folder, origin)
    }

    /// Opens the store in `folder`.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn open_existing(folder: &Path, origin: Origin) -> Result<Self, StoreError> {
        let path = folder.join(MANIFEST);
        let json = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && folder.is_dir() => {
                return Err(StoreError::NotAStore(folder.to_owned()));
            }
            read => read.map_err(StoreError::read(&path))?,
        };
        let Manifest { format } =
            serde_json::from_slice(&json).map_err(StoreError::damaged(&path))?;
        if format > FORMAT {
            let path = folder.to_owned();
            return Err(StoreError::Newer { path, format });
        }
        let mut store = Self {
            folder: folder.to_owned(),
            origin: Arc::new(origin),
            writer: None,
            segments: Vec::new(),
            parts: Vec::new(),
            known: BTreeSet::new(),
            stale: BTreeSet::new(),
            defined: BTreeSet::new(),
        };
        for name in ["segments", "parts", "sweeps"] {
            let path = folder.join(name);
            fs::create_dir_all(&path).map_err(StoreError::write(&path))?;
        }
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

    /// Returns how many frames of segments cannot be read.
    pub fn damaged(&self) -> u64 {
        self.segments.iter().map(|it| it.damaged).sum()
    }

    /// Takes note of what other processes have added.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        // Segments first: a compaction makes the part before it removes the segments.
        let segments = names(&self.folder.join("segments"))?;
        for name in names(&self.folder.join("parts"))? {
            let path = self.folder.join("parts").join(&name);
            if name.starts_with('.') || self.parts.iter().any(|part| part.path == path) {
                continue;
            }
            match Part::open(&path) {
                Ok(part) => self.parts.push(part),
                // Another process has just replaced it.
                Err(_) if !path.exists() => {}
                Err(error) => return Err(error),
            }
            if let Some(part) = self.parts.last_mut().filter(|part| part.path == path) {
                for (key, is_current) in part.keys()? {
                    note(&mut self.known, &mut self.stale, key, is_current);
                }
            }
        }
        let replaced = self.replaced();
        for name in segments {
            let path = self.folder.join("segments").join(&name);
            let is_segment = path.extension().is_some_and(|end| end == ENDING);
            if !is_segment
                || replaced.contains(&name)
                || self.segments.iter().any(|segment| segment.path == path)
            {
                continue;
            }
            self.segments.extend(Segment::open(&path)?);
        }
        for segment in &mut self.segments {
            for (key, is_current) in segment.refresh()? {
                note(&mut self.known, &mut self.stale, key, is_current);
            }
        }
        Ok(())
    }

    /// Returns the names of the segments and parts whose runs a part has.
    pub(crate) fn replaced(&self) -> BTreeSet<String> {
        let parts = self.parts.iter();
        parts
            .flat_map(|part| part.replaces.iter().cloned())
            .collect()
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
        let content = encode(runs)?;
        let mut writer = if let Some(writer) = self.writer.take() {
            writer
        } else {
            self.defined.clear();
            Writer::create(&self.folder.join("segments"), &self.origin.host)?
        };
        let mut write = || {
            for run in runs {
                if self.defined.insert(run.scenario)
                    && let Some(text) = text(run.scenario)
                {
                    writer.append(Kind::Scenario, &text.write())?;
                }
            }
            writer.append(Kind::Runs, &content)
        };
        let written = write();
        self.writer = Some(writer);
        if written.is_err() {
            // Their texts may not have been written.
            self.defined.clear();
        }
        written?;
        for run in runs {
            let is_current = run.origin.is_current();
            note(&mut self.known, &mut self.stale, run.key(), is_current);
        }
        Ok(())
    }

    /// Ends the segment of this process and waits until it is on the disk.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn close(&mut self) -> Result<(), StoreError> {
        match self.writer.take() {
            Some(writer) => writer.sync(),
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
        let mut all = self.load_all(scenario)?;
        all.retain(|run| run.origin.is_current());
        all.sort_by_key(|run| (run.run.perturbed, run.run.seed));
        all.dedup_by_key(|run| (run.run.perturbed, run.run.seed));
        Ok(all)
    }

    /// Returns the runs of a scenario, of any sources and perhaps several times.
    pub(crate) fn load_all(&mut self, scenario: ScenarioKey) -> Result<Vec<Recorded>, StoreError> {
        let mut all = Vec::new();
        for part in &mut self.parts {
            all.extend(part.load(scenario)?);
        }
        for segment in &mut self.segments {
            all.extend(segment.load(scenario)?);
        }
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

fn note(known: &mut BTreeSet<RunKey>, stale: &mut BTreeSet<RunKey>, key: RunKey, is_current: bool) {
    if is_current {
        known.insert(key);
    } else {
        stale.insert(key);
    }
}

/// Returns the names in a folder, in order.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>, StoreError> {
    let entries = fs::read_dir(folder).map_err(StoreError::read(folder))?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    Ok(names)
}

/// Writes a file that has all of its content as soon as it has its name.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = path.with_file_name(format!(".{name}.{}", std::process::id()));
    fs::write(&unfinished, content).map_err(StoreError::write(&unfinished))?;
    fs::rename(&unfinished, path).map_err(StoreError::write(path))
}
