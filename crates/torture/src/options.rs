//! What the command line says, and what of it makes no sense.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Parser;
use fairwire_torture::events;
use fairwire_torture::run::Options as Watching;

/// Runs whole endpoints and applications under faults of every kind, and holds every step to invariants.
#[derive(Debug, Parser)]
#[command(name = "fairwire-torture", version)]
pub(crate) struct Options {
    /// Run this many seeds
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub(crate) seeds: u64,
    /// Begin with this seed
    #[arg(long, value_name = "M", default_value_t = 0)]
    pub(crate) first: u64,
    /// Run this seed only
    #[arg(long, value_name = "S", conflicts_with_all = ["seeds", "first", "plan"])]
    pub(crate) seed: Option<u64>,
    /// Run the plan in this file only
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "first"])]
    pub(crate) plan: Option<PathBuf>,
    /// Print the log of the run, line by line (with --seed or --plan)
    #[arg(long)]
    pub(crate) trace: bool,
    /// Print the plan instead of running it (with --seed)
    #[arg(long)]
    pub(crate) show: bool,
    /// Seeds to run at once; all cores by default
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Runs at most to make a failing plan smaller; 0 leaves it as it is
    #[arg(long, value_name = "N", default_value_t = 600)]
    pub(crate) shrink: u32,
    /// Let this event, as the report names it, count as a failure: to find a run in which it happens
    #[arg(long, value_name = "EVENT")]
    pub(crate) forbid: Option<String>,
    /// Plant a known bug
    #[cfg(feature = "plant")]
    #[arg(long, value_name = "NAME")]
    pub(crate) plant: Option<String>,
    /// Plant every known bug in turn, give each this many seeds, and print which are found
    #[cfg(feature = "plant")]
    #[arg(long, value_name = "N", conflicts_with_all = ["plant", "seeds", "seed", "plan"])]
    pub(crate) plants: Option<u64>,
    /// Stop at the first failure and print seed and invariant in one line
    #[cfg(feature = "plant")]
    #[arg(long, hide = true)]
    pub(crate) until_failure: bool,
    /// Where the shrunk plan of the first failure is written
    #[arg(long, value_name = "FILE", default_value = "torture-failure.json")]
    pub(crate) save: PathBuf,
}

impl Options {
    /// What else a command has to say to find the same again.
    pub(crate) fn also(&self) -> String {
        let mut text = String::new();
        if let Some(event) = &self.forbid {
            text = format!(" --forbid '{event}'");
        }
        #[cfg(feature = "plant")]
        if let Some(name) = &self.plant {
            text = format!("{text} --plant {name}");
        }
        text
    }

    pub(crate) fn watching(&self) -> Watching {
        Watching {
            trace: self.trace,
            forbid: self.forbid.clone(),
        }
    }

    /// Refuses what makes no sense, before anything runs.
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

    /// Are there seeds, and do they end before the numbers do?
    fn check_seeds(&self) -> Result<(), String> {
        let Self { first, seeds, .. } = *self;
        let (option, seeds) = self.planted().unwrap_or(("--seeds", seeds));
        if seeds == 0 {
            return Err(format!("{option} 0 runs nothing: give at least 1"));
        }
        // Who plants bugs goes on behind the seed that found one.
        let last = u64::MAX - u64::from(self.planted().is_some());
        let most = last - (seeds - 1).min(last);
        if first > most {
            return Err(format!(
                "--first {first} {option} {seeds} goes beyond the last seed, {last}: begin with {most} at most, \
                 or run fewer"
            ));
        }
        Ok(())
    }

    /// The seeds for each planted bug, if bugs are planted, and the option that says so.
    #[cfg(feature = "plant")]
    fn planted(&self) -> Option<(&'static str, u64)> {
        self.plants.map(|seeds| ("--plants", seeds))
    }

    #[cfg(not(feature = "plant"))]
    #[expect(clippy::unused_self, reason = "with the feature `plant` it is not")]
    fn planted(&self) -> Option<(&'static str, u64)> {
        None
    }

    /// Would the plan of a failure be saved?
    fn saves(&self) -> bool {
        #[cfg(feature = "plant")]
        if self.plants.is_some() || self.until_failure {
            return false;
        }
        self.shrink > 0 && self.plan.is_none() && !self.show
    }
}

/// Can a file be written there? What is in it stays, and no new one is left behind.
fn can_write(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => {
            Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory"))
        }
        Ok(there) if there.is_file() => OpenOptions::new().append(true).open(path).map(drop),
        // A device or a pipe, which opening might disturb.
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // A link that leads nowhere is there already: then the file is made later.
            match OpenOptions::new().write(true).create_new(true).open(path) {
                Ok(_) => fs::remove_file(path),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}
