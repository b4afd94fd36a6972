//! Checks: conditions on measured numbers, with their tolerances.

mod kind;
mod margin;

use std::fmt;

use fairwire_measure::counted;
use serde::Deserialize;
use serde::de::{Deserializer, Visitor};

use super::quantity::{EvalContext, Measured, Quantities, Quantity, Written};
use super::{Names, Unit};

pub use kind::Kind;

/// The magnitude from which a bound of a range counts as open; no unit of a claim has such large numbers.
const NO_BOUND: f64 = 1e6;

/// A check as it is written in a file.
///
/// Its quantities are a list (`of`), one for each of `cells`, or one written directly in the check.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenCheck {
    #[serde(default)]
    what: String,
    kind: Kind,
    /// The unit; by default that of the first quantity.
    unit: Option<String>,
    #[serde(default)]
    of: Vec<Written>,
    #[serde(default)]
    cells: Vec<String>,
    flow: Option<String>,
    link: Option<String>,
    metric: Option<String>,
    window: Option<String>,
    #[serde(default)]
    expected: Vec<f64>,
    #[serde(default)]
    tolerance: Option<Tolerance>,
    #[serde(default)]
    why: String,
    /// In `beyond` of a claim: the condition that limits the claim if this check does not hold.
    pub(super) condition: Option<String>,
}

/// A tolerance as it is written.
#[derive(Clone, Copy, Debug)]
struct Tolerance(f64);

impl<'de> Deserialize<'de> for Tolerance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = Tolerance;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a number without quotes (30 % is 0.3 in a check of kind \"relative\"; \
                     twice or half is 2 in one of kind \"factor\"; elsewhere it is in the check's unit)",
                )
            }

            fn visit_f64<E>(self, number: f64) -> Result<Tolerance, E> {
                Ok(Tolerance(number))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Tolerance, E> {
                Ok(Tolerance(number as f64))
            }
        }

        deserializer.deserialize_f64(Number)
    }
}

/// A check whose names exist and whose numbers fit its kind.
#[derive(Clone, Debug)]
pub(super) struct Check {
    what: String,
    kind: Kind,
    unit: Unit,
    pub(super) quantities: Vec<Quantity>,
    expected: Vec<f64>,
    tolerance: f64,
    why: String,
}

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The window that was judged; `None` where the check has its own.
    pub window: Option<String>,
    /// What is checked, where that needs words; may be empty.
    pub what: String,
    /// The kind of check.
    pub kind: Kind,
    /// The measured values.
    pub measured: Vec<Measured>,
    /// The expected values, in the same unit.
    pub expected: Vec<f64>,
    /// The tolerance, as the kind defines it.
    pub tolerance: f64,
    /// The reason for the tolerance.
    pub why: String,
    /// Whether it holds; `None` if a value is missing.
    pub holds: Option<bool>,
    /// Whether other seeds could change the outcome, because a limit lies within a 95 % interval.
    pub close: bool,
}

impl WrittenCheck {
    pub(super) fn resolve(self, names: &Names<'_>) -> Result<Check, String> {
        if self.condition.is_some() {
            return Err("only a check in 'beyond' can have a 'condition'".into());
        }
        let place = Written {
            flow: self.flow,
            link: self.link,
            metric: self.metric,
            window: self.window,
            ..Written::default()
        };
        let quantities = Quantities {
            of: self.of,
            cells: self.cells,
            place,
        };
        let (quantities, unit) = quantities.resolve(names, self.unit.as_deref())?;
        let check = Check {
            what: self.what,
            kind: self.kind,
            unit,
            quantities,
            expected: self.expected,
            tolerance: self.tolerance.map_or(0.0, |Tolerance(it)| it),
            why: self.why,
        };
        check.validate(self.tolerance.is_some())?;
        Ok(check)
    }
}

