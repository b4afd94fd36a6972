//! Rows and columns of text, arranged so that lines stay readable.

use std::fmt::{self, Write};

/// The greatest length of a line in characters, if cells allow it; the six default columns fit.
const LINE: usize = 120;

/// The number of spaces before each line.
const INDENT: usize = 2;
/// The number of spaces between two columns.
const GAP: usize = 2;

/// A table: the first row is its head, and the first column names the rows.
#[derive(Clone, Debug)]
pub struct Grid(pub Vec<Vec<String>>);

/// The arrangement of a table with many columns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Layout {
    /// All columns beside each other.
    Plain,
    /// Several parts below each other, each with as many columns as fit into a line.
    Split,
}

impl Layout {
    /// Returns one layout for all `grids`, so that all windows of a cell look the same.
    pub(super) fn of<'a>(mut grids: impl Iterator<Item = &'a Grid>) -> Self {
        if grids.all(|grid| grid.length() <= LINE) {
            Self::Plain
        } else {
            Self::Split
        }
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(Layout::of(std::iter::once(self)), &mut text);
        f.write_str(&text)
    }
}

impl Grid {
    /// Writes the table in this layout.
    pub(super) fn write(&self, layout: Layout, out: &mut String) {
        match layout {
            Layout::Plain => self.plain(out),
            Layout::Split => self.split().iter().for_each(|part| part.plain(out)),
        }
    }

    fn plain(&self, out: &mut String) {
        let widths = self.widths();
        for row in &self.0 {
            out.push_str(&" ".repeat(INDENT));
            for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
                // The width counts characters, of which `±` is one.
                let _ = match at {
                    0 => write!(out, "{cell:<width$}"),
                    _ => write!(out, "{}{cell:>width$}", " ".repeat(GAP)),
                };
            }
            out.push('\n');
        }
    }

    fn split(&self) -> Vec<Self> {
        let widths = self.widths();
        let Some((first, others)) = widths.split_first() else {
            return Vec::new();
        };
        let mut parts = Vec::new();
        let mut from = 0;
        while from < others.len() {
            let mut room = LINE.saturating_sub(INDENT + first);
            let mut to = from;
            // A part has at least one column, even if its line is too long.
            while to < others.len() && (to == from || others[to] + GAP <= room) {
                room = room.saturating_sub(others[to] + GAP);
                to += 1;
            }
            let rows = self.0.iter().map(|row| {
                let first = row.first().cloned();
                first.into_iter().chain(row[1 + from..=to].iter().cloned())
            });
            parts.push(Self(rows.map(Iterator::collect).collect()));
            from = to;
        }
        parts
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.0.first().map_or(0, Vec::len);
        let width = |at: usize| self.0.iter().map(|row| row[at].chars().count()).max();
        (0..columns).map(|at| width(at).unwrap_or(0)).collect()
    }

    /// Returns the length of its lines in characters.
    fn length(&self) -> usize {
        let widths = self.widths();
        INDENT + widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }
}
