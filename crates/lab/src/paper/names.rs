//! The names that a paper's files may use: cells, flows, windows, metrics, published numbers.

use std::collections::BTreeMap;

use super::metric_or_moment::MetricOrMoment;
use super::{Moment, Published};
use crate::results::{Metric, WHOLE};
use crate::scenario::Cell;

/// The names that exist; files are checked against them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    pub(super) cells: &'a [Cell],
    pub(super) moments: &'a BTreeMap<String, Moment>,
    pub(super) published: &'a BTreeMap<String, Vec<Published>>,
}

impl<'a> Names<'a> {
    /// Finds the cell called `name`.
    pub(super) fn cell(&self, name: &str) -> Result<&'a str, String> {
        let names = || self.cells.iter().map(|cell| cell.name.as_str());
        names().find(|known| *known == name).ok_or_else(|| {
            let known: Vec<&str> = names().collect();
            format!(
                "there is no cell '{name}': write one of {}",
                known.join(", ")
            )
        })
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
        Err(format!(
            "there is no flow '{name}': write one of {}",
            known.join(", ")
        ))
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
        Err(format!(
            "there is no link '{name}': write one of {}",
            known.join(", ")
        ))
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
        Err(format!(
            "there is no window '{name}': write one of {}",
            known.join(", ")
        ))
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
        let known: Vec<&str> = self
            .moments
            .keys()
            .map(String::as_str)
            .chain(metrics)
            .collect();
        Err(format!(
            "there is no metric '{name}': write one of {}",
            known.join(", ")
        ))
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

    /// Finds a published number.
    pub(super) fn published(
        &self,
        table: &str,
        cell: &str,
        flow: &str,
        metric: &str,
    ) -> Option<&'a Published> {
        self.published
            .get(table)?
            .iter()
            .find(|number| number.cell == cell && number.flow == flow && number.metric == metric)
    }
}