impl Check {
    /// Checks that there are as many numbers as the kind needs, and a reason for the tolerance.
    fn validate(&self, has_tolerance: bool) -> Result<(), String> {
        let (found, wanted) = (self.expected.len(), self.quantities.len());
        let (numbers, tolerance) = match self.kind {
            Kind::Absolute | Kind::Relative | Kind::Factor => (wanted, true),
            Kind::Range => (2, false),
            kind if kind.is_order() => (0, false),
            _ => (0, true),
        };
        // A factor below one would accept no value.
        let least = if self.kind == Kind::Factor { 1.0 } else { 0.0 };
        if tolerance && has_tolerance && !(least..).contains(&self.tolerance) {
            return Err(format!(
                "the 'tolerance' of a check of this kind must be at least {least}"
            ));
        }
        if let (Kind::Range, [low, high]) = (self.kind, self.expected.as_slice())
            && low > high
        {
            return Err(format!(
                "'expected' of a range is [lower, upper], and {low} is more than {high}: write [{high}, {low}]"
            ));
        }
        if found != numbers {
            return Err(format!(
                "'expected' has {}, but a check of this kind needs {numbers}",
                counted(found as u64, "number")
            ));
        }
        if has_tolerance != tolerance {
            let has = if tolerance { "needs a" } else { "has no" };
            return Err(format!("a check of this kind {has} 'tolerance'"));
        }
        if self.kind.compares() && wanted < 2 {
            return Err("a comparison needs at least two quantities".into());
        }
        if (tolerance || self.kind == Kind::Range) && self.why.is_empty() {
            return Err("a tolerance or range needs its reason in 'why'".into());
        }
        Ok(())
    }

    /// Returns the same check in other cells. It keeps the quantities all of whose cells `to` maps.
    ///
    /// `None` if too few are left to check.
    pub(super) fn moved(&self, to: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        self.of(|quantity| quantity.moved(to))
    }

    /// Returns the same check with the cells that `by` replaces.
    ///
    /// A comparison keeps its other cells, to compare them with the replaced ones. `None` if `by` replaces none of its
    /// cells.
    pub(super) fn replaced(&self, by: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let is_replaced = |quantity: &Quantity| {
            let mut cells = quantity.cells().into_iter();
            cells.any(|cell| by(cell).is_some())
        };
        if !self.quantities.iter().any(is_replaced) {
            return None;
        }
        self.of(|quantity| {
            let stays = self.kind.compares() || is_replaced(quantity);
            quantity.replaced(by).filter(|_| stays)
        })
    }

    /// Returns the same check of the quantities to which `other` maps its own, if enough are left.
    fn of(&self, other: impl Fn(&Quantity) -> Option<Quantity>) -> Option<Self> {
        let pairs = self.expected.len() == self.quantities.len() && self.kind != Kind::Range;
        let (mut quantities, mut expected) = (Vec::new(), Vec::new());
        for (number, quantity) in self.quantities.iter().enumerate() {
            if let Some(quantity) = other(quantity) {
                quantities.push(quantity);
                expected.extend(self.expected.get(number).filter(|_| pairs));
            }
        }
        let least = if self.kind.compares() { 2 } else { 1 };
        (quantities.len() >= least).then(|| Self {
            quantities,
            expected: if pairs {
                expected
            } else {
                self.expected.clone()
            },
            ..self.clone()
        })
    }

    /// Returns whether it needs the window of its claim.
    pub(super) fn needs_window(&self) -> bool {
        self.quantities.iter().any(Quantity::needs_window)
    }

    /// Returns the windows in which it is checked: those of its claim, or `None` once if it has its own.
    pub(super) fn windows<'a>(&self, of_claim: &'a [String]) -> Vec<Option<&'a str>> {
        if self.needs_window() {
            of_claim
                .iter()
                .map(|window| Some(window.as_str()))
                .collect()
        } else {
            vec![None]
        }
    }

    /// Checks the measured values in `window`.
    pub(super) fn check(&self, context: &EvalContext<'_>, window: Option<&str>) -> Checked {
        let measured: Vec<Measured> = self
            .quantities
            .iter()
            .map(|quantity| quantity.measure(context, window.unwrap_or(""), self.unit))
            .collect();
        let values: Option<Vec<f64>> = measured.iter().map(Measured::value).collect();
        let holds = values.map(|values| self.kind.holds(&values, &self.expected, self.tolerance));
        Checked {
            window: window.map(str::to_owned),
            what: self.what.clone(),
            kind: self.kind,
            expected: self.expected.clone(),
            tolerance: self.tolerance,
            why: self.why.clone(),
            close: holds.is_some_and(|holds| self.is_close(context, window, &measured, holds)),
            holds,
            measured,
        }
    }
}

