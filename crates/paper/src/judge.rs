//! Judging: the verdict on each claim.

use std::collections::BTreeMap;

use super::Paper;
use super::check::{Check, Checked};
use super::claim::{Claim, Control};
use super::quantity::{EvalContext, Measured};
use super::verdict::Verdict;
use fairwire_scenario::{Provenance, Source};
use fairwire_sim::results::Results;

/// A claim with its verdict and the checks that led to it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The claim's id.
    pub id: String,
    /// What the paper says, in our words.
    pub says: String,
    /// Its place in the paper.
    pub place: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The reason for the verdict.
    pub because: String,
    /// The number of points of the sweep where it holds, in a sentence. `None` without a sweep.
    pub swept: Option<String>,
    /// Whether other seeds could change the verdict.
    pub close: bool,
    /// The outcome of every check, by window.
    pub evidence: Vec<Checked>,
    /// The checks that the paper's own numbers should pass.
    pub printed: Vec<Checked>,
    /// The checks whose failure limits the claim.
    pub beyond: Vec<Checked>,
    /// The outcomes of its controls: the same checks in other cells.
    pub controls: Vec<Controlled>,
    /// Its isolating runs.
    pub isolated: Vec<Isolated>,
}

/// The checks of a claim in other cells, where they should fail.
#[derive(Clone, Debug, PartialEq)]
pub struct Controlled {
    /// How these cells differ.
    pub says: String,
    /// The number of checks that hold there; a check counts once for each window.
    pub held: usize,
    /// The number of checks of these cells.
    pub of: usize,
    /// The number of all checks of the claim.
    of_claim: usize,
    /// Whether everything that holds for the claim holds there too. Then the checks do not tell the two
    /// apart.
    pub passes: bool,
}

/// An isolating run: it shows what a result depends on.
#[derive(Clone, Debug)]
pub struct Isolated {
    /// What it shows.
    pub says: String,
    /// Its values.
    pub measured: Vec<Measured>,
}

impl Paper {
    /// Returns the verdict on every claim, in the order of the file.
    pub fn judge(&self, results: &Results) -> Vec<Judged> {
        let context = EvalContext {
            results,
            moments: &self.moments,
        };
        self.claims
            .iter()
            .map(|claim| self.judge_one(claim, &context))
            .collect()
    }

    fn judge_one(&self, claim: &Claim, context: &EvalContext<'_>) -> Judged {
        let evidence = checked(&claim.checks, &claim.windows, context);
        let beyond = claim.beyond.iter();
        let beyond: Vec<Checked> = beyond.map(|one| one.check.check(context, None)).collect();
        let controls: Vec<Controlled> = (claim.controls.iter())
            .filter_map(|control| controlled(control, claim, &evidence, context))
            .collect();
        let must = claim
            .contradiction
            .iter()
            .flat_map(|contradiction| &contradiction.must);
        let printed: Vec<Checked> = must.map(|check| check.check(context, None)).collect();
        let all = Evidence {
            checks: evidence,
            beyond,
            printed,
        };
        let verdict = self.verdict(claim, &all, context.results);
        let close = self.is_close(claim, &all, context.results, &verdict.0);
        let (verdict, because) = verdict;
        let (verdict, swept) = match &self.sweep {
            Some(sweep) => sweep.judge(claim, verdict, context),
            None => (verdict, None),
        };
        let verdict = specific(verdict, &controls);
        let isolated = claim.isolated_by.iter().map(|isolation| Isolated {
            says: isolation.says.clone(),
            measured: isolation
                .quantities
                .iter()
                .map(|quantity| quantity.measure(context, "", isolation.unit))
                .collect(),
        });
        Judged {
            id: claim.id.clone(),
            says: claim.says.clone(),
            place: claim.place.clone(),
            verdict,
            because,
            swept,
            close,
            evidence: all.checks,
            printed: all.printed,
            beyond: all.beyond,
            controls,
            isolated: isolated.collect(),
        }
    }

    fn verdict(&self, claim: &Claim, all: &Evidence, results: &Results) -> (Verdict, String) {
        let Evidence {
            checks: evidence,
            beyond,
            printed,
        } = all;
        if let Some(reason) = &claim.not_testable {
            return (Verdict::NotTestable, reason.clone());
        }
        if let Some(verdict) = contradiction(claim, evidence, printed) {
            return verdict;
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
        let beyond = beyond.iter().zip(&claim.beyond);
        let failed = beyond.filter(|(check, _)| check.holds != Some(true));
        conditions.extend(failed.map(|(_, one)| one.condition.clone()));
        if conditions.is_empty() {
            (Verdict::Reproduced, words.clone())
        } else {
            (Verdict::Condition(conditions.join("; ")), words.clone())
        }
    }

    /// Returns whether the verdict, without the sweep, would change if all close checks held or all of them failed.
    fn is_close(
        &self,
        claim: &Claim,
        all: &Evidence,
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
            let turned = Evidence {
                checks: turned(&all.checks, to),
                beyond: turned(&all.beyond, to),
                printed: turned(&all.printed, to),
            };
            self.verdict(claim, &turned, results).0 != *verdict
        })
    }

    /// Returns whether any value of these cells was fitted to the results that it should produce.
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

