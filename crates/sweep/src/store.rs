//! The store: finished runs in a database ([`schema`](crate::schema), [`db`](crate::db)).
//!
//! Several processes may use a store. A run is known by its key, so one that two of them have done is there once.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairwire_measure::counted;
use rusqlite::params;

use crate::db::Db;
use crate::error::StoreError;
use crate::raw::{Name, RawRuns};
use crate::record::{Origin, SOURCES};
use crate::rows::{insert, scenario_text, select};
use crate::settings::settings;
use crate::text::ScenarioText;

/// How often a sweep looks who else is at work.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// For how long a process that was seen counts as at work, in seconds.
const SEEN_FOR_S: f64 = 60.0;

/// A folder of finished runs, open for reading and adding.
#[derive(Debug)]
pub struct Store {
    pub(crate) db: Db,
    pub(crate) origin: Arc<Origin>,
    /// The numbers of names in the database, which stay as they are.
    names: BTreeMap<Name, i64>,
    /// The number of this process among those at work.
    own: Option<i64>,
    /// The others at work.
    others: Vec<i64>,
    looked: Option<Instant>,
    /// Whether all checksums were right.
    is_verified: bool,
}

impl Store {
    /// Opens the store in `folder`, and makes it if the folder is missing or empty.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn open(folder: &Path, origin: Origin) -> Result<Self, StoreError> {
        Ok(Self::new(Db::make(folder)?, origin))
    }

    /// Opens the store in `folder`. This writes nothing, and so does reading what it has.
    ///
    /// # Errors
    /// See [`StoreError`].
    pub fn open_existing(folder: &Path, origin: Origin) -> Result<Self, StoreError> {
        Ok(Self::new(Db::open(folder)?, origin))
    }

    fn new(db: Db, origin: Origin) -> Self {
        Self {
            db,
            origin: Arc::new(origin),
            names: BTreeMap::new(),
            own: None,
            others: Vec::new(),
            looked: None,
            is_verified: false,
        }
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        self.db.folder()
    }

    /// Returns how many runs of the present sources it has.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn len(&mut self) -> Result<u64, StoreError> {
        self.count(
            "SELECT count(*) FROM run JOIN sources c ON c.id = run.sources WHERE c.sources = ?1",
        )
    }

    /// Returns whether it has no run of the present sources.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn is_empty(&mut self) -> Result<bool, StoreError> {
        Ok(self.len()? == 0)
    }

    /// Returns how many runs other sources computed.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn stale(&mut self) -> Result<u64, StoreError> {
        self.count(
            "SELECT count(*) FROM run JOIN sources c ON c.id = run.sources WHERE c.sources <> ?1",
        )
    }

    fn count(&mut self, query: &str) -> Result<u64, StoreError> {
        let count: i64 = self
            .db
            .read(|db| db.query_row(query, [SOURCES], |row| row.get(0)))?;
        Ok(count.cast_unsigned())
    }

    /// Notes once in a second that this process is at work, and who else is.
    fn look_at_times(&mut self) -> Result<(), StoreError> {
        if self
            .looked
            .is_some_and(|before| now().duration_since(before) < LOOK_EVERY)
        {
            return Ok(());
        }
        self.looked = Some(now());
        let own = self.own;
        if let Some(own) = own {
            // A disk that is full for this is full for runs, too, and then it is an error.
            let _ = self.db.write(|db| {
                db.execute(
                    "UPDATE at_work SET seen = unixepoch('subsec') WHERE id = ?1",
                    [own],
                )
            });
        }
        self.others = self.db.read(|db| {
            let mut found = db.prepare_cached(
                "SELECT id FROM at_work WHERE seen > unixepoch('subsec') - ?1 AND id <> ?2",
            )?;
            let found =
                found.query_map(params![SEEN_FOR_S, own.unwrap_or(-1)], |row| row.get(0))?;
            found.collect()
        })?;
        Ok(())
    }

    /// Returns whether this process should begin with the last runs: of the processes that add runs now, in the order in
    /// which they began, every other one does.
    pub(crate) fn is_second_of_two(&mut self) -> Result<bool, StoreError> {
        self.look_at_times()?;
        let others = self.others.iter();
        let before = others.filter(|other| self.own.is_none_or(|own| **other < own));
        Ok(before.count() % 2 == 1)
    }

    /// Adds finished runs of any sources, and returns how many were new.
    pub(crate) fn add(
        &mut self,
        runs: &RawRuns,
        text: &dyn Fn(&str) -> Option<ScenarioText>,
    ) -> Result<u64, StoreError> {
        self.begin_work()?;
        let mut names = std::mem::take(&mut self.names);
        let added = self.db.write(|db| insert(db, runs, &mut names, text));
        if added.is_ok() {
            self.names = names;
        }
        added
    }

    /// Says to others that this process adds runs.
    fn begin_work(&mut self) -> Result<(), StoreError> {
        if self.own.is_some() {
            return Ok(());
        }
        self.db.begin_log()?;
        let own = self.db.write(|db| {
            db.execute(
                "DELETE FROM at_work WHERE seen < unixepoch('subsec') - ?1",
                [SEEN_FOR_S],
            )?;
            db.execute(
                "INSERT INTO at_work (seen) VALUES (unixepoch('subsec'))",
                [],
            )?;
            Ok(db.last_insert_rowid())
        })?;
        self.own = Some(own);
        Ok(())
    }

    /// Ends the adding of runs: what was added is on the disk, and in one file if no other process has the store open.
    ///
    /// # Errors
    /// If it cannot be written. What was added is there all the same.
    pub fn close(&mut self) -> Result<(), StoreError> {
        let Some(own) = self.own.take() else {
            return Ok(());
        };
        self.looked = None;
        let ended = self
            .db
            .write(|db| db.execute("DELETE FROM at_work WHERE id = ?1", [own]));
        self.db.end_log();
        ended.map(|_| ())
    }

    /// Returns the runs that a condition selects, whose checksums are right.
    pub(crate) fn raw(
        &mut self,
        condition: &str,
        parameters: &[&dyn rusqlite::ToSql],
    ) -> Result<RawRuns, StoreError> {
        let selected = self.db.read(|db| select(db, condition, parameters))?;
        let (runs, sums) = selected.map_err(StoreError::damaged(&self.db.path))?;
        for (run, sum) in runs.runs.iter().zip(sums) {
            if i64::from(run.checksum(&runs.names)) != sum {
                let text = format!(
                    "the run of seed {} of scenario {} has changed",
                    run.seed, run.scenario
                );
                return Err(StoreError::damaged(&self.db.path)(text));
            }
        }
        Ok(runs)
    }

    /// Returns the text of a scenario, if it is known.
    pub(crate) fn text(&mut self, scenario: &str) -> Result<Option<ScenarioText>, StoreError> {
        let found = self.db.read(|db| scenario_text(db, scenario));
        let found = found.map_err(|error| error.within(&format!("scenario {scenario}")))?;
        let Some((text, sum)) = found else {
            return Ok(None);
        };
        if i64::from(text.checksum()) != sum {
            let text = format!("the text of scenario {scenario} has changed");
            return Err(StoreError::damaged(&self.db.path)(text));
        }
        Ok(Some(text))
    }

    /// Compares everything with its checksums, once.
    ///
    /// # Errors
    /// If something is damaged or cannot be read.
    pub fn verify(&mut self) -> Result<(), StoreError> {
        if self.is_verified {
            return Ok(());
        }
        let said: String = self
            .db
            .read(|db| db.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)))?;
        if said != "ok" {
            // The last line says what is wrong.
            let said = said.lines().next_back().unwrap_or_default().to_owned();
            return Err(StoreError::damaged(&self.db.path)(said));
        }
        // The view has the runs whose scenario, sources and origin are there.
        let astray: i64 = self.db.read(|db| {
            let query = "SELECT (SELECT count(*) FROM run) - (SELECT count(*) FROM runs)";
            db.query_row(query, [], |row| row.get(0))
        })?;
        if astray != 0 {
            let runs = counted(astray.unsigned_abs(), "run");
            let text = format!("the scenario, the sources or the origin of {runs} is missing");
            return Err(StoreError::damaged(&self.db.path)(text));
        }
        for scenario in self.scenarios()? {
            self.raw("s.scenario = ?1", params![scenario])?;
            let text = self.text(&scenario)?;
            let is_same = self.db.read(|db| {
                let mut rows = db.prepare_cached(
                    "SELECT path, value FROM settings WHERE scenario = ?1 ORDER BY path",
                )?;
                let rows = rows.query_map([&scenario], |row| Ok((row.get(0)?, row.get(1)?)))?;
                let mut expected = settings(text.as_ref());
                expected.sort();
                Ok(rows.collect::<rusqlite::Result<Vec<(String, String)>>>()? == expected)
            });
            let within = format!("the settings of scenario {scenario}");
            if !is_same.map_err(|error| error.within(&within))? {
                let text = format!("the settings of scenario {scenario} have changed");
                return Err(StoreError::damaged(&self.db.path)(text));
            }
        }
        self.sweeps()?;
        self.is_verified = true;
        Ok(())
    }

    /// Returns the keys of all scenarios.
    pub(crate) fn scenarios(&mut self) -> Result<Vec<String>, StoreError> {
        self.db.read(|db| {
            let mut keys = db.prepare_cached("SELECT scenario FROM scenario ORDER BY id")?;
            keys.query_map([], |row| row.get(0))?.collect()
        })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // What it could not do is done by the next process that ends.
        let _ = self.close();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how often a store is looked at changes no result"
)]
fn now() -> Instant {
    Instant::now()
}
