//! The units that papers print, against those that results are kept in.

/// A unit of tables and claims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    /// As printed; empty for a plain number.
    pub name: &'static str,
    /// The unit that results are kept in.
    pub base: &'static str,
    /// How many of the base one of this is.
    pub scale: f64,
    /// Digits after the point, unless a table says otherwise.
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
    /// The unit called `name`.
    pub fn find(name: &str) -> Option<Self> {
        UNITS.iter().copied().find(|unit| unit.name == name)
    }

    /// The unit called `name`, or what to say if there is none.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        Self::find(name)
            .ok_or_else(|| format!("unknown unit '{name}': write one of {}", Self::names()))
    }

    /// The unit in which people read what is kept in `base`: kbit/s, ms, or the base itself.
    pub(crate) fn of(base: &'static str) -> Self {
        let usual = match base {
            "bit/s" => "kbit/s",
            "s" => "ms",
            other => other,
        };
        Self::find(usual).unwrap_or(unit(base, base, 1.0, 1))
    }

    /// The names of all units, for messages.
    pub fn names() -> String {
        let names: Vec<&str> = UNITS.iter().map(|unit| unit.name).collect();
        names.join(", ").trim_end_matches(", ").to_owned()
    }

    /// ` kbit/s`, or nothing for a plain number.
    pub fn suffix(self) -> String {
        if self.name.is_empty() {
            String::new()
        } else {
            format!(" {}", self.name)
        }
    }
}