impl Controlled {
    /// Returns the outcome as a sentence.
    pub fn sentence(&self) -> String {
        let Self { says, held, of, .. } = self;
        let part = if *of < self.of_claim {
            " of these cells"
        } else {
            ""
        };
        let share = match (held, of) {
            (0, 1) => format!("the check{part} does not hold"),
            (0, _) => format!("none of {of} checks{part} hold"),
            (1, 1) => format!("the check{part} holds"),
            (held, of) if held == of => format!("all {of} checks{part} hold"),
            (held, of) => format!("{held} of {of} checks{part} hold"),
        };
        let remark = if self.passes {
            " Every check that holds for the claim holds here, too, so these checks do not tell the two apart."
        } else {
            ""
        };
        format!("With {says}, {share}.{remark}")
    }
}

/// Returns `verdict`, unless it says that the claim holds and a control passes: then the checks do not show what the
/// claim is about.
fn specific(verdict: Verdict, controls: &[Controlled]) -> Verdict {
    let holds = matches!(
        verdict,
        Verdict::Reproduced | Verdict::Condition(_) | Verdict::Fitted
    );
    if holds && controls.iter().any(|control| control.passes) {
        Verdict::Unspecific
    } else {
        verdict
    }
}

/// The outcomes that decide about a claim.
struct Evidence {
    checks: Vec<Checked>,
    beyond: Vec<Checked>,
    printed: Vec<Checked>,
}

/// Returns the outcomes of `checks`, each in all `windows` unless it has its own.
fn checked(checks: &[Check], windows: &[String], context: &EvalContext<'_>) -> Vec<Checked> {
    let mut all = Vec::new();
    for check in checks {
        let windows = check.windows(windows).into_iter();
        all.extend(windows.map(|window| check.check(context, window)));
    }
    all
}

/// Returns the outcomes of the checks of `claim` in the cells of `control`, compared with its own outcomes, `evidence`.
///
/// `None` if the control replaces no cell of the checks, or if a run is missing.
fn controlled(
    control: &Control,
    claim: &Claim,
    evidence: &[Checked],
    context: &EvalContext<'_>,
) -> Option<Controlled> {
    let (mut held, mut of) = (0, 0);
    let (mut is_held, mut told_apart) = (false, false);
    let mut rest = evidence;
    for check in &claim.checks {
        let ours;
        (ours, rest) = rest.split_at(check.windows(&claim.windows).len());
        let Some(there) = control.apply(check) else {
            continue;
        };
        for (ours, theirs) in ours.iter().zip(checked(&[there], &claim.windows, context)) {
            let holds = theirs.holds?;
            of += 1;
            held += usize::from(holds);
            if ours.holds == Some(true) {
                told_apart |= !holds;
                is_held = true;
            }
        }
    }
    (of > 0).then(|| Controlled {
        says: control.says.clone(),
        held,
        of,
        of_claim: evidence.len(),
        passes: is_held && !told_apart,
    })
}

/// Returns the verdict on a claim that contradicts the paper's own numbers, if they decide it.
fn contradiction(
    claim: &Claim,
    evidence: &[Checked],
    printed: &[Checked],
) -> Option<(Verdict, String)> {
    let contradiction = claim.contradiction.as_ref()?;
    if printed.is_empty() || printed.iter().any(|check| check.holds == Some(false)) {
        let because = contradicted(&contradiction.says, evidence);
        return Some((Verdict::Contradiction, because));
    }
    let reason = "a cell that is needed to show the contradiction was not run completely";
    let is_open = printed.iter().any(|check| check.holds.is_none());
    is_open.then(|| (Verdict::NotRun, reason.to_owned()))
}

/// Returns a contradiction in words, and how many of the claim's checks our runs pass.
fn contradicted(says: &str, evidence: &[Checked]) -> String {
    let end = if says.trim_end().ends_with('.') {
        ""
    } else {
        "."
    };
    let says = format!("{}{end}", says.trim_end());
    // An interrupted run proves nothing.
    let is_whole = evidence.iter().all(|check| check.holds.is_some());
    let of = if is_whole { evidence.len() } else { 0 };
    let held = evidence
        .iter()
        .filter(|check| check.holds == Some(true))
        .count();
    match (held, of) {
        (_, 0) => says,
        (held, of) if held == of => format!("{says} Our runs meet the checks."),
        (0, _) => format!("{says} Our runs do not meet the checks."),
        (held, of) => format!("{says} Our runs meet {held} of {of} checks."),
    }
}

#[cfg(test)]
mod tests;
