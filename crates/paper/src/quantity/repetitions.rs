//! The number of runs that a quantity requires, by equation 15 of the paper wifi-handoff.

use fairwire_measure::{Confidence, Moments, Repetitions};

use super::{EvalContext, Measured, Quantity};
use crate::Unit;

/// The number of runs that the rule starts from, as in the paper.
const BASE: usize = 3;

/// The rule for 5 %, with an upper limit that means "never".
const RULE: Repetitions = Repetitions::five_percent(BASE as u64, 1_000_000);

impl Quantity {
    /// Returns the number of runs that the rule requires after three runs.
    ///
    /// It applies the rule to each group of three successive runs and returns the mean, with an interval if there are
    /// several groups.
    pub(crate) fn repetitions(
        &self,
        context: &EvalContext<'_>,
        window: &str,
        unit: Unit,
    ) -> Measured {
        let seeds = self.by_seed(context, window).unwrap_or_default();
        let values: Vec<f64> = seeds.values().copied().flatten().collect();
        let asked: Moments = values.chunks_exact(BASE).map(asked_by).collect();
        Measured {
            label: self.label(),
            unit,
            estimate: asked.estimate(Confidence::STUDENT_95),
            runs: seeds.len() / BASE,
            unperturbed: None,
        }
    }
}

fn asked_by(runs: &[f64]) -> f64 {
    let so_far: Moments = runs.iter().copied().collect();
    RULE.needed(&so_far) as f64
}

#[cfg(test)]
mod tests {
    use super::asked_by;

    /// By hand: 90, 100 and 110 have s = 10, so (1.96 * 10 / 5)^2 = 15.37, which makes 16 runs.
    ///
    /// Equal runs require no more than the three that were made.
    #[test]
    fn three_runs_ask() {
        assert!((asked_by(&[90.0, 100.0, 110.0]) - 16.0).abs() < 1e-9);
        assert!((asked_by(&[100.0, 100.0, 100.0]) - 3.0).abs() < 1e-9);
    }
}
