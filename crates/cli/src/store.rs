//! `fairwire store`: shows a store, and looks after it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use fairwire_measure::counted;
use fairwire_sweep::{Prune, SOURCES, Store, StoreError};

use crate::origin::origin;
use crate::print::{self, FAILED};

/// Show what a store of sweeps has, check or repair it, remove runs from it, add those of another store, or write its
/// tables as Parquet.
///
/// Without options it writes nothing.
#[derive(Debug, Parser)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(crate) struct Args {
    /// The folder of the store, or its file `store.db`.
    #[arg(value_name = "DIR")]
    store: PathBuf,
    /// Compare everything with its checksums.
    #[arg(long)]
    verify: bool,
    /// If the store is damaged, set its file aside, as `*.damaged`, and put what can be read into a new one: it says how
    /// much that is. Lost runs are done again by the next sweep. Do this when no sweep is at work.
    #[arg(long)]
    repair: bool,
    /// Add the runs and sweeps of another store. May be repeated.
    #[arg(long, value_name = "DIR")]
    merge: Vec<PathBuf>,
    /// Remove the runs that other versions of the sources computed.
    #[arg(long)]
    prune_stale: bool,
    /// Take a sweep off the list, by its identifier. Its runs stay until --prune-unlisted. May be repeated.
    #[arg(long, value_name = "SWEEP")]
    forget: Vec<String>,
    /// Remove the runs whose scenario is in no sweep of the store. Refused if no sweep is listed or --forget leaves none,
    /// and after a repair that has lost a part of the list.
    #[arg(long)]
    prune_unlisted: bool,
    /// Write each table as a Parquet file into a folder.
    #[arg(long, value_name = "FOLDER")]
    export: Option<PathBuf>,
}

impl Args {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let mut text = String::new();
        let done = self.all(&mut text);
        let status = print::text(&text);
        match done {
            Ok(()) => status,
            Err(error) => print::fail(FAILED, &error),
        }
    }

    /// Does everything. An error leaves in `text` what was done before.
    fn all(&self, text: &mut String) -> Result<(), StoreError> {
        let mut store = if self.repair {
            let (store, repair) = Store::repair(&self.store, origin())?;
            let _ = write!(text, "{repair}");
            store
        } else {
            Store::open_existing(&self.store, origin())?
        };
        self.change(&mut store, text)?;
        let _ = writeln!(
            text,
            "{}: {} of these sources ({SOURCES}), {} of others",
            self.store.display(),
            counted(store.len()?, "run"),
            store.stale()?
        );
        let damaged = store.damaged()?;
        if damaged > 0 {
            let damaged = counted(damaged, "damaged file");
            let _ = writeln!(
                text,
                "  {damaged} set aside as *.damaged: remove what you do not need"
            );
        }
        if let Some(path) = store.list_lost() {
            let _ = writeln!(
                text,
                "  a part of the list of sweeps was lost: see {}",
                path.display()
            );
        }
        for sweep in store.sweeps()? {
            let (cells, origin) = (counted(sweep.cells.len() as u64, "cell"), &sweep.origin);
            let is_one = sweep.seeds.parse::<u64>().is_ok();
            let seeds = if is_one { "seed" } else { "seeds" };
            let _ = writeln!(
                text,
                "  sweep {} of {} ({}; {cells}, {seeds}: {}), {} on {}, version {}, sources {}",
                sweep.id,
                sweep.name,
                sweep.title,
                sweep.seeds,
                origin.date,
                origin.host,
                origin.version,
                origin.sources
            );
        }
        Ok(())
    }

    /// Does what the options ask for, and says so.
    fn change(&self, store: &mut Store, text: &mut String) -> Result<(), StoreError> {
        for (other, mut from) in self.checked(store)? {
            let new = counted(store.merge(&mut from)?, "new run");
            let _ = writeln!(text, "merged {}: {new}", other.display());
        }
        if self.prune_stale {
            prune(store, &Prune::Stale, text)?;
        }
        if self.prune_unlisted {
            // It may be refused, and then nothing is forgotten for it.
            store.kept(&self.forget)?;
        }
        for sweep in &self.forget {
            if store.forget(sweep)? {
                let _ = writeln!(text, "forgot sweep {sweep}");
            }
        }
        if self.prune_unlisted {
            prune(store, &Prune::Unlisted, text)?;
        }
        if self.verify {
            store.verify()?;
            text.push_str("nothing is damaged\n");
        }
        if let Some(folder) = &self.export {
            for path in store.export(folder)? {
                let _ = writeln!(text, "written: {}", path.display());
            }
        }
        Ok(())
    }

    /// Opens the stores to merge, and checks that each sweep to forget is in one of them or in `store`.
    fn checked(&self, store: &mut Store) -> Result<Vec<(&Path, Store)>, StoreError> {
        let mut others = Vec::new();
        let mut sweeps = store.sweeps()?;
        for other in &self.merge {
            let mut from = Store::open_existing(other, origin())?;
            sweeps.extend(from.sweeps()?);
            others.push((other.as_path(), from));
        }
        let mut wanted = self.forget.iter();
        match wanted.find(|id| sweeps.iter().all(|sweep| sweep.id != **id)) {
            Some(id) => Err(StoreError::NoSweep(id.clone())),
            None => Ok(others),
        }
    }
}

fn prune(store: &mut Store, what: &Prune, text: &mut String) -> Result<(), StoreError> {
    let removed = store.prune(what)?;
    let _ = writeln!(text, "removed {}", counted(removed, "run"));
    Ok(())
}
