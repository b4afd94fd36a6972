//! Papers that were run together, and one count of their verdicts.

use crate::paper::{Judged, Paper, Report, Verdict};

/// A paper beside what its runs say.
#[derive(Clone, Debug)]
pub struct Reported<'a> {
    /// The paper.
    pub paper: &'a Paper,
    /// What its runs say.
    pub report: Report,
}

/// How many verdicts of each kind there are, in the order in which the kinds are listed.
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

    /// The kinds that there are, with their numbers.
    pub fn counts(&self) -> &[(Verdict, usize)] {
        &self.0
    }

    /// All together.
    pub fn total(&self) -> usize {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// `13 claims: 6 reproduced, 2 fitted`.
    pub fn sentence(&self) -> String {
        let counts: Vec<String> = self
            .0
            .iter()
            .map(|(verdict, count)| format!("{count} {}", verdict.counted()))
            .collect();
        let claims = if self.total() == 1 { "claim" } else { "claims" };
        let colon = if counts.is_empty() { "" } else { ": " };
        format!("{} {claims}{colon}{}", self.total(), counts.join(", "))
    }
}

impl Reported<'_> {
    /// How many verdicts of each kind.
    pub fn tally(&self) -> Tally {
        Tally::of(&self.report.verdicts)
    }

    /// How many verdicts of each kind over all papers.
    pub fn together(papers: &[Self]) -> Tally {
        Tally::of(papers.iter().flat_map(|one| &one.report.verdicts))
    }

    /// Is anything missing, because the run was interrupted?
    pub fn is_partial(papers: &[Self]) -> bool {
        papers.iter().any(|one| one.report.partial)
    }
}
