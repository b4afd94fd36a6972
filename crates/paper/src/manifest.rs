//! The main file of a paper: its title, scenarios, tables and figures.

mod metric;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::claim::Claim;
use super::document::Document;
use super::figure::{FigurePlan, WrittenFigure};
use super::quantity::Quantity;
use super::quick::Quick;
use super::sweep::Sweep;
use super::{Moment, Names, Part, Unit, Verdict};
use fairwire_scenario::ScenarioError;
use fairwire_scenario::read::Reader;
use fairwire_scenario::tree::Node;
use fairwire_sim::results::WHOLE;
use metric::WrittenMetric;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub(super) title: String,
    pub(super) authors: String,
    pub(super) line: String,
    pub(super) runtime: String,
    pub(super) overview: Option<Overview>,
    /// An introduction for somebody who has not read the paper.
    #[serde(default)]
    pub(super) about: String,
    pub(super) claims: String,
    #[serde(default)]
    pub(super) published: Vec<String>,
    /// What a quick run changes besides the number of seeds.
    pub(super) quick: Option<Quick>,
    pub(super) sweep: Option<Sweep>,
    #[serde(default)]
    pub(super) windows: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) flows: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) moments: BTreeMap<String, Moment>,
    /// What was taken from the file before. It is here for the list of keys in the error about another one.
    #[serde(default, rename = "scenarios")]
    _scenarios: IgnoredAny,
    #[serde(default, rename = "tables")]
    _tables: IgnoredAny,
    #[serde(default, rename = "figures")]
    _figures: IgnoredAny,
    #[serde(default, rename = "defaults")]
    _defaults: IgnoredAny,
}

/// The paper on the first page of the report: its question, the answer of our runs, and a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overview {
    /// The paper's question and its answer.
    pub asked: String,
    /// What our runs show.
    pub found: String,
    /// The name of the figure that shows it.
    pub figure: Option<String>,
    /// The verdicts that the answer rests on.
    #[serde(default)]
    pub rests_on: Vec<Ground>,
}

/// A statement of the answer, and the verdicts without which it would not be true.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ground {
    /// The statement, in the words of the answer.
    pub says: String,
    /// Verdicts by the ids of claims, in words.
    pub verdicts: BTreeMap<String, String>,
}

/// A statement of the answer that a verdict does not bear out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unfounded {
    /// The statement.
    pub says: String,
    /// The id of the claim.
    pub claim: String,
    /// The verdict that the statement rests on, in words.
    pub expected: String,
    /// The verdict of these runs, in words.
    pub found: &'static str,
}

impl Overview {
    /// Returns what is wrong with it in a paper that has these figures and claims.
    pub(super) fn problem(&self, figures: &[FigurePlan], claims: &[Claim]) -> Option<String> {
        if let Some(name) = &self.figure
            && !figures.iter().any(|it| it.name == *name)
        {
            return Some(format!("overview: there is no figure '{name}'"));
        }
        let mut grounds = self.rests_on.iter();
        grounds.find_map(|ground| ground.problem(&self.found, claims))
    }
}

impl Ground {
    fn problem(&self, answer: &str, claims: &[Claim]) -> Option<String> {
        let says = &self.says;
        if says.trim().is_empty() || !answer.contains(says) {
            return Some(format!("overview: 'found' does not say '{says}'"));
        }
        if self.verdicts.is_empty() {
            return Some(format!("overview: '{says}' rests on no verdict"));
        }
        let mut verdicts = self.verdicts.iter();
        verdicts.find_map(|(claim, verdict)| {
            if !claims.iter().any(|it| it.id == *claim) {
                return Some(format!("overview: there is no claim '{claim}'"));
            }
            let words = Verdict::KINDS.each_ref().map(Verdict::words);
            let is_known = words.contains(&verdict.as_str());
            (!is_known).then(|| {
                let words = words.join(", ");
                format!("overview: there is no verdict '{verdict}': there are {words}")
            })
        })
    }
}

/// The tables and figures of a file, each with its node in the tree.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) tables: Vec<(Node, WrittenTable)>,
    pub(super) figures: Vec<(Node, WrittenFigure)>,
}

/// Removes the tables and figures from `file` and returns them.
pub(super) fn shown(file: &mut Document) -> Result<Shown, ScenarioError> {
    let mut defaults = file.take_table("defaults")?;
    let (of_tables, of_figures) = (defaults.take("tables"), defaults.take("figures"));
    if let Some(other) = defaults.names().first() {
        let message =
            format!("there are defaults of 'tables' and of 'figures', and none of '{other}'");
        return Err(ScenarioError::at(message, &defaults.place));
    }
    let mut tables = over(
        of_tables.as_ref(),
        file.take_list("tables")?.unwrap_or_default(),
    );
    tables.iter_mut().for_each(metric::expand_names);
    let figures = over(
        of_figures.as_ref(),
        file.take_list("figures")?.unwrap_or_default(),
    );
    Ok(Shown {
        tables: read(tables)?,
        figures: read(figures)?,
    })
}

