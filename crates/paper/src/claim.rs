//! Claims: what a paper says, in our words, and the checks that test it.
//!
//! A claim holds if all its checks hold in each window in which it is judged. The words for each outcome stand beside
//! the claim and are written before the outcome is known.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::check::{Check, WrittenCheck};
use super::defaults::{self, apply_defaults};
use super::document::{Document, refuse};
use super::quantity::{EvalContext, Quantities, Quantity, Written};
use super::{Names, Unit};
use fairwire_scenario::ScenarioError;
use fairwire_scenario::read::Reader;
use fairwire_scenario::tree::{Node, Value};
use fairwire_sim::results::{Results, WHOLE};

/// The keys of a file of claims. Both were taken from it before, and are here for the error about another one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rest {
    #[serde(default, rename = "claims")]
    _claims: IgnoredAny,
    #[serde(default, rename = "defaults")]
    _defaults: IgnoredAny,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenClaim {
    id: String,
    says: String,
    place: String,
    #[serde(default)]
    windows: Vec<String>,
    #[serde(default)]
    checks: Vec<WrittenCheck>,
    condition: Option<String>,
    not_testable: Option<String>,
    contradiction: Option<WrittenContradiction>,
    #[serde(default)]
    because: Because,
    #[serde(default)]
    isolated_by: Vec<WrittenIsolation>,
    #[serde(default)]
    beyond: Vec<WrittenCheck>,
    #[serde(default)]
    controls: Vec<Control>,
}

/// The same checks in other cells, which lack what the claim is about. They should fail there; otherwise they are not
/// specific to the claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Control {
    /// How these cells differ: `UDP in the place of CCID 3`.
    pub(super) says: String,
    /// The cells of the claim that are replaced.
    cells: Vec<String>,
    /// The cell that replaces each of them.
    pub(super) by: Vec<String>,
}

impl Control {
    /// Returns `check` with the claim's cells replaced by those of the control. `None` if the check has none of them.
    pub(super) fn apply(&self, check: &Check) -> Option<Check> {
        check.replaced(&|cell| {
            let mut pairs = self.cells.iter().zip(&self.by);
            let found = pairs.find(|(known, _)| *known == cell);
            found.map(|(_, by)| by.clone())
        })
    }

    fn resolve(mut self, names: &Names<'_>) -> Result<Self, String> {
        for cell in self.cells.iter_mut().chain(&mut self.by) {
            *cell = names.cell(cell)?.to_owned();
        }
        Ok(self)
    }

    fn check(&self, checks: &[Check]) -> Result<(), String> {
        if self.cells.len() != self.by.len() || self.cells.is_empty() {
            return Err(
                "'cells' and 'by' of a control must be lists of equal length with at least one cell".into(),
            );
        }
        let mut checks = checks.iter();
        if checks.all(|check| self.apply(check).is_none()) {
            return Err("'cells' of a control must be cells of the claim's checks".into());
        }
        Ok(())
    }
}

/// The explanation for each outcome.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Because {
    /// All checks hold.
    pub(super) holds: String,
    /// It holds in some of the windows only; by default the same words as for `holds`.
    pub(super) partly: String,
    /// Some check does not hold.
    pub(super) fails: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenContradiction {
    says: String,
    #[serde(default)]
    must: Vec<WrittenCheck>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenIsolation {
    says: String,
    unit: Option<String>,
    #[serde(default)]
    of: Vec<Written>,
    #[serde(default)]
    cells: Vec<String>,
    flow: Option<String>,
    link: Option<String>,
    metric: Option<String>,
    window: Option<String>,
}

/// A claim that has been checked and can be judged.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its id.
    pub id: String,
    /// What the paper says, in our words.
    pub says: String,
    /// Its place in the paper.
    pub place: String,
    pub(super) windows: Vec<String>,
    pub(super) checks: Vec<Check>,
    pub(super) condition: Option<String>,
    pub(super) not_testable: Option<String>,
    pub(super) contradiction: Option<Contradiction>,
    pub(super) because: Because,
    pub(super) isolated_by: Vec<Isolation>,
    pub(super) beyond: Vec<Beyond>,
    pub(super) controls: Vec<Control>,
}

