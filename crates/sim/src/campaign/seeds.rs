//! Which seeds the cells of a campaign run.

use std::fmt;

use fairwire_measure::{Moments, Repetitions, counted};
use fairwire_scenario::{Cell, Scenario};

use super::PlanError;
use crate::expected::expected;
use crate::results::{CellResult, Metric, Subject};

/// Whether start times are moved at random, and the seed.
pub(super) type Job = (bool, u64);

/// The unperturbed run. Nothing in it is random, so it has the same seed whatever the seeds of the others are.
const UNPERTURBED: Job = (false, 1);

/// Which seeds run.
#[derive(Clone, Debug, PartialEq)]
pub enum Seeds {
    /// Those of the scenario: from `run.seed` on, `run.seeds` to `run.max_seeds` of them.
    AsStated,
    /// These.
    These(Vec<u64>),
    /// As many as an interval needs, from the scenario's first seed on.
    Until(Precision),
}

/// A wanted interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Precision {
    /// The metric.
    pub metric: Metric,
    /// The flow or link; all flows in their own direction if `None`.
    pub of: Option<String>,
    /// The window; each of the scenario's if `None`.
    pub window: Option<String>,
    /// The half width of the 95 % interval, as a share of the mean.
    pub within: f64,
    /// The least number of seeds.
    pub least: u64,
    /// The greatest number of seeds.
    pub most: u64,
}

impl Default for Precision {
    /// The throughput of each flow in each window within 5 %, with 5 to 1,000 seeds.
    fn default() -> Self {
        Self {
            metric: Metric::Throughput,
            of: None,
            window: None,
            within: 0.05,
            least: 5,
            most: 1_000,
        }
    }
}

impl Seeds {
    /// Returns which seeds run in these cells, in words.
    pub(super) fn of<'a>(&self, cells: impl Iterator<Item = &'a Cell>) -> String {
        let runs = cells.map(|cell| &cell.scenario.run);
        let mut stated = runs.map(|run| (run.seed, run.seeds, run.max_seeds));
        let first = stated.next();
        match first {
            Some((seed, least, most))
                if *self == Self::AsStated && stated.all(|it| Some(it) == first) =>
            {
                if least == most {
                    let seeds = (0..u64::from(least)).map(|it| seed.saturating_add(it));
                    return Self::These(seeds.collect()).to_string();
                }
                format!("at least {least}, at most {most}, from {seed} on, depending on the spread")
            }
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Seeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsStated => f.write_str("those of each cell's scenario"),
            Self::These(seeds) => {
                let follow = |pair: &[u64]| pair[0].checked_add(1) == Some(pair[1]);
                match seeds.as_slice() {
                    [first, .., last] if seeds.windows(2).all(follow) => {
                        write!(f, "{first} to {last}")
                    }
                    seeds => {
                        let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
                        f.write_str(&seeds.join(", "))
                    }
                }
            }
            Self::Until(precision) => precision.fmt(f),
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at least {}, at most {}, as many as it takes until the 95 % interval of the {} of {}",
            self.least,
            self.most,
            self.metric.name(),
            self.of.as_deref().unwrap_or("every flow"),
        )?;
        if let Some(window) = &self.window {
            write!(f, " in {window}")?;
        }
        write!(f, " is within {} % of its mean", percent(self.within))
    }
}

/// Returns a share in percent, without the digits that only the arithmetic of floating point adds.
fn percent(share: f64) -> f64 {
    let percent = 100.0 * share;
    format!("{percent:.12e}").parse().unwrap_or(percent)
}

impl Seeds {
    /// Checks that these cells can have these seeds, and that their runs have what an interval is wanted of.
    ///
    /// # Errors
    /// [`PlanError::Seeds`] or [`PlanError::NothingToJudge`] says what is wrong.
    pub fn check(&self, cells: &[Cell]) -> Result<(), PlanError> {
        let Self::Until(precision) = self else {
            // A scenario checks its own, and a list has what it has.
            return Ok(());
        };
        let (least, most) = (precision.least, precision.most);
        let wrong = |text: String| Err(PlanError::Seeds(text));
        if !(precision.within > 0.0 && precision.within.is_finite()) {
            return wrong("the wanted half width is a share of the mean above 0".to_owned());
        }
        if least < 2 {
            return wrong("an interval needs at least 2 seeds".to_owned());
        }
        if most < least {
            return wrong(format!(
                "at most {} were asked for, and an interval begins with {least}: write at least {least}",
                counted(most, "seed")
            ));
        }
        let first = |cell: &Cell| cell.scenario.run.seed;
        match cells
            .iter()
            .map(first)
            .find(|it| it.checked_add(most).is_none())
        {
            Some(seed) => wrong(format!(
                "seed {seed} leaves no room for {}: write at most {}",
                counted(most, "seed"),
                u64::MAX - most
            )),
            None => cells.iter().try_for_each(|cell| precision.check(cell)),
        }
    }

