//! Judging: what the results say about each claim.

use std::collections::BTreeMap;

use super::Paper;
use super::check::Checked;
use super::claim::Claim;
use super::quantity::{Lens, Measured};
use super::verdict::Verdict;
use crate::results::Results;
use crate::scenario::{Provenance, Source};

/// A claim with its verdict and what led to it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The claim's id.
    pub id: String,
    /// What the paper says, in our words.
    pub says: String,
    /// Where in the paper.
    pub place: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why.
    pub because: String,
    /// Would it be another if checks that chance decides came out the other way?
    pub close: bool,
    /// Every check, by window.
    pub evidence: Vec<Checked>,
    /// What the paper's own numbers must fulfil.
    pub printed: Vec<Checked>,
    /// Runs that show what it depends on.
    pub isolated: Vec<Isolated>,
}

/// A run that shows what a result depends on.
#[derive(Clone, Debug)]
pub struct Isolated {
    /// What it shows.
    pub says: String,
    /// Its figures.
    pub measured: Vec<Measured>,
}

impl Paper {
    /// The verdict on every claim, in the order of the file.
    pub fn judge(&self, results: &Results) -> Vec<Judged> {
        let lens = Lens {
            results,
            moments: &self.moments,
        };
        self.claims
            .iter()
            .map(|claim| self.judge_one(claim, &lens))
            .collect()
    }

    fn judge_one(&self, claim: &Claim, lens: &Lens<'_>) -> Judged {
        let mut evidence = Vec::new();
        for check in &claim.checks {
            if check.needs_window() {
                let windows = claim.windows.iter();
                evidence.extend(windows.map(|window| check.check(lens, Some(window))));
            } else {
                evidence.push(check.check(lens, None));
            }
        }
        let must = claim
            .contradiction
            .iter()
            .flat_map(|contradiction| &contradiction.must);
        let printed: Vec<Checked> = must.map(|check| check.check(lens, None)).collect();
        let verdict = self.verdict(claim, &evidence, &printed, lens.results);
        let close = self.is_close(claim, &evidence, &printed, lens.results, &verdict.0);
        let (verdict, because) = match &self.sweep {
            Some(sweep) => sweep.judge(claim, verdict, lens),
            None => verdict,
        };
        let isolated = claim.isolated_by.iter().map(|isolation| Isolated {
            says: isolation.says.clone(),
            measured: isolation
                .quantities
                .iter()
                .map(|quantity| quantity.measure(lens, "", isolation.unit))
                .collect(),
        });
        Judged {
            id: claim.id.clone(),
            says: claim.says.clone(),
            place: claim.place.clone(),
            verdict,
            because,
            close,
            evidence,
            printed,
            isolated: isolated.collect(),
        }
    }

    fn verdict(
        &self,
        claim: &Claim,
        evidence: &[Checked],
        printed: &[Checked],
        results: &Results,
    ) -> (Verdict, String) {
        if let Some(reason) = &claim.not_testable {
            return (Verdict::NotTestable, reason.clone());
        }
        if let Some(contradiction) = &claim.contradiction {
            let proven =
                printed.is_empty() || printed.iter().any(|check| check.holds == Some(false));
            if proven {
                return (Verdict::Contradiction, contradiction.says.clone());
            }
            if printed.iter().any(|check| check.holds.is_none()) {
                let reason = "a cell that would show the contradiction was not run to its end";
                return (Verdict::NotRun, reason.to_owned());
            }
        }
        if let Some(cell) = claim
            .cells()
            .into_iter()
            .find(|cell| results.cell(cell).is_none())
        {
            let reason = format!("the cell '{cell}' was not run to its end");
            return (Verdict::NotRun, reason);
        }
        let because = &claim.because;
        let held = |check: &Checked| check.holds == Some(true);
        let fixed = evidence
            .iter()
            .filter(|check| check.window.is_none())
            .all(held);
        let (yes, no): (Vec<&str>, Vec<&str>) =
            claim
                .windows
                .iter()
                .map(String::as_str)
                .partition(|window| {
                    let mut there = evidence
                        .iter()
                        .filter(|check| check.window.as_deref() == Some(window));
                    there.all(held)
                });
        if !fixed || (yes.is_empty() && !no.is_empty()) {
            return (Verdict::NotReproduced, because.fails.clone());
        }
        if self.is_fitted(&claim.cells()) {
            return (Verdict::Fitted, because.holds.clone());
        }
        let mut conditions: Vec<String> = claim.condition.iter().cloned().collect();
        if !no.is_empty() {
            let headings: Vec<&str> = yes
                .iter()
                .map(|window| self.window_heading(window))
                .collect();
            conditions.insert(0, format!("measured over: {}", headings.join(", ")));
        }
        let words = if no.is_empty() {
            &because.holds
        } else {
            &because.partly
        };
        if conditions.is_empty() {
            (Verdict::Reproduced, words.clone())
        } else {
            (Verdict::Condition(conditions.join("; ")), words.clone())
        }
    }

    /// Is the verdict, at the stated values, another if everything that chance decides holds, or fails?
    fn is_close(
        &self,
        claim: &Claim,
        evidence: &[Checked],
        printed: &[Checked],
        results: &Results,
        verdict: &Verdict,
    ) -> bool {
        let turned = |checks: &[Checked], to: bool| -> Vec<Checked> {
            let turned = checks.iter().cloned().map(|check| Checked {
                holds: if check.close { Some(to) } else { check.holds },
                ..check
            });
            turned.collect()
        };
        [true, false].into_iter().any(|to| {
            let (evidence, printed) = (turned(evidence, to), turned(printed, to));
            self.verdict(claim, &evidence, &printed, results).0 != *verdict
        })
    }

    /// Does any value of these cells come from the results that it should produce?
    fn is_fitted(&self, cells: &[&str]) -> bool {
        let fitted = |provenance: &BTreeMap<String, Provenance>| {
            provenance
                .values()
                .any(|known| known.source == Source::Fitted)
        };
        let mut judged = self
            .cells
            .iter()
            .filter(|cell| cells.contains(&cell.name.as_str()));
        judged.any(|cell| fitted(&cell.provenance))
    }
}

#[cfg(test)]
mod tests;
