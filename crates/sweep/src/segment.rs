//! Segments: files to which one process appends finished runs.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use crate::bytes::decode;
use crate::error::{FORMAT, StoreError};
use crate::frame::{self, Effort, HEADER, Kind, MAGIC, Read};
use crate::key::{RunKey, ScenarioKey};
use crate::lock::Lock;
use crate::name::{machine, plain, unique};
use crate::regular;
use crate::tables::{Rows, keys, origins};
use crate::text::ScenarioText;

/// The end of the names of segments.
pub(crate) const ENDING: &str = "runs";

/// The end of the names of segments with damaged frames, after a compaction.
pub(crate) const ASIDE: &str = "damaged";

/// The length at which a segment is ended, and a new one begun: a reader has one segment in memory at a time.
const LONGEST: u64 = 256 << 20;

/// The segment of this process. It is locked as long as it is open, so that no other process compacts it.
#[derive(Debug)]
pub(crate) struct Writer {
    file: File,
    pub(crate) path: PathBuf,
    length: u64,
    /// None where files cannot be locked: a compaction takes no segment at all there.
    _lock: Option<Lock>,
}

impl Writer {
    /// Makes a new segment in `folder`.
    pub(crate) fn create(folder: &Path, host: &str) -> Result<Self, StoreError> {
        // A name is never used again, because parts list the segments that they replace by name.
        let name = format!("{}-{}-{}.{ENDING}", plain(host), machine(host), unique());
        let path = folder.join(name);
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        let file = file.map_err(StoreError::write(&path))?;
        // Before the header, without which a compaction does not look at it.
        let lock = file.try_clone().ok().and_then(|file| Lock::on(file).ok());
        let mut writer = Self {
            file,
            path,
            length: 0,
            _lock: lock,
        };
        writer.write(&header())?;
        Ok(writer)
    }

    /// Returns whether the next frames belong into a new segment.
    pub(crate) fn is_full(&self) -> bool {
        self.length >= LONGEST
    }

    /// Appends a frame. If that fails, what was there before stays whole.
    pub(crate) fn append(&mut self, kind: Kind, content: &[u8]) -> Result<(), StoreError> {
        let Some(frame) = frame::frame(kind, content) else {
            let error = std::io::Error::other("a run has more than 1 GiB of results");
            return Err(StoreError::write(&self.path)(error));
        };
        self.write(&frame)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if let Err(error) = self.file.write_all(bytes) {
            // A reader would stop at the torn frame, and not see those after it.
            let _ = self.file.set_len(self.length);
            return Err(StoreError::write(&self.path)(error));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Ends the segment and waits until everything is on the disk.
    pub(crate) fn end(mut self) -> Result<(), StoreError> {
        // If there is no room for it, only processes of this machine know that the segment is at its end.
        let _ = self.append(Kind::End, &[]);
        self.file.sync_data().map_err(StoreError::write(&self.path))
    }
}

/// A place in a segment: of a frame's content.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: u64,
    length: usize,
}

/// A segment to read. Its file stays open, so it can be read when another process has compacted it.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) path: PathBuf,
    file: File,
    /// How far it was read.
    end: u64,
    /// Frames with runs of each scenario.
    runs: BTreeMap<ScenarioKey, Vec<Place>>,
    scenarios: BTreeMap<ScenarioKey, Place>,
    /// The keys of its runs, each with whether the present sources computed it.
    pub(crate) keys: Vec<(RunKey, bool)>,
    /// How many frames are damaged.
    pub(crate) damaged: u64,
    /// Whether its writer has ended it.
    is_ended: bool,
}

