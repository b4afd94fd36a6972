//! `fairwire store`: shows a store, and looks after it.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use fairwire_measure::counted;
use fairwire_sweep::{Prune, SOURCES, Store, StoreError};

use crate::origin::origin;
use crate::print::{self, FAILED};

/// Show what a store of sweeps has, repair or compact it, remove runs from it, or add those of another store.
///
/// Without options it writes nothing. Runs of processes that are still at work stay as they are.
#[derive(Debug, Parser)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of its own"
)]
pub(crate) struct Args {
    /// The folder of the store.
    #[arg(value_name = "DIR")]
    store: PathBuf,
    /// Set damaged files aside, as `*.damaged`, and keep what can be read. Lost runs are done again by the next sweep.
    /// Compact also what killed sweeps of other machines have left: do this when no sweep is at work there.
    #[arg(long)]
    repair: bool,
    /// Write the runs of interrupted sweeps as Parquet; a sweep that ends by itself does this.
    #[arg(long)]
    compact: bool,
    /// Add the runs and sweeps of another store. May be repeated.
    #[arg(long, value_name = "DIR")]
    merge: Vec<PathBuf>,
    /// Remove the runs that other versions of the sources computed.
    #[arg(long)]
    prune_stale: bool,
    /// Remove the runs whose scenario is in no sweep of the store. To forget a sweep, remove its file in DIR/sweeps first.
    #[arg(long)]
    prune_unlisted: bool,
}

impl Args {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        match self.all() {
            Ok(text) => print::text(&text),
            Err(error) => print::fail(FAILED, &error),
        }
    }

    fn all(&self) -> Result<String, StoreError> {
        let mut text = String::new();
        let mut store = if self.repair {
            let (store, aside) = Store::repair(&self.store, origin())?;
            for path in &aside {
                let _ = writeln!(text, "set aside {}", path.display());
            }
            if aside.is_empty() {
                text.push_str("nothing is damaged\n");
            }
            store
        } else {
            Store::open_existing(&self.store, origin())?
        };
        for other in &self.merge {
            let mut from = Store::open_existing(other, origin())?;
            let new = counted(store.merge(&mut from)?, "new run");
            let _ = writeln!(text, "merged {}: {new}", other.display());
        }
        let prunes = [
            (self.prune_stale, Prune::Stale),
            (self.prune_unlisted, Prune::Unlisted),
        ];
        for (is_wanted, what) in prunes {
            if is_wanted {
                let removed = store.prune(&what)?.removed;
                let _ = writeln!(text, "removed {}", counted(removed, "run"));
            }
        }
        if self.compact {
            let written = store.compact()?.written;
            let _ = writeln!(text, "compacted {}", counted(written, "run"));
        }
        let _ = writeln!(
            text,
            "{}: {} of these sources ({SOURCES}), {} of others",
            self.store.display(),
            counted(store.len(), "run"),
            store.stale()
        );
        if store.damaged() > 0 {
            let damaged = counted(store.damaged(), "damaged piece");
            let _ = writeln!(
                text,
                "  {damaged} (records of segments, and files that were set aside as *.damaged): the runs that were in \
                 them are done again when a sweep wants them"
            );
        }
        for sweep in store.sweeps()? {
            let (cells, origin) = (counted(sweep.cells.len() as u64, "cell"), &sweep.origin);
            let _ = writeln!(
                text,
                "  sweep {} of {} ({}; {cells}, seeds: {}), {} on {}, version {}, sources {}",
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
        Ok(text)
    }
}