    /// Returns the runs that `cell` has in any case.
    pub(super) fn first(&self, cell: &Cell) -> Vec<Job> {
        let scenario = &cell.scenario;
        let run = &scenario.run;
        let (first, stated) = (run.seed, u64::from(run.seeds));
        let mut seeds: Vec<u64> = match self {
            Self::AsStated => (first..first + stated).collect(),
            Self::These(seeds) => seeds.clone(),
            Self::Until(precision) => (first..first + precision.least).collect(),
        };
        if !scenario.is_random() {
            // Without random input, all seeds give the same run.
            seeds.truncate(1);
        }
        let has_both = cell.has_unperturbed_run() && !seeds.is_empty();
        let seeds = seeds.into_iter().map(|seed| (true, seed));
        seeds.chain(has_both.then_some(UNPERTURBED)).collect()
    }

    /// Returns how many seeds may be needed beyond `seeds`.
    pub(super) fn at_most_more(&self, scenario: &Scenario, seeds: u64) -> u64 {
        let run = &scenario.run;
        let most = match self {
            _ if !scenario.is_random() => 0,
            // The rule has two stages: how many, by the spread of the least number of seeds.
            Self::AsStated if seeds == u64::from(run.seeds) => u64::from(run.max_seeds),
            Self::AsStated | Self::These(_) => 0,
            Self::Until(precision) => precision.most,
        };
        most.saturating_sub(seeds)
    }

    /// Returns the seeds that the spread of the first ones requires in addition, where more may be needed
    /// ([`at_most_more`](Self::at_most_more)).
    ///
    /// # Errors
    /// If the wanted interval is of something that the runs do not have.
    pub(super) fn more(&self, cell: &CellResult, seeds: u64) -> Result<Vec<u64>, PlanError> {
        let run = &cell.scenario.run;
        let needed = match self {
            Self::AsStated => seeds_needed(cell),
            Self::These(_) => seeds,
            Self::Until(precision) => precision.needed(cell, seeds)?,
        };
        Ok((seeds..needed).map(|number| run.seed + number).collect())
    }

    /// Returns what a reader should know about the number of a cell's seeds.
    pub(super) fn note(&self, cell: &CellResult) -> Option<String> {
        match self {
            Self::AsStated | Self::These(_) => None,
            Self::Until(precision) => precision.note(cell),
        }
    }
}

/// Returns the total number of seeds after which the 95 % interval of each flow's throughput should be within 5 % of
/// its mean in each window.
///
/// This is the rule of the wifi-handoff paper. The result lies between the scenario's bounds.
fn seeds_needed(cell: &CellResult) -> u64 {
    let run = &cell.scenario.run;
    let rule = Repetitions::five_percent(u64::from(run.seeds), u64::from(run.max_seeds));
    let mut driven = cell.keys();
    driven.retain(|(subject, _, metric)| *metric == Metric::Throughput && is_sent(subject));
    let needed = driven.iter().map(|(subject, window, metric)| {
        let samples = cell.samples(subject, window, *metric);
        rule.needed(&samples.into_iter().collect::<Moments>())
    });
    needed.max().unwrap_or(u64::from(run.seeds))
}

/// Returns whether `subject` is the direction in which a flow sends data. The other one carries its acknowledgements,
/// which follow the data.
fn is_sent(subject: &Subject) -> bool {
    matches!(subject, Subject::Flow(name) if !name.contains('/'))
}

/// The widest interval of a cell.
struct Widest {
    /// Its half width as a share of the mean.
    share: f64,
    subject: Subject,
    window: String,
}

