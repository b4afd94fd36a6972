//! How a figure is drawn: its axes, its form, its marks.

use serde::Deserialize;

use crate::paper::Unit;

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Curves.
    Line,
    /// Bars side by side.
    Bar,
}

/// How values become places.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal differences are equally far apart.
    #[default]
    Linear,
    /// Equal ratios are.
    Log,
}

/// The horizontal axis.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Across {
    /// What it shows, with its unit.
    pub title: String,
    /// Where the points lie, if they are numbers.
    pub at: Vec<f64>,
    /// What they are called, if they are not, or not only.
    pub labels: Vec<String>,
    /// How numbers become places.
    pub scale: Scale,
}

/// The vertical axis.
#[derive(Clone, Debug)]
pub struct Upwards {
    /// What it shows, without its unit.
    pub title: String,
    /// The unit of all values.
    pub unit: Unit,
    /// How values become places.
    pub scale: Scale,
    /// Its least value, if it is given.
    pub from: Option<f64>,
    /// Its greatest.
    pub to: Option<f64>,
}

/// A moment that is marked in a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mark {
    /// Where, in units of the horizontal axis (series: seconds).
    pub at: f64,
    /// Where it is in a quick form that moves it.
    #[serde(default)]
    pub quick: Option<f64>,
    /// What is there.
    pub label: String,
}
