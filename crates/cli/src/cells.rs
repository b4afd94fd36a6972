//! The options of `run` and `sweep` that say which cells of a scenario file run, and how.

use clap::Args;
use fairwire_scenario::{Adjust, WrittenDuration};

use crate::number;

#[derive(Args, Debug)]
pub(crate) struct CellArgs {
    /// Run each cell with each of these values of an axis of the file, or of a key by its path, as in --axes
    /// flows.dccp.start=0s,5s. May be repeated.
    #[arg(long, value_name = "NAME=VALUE,...")]
    axes: Vec<String>,
    /// Change a value in every cell, as in --set flows.dccp.start=5s. An empty value removes a key or a table, as in
    /// --set topology.bottleneck.loss=. May be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Run only these cells: names, groups of the file, or patterns, as in --only '96k-*'. May be repeated.
    #[arg(long, value_name = "CELL,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Simulated time of each run, as in 20s, instead of the file's.
    #[arg(long, value_name = "TIME")]
    #[arg(allow_hyphen_values = true)]
    // Accepted here, to be refused with a message that says what is allowed.
    duration: Option<WrittenDuration>,
    /// Number of seeds, 1 to 10000, instead of the file's.
    #[arg(long, value_name = "N", value_parser = number::seeds)]
    #[arg(allow_hyphen_values = true)] // As above.
    seeds: Option<u32>,
    /// First seed; the others follow it.
    #[arg(long, value_name = "S", value_parser = number::seed)]
    #[arg(allow_hyphen_values = true)] // As above.
    seed: Option<u64>,
}

impl CellArgs {
    /// Returns the changes that the options make to a file.
    pub(crate) fn adjust(&self) -> Adjust {
        Adjust {
            set: self.set.clone(),
            axes: self.axes.clone(),
            only: self.only.clone(),
            duration: self.duration.clone(),
            seeds: self.seeds,
            seed: self.seed,
            ..Adjust::default()
        }
    }

    /// Returns whether axes are given.
    pub(crate) fn has_axes(&self) -> bool {
        !self.axes.is_empty()
    }

    /// Returns whether only some cells run.
    pub(crate) fn is_part(&self) -> bool {
        !self.only.is_empty()
    }
}
