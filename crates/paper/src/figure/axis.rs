//! How a figure is drawn: axes, form and marks.

use serde::Deserialize;

use crate::Unit;

/// The form of a figure.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Curves.
    Line,
    /// Bars side by side.
    Bar,
}

/// How values map to positions.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal differences are equally far apart.
    #[default]
    Linear,
    /// Equal ratios are equally far apart.
    Log,
}

/// The horizontal axis.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct XAxis {
    /// Its title, with the unit.
    pub title: String,
    /// The positions of the points, if they are numbers.
    pub at: Vec<f64>,
    /// The labels of the points, instead of numbers or in addition.
    pub labels: Vec<String>,
    /// How values map to positions.
    pub scale: Scale,
}

/// The vertical axis.
#[derive(Clone, Debug)]
pub struct YAxis {
    /// Its title, without the unit.
    pub title: String,
    /// The unit of all values.
    pub unit: Unit,
    /// How values map to positions.
    pub scale: Scale,
    /// Its lower end, if it is given.
    pub from: Option<f64>,
    /// Its upper end, if it is given.
    pub to: Option<f64>,
}

/// A marked moment of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Its position, in units of the horizontal axis (seconds for a series).
    pub at: f64,
    /// Its position in the quick form, if that differs.
    #[serde(default)]
    pub quick: Option<f64>,
    /// Its label.
    pub label: String,
}
