//! Quantities as they are written in a file, and the resolution of their names.

use fairwire_cc::tfrc::Equation;
use serde::Deserialize;

use super::equation::Tfrc;
use super::{Operation, Quantity};
use crate::metric_or_moment::MetricOrMoment;
use crate::{Names, Unit};
use fairwire_sim::results::{Subject, WHOLE};

/// A quantity as it is written in a file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
#[serde(expecting = "a quantity as { cell = \"NAME\", flow = \"NAME\", metric = \"NAME\" }")]
pub(crate) struct Written {
    pub(crate) cell: Option<String>,
    pub(crate) flow: Option<String>,
    pub(crate) link: Option<String>,
    pub(crate) metric: Option<String>,
    pub(crate) window: Option<String>,
    pub(crate) published: Option<String>,
    pub(crate) ratio: Option<Vec<Written>>,
    pub(crate) difference: Option<Vec<Written>>,
    pub(crate) sum: Option<Vec<Written>>,
    pub(crate) jain: Option<Vec<Written>>,
    pub(crate) least: Option<Vec<Written>>,
    pub(crate) tfrc: Option<Box<WrittenTfrc>>,
    pub(crate) distance: Option<Box<WrittenDistance>>,
}

impl Written {
    /// Returns whether it states nothing at all.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the same quantity of another cell.
    pub(crate) fn of_cell(&self, cell: &str) -> Self {
        Self {
            cell: Some(cell.to_owned()),
            ..self.clone()
        }
    }

    /// Resolves names; the error says which name does not exist.
    pub(crate) fn resolve(&self, names: &Names<'_>) -> Result<Quantity, String> {
        let made = [
            (Operation::Ratio, &self.ratio),
            (Operation::Difference, &self.difference),
            (Operation::Sum, &self.sum),
            (Operation::Jain, &self.jain),
            (Operation::Least, &self.least),
        ];
        let mut made = made
            .into_iter()
            .filter_map(|(how, parts)| parts.as_ref().map(|parts| (how, parts)));
        let Some((how, parts)) = made.next() else {
            if let Some(tfrc) = &self.tfrc {
                return tfrc.resolve(names);
            }
            if let Some(distance) = &self.distance {
                return distance.resolve(names);
            }
            return match &self.published {
                Some(table) => self.resolve_published(table, names),
                None => self.resolve_value(names),
            };
        };
        let alone = made.next().is_none() && self.cell.is_none() && self.metric.is_none();
        if !alone {
            return Err("a quantity must be exactly one of a cell's metric, published, ratio, difference, sum, least or jain".into());
        }
        let pair = matches!(how, Operation::Ratio | Operation::Difference);
        if parts.is_empty() || (pair && parts.len() != 2) {
            return Err(
                "a ratio and a difference have two parts, a sum, least and jain at least one"
                    .into(),
            );
        }
        let parts = parts
            .iter()
            .map(|part| part.resolve(names))
            .collect::<Result<Vec<_>, _>>()?;
        if parts
            .iter()
            .any(|part| part.base_unit() != parts[0].base_unit())
        {
            return Err("all parts of a quantity must have the same unit".into());
        }
        Ok(Quantity::Computed { how, parts })
    }

    fn resolve_value(&self, names: &Names<'_>) -> Result<Quantity, String> {
        let cell = names.cell(self.cell.as_deref().ok_or("a quantity names a 'cell'")?)?;
        let metric = self
            .metric
            .as_deref()
            .ok_or("a quantity names a 'metric'")?;
        let what = names.metric_or_moment(metric)?;
        names.keeps(cell, &what)?;
        let subject = match (&self.flow, &self.link) {
            (Some(flow), None) => Subject::flow(names.flow(cell, flow)?),
            (None, Some(link)) => Subject::link(names.link(cell, link)?),
            (None, None) => Subject::All,
            (Some(_), Some(_)) => {
                return Err("a quantity has either a 'flow' or a 'link', not both".into());
            }
        };
        let window = match &self.window {
            Some(window) => Some(names.window(cell, window)?.to_owned()),
            None if matches!(what, MetricOrMoment::Moment(_)) => Some(WHOLE.to_owned()),
            None => None,
        };
        Ok(Quantity::Value {
            cell: cell.to_owned(),
            subject,
            what,
            window,
        })
    }

    fn resolve_published(&self, table: &str, names: &Names<'_>) -> Result<Quantity, String> {
        let key = |part: &Option<String>| part.clone().unwrap_or_default();
        let (cell, flow, metric) = (key(&self.cell), key(&self.flow), key(&self.metric));
        let known = names.printed(table, [&cell, &flow, &metric])?;
        Ok(Quantity::Printed {
            label: format!("{cell} as printed in {table}"),
            value: known.value * known.unit.scale,
            base: known.unit.base,
        })
    }
}

