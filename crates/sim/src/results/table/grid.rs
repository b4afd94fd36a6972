//! Rows and columns of text, arranged so that lines stay readable.

use std::fmt::Write;

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

#[cfg(test)]
mod tests {
    use super::{Grid, LINE, Layout};

    fn grid(rows: usize, columns: usize, width: usize) -> Grid {
        let cell = |row: usize, column: usize| format!("{row}.{column:.<width$}");
        let row = |row: usize| (0..columns).map(|column| cell(row, column)).collect();
        Grid((0..rows).map(row).collect())
    }

    fn written(grid: &Grid) -> String {
        let mut out = String::new();
        grid.write(Layout::of([grid].into_iter()), &mut out);
        out
    }

    /// A table with few columns stays as it is, and one with many is split. Rows stay rows: each line begins with the
    /// name of its row. No cell is lost, and no line is too long.
    #[test]
    fn rows_stay_rows() {
        for (rows, columns, layout) in [
            (3, 7, Layout::Plain),
            (3, 20, Layout::Split),
            (20, 20, Layout::Split),
        ] {
            let grid = grid(rows, columns, 12);
            assert_eq!(Layout::of([&grid].into_iter()), layout);
            let text = written(&grid);
            assert!(text.lines().all(|line| line.chars().count() <= LINE));
            assert!(text.lines().all(|line| line.contains(".0.")), "{text}");
            for cell in grid.0.iter().flatten() {
                assert!(text.contains(cell.as_str()), "{cell} is missing in\n{text}");
            }
        }
    }

    /// A table just inside the limit keeps its layout, and one just outside does not.
    #[test]
    fn the_limit_is_exact() {
        // A line of two columns has 2 + a + 2 + b characters.
        let two = |length: usize| {
            let cell = "x".repeat(length - 2 - 1 - 2);
            Grid(vec![vec!["h".into(), cell.clone()], vec!["h".into(), cell]])
        };
        assert_eq!(two(LINE).length(), LINE);
        assert_eq!(Layout::of([&two(LINE)].into_iter()), Layout::Plain);
        assert_ne!(Layout::of([&two(LINE + 1)].into_iter()), Layout::Plain);
        assert_eq!(written(&two(LINE)).lines().next().map(str::len), Some(LINE));
        // A cell that is wider than a line is written in full.
        assert!(written(&two(300)).contains(&"x".repeat(295)));
    }
}
