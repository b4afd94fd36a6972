//! Papers that were run together, and the count of their verdicts.

use fairwire_measure::counted;

use super::{Judged, Paper, Report, Verdict};

/// A paper with the report of its runs.
#[derive(Clone, Debug)]
pub struct Reported<'a> {
    /// The paper.
    pub paper: &'a Paper,
    /// The report of its runs.
    pub report: Report,
}

/// The number of verdicts of each kind, in the order of [`Verdict::KINDS`].
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tally(Vec<(Verdict, usize)>);

impl Tally {
    /// Counts `verdicts`.
    pub fn of<'a>(verdicts: impl IntoIterator<Item = &'a Judged>) -> Self {
        let mut counts: Vec<(Verdict, usize)> = Verdict::KINDS
            .into_iter()
            .map(|verdict| (verdict, 0))
            .collect();
        for judged in verdicts {
            let same = |one: &&mut (Verdict, usize)| one.0.words() == judged.verdict.words();
            if let Some((_, count)) = counts.iter_mut().find(same) {
                *count += 1;
            }
        }
        counts.retain(|(_, count)| *count > 0);
        Self(counts)
    }

    /// Returns the kinds that occur, with their numbers.
    pub fn counts(&self) -> &[(Verdict, usize)] {
        &self.0
    }

    /// Returns the number of all verdicts.
    pub fn total(&self) -> usize {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Returns the counts in words: `13 claims: 6 reproduced, 2 fitted`.
    pub fn sentence(&self) -> String {
        let counts: Vec<String> = self
            .0
            .iter()
            .map(|(verdict, count)| format!("{count} {}", verdict.counted()))
            .collect();
        let claims = counted(self.total() as u64, "claim");
        let colon = if counts.is_empty() { "" } else { ": " };
        format!("{claims}{colon}{}", counts.join(", "))
    }
}

impl Reported<'_> {
    /// Counts the verdicts of this paper.
    pub fn tally(&self) -> Tally {
        Tally::of(&self.report.verdicts)
    }

    /// Counts the verdicts of all papers.
    pub fn together(papers: &[Self]) -> Tally {
        Tally::of(papers.iter().flat_map(|one| &one.report.verdicts))
    }

    /// Returns whether anything is missing because the run was interrupted.
    pub fn is_partial(papers: &[Self]) -> bool {
        papers.iter().any(|one| one.report.partial)
    }
}
