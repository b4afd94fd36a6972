//! Sweeps: claims judged again over the range of values that the paper leaves open.
//!
//! A value that a paper does not state is assumed, with a range. A sweep runs some of the paper's cells at every point
//! of a grid over such ranges. The same checks judge each claim about these cells at every point; the verdict says at
//! how many points it holds.

use serde::Deserialize;

use super::PaperError;
use super::check::Check;
use super::claim::Claim;
use super::names;
use super::quantity::EvalContext;
use super::quick::Quick;
use super::verdict::Verdict;
use fairwire_scenario::choices::{choices, count};
use fairwire_scenario::{Adjust, Cell, ScenarioFile, word};

/// A sweep as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sweep {
    /// A description of its runs, in words that follow "Over the ranges of the assumed values".
    about: String,
    /// The cells that run at each point.
    cells: Vec<String>,
    /// The settings of all of them, in the form of `--set`.
    #[serde(default)]
    set: Vec<String>,
    /// The description and settings that replace these in a quick run.
    quick: Option<Quick>,
    /// The number of seeds at each point.
    seeds: u32,
    axes: Vec<Axis>,
}

/// One value that the paper leaves open.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Axis {
    /// Its name, in words.
    name: String,
    /// Its dotted path in the scenario.
    key: String,
    values: Vec<String>,
}

/// The greatest number of points. More are taken for a mistake.
const MOST_POINTS: usize = 1_000;

/// A point of the grid: the index of the value on each axis.
type Point = Vec<usize>;

impl Sweep {
    /// Returns what is wrong with it, if anything.
    pub(super) fn validate(&self) -> Option<String> {
        let points = count(self.axes.iter().map(|axis| axis.values.len()));
        if points == 0 || self.axes.is_empty() || points > MOST_POINTS {
            return Some(format!(
                "a sweep needs axes with values, and has at most {MOST_POINTS} points"
            ));
        }
        (self.seeds == 0).then(|| "a sweep needs at least one seed".to_owned())
    }

    /// Returns the sweep of a quick run if `is_quick` and it has one, or else itself.
    pub(super) fn quick_form(mut self, is_quick: bool) -> Self {
        if let Some(quick) = self.quick.take().filter(|_| is_quick) {
            self.about = quick.says;
            self.set = quick.set;
        }
        self
    }

    fn points(&self) -> Vec<Point> {
        let counts = self.axes.iter().map(|axis| axis.values.len());
        choices(counts.collect()).collect()
    }

    /// Finds its cells in `scenarios`.
    pub(super) fn resolve(mut self, scenarios: &[ScenarioFile]) -> Result<Self, String> {
        let known: Vec<&str> = scenarios.iter().flat_map(ScenarioFile::names).collect();
        for name in &mut self.cells {
            let found = names::cell(name, known.iter().copied());
            *name = found
                .map_err(|message| format!("sweep: {message}"))?
                .to_owned();
        }
        Ok(self)
    }

    /// Returns the swept cells of `file` at every point.
    pub(super) fn cells(
        &self,
        file: &ScenarioFile,
        adjust: &Adjust,
    ) -> Result<Vec<Cell>, PaperError> {
        let mut all = Vec::new();
        let wanted = self
            .cells
            .iter()
            .filter(|cell| file.names().contains(&cell.as_str()));
        for base in wanted {
            for point in self.points() {
                let values = self.axes.iter().zip(&point);
                let set =
                    values.map(|(axis, value)| format!("{}={}", axis.key, axis.values[*value]));
                let here = Adjust {
                    set: adjust
                        .set
                        .iter()
                        .chain(&self.set)
                        .cloned()
                        .chain(set)
                        .collect(),
                    only: vec![base.clone()],
                    seeds: Some(self.seeds),
                    ..adjust.clone()
                };
                for mut cell in file.cells(&here)? {
                    cell.name = self.at(base, &point);
                    all.push(cell);
                }
            }
        }
        Ok(all)
    }

    /// Returns the name of `cell` at `point`: `reno-512-at-router-5Mbit-outage-50ms`.
    fn at(&self, cell: &str, point: &Point) -> String {
        let mut name = format!("{cell}-at");
        for (axis, value) in self.axes.iter().zip(point) {
            for part in [&axis.name, &axis.values[*value]] {
                name.push('-');
                name += &word(part);
            }
        }
        name
    }