/// A check whose failure limits the claim.
#[derive(Clone, Debug)]
pub(super) struct Beyond {
    pub(super) condition: String,
    pub(super) check: Check,
}

/// A contradiction within the paper: checks that its own published numbers should pass and do not.
#[derive(Clone, Debug)]
pub(super) struct Contradiction {
    pub(super) says: String,
    pub(super) must: Vec<Check>,
}

impl Contradiction {
    /// Returns whether the published numbers alone show it, without a run.
    fn is_shown_in_print(&self, names: &Names<'_>) -> bool {
        let none = Results::default();
        let context = EvalContext {
            results: &none,
            moments: names.moments,
        };
        let mut outcomes = self
            .must
            .iter()
            .map(|check| check.check(&context, None).holds);
        self.must.is_empty() || outcomes.any(|holds| holds == Some(false))
    }
}

/// Runs that show what a result depends on.
#[derive(Clone, Debug)]
pub(super) struct Isolation {
    pub(super) says: String,
    pub(super) unit: Unit,
    pub(super) quantities: Vec<Quantity>,
}

/// Reads the claims of `file`, whose families have been expanded.
pub(super) fn read(file: &mut Document, names: &Names<'_>) -> Result<Vec<Claim>, ScenarioError> {
    let defaults = file.take_table("defaults")?;
    defaults::check(&defaults)?;
    let claims = file.take_list("claims")?;
    let claims =
        claims.ok_or_else(|| file.missing("claims", "write [[claims]] for each of them"))?;
    file.rest::<Rest>()?;
    let mut ready: Vec<Claim> = Vec::with_capacity(claims.len());
    for mut node in claims {
        apply_defaults(&mut node, &defaults);
        let written = WrittenClaim::deserialize(Reader(&node))?;
        let id = written.id.clone();
        let refuse = |refusal: Refusal| {
            let message = format!("claim {id}: {}", refusal.message);
            refuse(refusal.part(&node).unwrap_or(&node), &message)
        };
        if id.trim().is_empty() {
            return Err(ScenarioError::at(
                "the 'id' of a claim must not be blank",
                &node.place,
            ));
        }
        if ready.iter().any(|claim| claim.id == id) {
            return Err(refuse("this id is used twice".into()));
        }
        ready.push(written.resolve(names).map_err(refuse)?);
    }
    Ok(ready)
}

/// What is wrong with a claim.
struct Refusal {
    message: String,
    /// The list that the error is in, and the number of the item.
    within: Option<(&'static [&'static str], usize)>,
}

impl<T: Into<String>> From<T> for Refusal {
    fn from(message: T) -> Self {
        let message = message.into();
        Self {
            message,
            within: None,
        }
    }
}

impl Refusal {
    /// Returns the part of `claim` that it is about.
    fn part<'a>(&self, claim: &'a Node) -> Option<&'a Node> {
        let (list, number) = self.within?;
        match &claim.below(list)?.value {
            Value::Array(items) => items.get(number),
            _ => None,
        }
    }
}

/// Resolves the items of the list at `path`.
fn resolve_all<W, R>(
    path: &'static [&'static str],
    written: Vec<W>,
    resolve: impl Fn(W) -> Result<R, String>,
) -> Result<Vec<R>, Refusal> {
    let items = written.into_iter().enumerate();
    let items = items.map(|(number, item)| {
        resolve(item).map_err(|message| Refusal {
            message,
            within: Some((path, number)),
        })
    });
    items.collect()
}