/// Returns `items` with `defaults` for what they do not state.
fn over(defaults: Option<&Node>, items: Vec<Node>) -> Vec<Node> {
    let Some(defaults) = defaults else {
        return items;
    };
    let whole = |item: Node| {
        let mut whole = defaults.clone();
        whole.merge(item);
        whole
    };
    items.into_iter().map(whole).collect()
}

fn read<T: DeserializeOwned>(items: Vec<Node>) -> Result<Vec<(Node, T)>, ScenarioError> {
    let one = |item: Node| {
        let read = T::deserialize(Reader(&item))?;
        Ok((item, read))
    };
    items.into_iter().map(one).collect()
}

/// A table as it is written: its rows are metrics x flows x cells, its columns are windows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenTable {
    name: String,
    title: String,
    #[serde(default)]
    about: String,
    #[serde(default)]
    part: Part,
    published: Option<String>,
    heading: String,
    #[serde(default)]
    windows: Vec<String>,
    cells: Vec<WrittenCell>,
    flows: Vec<String>,
    metrics: Vec<WrittenMetric>,
    #[serde(default = "metric::yes")]
    unperturbed: bool,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(expecting = "a table as { cell = \"NAME\", label = \"...\" }")]
struct WrittenCell {
    cell: String,
    label: String,
    /// The cell whose published number is shown, if not its own.
    ///
    /// This is for a run that differs from that cell in something.
    published: Option<String>,
}

/// A table whose names exist.
#[derive(Clone, Debug)]
pub(super) struct TablePlan {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) about: String,
    pub(super) part: Part,
    pub(super) heading: String,
    pub(super) windows: Vec<String>,
    pub(super) blocks: Vec<BlockPlan>,
}

/// One metric of a table.
#[derive(Clone, Debug)]
pub(super) struct BlockPlan {
    pub(super) metric: String,
    pub(super) meaning: String,
    pub(super) unit: Unit,
    pub(super) unperturbed: bool,
    pub(super) rows: Vec<RowPlan>,
}

/// One flow in one cell.
#[derive(Clone, Debug)]
pub(super) struct RowPlan {
    pub(super) cell: String,
    pub(super) label: String,
    pub(super) flow: String,
    pub(super) quantity: Quantity,
    /// Whether the row shows, instead of the value, how many runs the rule for repetitions requires to know it.
    pub(super) repetitions: bool,
    /// The published number in the block's unit, and a remark about it.
    pub(super) published: Option<(f64, String)>,
}

impl WrittenTable {
    pub(super) fn resolve(self, names: &Names<'_>) -> Result<TablePlan, String> {
        let refuse = |message: String| format!("table {}: {message}", self.name);
        if let Some(table) = &self.published {
            names.table(table).map_err(refuse)?;
        }
        let blocks = self.metrics.iter().map(|metric| self.block(metric, names));
        let blocks: Vec<BlockPlan> = blocks.collect::<Result<_, _>>().map_err(refuse)?;
        let windows = if self.windows.is_empty() {
            vec![WHOLE.to_owned()]
        } else {
            self.windows.clone()
        };
        for cell in &self.cells {
            let name = names.cell(&cell.cell).map_err(refuse)?;
            for window in &windows {
                names.window(name, window).map_err(refuse)?;
            }
        }
        Ok(TablePlan {
            windows,
            blocks,
            name: self.name,
            title: self.title,
            about: self.about,
            part: self.part,
            heading: self.heading,
        })
    }

    fn block(&self, metric: &WrittenMetric, names: &Names<'_>) -> Result<BlockPlan, String> {
        let mut stated = None;
        let mut factor = 1.0;
        let mut rows = Vec::new();
        for flow in &self.flows {
            for cell in &self.cells {
                let quantity = metric.quantity(flow, &cell.cell, names)?;
                let unit = match stated {
                    Some(unit) => unit,
                    None => metric.unit(quantity.base_unit())?,
                };
                stated = Some(unit);
                factor = metric.factor(quantity.base_unit(), unit)?;
                rows.push(self.row(metric, (quantity, unit), (flow, cell), names)?);
            }
        }
        let unit = stated.ok_or("it has no 'flows' or no 'cells'")?;
        Ok(BlockPlan {
            metric: metric.label().to_owned(),
            meaning: metric.meaning(names),
            unit: Unit {
                scale: unit.scale / factor,
                ..unit
            },
            unperturbed: self.unperturbed && metric.unperturbed,
            rows,
        })
    }

    fn row(
        &self,
        metric: &WrittenMetric,
        (quantity, unit): (Quantity, Unit),
        (flow, cell): (&str, &WrittenCell),
        names: &Names<'_>,
    ) -> Result<RowPlan, String> {
        let printed = cell.published.as_ref().unwrap_or(&cell.cell);
        let published = self
            .published
            .as_ref()
            .and_then(|table| names.published(table, printed, flow, metric.published()?))
            .map(|number| number.in_unit(unit))
            .transpose()?;
        if let (Some(printed), None) = (&cell.published, &published) {
            return Err(format!(
                "nothing is printed of cell '{printed}' for '{}'",
                cell.cell
            ));
        }
        Ok(RowPlan {
            cell: names.cell(&cell.cell)?.to_owned(),
            label: cell.label.clone(),
            flow: flow.to_owned(),
            quantity,
            repetitions: metric.repetitions,
            published,
        })
    }
}
