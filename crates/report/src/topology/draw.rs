//! Drawings of networks: hosts on the left and right, routers and links between them.

use std::fmt::Write as _;

use super::parts::{FlowText, LinkText};
use crate::chart::COLOURS;
use crate::markup::{Frame, esc, svg, svg_text, text_width};

/// The greatest number of rows of hosts; further flows share the last row.
const MOST_FLOWS: usize = 7;
/// The distance between rows of hosts.
const ROW: f64 = 40.0;
/// The distance between lines of text.
const LINE: f64 = 14.0;
/// The height of a host.
const HOST: f64 = 28.0;

/// A network of hosts, routers and links.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Wired {
    Dumbbell,
    Chain,
}

/// Draws a network of `links` and `flows` in one of two shapes; `alt` is its text alternative.
pub(super) fn network(
    out: &mut String,
    (links, flows): (&[LinkText], &[FlowText]),
    alt: &str,
    wired: Wired,
    frame: Frame,
) {
    let drawing = Drawing::new((links, flows), wired, frame);
    svg(out, frame, drawing.height, alt);
    match wired {
        Wired::Dumbbell => drawing.dumbbell(out),
        Wired::Chain => drawing.chain(out),
    }
    drawing.hosts(out);
    out.push_str("</svg>\n");
}

struct Drawing<'a> {
    links: &'a [LinkText],
    flows: &'a [FlowText],
    rows: usize,
    /// The width of a host.
    host: f64,
    /// The left edge of the hosts on the left.
    left: f64,
    /// The left edge of the hosts on the right.
    right: f64,
    /// The height of the line of routers and links.
    middle: f64,
    height: f64,
    /// The descriptions of links, at the bottom, if there is no room beside the links.
    legend: Vec<String>,
}

impl<'a> Drawing<'a> {
    fn new((links, flows): (&'a [LinkText], &'a [FlowText]), wired: Wired, frame: Frame) -> Self {
        let rows = flows.len().clamp(1, MOST_FLOWS);
        let host = if frame.is_narrow { 96.0 } else { 150.0 };
        // The text of a link takes three lines above it and two below.
        let top = (rows as f64 * ROW + 24.0).max(132.0);
        let room = frame.width - 2.0 * (4.0 + host) - 40.0;
        let legend = legend(links, wired, room, frame.width - 8.0);
        Self {
            links,
            flows,
            rows,
            host,
            left: 4.0,
            right: frame.width - 4.0 - host,
            middle: top / 2.0,
            height: top + legend.len() as f64 * LINE,
            legend,
        }
    }

    /// Returns the vertical middle of host `row`.
    fn row(&self, row: usize) -> f64 {
        self.middle + (row as f64 - (self.rows - 1) as f64 / 2.0) * ROW
    }

    fn hosts(&self, out: &mut String) {
        let flows = self.flows;
        for row in 0..self.rows {
            let Some(flow) = flows.get(row) else {
                continue;
            };
            let more = flows[self.rows..]
                .iter()
                .map(FlowText::count)
                .sum::<usize>();
            let is_last = row + 1 == self.rows && more > 0;
            let name = if is_last {
                format!("{} and {more} more", flow.title())
            } else {
                flow.title()
            };
            let (sends, receives) = if flow.from_left {
                (self.left, self.right)
            } else {
                (self.right, self.left)
            };
            let colour = row % COLOURS;
            self.host(out, sends, row, colour, &name, true);
            self.host(out, receives, row, colour, "receiver", false);
            self.arrow(out, flow, row, colour);
        }
    }

    fn host(&self, out: &mut String, x: f64, row: usize, colour: usize, name: &str, sends: bool) {
        let y = self.row(row) - HOST / 2.0;
        let class = if sends { "host sends" } else { "host" };
        let width = self.host;
        let _ = writeln!(
            out,
            "<g class=\"c{colour}\"><title>{}</title><rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{HOST}\" rx=\"5\"/>",
            esc(name)
        );
        let middle = (x + width / 2.0, y + HOST / 2.0 + 4.0);
        svg_text(out, middle, "host-name middle", &cut(name, width - 8.0));
        out.push_str("</g>\n");
    }

    /// Draws the end of a flow: an arrow into the receiving host.
    fn arrow(&self, out: &mut String, flow: &FlowText, row: usize, colour: usize) {
        let y = self.row(row);
        let (tip, back) = if flow.from_left {
            (self.right - 1.0, -7.0)
        } else {
            (self.left + self.host + 1.0, 7.0)
        };
        let _ = writeln!(
            out,
            "<path class=\"arrow c{colour}\" d=\"M{tip:.1} {y:.1}l{back} -4.5v9z\"/>"
        );
    }

