//! The command line options and their checks.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Parser;
use fairwire_torture::events;
use fairwire_torture::run::Options as Watching;

/// Tests endpoints and applications under random faults, and checks invariants at every step.
#[derive(Debug, Parser)]
#[command(name = "fairwire-torture", version)]
pub(crate) struct Options {
    /// Number of seeds to run
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub(crate) seeds: u64,
    /// First seed
    #[arg(long, value_name = "M", default_value_t = 0)]
    pub(crate) first: u64,
    /// Run only this seed
    #[arg(long, value_name = "S", conflicts_with_all = ["seeds", "first", "plan"])]
    pub(crate) seed: Option<u64>,
    /// Run only the plan in this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "first"])]
    pub(crate) plan: Option<PathBuf>,
    /// Print the log of the run (with --seed or --plan)
    #[arg(long)]
    pub(crate) trace: bool,
    /// Print the plan of a seed instead of running it (with --seed)
    #[arg(long)]
    pub(crate) show: bool,
    /// Number of seeds to run in parallel; by default the number of cores
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Maximum number of runs for shrinking a failing plan; 0 disables shrinking
    #[arg(long, value_name = "N", default_value_t = 600)]
    pub(crate) shrink: u32,
    /// Treat this event, named as in the report, as a failure, in order to find a run with it
    #[arg(long, value_name = "EVENT")]
    pub(crate) forbid: Option<String>,
    /// Stop at the first seed that fails and print it in one line, without shrinking its plan
    #[arg(long, conflicts_with_all = ["seed", "plan"])]
    pub(crate) until_failure: bool,
    /// File for the shrunk plan of the first failure
    #[arg(long, value_name = "FILE", default_value = "torture-failure.json")]
    pub(crate) save: PathBuf,
}

impl Options {
    /// Returns the options that a command needs in addition to reproduce a failure.
    pub(crate) fn also(&self) -> String {
        let forbid = self.forbid.as_ref();
        forbid.map_or_else(String::new, |event| format!(" --forbid '{event}'"))
    }

    pub(crate) fn watching(&self) -> Watching {
        Watching {
            trace: self.trace,
            forbid: self.forbid.clone(),
        }
    }

    /// Checks the options before anything runs.
    ///
    /// # Errors
    /// What is wrong, and what to do about it.
    pub(crate) fn check(&self) -> Result<(), String> {
        let is_campaign = self.seed.is_none() && self.plan.is_none();
        if self.show && self.seed.is_none() {
            return Err("--show prints the plan of a seed: give it with --seed S".into());
        }
        if self.trace && is_campaign {
            return Err(
                "--trace prints the log of one run: give it with --seed S or --plan FILE".into(),
            );
        }
        self.check_seeds()?;
        if let Some(event) = self.forbid.as_ref().filter(|event| !events::is_name(event)) {
            return Err(format!("--forbid: {}", events::unknown(event)));
        }
        if self.saves() {
            can_write(&self.save).map_err(|error| {
                format!(
                    "--save: cannot write {}: {error}; name another file with --save FILE, or shrink nothing \
                     with --shrink 0",
                    self.save.display()
                )
            })?;
        }
        Ok(())
    }

    /// Checks that there are seeds, and that their numbers fit into 64 bits.
    fn check_seeds(&self) -> Result<(), String> {
        let Self { first, seeds, .. } = *self;
        if seeds == 0 {
            return Err("--seeds 0 runs nothing: give at least 1".into());
        }
        let last = u64::MAX;
        let most = last - (seeds - 1);
        if first > most {
            return Err(format!(
                "--first {first} --seeds {seeds} goes beyond the last seed, {last}: begin with {most} at most, \
                 or run fewer"
            ));
        }
        Ok(())
    }

    /// Returns whether the plan of a failure would be saved.
    fn saves(&self) -> bool {
        self.shrink > 0 && self.plan.is_none() && !self.show && !self.until_failure
    }
}

/// Checks that a file can be written, without changing its content or leaving a new file behind.
fn can_write(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => {
            Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory"))
        }
        Ok(there) if there.is_file() => OpenOptions::new().append(true).open(path).map(drop),
        // A device or a pipe, which should not be opened for a test.
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // A dangling link already exists; then the file is created later.
            match OpenOptions::new().write(true).create_new(true).open(path) {
                Ok(_) => fs::remove_file(path),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}
