//! What the runs of a paper come to: tables, figures, verdicts, and how the numbers came about.

use super::{Figure, Judged, Paper, Table, quick};
use crate::results::{CellResult, Results, RunResult};
use crate::sim::SILENT;

/// Tables and verdicts.
#[derive(Clone, Debug)]
pub struct Report {
    /// How the numbers came about, in a sentence.
    pub how: String,
    /// Is something missing, because the run was interrupted?
    pub partial: bool,
    /// What was measured beside what was printed.
    pub tables: Vec<Table>,
    /// The same as curves and bars.
    pub figures: Vec<Figure>,
    /// What became of each claim.
    pub verdicts: Vec<Judged>,
}

impl Paper {
    /// What `results` say.
    pub fn report(&self, results: &Results) -> Report {
        let partial = results.partial || results.cells.len() < self.cells.len();
        Report {
            how: quick::told(self.how(results), self.quick, self.shortened.as_deref()),
            partial,
            tables: self.fill_tables(results),
            figures: self.fill_figures(results),
            verdicts: self.judge(results),
        }
    }

    /// How the numbers came about.
    fn how(&self, results: &Results) -> String {
        let seeds = results.cells.iter().map(|cell| cell.runs.len());
        let (least, most) = (seeds.clone().min().unwrap_or(0), seeds.max().unwrap_or(0));
        let seeds = if least == most {
            format!("{least} seeds")
        } else {
            format!("{least} to {most} seeds, as their spread asks")
        };
        let only_starts = |cell: &&CellResult| cell.scenario.is_perturbed_only();
        let random = |cell: &&CellResult| cell.scenario.is_random() && !only_starts(cell);
        let starts = results.cells.iter().any(|cell| only_starts(&cell));
        let others = results.cells.iter().any(|cell| random(&cell));
        let drawn = match (starts, others) {
            (true, false) => {
                "Nothing in the paper is random: each flow starts up to one round trip late, drawn for each seed"
            }
            (true, true) => {
                "What the networks draw at random is drawn for each seed; where nothing else is random, each \
                 flow starts up to one round trip late"
            }
            (false, true) => "What the networks draw at random is drawn for each seed",
            (false, false) => "Nothing is random",
        };
        let mut blocks = self.tables.iter().flat_map(|table| &table.blocks);
        let unperturbed = if starts && blocks.any(|block| block.unperturbed) {
            "; what the run without that says stands below the tables that it belongs to"
        } else {
            ""
        };
        let silent = silent(results);
        format!(
            "Means over {seeds}, with 95 % intervals (Student's t). {drawn}{unperturbed}. Differences are ours \
             less what was printed, in its unit; those of percentages are in points.{silent}"
        )
    }
}

/// The runs in which a flow got nothing across: what stands for it in tables is zero, and does not say why.
fn silent(results: &Results) -> String {
    let is_silent = |run: &RunResult| {
        let mut notes = run.notes.iter();
        notes.any(|note| SILENT.iter().any(|silent| note.ends_with(silent)))
    };
    let counts = results.cells.iter().map(|cell| {
        let runs = cell.runs.iter().chain(&cell.unperturbed);
        (&cell.name, runs.filter(|run| is_silent(run)).count())
    });
    let cells: Vec<String> = counts
        .filter(|(_, runs)| *runs > 0)
        .map(|(name, runs)| format!("{name} ({runs})"))
        .collect();
    if cells.is_empty() {
        return String::new();
    }
    format!(
        " A flow got nothing across in runs of {}: the notes in runs.csv say which, and whether it ever connected.",
        cells.join(", ")
    )
}