    /// Draws the wires from all hosts to the routers at `ends`, and between these.
    fn wires(&self, out: &mut String, ends: (f64, f64)) {
        let middle = self.middle;
        for row in 0..self.rows {
            let y = self.row(row);
            for (from, to) in [(self.left + self.host, ends.0), (self.right, ends.1)] {
                let _ = writeln!(
                    out,
                    "<path class=\"wire\" d=\"M{from:.1} {y:.1}L{to:.1} {middle:.1}\"/>"
                );
            }
        }
        let _ = writeln!(
            out,
            "<path class=\"wire thick\" d=\"M{:.1} {middle:.1}H{:.1}\"/>",
            ends.0, ends.1
        );
    }

    fn dumbbell(&self, out: &mut String) {
        let inner = self.right - self.left - self.host;
        let start = self.left + self.host;
        let routers = (start + inner * 0.24, start + inner * 0.76);
        self.wires(out, routers);
        let bottleneck = self.links.iter().find(|link| link.name == "bottleneck");
        if let Some(link) = bottleneck {
            self.draw_link_text(out, f64::midpoint(routers.0, routers.1), link);
        }
        if let Some(access) = self.links.iter().find(|link| link.name == "access") {
            let text = format!("access links: {}, {}", access.rate, access.delay);
            let middle = self.left + (self.right + self.host - self.left) / 2.0;
            svg_text(out, (middle, self.height - 5.0), "link-text middle", &text);
        }
        for x in [routers.0, routers.1] {
            self.router(out, x);
        }
    }

    fn chain(&self, out: &mut String) {
        let start = self.left + self.host;
        let links = self.links;
        let room = (self.right - start - 40.0) / links.len().max(1) as f64;
        let node = |number: usize| start + 20.0 + number as f64 * room;
        let ends = (node(0), node(links.len()));
        self.wires(out, ends);
        let fits = self.legend.is_empty();
        for (number, link) in links.iter().enumerate() {
            let middle = f64::midpoint(node(number), node(number + 1));
            if fits {
                self.draw_link_text(out, middle, link);
            } else {
                let number = (number + 1).to_string();
                svg_text(
                    out,
                    (middle, self.middle - 8.0),
                    "link-name middle",
                    &number,
                );
            }
        }
        for number in 0..=links.len() {
            self.router(out, node(number));
        }
        let bottom = self.height - self.legend.len() as f64 * LINE;
        for (number, line) in self.legend.iter().enumerate() {
            let at = (self.left, bottom + 9.0 + number as f64 * LINE);
            svg_text(out, at, "link-text", line);
        }
    }

    fn draw_link_text(&self, out: &mut String, x: f64, link: &LinkText) {
        draw_link_text(out, (x, self.middle), link);
    }

    fn router(&self, out: &mut String, x: f64) {
        let _ = writeln!(
            out,
            "<circle class=\"router\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"7\"/>",
            self.middle
        );
    }
}

/// Returns the descriptions of the links of a chain, if one does not fit into its share of `room`.
///
/// Each line is at most `width` wide.
fn legend(links: &[LinkText], wired: Wired, room: f64, width: f64) -> Vec<String> {
    let room = room / links.len().max(1) as f64;
    let says_itself = |link: &LinkText| {
        let mut lines = link.lines().into_iter();
        lines.all(|line| text_width(line) * 0.92 < room)
    };
    if wired == Wired::Dumbbell || links.iter().all(says_itself) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for (link, number) in links.iter().zip(1..) {
        let mut line = format!("{number} {}:", link.name);
        for part in link.lines().into_iter().skip(1) {
            let comma = if line.ends_with(':') { "" } else { "," };
            let longer = format!("{line}{comma} {part}");
            if text_width(&longer) * 0.92 < width {
                line = longer;
            } else {
                lines.push(format!("{line}{comma}"));
                part.clone_into(&mut line);
            }
        }
        lines.push(line);
    }
    lines
}

/// Writes the description of a link above and below its middle.
pub(super) fn draw_link_text(out: &mut String, (x, y): (f64, f64), link: &LinkText) {
    let lines = link.lines();
    let (above, below) = lines.split_at(3.min(lines.len()));
    for (number, line) in above.iter().rev().enumerate() {
        let class = if number + 1 == above.len() {
            "link-name middle"
        } else {
            "link-text middle"
        };
        svg_text(out, (x, y - 9.0 - number as f64 * LINE), class, line);
    }
    for (number, line) in below.iter().enumerate() {
        let at = (x, y + 18.0 + number as f64 * LINE);
        svg_text(out, at, "link-text middle", line);
    }
}

/// Shortens a name to the width `room`.
pub(super) fn cut(text: &str, room: f64) -> String {
    let wide = |text: &str| text.chars().count() as f64 * 7.4;
    if wide(text) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if wide(&kept) + 14.8 > room {
            break;
        }
        kept.push(c);
    }
    format!("{}\u{2026}", kept.trim_end())
}