impl Check {
    /// Returns whether other seeds could change the outcome.
    ///
    /// Differences are taken seed by seed where both numbers have the seed, so it does not matter whether the two runs
    /// of a seed are correlated.
    fn is_close(
        &self,
        context: &EvalContext<'_>,
        window: Option<&str>,
        measured: &[Measured],
        holds: bool,
    ) -> bool {
        let numbers: Option<Vec<margin::Number>> = measured
            .iter()
            .map(|one| Some((one.value()?, one.reach())))
            .collect();
        let Some(numbers) = numbers else {
            return false;
        };
        let apart = |a: usize, b: usize| {
            let difference = self.quantities[a].minus(&self.quantities[b]);
            let seeds = difference.measure(context, window.unwrap_or(""), self.unit);
            match seeds.estimate {
                Some(estimate) if estimate.count > 1 => seeds.reach(),
                _ => measured[a].reach().hypot(measured[b].reach()),
            }
        };
        let wanted = (self.expected.as_slice(), self.tolerance);
        margin::is_close(self.kind, &numbers, &apart, wanted, holds)
    }
}

impl Checked {
    /// Returns whether the two are the same check in two windows.
    pub fn is_same_check(&self, other: &Self) -> bool {
        (self.kind, &self.what, &self.expected, self.tolerance)
            == (other.kind, &other.what, &other.expected, other.tolerance)
            && self
                .measured
                .iter()
                .map(|one| &one.label)
                .eq(other.measured.iter().map(|one| &one.label))
    }

    /// Returns the names of the values, in their order; empty if there are more than `most`.
    pub fn of(&self, most: usize) -> String {
        let all = self.measured.iter().map(|one| one.label.as_str());
        let all: Vec<&str> = all.collect();
        if all.len() > most {
            return String::new();
        }
        all.join("; ")
    }

    /// Returns what was expected, in words and with its unit.
    pub fn expectation(&self) -> String {
        let unit = self
            .measured
            .first()
            .map_or("", |measured| measured.unit.name);
        let space = if unit.is_empty() { "" } else { " " };
        let numbers: Vec<String> = self.expected.iter().map(ToString::to_string).collect();
        let numbers = numbers.join(" / ");
        let share = (self.tolerance * 1e4 + 0.5).floor() / 1e2;
        match self.kind {
            Kind::Absolute if self.tolerance == 0.0 => format!("{numbers}{space}{unit}"),
            Kind::Absolute => format!("{numbers} ± {}{space}{unit}", self.tolerance),
            Kind::Relative => format!("{numbers}{space}{unit} ± {share} %"),
            Kind::Factor => format!(
                "{numbers}{space}{unit} within a factor of {}",
                self.tolerance
            ),
            Kind::Range => match self.expected.as_slice() {
                // A bound beyond all values is no bound.
                [low, high] if *high >= NO_BOUND => format!("at least {low}{space}{unit}"),
                [low, high] if *low <= -NO_BOUND => format!("at most {high}{space}{unit}"),
                [low, high] => format!("from {low} to {high}{space}{unit}"),
                _ => String::new(),
            },
            Kind::Increasing => "each is more than the one before".into(),
            Kind::Decreasing => "each is less than the one before".into(),
            Kind::NonIncreasing => "none is more than the one before".into(),
            Kind::Least => "the first is less than every other".into(),
            Kind::Greatest => "the first is more than every other".into(),
            Kind::Equal => format!("equal within {}{space}{unit}", self.tolerance),
        }
    }
}