    /// Returns the verdict on `claim` as the sweep limits it, and a sentence on where the claim holds.
    pub(super) fn judge(
        &self,
        claim: &Claim,
        verdict: Verdict,
        context: &EvalContext<'_>,
    ) -> (Verdict, Option<String>) {
        if matches!(verdict, Verdict::NotRun | Verdict::NotTestable) {
            return (verdict, None);
        }
        let judged: Vec<(Point, bool)> = self
            .points()
            .into_iter()
            .filter_map(|point| Some((point.clone(), self.holds(claim, &point, context)?)))
            .collect();
        if judged.is_empty() {
            return (verdict, None);
        }
        let (held, of) = share(judged.iter());
        let axes = self.axes.iter().enumerate().map(|(number, axis)| {
            let values = axis.values.iter().enumerate().map(|(value, word)| {
                let there = judged.iter().filter(|(point, _)| point[number] == value);
                let (held, of) = share(there);
                format!("{word} {held} of {of}")
            });
            format!("{}: {}", axis.name, values.collect::<Vec<_>>().join(", "))
        });
        let axes: Vec<String> = axes.collect();
        // If it holds everywhere or nowhere, the axes do not matter.
        let along = if held == 0 || held == of {
            String::new()
        } else {
            format!(" ({})", axes.join("; "))
        };
        let sentence = format!(
            "Over the ranges of the assumed values{}, the claim holds at {held} of {of} points{along}.",
            self.about
        );
        let open = format!("at {held} of {of} points of the ranges that the paper leaves open");
        let verdict = match verdict {
            Verdict::Reproduced if held < of => Verdict::Condition(open),
            Verdict::Condition(other) if held < of => {
                Verdict::Condition(format!("{other}; {open}"))
            }
            other => other,
        };
        (verdict, Some(sentence))
    }

    /// Returns whether `claim` holds at `point`, judged by the quantities whose cells are all swept.
    ///
    /// `None` if there are none, or if a run is missing.
    fn holds(&self, claim: &Claim, point: &Point, context: &EvalContext<'_>) -> Option<bool> {
        let moved = |cell: &str| {
            let swept = self.cells.iter().any(|known| known == cell);
            swept.then(|| self.at(cell, point))
        };
        let checks: Vec<Check> = claim
            .checks
            .iter()
            .filter_map(|check| check.moved(&moved))
            .collect();
        if checks.is_empty() {
            return None;
        }
        let mut all = true;
        for check in &checks {
            for window in check.windows(&claim.windows) {
                all &= check.check(context, window).holds?;
            }
        }
        Some(all)
    }
}

/// Returns the number of points where it holds, and the number of points.
fn share<'a>(judged: impl Iterator<Item = &'a (Point, bool)>) -> (usize, usize) {
    judged.fold((0, 0), |(held, of), (_, holds)| {
        (held + usize::from(*holds), of + 1)
    })
}

#[cfg(test)]
mod tests {
    use crate::synthetic::{extended_paper, results};
    use crate::{Paper, Verdict};
    use fairwire_scenario::Adjust;
    use fairwire_units::Duration;

    const SWEEP: &str = r#"
[sweep]
about = " (short)"
seeds = 1
cells = ["a"]
set = ["run.duration=12 s"]
[[sweep.axes]]
name = "link"
key = "topology.links.one.rate"
values = ["1 Mbit/s", "2 Mbit/s"]
[[sweep.axes]]
name = "delay"
key = "topology.links.one.delay"
values = ["1 ms", "2 ms", "3 ms"]
"#;

    /// Both cells must be within 5 % of what is expected; only `a` is swept.
    const CLAIM: &str = r#"
[[claims]]
id = "C1"
place = "Table 1"
says = "a and b have 100"
windows = ["whole"]
because = { holds = "they do.", fails = "they do not." }
[[claims.checks]]
kind = "relative"
cells = ["b", "a"]
flow = "dccp"
metric = "throughput"
unit = "kbit/s"
expected = [200, 100]
tolerance = 0.05
why = "five per cent"
"#;

