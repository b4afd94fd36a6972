//! `fairwire sweep`: runs what a store does not have yet.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use fairwire_measure::counted;
use fairwire_scenario::{Cell, ScenarioError, ScenarioFile, notes};
use fairwire_sim::campaign::{Batch, Campaign, Plan, Precision, Seeds};
use fairwire_sim::results::{CellResult, Results, overview, table, to_json};
use fairwire_sweep::{Store, StoreError};

use crate::cells::CellArgs;
use crate::jobs::jobs;
use crate::origin::origin;
use crate::print::{self, FAILED, USAGE};
use crate::{number, progress, stop};

/// The most cells whose results are printed; more are better asked for in the store.
const MOST_SHOWN: usize = 500;

/// Run a scenario file with a store: only the runs that the store does not have yet. Each finished run is stored at
/// once, so a sweep that ends early goes on where it was.
///
/// A run is known by its resolved scenario, its seed, and the sources that compute results. docs/sweeps.md describes
/// the store. Exit status: 0 done, 1 failed or interrupted, 2 wrong usage or a wrong scenario.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Scenario file to run.
    #[arg(value_name = "FILE")]
    scenario: PathBuf,
    /// The folder of the store; it is made if there is none. Several sweeps may use it at the same time.
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    #[command(flatten)]
    cells: CellArgs,
    /// As many seeds as each flow's throughput needs for a 95 % interval within this share of the mean, as in --within
    /// 2%; at least 5.
    #[arg(long, value_name = "PERCENT", value_parser = number::percent, conflicts_with = "seeds")]
    within: Option<f64>,
    /// The most seeds with --within, 5 to 10000. A cell that has needed more says so in a note.
    #[arg(long, value_name = "N", value_parser = number::most_seeds, default_value = "1000", requires = "within")]
    most: u32,
    /// Number of runs at the same time [default: one for each processor]. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = number::jobs)]
    #[arg(allow_hyphen_values = true)]
    // To be refused with a message that says what is allowed.
    jobs: Option<u32>,
    /// Print JSON instead of tables.
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let cells = match self.cells() {
            Ok(cells) => cells,
            Err(error) => return print::refuse(self.json, USAGE, &error),
        };
        if let Err(error) = self.wanted().check(&cells) {
            return print::refuse(self.json, USAGE, &error);
        }
        let stop = stop::on_interrupt();
        let opened = Store::open(&self.store, origin()).and_then(|mut store| {
            let name = self.scenario.display().to_string();
            let versions = std::collections::BTreeMap::new();
            let batch = Batch {
                name: &name,
                cells: &cells,
            };
            let plan = Plan::new(&[batch], self.wanted(), &versions, &mut store)?;
            Ok((plan, store))
        });
        let (mut plan, mut store) = match opened {
            Ok(opened) => opened,
            Err(error) => return print::refuse(self.json, FAILED, &error),
        };
        let bar = progress::bar();
        let campaign = Campaign {
            threads: jobs(self.jobs),
            stop: &stop,
            progress: &|progress| bar.show(progress),
            capture: None,
        };
        let ran = store.run(&mut plan, campaign);
        bar.clear();
        let mut failures: Vec<String> = ran
            .err()
            .map(|error| error.to_string())
            .into_iter()
            .collect();
        match self.report(&plan, &mut store) {
            Ok(text) => {
                failures.extend(print::try_text(&text).err().map(|error| error.to_string()));
            }
            Err(error) => failures.push(error.to_string()),
        }
        let (found, done) = (counted(plan.found(), "run"), counted(plan.done(), "run"));
        print::note(&format!(
            "{}: {found} found, {done} done",
            self.store.display()
        ));
        if failures.is_empty() && !plan.is_complete() {
            let left = counted(plan.waiting(), "run");
            failures.push(format!("interrupted: {left} left, for the same command"));
        }
        print::end(&failures)
    }

    fn cells(&self) -> Result<Vec<Cell>, ScenarioError> {
        ScenarioFile::load(&self.scenario)?.cells(&self.cells.adjust())
    }

    fn wanted(&self) -> Seeds {
        match self.within {
            Some(percent) => Seeds::Until(Precision {
                within: percent / 100.0,
                most: u64::from(self.most),
                ..Precision::default()
            }),
            None => Seeds::AsStated,
        }
    }

    /// Returns the results as they are printed.
    fn report(&self, plan: &Plan, store: &mut Store) -> Result<String, StoreError> {
        if plan.cells().len() > MOST_SHOWN && !self.json {
            return Ok(format!(
                "{} cells are too many for a table; docs/sweeps.md shows how to query {}\n",
                plan.cells().len(),
                self.store.display()
            ));
        }
        let cells = plan.map_cells(store, CellResult::clone)?;
        let mut notes = notes(plan.cells());
        notes.extend(cells.iter().filter_map(|cell| plan.note(cell)));
        if self.json {
            let results = Results {
                name: plan.name().to_owned(),
                version: env!("CARGO_PKG_VERSION"),
                partial: !plan.is_complete(),
                notes,
                cells,
            };
            return Ok(print::json(&to_json(&results)));
        }
        let mut text = match cells.as_slice() {
            [cell] => {
                let seeds = counted(cell.runs.len() as u64, "seed");
                let partial = if cell.partial { ", interrupted" } else { "" };
                let (title, name) = (&cell.scenario.title, &cell.name);
                format!("{title} / {name} ({seeds}{partial})\n{}", table(cell))
            }
            cells => overview(cells),
        };
        for note in &notes {
            let _ = writeln!(text, "  note: {note}");
        }
        Ok(text)
    }
}
