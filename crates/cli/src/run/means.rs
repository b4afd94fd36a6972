//! `--mean`: one mean for each cell, over several flows or links, or of differences.

use clap::Args;
use fairwire_scenario::Cell;
use fairwire_sim::results::{Metric, Question, Results, means, means_to_json, table_of_means};

use crate::print;

/// What to print in place of the tables.
#[derive(Debug, Args)]
#[command(next_help_heading = "One mean for each cell")]
pub(super) struct MeanArgs {
    /// Print only the mean of this metric over the flows: a row for each cell, with a 95 % interval over the seeds.
    #[arg(long, value_name = "METRIC")]
    mean: Option<Metric>,
    /// The flows or links, as in --of 'tcp-*' or --of all for all flows together [default: what the flows send]
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        requires = "mean"
    )]
    of: Vec<String>,
    /// The flows or links whose number is subtracted, seed by seed.
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        requires = "mean"
    )]
    minus: Vec<String>,
    /// Print the difference of each cell from this one, over the seeds that both have. What a seed does to both does not
    /// widen the interval.
    #[arg(long, value_name = "CELL", requires = "mean")]
    against: Option<String>,
    /// The window of time [default: the first one]
    #[arg(long, value_name = "NAME", requires = "mean")]
    window: Option<String>,
    /// Add the flows instead of taking their mean.
    #[arg(long, requires = "mean")]
    total: bool,
}

impl MeanArgs {
    /// Returns whether only means are printed.
    pub(super) fn is_asked(&self) -> bool {
        self.mean.is_some()
    }

    /// Returns an error if no run will have what is asked for, or if there is no cell to compare with.
    pub(super) fn check(&self, cells: &[Cell]) -> Result<(), String> {
        if let Some(against) = &self.against
            && !cells.iter().any(|cell| cell.name == *against)
        {
            let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
            let names = names.join(", ");
            return Err(format!("--against {against}: the cells are {names}"));
        }
        self.question()
            .map_or(Ok(()), |question| question.check(cells))
    }

    fn question(&self) -> Option<Question> {
        Some(Question {
            metric: self.mean?,
            window: self.window.clone(),
            of: self.of.clone(),
            minus: (!self.minus.is_empty()).then(|| self.minus.clone()),
            is_total: self.total,
        })
    }

    /// Returns the means as a table or as JSON; `None` if they were not asked for.
    pub(super) fn text(&self, results: &Results, is_json: bool) -> Option<Result<String, String>> {
        let question = self.question()?;
        let cells = &results.cells;
        let base = self.against.as_ref();
        let base = base.and_then(|name| cells.iter().position(|cell| cell.name == *name));
        let answers = cells.iter().map(|cell| question.ask(cell)).collect();
        let means = means(answers, base);
        Some(means.map(|means| {
            let against = self.against.as_deref();
            if is_json {
                print::json(&means_to_json(results, &question, against, &means))
            } else {
                table_of_means(cells, &question, against, &means)
            }
        }))
    }
}