/// `tfrc = { bytes, b, t_rto_rtts, rtt = {...}, p = {...} }` as it is written.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenTfrc {
    /// Packet size in bytes.
    bytes: f64,
    #[serde(default = "one")]
    b: f64,
    #[serde(default = "four")]
    t_rto_rtts: f64,
    /// The round-trip time.
    rtt: Written,
    /// The loss event rate, as a plain number or in per cent.
    p: Written,
}

fn one() -> f64 {
    1.0
}

fn four() -> f64 {
    4.0
}

impl WrittenTfrc {
    fn resolve(&self, names: &Names<'_>) -> Result<Quantity, String> {
        let parts = vec![self.rtt.resolve(names)?, self.p.resolve(names)?];
        let p_unit = match parts[1].base_unit() {
            "" => 1.0,
            "%" => 0.01,
            other => return Err(format!("the 'p' of tfrc is a share, not in {other}")),
        };
        if parts[0].base_unit() != "s" {
            return Err("the 'rtt' of tfrc is a time".into());
        }
        let how = Operation::Tfrc(Tfrc {
            equation: Equation {
                b: self.b,
                t_rto_rtts: self.t_rto_rtts,
                ..Equation::RFC5348
            },
            bytes: self.bytes,
            p_unit,
        });
        Ok(Quantity::Computed { how, parts })
    }
}

/// `distance = { published, cells, flow, metric, windows, published_metrics }` as it is written.
///
/// It is the root mean square of measured minus published numbers, over all cells and windows.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenDistance {
    /// The file with the published numbers.
    published: String,
    /// The cells that are compared with them.
    cells: Vec<String>,
    /// The names of these cells in the file; by default their own.
    #[serde(default)]
    published_cells: Vec<String>,
    flow: String,
    metric: String,
    windows: Vec<String>,
    /// The names of the metric in the file, one for each window.
    published_metrics: Vec<String>,
}

impl WrittenDistance {
    fn resolve(&self, names: &Names<'_>) -> Result<Quantity, String> {
        let printed_cells = if self.published_cells.is_empty() {
            &self.cells
        } else {
            &self.published_cells
        };
        let pairs = self.cells.len() == printed_cells.len()
            && self.windows.len() == self.published_metrics.len();
        if !pairs || self.cells.is_empty() || self.windows.is_empty() {
            return Err(
                "a distance has as many 'published_metrics' as 'windows', as many 'published_cells', if any, as \
                 'cells', and at least one of each"
                    .into(),
            );
        }
        let mut parts = Vec::with_capacity(self.cells.len() * self.windows.len());
        for (cell, printed_cell) in self.cells.iter().zip(printed_cells) {
            for (window, printed) in self.windows.iter().zip(&self.published_metrics) {
                let measured = Written {
                    cell: Some(cell.clone()),
                    flow: Some(self.flow.clone()),
                    metric: Some(self.metric.clone()),
                    window: Some(window.clone()),
                    ..Written::default()
                };
                let printed = Written {
                    published: Some(self.published.clone()),
                    cell: Some(printed_cell.clone()),
                    flow: Some(self.flow.clone()),
                    metric: Some(printed.clone()),
                    ..Written::default()
                };
                let difference = Written {
                    difference: Some(vec![measured, printed]),
                    ..Written::default()
                };
                parts.push(difference.resolve(names)?);
            }
        }
        Ok(Quantity::Computed {
            how: Operation::Rms,
            parts,
        })
    }
}

/// Quantities as a list, or one for each of some cells.
pub(crate) struct Quantities {
    pub(crate) of: Vec<Written>,
    pub(crate) cells: Vec<String>,
    pub(crate) place: Written,
}

impl Quantities {
    /// Resolves the quantities and their unit: the one called `unit`, or by default that of the first quantity.
    pub(crate) fn resolve(
        self,
        names: &Names<'_>,
        unit: Option<&str>,
    ) -> Result<(Vec<Quantity>, Unit), String> {
        let mut unit = unit.map(Unit::named).transpose()?;
        let written = match (self.of.is_empty(), self.cells.is_empty()) {
            (false, true) if self.place.is_empty() => self.of,
            (true, false) => self
                .cells
                .iter()
                .map(|cell| self.place.of_cell(cell))
                .collect(),
            _ => return Err("write quantities as 'of', or 'cells' with flow and metric".into()),
        };
        let mut quantities = Vec::with_capacity(written.len());
        for written in written {
            let quantity = written.resolve(names)?;
            let stated = unit.get_or_insert_with(|| Unit::of(quantity.base_unit()));
            if quantity.base_unit() != stated.base {
                let (label, base) = (quantity.label(), quantity.base_unit());
                return Err(format!("'{label}' is in {base}, not in '{}'", stated.name));
            }
            quantities.push(quantity);
        }
        let unit = unit.ok_or("write quantities as 'of', or 'cells' with flow and metric")?;
        Ok((quantities, unit))
    }
}