impl Precision {
    /// Returns how many seeds the interval needs, judged by the spread of those that are there: as many as there are if
    /// it is narrow enough, and at most twice as many, because the spread of a few seeds is not well known.
    fn needed(&self, cell: &CellResult, seeds: u64) -> Result<u64, PlanError> {
        let widest = self.widest(cell)?;
        if widest.share <= self.within {
            return Ok(seeds);
        }
        // The half width falls with the square root of the number of seeds.
        let ratio = widest.share / self.within;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float-to-integer cast saturates, and the number is clamped"
        )]
        let needed = (seeds as f64 * ratio * ratio).ceil() as u64;
        let needed = needed.max(seeds + 1);
        Ok(needed.min(self.most).min(seeds * 2).max(seeds))
    }

    /// Returns a note on a cell whose interval is wider than wanted after the greatest number of seeds.
    fn note(&self, cell: &CellResult) -> Option<String> {
        let seeds = cell.runs.len() as u64;
        let widest = self.widest(cell).ok()?;
        if seeds < self.most || widest.share <= self.within {
            return None;
        }
        let width = if widest.share.is_finite() {
            format!(
                "{:.1} % of its mean, and not {} %",
                100.0 * widest.share,
                percent(self.within)
            )
        } else {
            "no share of its mean, which is 0".to_owned()
        };
        Some(format!(
            "{}: after {} the half width of the {} of {} in {} is {width}",
            cell.name,
            counted(seeds, "seed"),
            self.metric.name(),
            widest.subject,
            widest.window
        ))
    }

    /// Checks that the runs of a cell can have what the interval is of.
    fn check(&self, cell: &Cell) -> Result<(), PlanError> {
        let Ok(there) = expected(&cell.scenario, self.metric) else {
            // Its first run says what is wrong with the network.
            return Ok(());
        };
        if self.judged(&there).is_empty() {
            return Err(self.nothing(&cell.name, &there));
        }
        Ok(())
    }

    /// Returns what the interval is of, among what has the metric.
    fn judged<'a>(&self, there: &'a [(Subject, String)]) -> Vec<&'a (Subject, String)> {
        let is_in = |window: &String| self.window.as_ref().is_none_or(|wanted| wanted == window);
        let mut judged: Vec<_> = there.iter().filter(|(_, window)| is_in(window)).collect();
        // What the flows send, unless only all flows together have the metric.
        let is_of_flows = judged.iter().any(|(subject, _)| is_sent(subject));
        judged.retain(|(subject, _)| match &self.of {
            Some(pattern) => subject.is_named(pattern),
            None if is_of_flows => is_sent(subject),
            None => *subject == Subject::All,
        });
        judged
    }

    /// Returns the widest of the intervals.
    fn widest(&self, cell: &CellResult) -> Result<Widest, PlanError> {
        let keys = cell.keys().into_iter();
        let there = keys.filter(|(.., metric)| *metric == self.metric);
        let there: Vec<_> = there
            .map(|(subject, window, _)| (subject, window))
            .collect();
        let judged = self.judged(&there).into_iter();
        let widths = judged.map(|(subject, window)| {
            let estimate = cell.estimate(subject, window, self.metric);
            let share = estimate.map_or(0.0, |estimate| {
                // No number of seeds reaches a share of zero.
                let beyond = estimate.interval().map_or(0.0, |_| f64::INFINITY);
                estimate.relative_half_width().unwrap_or(beyond)
            });
            Widest {
                share,
                subject: subject.clone(),
                window: window.clone(),
            }
        });
        let widest = widths.max_by(|one, other| one.share.total_cmp(&other.share));
        widest.ok_or_else(|| self.nothing(&cell.name, &there))
    }

    /// Returns the error of an interval of something that a cell does not have. `there` is what has the metric.
    fn nothing(&self, cell: &str, there: &[(Subject, String)]) -> PlanError {
        // The ways back, unless one is asked for, are many and seldom meant.
        let wants_back = self.of.as_ref().is_some_and(|of| of.contains('/'));
        let named = there
            .iter()
            .filter(|(subject, _)| wants_back || !subject.name().ends_with("/back"));
        let mut there: Vec<String> = named
            .map(|(subject, window)| format!("{subject} in {window}"))
            .collect();
        if there.is_empty() {
            there.push("nothing".to_owned());
        }
        PlanError::NothingToJudge {
            cell: cell.to_owned(),
            wanted: format!(
                "the {} of {} in {}",
                self.metric.name(),
                self.of.as_deref().unwrap_or("any flow"),
                self.window.as_deref().unwrap_or("any window")
            ),
            there: there.join(", "),
        }
    }
}
