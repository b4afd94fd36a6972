//! The report of a paper's runs: tables, figures, verdicts, and how the numbers were obtained.

use fairwire_measure::counted;

use super::manifest::{Overview, Unfounded};
use super::{Figure, Judged, Paper, Table, Verdict, quick};
use fairwire_sim::NO_DELIVERY_NOTES;
use fairwire_sim::results::{CellResult, Results, RunResult};

/// The tables, figures and verdicts of a paper's runs.
#[derive(Clone, Debug)]
pub struct Report {
    /// How the numbers were obtained, in a few sentences.
    pub how: String,
    /// Whether something is missing because the run was interrupted.
    pub partial: bool,
    /// Measured beside published numbers.
    pub tables: Vec<Table>,
    /// Measured values as curves and bars.
    pub figures: Vec<Figure>,
    /// The verdict on each claim.
    pub verdicts: Vec<Judged>,
}

impl Paper {
    /// Returns the report of `results`.
    pub fn report(&self, results: &Results) -> Report {
        let partial = results.partial || results.cells.len() < self.cells.len();
        Report {
            how: quick::with_quick_note(self.how(results), self.quick, self.shortened.as_deref()),
            partial,
            tables: self.fill_tables(results),
            figures: self.fill_figures(results),
            verdicts: self.judge(results),
        }
    }

    /// Returns how the numbers were obtained, in words.
    fn how(&self, results: &Results) -> String {
        let seeds = results.cells.iter().map(|cell| cell.runs.len());
        let (least, most) = (seeds.clone().min().unwrap_or(0), seeds.max().unwrap_or(0));
        let seeds = if least == most {
            counted(least as u64, "seed")
        } else {
            format!("{least} to {most} seeds, depending on their spread")
        };
        let only_starts = |cell: &&CellResult| cell.scenario.is_perturbed_only();
        let random = |cell: &&CellResult| cell.scenario.is_random() && !only_starts(cell);
        let starts = results.cells.iter().any(|cell| only_starts(&cell));
        let others = results.cells.iter().any(|cell| random(&cell));
        let drawn = match (starts, others) {
            (true, false) => {
                "Nothing in the paper's experiment is random. To vary the runs, each flow starts up to one round trip late, by a delay \
                 that is drawn for each seed"
            }
            (true, true) => {
                "The random events of the networks are drawn for each seed. In cells without random events, each flow \
                 starts up to one round trip late"
            }
            (false, true) => "The random events of the networks are drawn for each seed",
            (false, false) => "Nothing is random",
        };
        let mut blocks = self.tables.iter().flat_map(|table| &table.blocks);
        let unperturbed = if starts && blocks.any(|block| block.unperturbed) {
            "; the values of a run without this delay are below the tables"
        } else {
            ""
        };
        let silent = silent(results);
        format!(
            "Means over {seeds}, with 95 % intervals (Student's t). {drawn}{unperturbed}. Differences are our \
             values less the published ones, in their unit; those of percentages are in points.{silent}"
        )
    }
}

/// Returns a sentence on the runs in which a flow delivered nothing. Tables show zero for it, which does not tell why.
fn silent(results: &Results) -> String {
    let is_silent = |run: &RunResult| {
        let mut notes = run.notes.iter();
        notes.any(|note| {
            NO_DELIVERY_NOTES
                .iter()
                .any(|silent| note.ends_with(silent))
        })
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
        " In some runs of {} a flow delivered nothing: the notes in runs.csv say which flow, and whether it ever connected.",
        cells.join(", ")
    )
}

impl Overview {
    /// Returns the statements that these verdicts do not bear out. A claim that was not run says nothing about them.
    pub fn unfounded(&self, judged: &[Judged]) -> Vec<Unfounded> {
        let verdicts = self.rests_on.iter().flat_map(|ground| {
            let verdicts = ground.verdicts.iter();
            verdicts.map(move |(claim, expected)| (&ground.says, claim, expected))
        });
        let differ = verdicts.filter_map(|(says, claim, expected)| {
            let one = judged.iter().find(|one| one.id == *claim)?;
            let found = one.verdict.words();
            (one.verdict != Verdict::NotRun && found != expected).then(|| Unfounded {
                says: says.clone(),
                claim: claim.clone(),
                expected: expected.clone(),
                found,
            })
        });
        differ.collect()
    }
}
