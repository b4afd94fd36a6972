//! Tables: measured beside published numbers.

use super::manifest::{RowPlan, TablePlan};
use super::quantity::{EvalContext, Measured};
use super::{Paper, Part, Unit};
use fairwire_sim::results::Results;

/// A table with its values.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name in file names.
    pub name: String,
    /// Its heading.
    pub title: String,
    /// What it shows, in words; may be empty.
    pub about: String,
    /// The part of the report in which it stands.
    pub part: Part,
    /// The heading of the column that distinguishes rows.
    pub heading: String,
    /// The windows of its columns.
    pub windows: Vec<String>,
    /// Its blocks, one for each metric.
    pub blocks: Vec<Block>,
}

/// One metric of a table.
#[derive(Clone, Debug)]
pub struct Block {
    /// The metric's name.
    pub metric: String,
    /// The metric's meaning.
    pub meaning: String,
    /// The unit of all its values.
    pub unit: Unit,
    /// Whether the unperturbed run is shown too.
    pub unperturbed: bool,
    /// Its rows.
    pub rows: Vec<Row>,
}

impl Block {
    /// Returns the number of digits after the point of the published numbers: that of the number with the most.
    pub fn printed_digits(&self) -> usize {
        let printed = self.rows.iter().filter_map(|row| row.published);
        let digits = printed.map(|value| {
            let text = value.to_string();
            text.split_once('.').map_or(0, |(_, digits)| digits.len())
        });
        digits.max().unwrap_or(0)
    }
}

/// Returns `tables` in the order in which they are shown, without explanations and meanings that an earlier table has.
pub fn without_repeats(tables: &[Table]) -> Vec<Table> {
    let mut known: Vec<String> = Vec::new();
    let mut shown = tables.to_vec();
    shown.sort_by_key(|table| table.part == Part::LeftOut);
    for table in &mut shown {
        let meanings = table.blocks.iter_mut().map(|block| &mut block.meaning);
        for text in std::iter::once(&mut table.about).chain(meanings) {
            if known.contains(text) {
                text.clear();
            } else if !text.is_empty() {
                known.push(text.clone());
            }
        }
    }
    shown
}

/// One flow in one cell.
#[derive(Clone, Debug)]
pub struct Row {
    /// The cell.
    pub cell: String,
    /// The name of the row in the table.
    pub label: String,
    /// The flow.
    pub flow: String,
    /// The published number, if there is one.
    pub published: Option<f64>,
    /// A remark about the published number; may be empty.
    pub note: String,
    /// The measured values, one for each window of the table.
    pub measured: Vec<Measured>,
}

impl Paper {
    /// Returns all tables with their values, in the order of the paper's file.
    pub fn fill_tables(&self, results: &Results) -> Vec<Table> {
        let context = EvalContext {
            results,
            moments: &self.moments,
        };
        self.tables.iter().map(|plan| plan.fill(&context)).collect()
    }
}

impl TablePlan {
    fn fill(&self, context: &EvalContext<'_>) -> Table {
        let blocks = self.blocks.iter().map(|block| Block {
            metric: block.metric.clone(),
            meaning: block.meaning.clone(),
            unit: block.unit,
            unperturbed: block.unperturbed,
            rows: block
                .rows
                .iter()
                .map(|row| row.fill(context, &self.windows, block.unit))
                .collect(),
        });
        Table {
            name: self.name.clone(),
            title: self.title.clone(),
            about: self.about.clone(),
            part: self.part,
            heading: self.heading.clone(),
            windows: self.windows.clone(),
            blocks: blocks.collect(),
        }
    }
}

impl RowPlan {
    fn fill(&self, context: &EvalContext<'_>, windows: &[String], unit: Unit) -> Row {
        let (published, note) = match &self.published {
            Some((value, note)) => (Some(*value), note.clone()),
            None => (None, String::new()),
        };
        Row {
            cell: self.cell.clone(),
            label: self.label.clone(),
            flow: self.flow.clone(),
            published,
            note,
            measured: windows
                .iter()
                .map(|window| {
                    if self.repetitions {
                        self.quantity.repetitions(context, window, unit)
                    } else {
                        self.quantity.measure(context, window, unit)
                    }
                })
                .collect(),
        }
    }
}