impl WrittenClaim {
    fn resolve(self, names: &Names<'_>) -> Result<Claim, Refusal> {
        let resolve = |path, checks: Vec<WrittenCheck>| {
            resolve_all(path, checks, |check| check.resolve(names))
        };
        let contradiction = match self.contradiction {
            None => None,
            Some(written) => Some(Contradiction {
                says: written.says,
                must: resolve(&["contradiction", "must"], written.must)?,
            }),
        };
        let mut because = self.because;
        if because.partly.is_empty() {
            because.partly.clone_from(&because.holds);
        }
        let beyond = resolve_all(&["beyond"], self.beyond, |mut written| {
            let condition = written.condition.take();
            let condition = condition.ok_or("a check in 'beyond' needs a 'condition'")?;
            let check = written.resolve(names)?;
            if check.needs_window() {
                return Err("a check in 'beyond' needs its own 'window'".to_owned());
            }
            Ok(Beyond { condition, check })
        });
        let claim = Claim {
            beyond: beyond?,
            controls: resolve_all(&["controls"], self.controls, |control| {
                control.resolve(names)
            })?,
            id: self.id,
            says: self.says,
            place: self.place,
            windows: self.windows,
            checks: resolve(&["checks"], self.checks)?,
            condition: self.condition,
            not_testable: self.not_testable,
            contradiction,
            because,
            isolated_by: resolve_all(&["isolated_by"], self.isolated_by, |isolation| {
                isolation.resolve(names)
            })?,
        };
        claim.validate(names)?;
        Ok(claim)
    }
}

impl WrittenIsolation {
    fn resolve(self, names: &Names<'_>) -> Result<Isolation, String> {
        let quantities = Quantities {
            of: self.of,
            cells: self.cells,
            place: Written {
                flow: self.flow,
                link: self.link,
                metric: self.metric,
                window: self.window,
                ..Written::default()
            },
        };
        let (quantities, unit) = quantities.resolve(names, self.unit.as_deref())?;
        if quantities.iter().any(Quantity::needs_window) {
            return Err("an isolating run needs a 'window'".into());
        }
        Ok(Isolation {
            says: self.says,
            unit,
            quantities,
        })
    }
}

impl Claim {
    /// Checks that a verdict can be reached and that every outcome has its words.
    fn validate(&self, names: &Names<'_>) -> Result<(), String> {
        if self.checks.is_empty() {
            let said = self.not_testable.is_some() || self.contradiction.is_some();
            return if said {
                Ok(())
            } else {
                Err("it needs 'checks', or 'not_testable' with the reason why it has none".into())
            };
        }
        for control in &self.controls {
            control.check(&self.checks)?;
        }
        let contradiction = self.contradiction.as_ref();
        let is_settled = contradiction.is_some_and(|it| it.is_shown_in_print(names));
        if !is_settled && (self.because.holds.is_empty() || self.because.fails.is_empty()) {
            return Err("'because' needs words for 'holds' and 'fails'".into());
        }
        let needs_window = self.checks.iter().any(Check::needs_window);
        if needs_window && self.windows.is_empty() {
            return Err("it needs 'windows', because its quantities have no 'window'".into());
        }
        if !needs_window && !self.windows.is_empty() {
            return Err(
                "it has no use for 'windows': its quantities have their own 'window'".into(),
            );
        }
        for window in self.windows.iter().filter(|window| *window != WHOLE) {
            let quantities = self.checks.iter().flat_map(|check| &check.quantities);
            for cell in quantities
                .filter(|q| q.needs_window())
                .flat_map(Quantity::cells)
            {
                names.window(cell, window)?;
            }
        }
        Ok(())
    }

    /// Returns the names of the cells of its controls.
    pub(super) fn cells_of_controls(&self) -> Vec<&str> {
        let cells = self.controls.iter().flat_map(|control| &control.by);
        cells.map(String::as_str).collect()
    }

    /// Returns the names of the cells that decide about it.
    pub(super) fn cells(&self) -> Vec<&str> {
        let beyond = self.beyond.iter().map(|beyond| &beyond.check);
        let checks = self.checks.iter().chain(beyond);
        let quantities = checks.flat_map(|check| &check.quantities);
        let mut cells: Vec<&str> = quantities.flat_map(Quantity::cells).collect();
        cells.sort_unstable();
        cells.dedup();
        cells
    }
}