    fn paper(adjust: &Adjust) -> Paper {
        extended_paper(CLAIM, SWEEP, adjust).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Axes of two and three values give six points, each with its own settings, one seed and a name.
    #[test]
    fn the_grid_is_run() {
        let paper = paper(&Adjust::default());
        let names: Vec<&str> = paper.cells.iter().map(|cell| cell.name.as_str()).collect();
        assert_eq!(names[..3], ["a", "b", "a-at-link-1Mbit-delay-1ms"]);
        assert_eq!((names.len(), names[7]), (8, "a-at-link-2Mbit-delay-3ms"));
        let last = &paper.cells[7].scenario;
        assert_eq!(last.run.duration, Duration::from_secs(12));
        assert_eq!((last.run.seeds, last.run.max_seeds), (1, 1));
        let link = last.topology.link("one").expect("a link");
        assert_eq!(link.mean_rate().bits_per_s(), 2_000_000);
        assert_eq!(link.delay, Duration::from_millis(3));
        assert_eq!(
            paper.cells[0].scenario.run.duration,
            Duration::from_secs(20)
        );
    }

    fn judged(at: [f64; 6], a: f64) -> (Verdict, String) {
        let paper = paper(&Adjust::default());
        let pairs = at.map(|value| [(value, value)]);
        let mut cells: Vec<(&str, &[(f64, f64)])> = Vec::new();
        let whole = [[(a, a)], [(200.0, 200.0)]];
        cells.push(("a", &whole[0]));
        cells.push(("b", &whole[1]));
        for (cell, value) in paper.cells[2..].iter().zip(&pairs) {
            cells.push((&cell.name, value));
        }
        let judged = paper.judge(&results(&paper, &cells)).remove(0);
        (judged.verdict, judged.swept.expect("a sentence"))
    }

    /// A claim that holds at all points is reproduced; one that holds at some is reproduced under a condition, with the
    /// counts along each axis. One that fails at the assumed values is not reproduced, however many points hold.
    #[test]
    fn the_share_is_told() {
        let (verdict, swept) = judged([100.0; 6], 100.0);
        assert_eq!(verdict, Verdict::Reproduced);
        assert_eq!(
            swept,
            "Over the ranges of the assumed values (short), the claim holds at 6 of 6 points."
        );
        let some = [100.0, 100.0, 90.0, 104.0, 106.0, 90.0];
        let (verdict, swept) = judged(some, 100.0);
        let condition = "at 3 of 6 points of the ranges that the paper leaves open";
        assert_eq!(verdict, Verdict::Condition(condition.into()));
        assert!(swept.contains("link: 1 Mbit/s 2 of 3, 2 Mbit/s 1 of 3; delay: 1 ms 2 of 2, 2 ms 1 of 2, 3 ms 0 of 2"), "{swept}");
        let (verdict, swept) = judged([100.0; 6], 50.0);
        assert_eq!(verdict, Verdict::NotReproduced);
        assert!(swept.contains("at 6 of 6 points"), "{swept}");
    }

    /// A swept cell that does not exist is refused.
    #[test]
    fn a_misspelt_cell_is_refused() {
        let error = extended_paper(
            "claims = []",
            &SWEEP.replace("[\"a\"]", "[\"aa\"]"),
            &Adjust::default(),
        );
        let error = error.expect_err("is refused").to_string();
        assert!(error.contains("sweep: there is no cell 'aa'"), "{error}");
    }

    /// A quick form changes the settings of the plain cells and the report says so. A full run is not affected.
    #[test]
    fn a_quick_form_says_so() {
        let more = "[quick]\nsays = \"Only 11 s.\"\nset = [\"run.duration=11 s\"]\n";
        for (quick, seconds) in [(true, 11), (false, 20)] {
            let adjust = Adjust {
                quick,
                ..Adjust::default()
            };
            let paper =
                extended_paper(CLAIM, more, &adjust).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(
                paper.cells[0].scenario.run.duration,
                Duration::from_secs(seconds)
            );
            let report = paper.report(&results(&paper, &[]));
            assert_eq!(report.how.contains("Only 11 s."), quick);
        }
    }

    /// A sweep without values and a sweep of too many points are refused.
    #[test]
    fn impossible_sweeps_are_refused() {
        let values = r#"values = ["1 ms", "2 ms", "3 ms"]"#;
        let many: Vec<String> = (1..600).map(|ms| format!("\"{ms} ms\"")).collect();
        for with in [
            "values = []".to_owned(),
            format!("values = [{}]", many.join(",")),
        ] {
            let more = SWEEP.replace(values, &with);
            let error = extended_paper(CLAIM, &more, &Adjust::default()).expect_err("refused");
            assert!(error.to_string().contains("at most 1000 points"), "{error}");
        }
    }
}
