//! Drawings of networks of nodes and links: nodes in columns by their distance from the first one.

use std::fmt::Write as _;

use crate::markup::{Frame, esc, svg, svg_text, text_width};
use fairwire_scenario::{Graph, Wiring};

/// The distance between nodes of a column.
const ROW: f64 = 64.0;
/// The distance between lines of text.
const LINE: f64 = 14.0;
/// The distance between the border and the nodes nearest to it.
const MARGIN: f64 = 40.0;

/// The nodes of a graph and the links between them.
pub(super) struct Nodes {
    names: Vec<String>,
    /// The column and the row of each node.
    places: Vec<(usize, usize)>,
    /// The two nodes of each link.
    wires: Vec<(usize, usize)>,
}

impl Nodes {
    /// Returns the nodes and links of `graph`.
    pub(super) fn of(graph: &Graph) -> Self {
        let wiring = Wiring::graph(graph);
        let ends = wiring.wires.iter().map(|wire| wire.ends);
        let wires: Vec<(usize, usize)> = ends.map(|(a, b)| (a.0 as usize, b.0 as usize)).collect();
        Self {
            places: places(wiring.nodes.len(), &wires),
            names: wiring.nodes,
            wires,
        }
    }

    /// Draws the nodes and the numbered links between them, with a legend below.
    ///
    /// `links` has the parts of the description of each link, beginning with its name.
    pub(super) fn draw(&self, out: &mut String, links: &[Vec<&str>], alt: &str, frame: Frame) {
        let columns = 1 + self
            .places
            .iter()
            .map(|(column, _)| *column)
            .max()
            .unwrap_or(0);
        let rows = 1 + self.places.iter().map(|(_, row)| *row).max().unwrap_or(0);
        let legend = legend(links, frame.width - 8.0);
        let top = MARGIN + rows as f64 * ROW;
        let height = top + legend.len() as f64 * LINE;
        let wide = (frame.width - 2.0 * MARGIN) / (columns.max(2) - 1) as f64;
        let point = |node: usize| {
            let (column, row) = self.places[node];
            // Every second column is lower by a quarter of a row, so that no link hides another.
            let moved = if column % 2 == 1 {
                0.25 * (rows - 1).min(1) as f64
            } else {
                0.0
            };
            let x = MARGIN + column as f64 * wide;
            (x, MARGIN + (row as f64 + moved) * ROW)
        };
        svg(out, frame, height, alt);
        for (number, (a, b)) in self.wires.iter().enumerate() {
            let ((x, y), (to_x, to_y)) = (point(*a), point(*b));
            let _ = writeln!(
                out,
                "<path class=\"wire thick\" d=\"M{x:.1} {y:.1}L{to_x:.1} {to_y:.1}\"/>"
            );
            let middle = (f64::midpoint(x, to_x), f64::midpoint(y, to_y) - 8.0);
            let number = (number + 1).to_string();
            svg_text(out, middle, "link-name middle", &number);
        }
        for (number, name) in self.names.iter().enumerate() {
            let (x, y) = point(number);
            let _ = writeln!(
                out,
                "<circle class=\"router\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\"><title>{}</title></circle>",
                esc(name)
            );
            svg_text(out, (x, y + 22.0), "host-name middle", name);
        }
        for (number, line) in legend.iter().enumerate() {
            let at = (4.0, top + 9.0 + number as f64 * LINE);
            svg_text(out, at, "link-text", line);
        }
        out.push_str("</svg>\n");
    }
}

/// Returns the column and row of each node.
///
/// The column is the distance from the first node of its component of the graph; rows are counted within a column.
fn places(nodes: usize, wires: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut column: Vec<Option<usize>> = vec![None; nodes];
    for first in 0..nodes {
        if column[first].is_some() {
            continue;
        }
        column[first] = Some(0);
        let mut reached = vec![first];
        let mut next = 0;
        while let Some(&node) = reached.get(next) {
            next += 1;
            let further = column[node].map(|at| at + 1);
            for &(a, b) in wires.iter().filter(|(a, b)| *a == node || *b == node) {
                let other = if a == node { b } else { a };
                if column[other].is_none() {
                    column[other] = further;
                    reached.push(other);
                }
            }
        }
    }
    let column: Vec<usize> = column.into_iter().map(Option::unwrap_or_default).collect();
    let row = |node: usize| {
        column[..node]
            .iter()
            .filter(|it| **it == column[node])
            .count()
    };
    (0..nodes).map(|node| (column[node], row(node))).collect()
}

/// Returns one or more lines for each link, none wider than `width` unless a single part is.
fn legend(links: &[Vec<&str>], width: f64) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, parts) in (1..).zip(links) {
        let mut line = String::new();
        for part in parts {
            let longer = match line.as_str() {
                "" => format!("{number} {part}:"),
                line if line.ends_with(':') => format!("{line} {part}"),
                line => format!("{line}, {part}"),
            };
            if line.is_empty() || text_width(&longer) * 0.92 < width {
                line = longer;
            } else {
                lines.push(format!("{line},"));
                (*part).clone_into(&mut line);
            }
        }
        lines.push(line);
    }
    lines
}
