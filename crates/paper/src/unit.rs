//! The units of published numbers, and their conversion to the units of results.

use fairwire_measure::{Estimate, Spread};

/// A unit of tables and claims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// Its printed name; empty for a plain number.
    pub name: &'static str,
    /// The base unit, in which results are kept.
    pub base: &'static str,
    /// The value of one of this unit in the base unit.
    pub scale: f64,
    /// The number of digits after the point, unless a table states another.
    pub digits: usize,
}

const UNITS: &[Unit] = &[
    unit("bit/s", "bit/s", 1.0, 0),
    unit("kbit/s", "bit/s", 1e3, 1),
    unit("Mbit/s", "bit/s", 1e6, 3),
    unit("s", "s", 1.0, 1),
    unit("ms", "s", 1e-3, 2),
    unit("%", "%", 1.0, 5),
    unit("packets", "packets", 1.0, 1),
    unit("packets/s", "packets/s", 1.0, 2),
    unit("times", "times", 1.0, 1),
    unit("B", "B", 1.0, 0),
    unit("KB", "B", 1024.0, 0),
    unit("runs", "runs", 1.0, 0),
    unit("", "", 1.0, 3),
];

const fn unit(name: &'static str, base: &'static str, scale: f64, digits: usize) -> Unit {
    Unit {
        name,
        base,
        scale,
        digits,
    }
}

impl Unit {
    /// Finds the unit called `name`.
    pub fn find(name: &str) -> Option<Self> {
        UNITS.iter().copied().find(|unit| unit.name == name)
    }

    /// Finds the unit called `name`, or returns an error message.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        Self::find(name)
            .ok_or_else(|| format!("unknown unit '{name}': write one of {}", Self::names()))
    }

    /// Returns the usual unit for values with the base unit `base`: kbit/s, ms, or the base itself.
    pub fn of(base: &'static str) -> Self {
        let usual = match base {
            "bit/s" => "kbit/s",
            "s" => "ms",
            other => other,
        };
        Self::find(usual).unwrap_or(unit(base, base, 1.0, 1))
    }

    /// Returns the names of all units, for messages.
    pub fn names() -> String {
        let names: Vec<&str> = UNITS.iter().map(|unit| unit.name).collect();
        names.join(", ").trim_end_matches(", ").to_owned()
    }

    /// Returns the number of digits of `estimate` to show after the point.
    ///
    /// They show two digits of the interval, or four of a mean without an interval, and are at most as many as the unit
    /// has.
    pub fn digits_of(self, estimate: Estimate) -> usize {
        let least = match estimate.spread {
            Spread::HalfWidth(half) if half > 0.0 => half / 10.0,
            _ => estimate.mean.abs() / 1e3,
        };
        let mut step = 1.0;
        for digits in 0..self.digits {
            if step <= least * (1.0 + 1e-9) {
                return digits;
            }
            step /= 10.0;
        }
        self.digits
    }

    /// Returns ` kbit/s`, or nothing for a plain number.
    pub fn suffix(self) -> String {
        if self.name.is_empty() {
            String::new()
        } else {
            format!(" {}", self.name)
        }
    }
}