impl Segment {
    /// Opens a segment; `None` if it is gone, or if its writer has not got as far as its header.
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, StoreError> {
        let mut file = match regular::open(path) {
            Ok(file) => file,
            Err(StoreError::File { error, .. }) if error.kind() == ErrorKind::NotFound => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let mut header = [0; HEADER];
        if file.read_exact(&mut header).is_err() {
            return Ok(None);
        }
        // A power failure may leave zeros. A newer version would have said so in `store.json`, which was read before.
        let is_damaged = header != self::header();
        Ok(Some(Self::new(path, file, is_damaged.into())))
    }

    fn new(path: &Path, file: File, damaged: u64) -> Self {
        Self {
            path: path.to_owned(),
            file,
            end: HEADER as u64,
            runs: BTreeMap::new(),
            scenarios: BTreeMap::new(),
            keys: Vec::new(),
            damaged,
            is_ended: false,
        }
    }

    /// Reads what was appended since the last call, and returns how many of its keys are older.
    pub(crate) fn refresh(&mut self) -> Result<usize, StoreError> {
        let known = self.keys.len();
        let read = |error| StoreError::read(&self.path)(error);
        let length = self.file.metadata().map_err(read)?.len();
        if length <= self.end {
            return Ok(known);
        }
        self.file.seek(SeekFrom::Start(self.end)).map_err(read)?;
        let mut bytes = Vec::new();
        (&mut self.file)
            .take(length - self.end)
            .read_to_end(&mut bytes)
            .map_err(read)?;
        let mut rest = bytes.as_slice();
        let mut effort = Effort::of(rest.len());
        loop {
            let whole = match frame::read(rest, &mut effort) {
                Read::End => break,
                Read::Damaged(whole) => {
                    self.damaged += 1;
                    whole
                }
                Read::Frame(kind, content, whole) => {
                    let place = Place {
                        at: self.end + (whole - content.len()) as u64,
                        length: content.len(),
                    };
                    if self.note(kind, content, place).is_err() {
                        self.damaged += 1;
                    }
                    whole
                }
            };
            self.end += whole as u64;
            rest = &rest[whole..];
        }
        Ok(known)
    }

    fn note(&mut self, kind: Option<Kind>, content: &[u8], place: Place) -> Result<(), StoreError> {
        match kind {
            Some(Kind::Scenario) => {
                let text = ScenarioText::read(content).map_err(StoreError::damaged(&self.path))?;
                self.scenarios.insert(text.scenario, place);
            }
            Some(Kind::Runs) => {
                let rows = decode(content)?.runs;
                for (key, origin) in keys(&rows)?.into_iter().zip(origins(&rows)?) {
                    let places = self.runs.entry(key.scenario).or_default();
                    if places.last().is_none_or(|last| last.at != place.at) {
                        places.push(place);
                    }
                    self.keys.push((key, origin.is_current()));
                }
            }
            Some(Kind::End) => self.is_ended = true,
            // Of a newer version, which says what it needs by the number of its format.
            None => {}
        }
        Ok(())
    }

    /// Returns the scenarios of its runs, in order.
    pub(crate) fn scenarios(&self) -> impl Iterator<Item = ScenarioKey> {
        self.runs.keys().copied()
    }

    /// Returns the runs of a scenario as tables, one after the other as they were appended.
    pub(crate) fn rows(
        &mut self,
        scenario: ScenarioKey,
    ) -> impl Iterator<Item = Result<Rows, StoreError>> {
        let places = self.runs.get(&scenario).cloned().unwrap_or_default();
        places.into_iter().map(move |place| {
            let rows = Rows::of(decode(&self.content(place)?)?);
            Ok(rows.filtered(&|(run, _)| run.scenario == scenario)?)
        })
    }

    /// Returns the text of a scenario, if it is here.
    pub(crate) fn text(
        &mut self,
        scenario: ScenarioKey,
    ) -> Result<Option<ScenarioText>, StoreError> {
        let Some(place) = self.scenarios.get(&scenario).copied() else {
            return Ok(None);
        };
        let content = self.content(place)?;
        let text = ScenarioText::read(&content).map_err(StoreError::damaged(&self.path))?;
        Ok(Some(text))
    }

    fn content(&mut self, place: Place) -> Result<Vec<u8>, StoreError> {
        let mut content = vec![0; place.length];
        let mut read = || {
            self.file.seek(SeekFrom::Start(place.at))?;
            self.file.read_exact(&mut content)
        };
        read().map_err(StoreError::read(&self.path))?;
        Ok(content)
    }

    /// Takes the segment from a writer that has ended; `None` while one may be at work. The segment is taken as long as
    /// the returned lock lives.
    ///
    /// Some file systems keep the locks of each machine to itself. So without `is_forced` nobody takes what a process of
    /// another machine has not ended.
    pub(crate) fn take(&self, host: &str, is_forced: bool) -> Option<Lock> {
        let is_safe = is_forced || self.is_ended || self.is_of(&machine(host));
        is_safe.then(|| self.lock()).flatten()
    }

    /// Returns whether a process of this machine wrote it.
    fn is_of(&self, machine: &str) -> bool {
        let name = self.path.file_stem().and_then(|it| it.to_str());
        // The host, the machine and what is unique.
        let of = name.and_then(|it| it.rsplit('-').nth(1));
        of == Some(machine)
    }

    /// Returns whether its writer is seen at work.
    pub(crate) fn is_at_work(&self) -> bool {
        self.lock().is_none()
    }

    fn lock(&self) -> Option<Lock> {
        regular::check(&self.path).ok()?;
        let file = OpenOptions::new().append(true).open(&self.path).ok()?;
        Lock::on(file).ok()
    }
}

/// Returns the beginning of each segment.
fn header() -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let (magic, format) = header.split_at_mut(MAGIC.len());
    magic.copy_from_slice(MAGIC);
    format.copy_from_slice(&FORMAT.to_le_bytes());
    header
}
