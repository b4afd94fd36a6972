//! The names that a paper's files may use: cells, flows, windows, metrics, published numbers.

use std::collections::{BTreeMap, BTreeSet};

use super::metric_or_moment::MetricOrMoment;
use super::{Moment, Published};
use fairwire_scenario::hint::name_hint;
use fairwire_scenario::{Cell, ScenarioError, find_cell, plain};
use fairwire_sim::results::{Metric, Subject, WHOLE};
use fairwire_units::registry::nearest;

/// The names that exist; files are checked against them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    pub(super) cells: &'a [Cell],
    pub(super) moments: &'a BTreeMap<String, Moment>,
    pub(super) published: &'a BTreeMap<String, Vec<Published>>,
}

impl<'a> Names<'a> {
    /// Finds the cell called `name`, which may have values as they are and not as they stand in names of cells.
    pub(super) fn cell(&self, name: &str) -> Result<&'a str, String> {
        cell(name, self.cells.iter().map(|cell| cell.name.as_str()))
    }

    /// Checks that `cell` has the flow `name`, which may be a reverse direction as `name/back`.
    pub(super) fn flow<'n>(&self, cell: &str, name: &'n str) -> Result<&'n str, String> {
        let plain = name.strip_suffix("/back").unwrap_or(name);
        let cell = self.cells.iter().find(|known| known.name == cell);
        let known: Vec<&str> = cell
            .into_iter()
            .flat_map(|cell| cell.scenario.enabled_flows().map(|(name, _)| name))
            .collect();
        if known.contains(&plain) {
            return Ok(name);
        }
        Err(unknown("flow", name, known.into_iter()))
    }

    /// Checks that `cell` has the link `name`, which may be a reverse direction as `name/back`.
    pub(super) fn link<'n>(&self, cell: &str, name: &'n str) -> Result<&'n str, String> {
        let plain = name.strip_suffix("/back").unwrap_or(name);
        let cell = self.cells.iter().find(|known| known.name == cell);
        let known: Vec<&str> = cell
            .into_iter()
            .flat_map(|cell| cell.scenario.topology.measured_links())
            .collect();
        if known.contains(&plain) {
            return Ok(name);
        }
        Err(unknown("link", name, known.into_iter()))
    }

    /// Checks that `cell` has the window `name`.
    pub(super) fn window<'n>(&self, cell: &str, name: &'n str) -> Result<&'n str, String> {
        let cell = self.cells.iter().find(|known| known.name == cell);
        let known: Vec<&str> = std::iter::once(WHOLE)
            .chain(
                cell.into_iter()
                    .flat_map(|cell| cell.scenario.measure.windows.iter().map(|(name, _)| name)),
            )
            .collect();
        if known.contains(&name) {
            return Ok(name);
        }
        Err(unknown("window", name, known.into_iter()))
    }

    /// Finds the metric or moment called `name`.
    pub(super) fn metric_or_moment(&self, name: &str) -> Result<MetricOrMoment, String> {
        if self.moments.contains_key(name) {
            return Ok(MetricOrMoment::Moment(name.to_owned()));
        }
        if let Some(metric) = Metric::ALL.iter().find(|metric| metric.name() == name) {
            return Ok(MetricOrMoment::Metric(*metric));
        }
        let metrics = Metric::ALL.iter().map(|metric| metric.name());
        let known = self.moments.keys().map(String::as_str).chain(metrics);
        Err(unknown("metric", name, known))
    }

    /// Checks that the scenario of `cell` keeps the metric.
    pub(super) fn keeps(&self, cell: &str, what: &MetricOrMoment) -> Result<(), String> {
        let MetricOrMoment::Metric(metric) = what else {
            return Ok(());
        };
        let found = self.cells.iter().find(|known| known.name == cell);
        if found.is_none_or(|cell| cell.scenario.measure.wants(*metric)) {
            return Ok(());
        }
        Err(format!(
            "the cell '{cell}' does not keep '{metric}': add it to measure.metrics of its scenario"
        ))
    }

    /// Returns the meaning of the metric or moment called `name`, in a sentence.
    pub(super) fn meaning(&self, name: &str) -> String {
        match self.metric_or_moment(name) {
            Ok(MetricOrMoment::Moment(name)) => self.moments[&name].meaning.clone(),
            Ok(MetricOrMoment::Metric(metric)) => metric.meaning().to_owned(),
            Err(_) => String::new(),
        }
    }

    /// Finds the published numbers of the file `name`.
    pub(super) fn table(&self, name: &str) -> Result<&'a [Published], String> {
        let known = self.published.keys().map(String::as_str);
        let found = self.published.get(name);
        found.map(Vec::as_slice).ok_or_else(|| {
            let hint = name_hint(name, known);
            format!("there is no file '{name}' among 'published': {hint}")
        })
    }

    /// Checks the names of the published numbers, unless they are `mentioned` in the paper's TOML files.
    ///
    /// A cell or flow has to be in the scenarios. A metric may be the paper's own and shown nowhere, but no misspelt name
    /// of one that exists.
    pub(super) fn check_published(
        &self,
        mentioned: &BTreeSet<String>,
    ) -> Result<(), ScenarioError> {
        let cells = self.cells.iter().map(|cell| cell.name.as_str());
        let flows = self
            .cells
            .iter()
            .flat_map(|cell| cell.scenario.flows.iter());
        let all = Subject::All.to_string();
        let flows: BTreeSet<&str> = flows.map(|(name, _)| name).chain([&*all]).collect();
        let metrics = Metric::ALL.iter().map(|metric| metric.name());
        let metrics = self.moments.keys().map(String::as_str).chain(metrics);
        let is_mentioned = |name: &str| mentioned.contains(name);
        let is_cell = |name: &str| {
            let is_alike = |known: &String| plain(known) == plain(name);
            find_cell(name, cells.clone()).is_some() || mentioned.iter().any(is_alike)
        };
        let is_flow = |name: &str| {
            flows.contains(name.strip_suffix("/back").unwrap_or(name)) || is_mentioned(name)
        };
        let is_misspelt = |name: &str| {
            !is_mentioned(name)
                && nearest(name, metrics.clone())
                    .is_some_and(|it| it != name && it.len().abs_diff(name.len()) <= 1)
        };
        for row in self.published.values().flatten() {
            let message = if !is_cell(&row.cell) {
                unknown("cell", &row.cell, cells.clone())
            } else if !is_flow(&row.flow) {
                unknown("flow", &row.flow, flows.iter().copied())
            } else if is_misspelt(&row.metric) {
                unknown("metric", &row.metric, metrics.clone())
            } else {
                continue;
            };
            return Err(ScenarioError::at(message, &row.place));
        }
        Ok(())
    }

    /// Finds a published number. Like [`Names::cell`], it accepts values as they are in the name of the cell.
    pub(super) fn published(
        &self,
        table: &str,
        cell: &str,
        flow: &str,
        metric: &str,
    ) -> Option<&'a Published> {
        let numbers = self.published.get(table)?;
        let cell = printed_cell(cell, numbers);
        let mut numbers = numbers.iter();
        numbers.find(|it| it.cell == cell && it.flow == flow && it.metric == metric)
    }

    /// Finds a published number, or tells which of its names the file does not have.
    pub(super) fn printed(
        &self,
        table: &str,
        [cell, flow, metric]: [&str; 3],
    ) -> Result<&'a Published, String> {
        let numbers = self.table(table)?;
        if let Some(number) = self.published(table, cell, flow, metric) {
            return Ok(number);
        }
        let cell = printed_cell(cell, numbers);
        let of_cell = |it: &&Published| it.cell == cell;
        let of_flow = |it: &&Published| it.cell == cell && it.flow == flow;
        let place = format!("'{table}'");
        if !numbers.iter().any(|it| of_cell(&it)) {
            let known: BTreeSet<&str> = numbers.iter().map(|it| it.cell.as_str()).collect();
            return Err(unprinted("cell", cell, &place, &known));
        }
        let of = numbers.iter().filter(of_cell);
        let place = format!("the cell '{cell}' of {place}");
        if !numbers.iter().any(|it| of_flow(&it)) {
            let known: BTreeSet<&str> = of.map(|it| it.flow.as_str()).collect();
            return Err(unprinted("flow", flow, &place, &known));
        }
        let known = of.filter(of_flow).map(|it| it.metric.as_str()).collect();
        let place = format!("the flow '{flow}' in {place}");
        Err(unprinted("metric", metric, &place, &known))
    }
}

/// Returns the name that `cell` has in `numbers`: exactly this one, or one with values in another form.
fn printed_cell<'a>(cell: &'a str, numbers: &'a [Published]) -> &'a str {
    let mut names = numbers.iter().map(|it| it.cell.as_str());
    if names.clone().any(|name| name == cell) {
        return cell;
    }
    let wanted = plain(cell);
    names.find(|name| plain(name) == wanted).unwrap_or(cell)
}

/// Finds the cell called `name` among `known`.
pub(super) fn cell<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<&'a str, String> {
    find_cell(name, known.clone()).ok_or_else(|| unknown("cell", name, known))
}

/// Returns the message that there is no `what` called `name`.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    format!("there is no {what} '{name}': {}", name_hint(name, known))
}

/// Returns the message that `place`, a part of a file of published numbers, has no `what` called `name`.
fn unprinted(what: &str, name: &str, place: &str, known: &BTreeSet<&str>) -> String {
    let hint = name_hint(name, known.iter().copied());
    if name.is_empty() {
        return format!("a published number needs its '{what}': {hint}");
    }
    format!("there is no published {what} '{name}' in {place}: {hint}")
}
