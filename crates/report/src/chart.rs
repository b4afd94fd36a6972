//! Charts as SVG: curves with intervals, bars with error bars, and hollow marks for published points.

mod axis;
mod marks;

use std::fmt::Write as _;

use super::markup::{Frame, esc, minus, svg, svg_text, text_width};
pub use axis::Axis;
use fairwire_paper::{Figure, Form, Line, Point, Scale};
use marks::diamond;
pub(super) use marks::marker;

/// The number of colours of lines and bars; a figure with more lines repeats them.
pub(super) const COLOURS: usize = 8;
/// The greatest number of points of a curve with marks.
///
/// A longer curve has no marks and a band for its intervals, and so has every curve over time.
const MARKED: usize = 40;
/// The distance between the marks of several lines at one place, so that they do not hide each other's intervals.
const APART: f64 = 3.5;
/// The space above the plot, for the title of the vertical axis.
const TOP: f64 = 30.0;
/// The space to the right of the plot.
const RIGHT: f64 = 14.0;
/// The space that a label turned by 35 degrees takes to the left and below, as shares of its length.
const SLANT: (f64, f64) = (0.82, 0.6);

/// Draws a figure.
pub(super) fn chart(out: &mut String, figure: &Figure, frame: Frame) {
    let plot = Drawing::new(figure, frame);
    svg(out, frame, plot.height, &alt(figure));
    plot.draw_axes(out);
    for mark in &figure.marks {
        plot.mark(out, mark.at, &mark.label);
    }
    match figure.form {
        Form::Line => {
            for (number, line) in figure.lines.iter().enumerate() {
                plot.curve(out, number, line);
            }
        }
        Form::Bar => plot.bars(out),
    }
    out.push_str("</svg>\n");
}

struct Drawing<'a> {
    figure: &'a Figure,
    x: Axis,
    y: Axis,
    left: f64,
    width: f64,
    plot_height: f64,
    height: f64,
    /// Whether the labels below the axis are too long to be written horizontally.
    is_slanted: bool,
}

impl<'a> Drawing<'a> {
    fn new(figure: &'a Figure, frame: Frame) -> Self {
        let plot_height = if frame.is_narrow { 200.0 } else { 260.0 };
        let bounds = bounds(figure);
        let mut given = (figure.y.from, figure.y.to);
        if figure.form == Form::Bar && figure.y.scale == Scale::Linear && bounds.0 >= 0.0 {
            // A bar shows its value as its length, so the axis begins at zero.
            given.0 = Some(given.0.unwrap_or(0.0));
        }
        let y = Axis::new(figure.y.scale, bounds, given, plot_height, 5);
        let widest = y
            .ticks
            .iter()
            .map(|tick| text_width(&y.label(*tick)))
            .fold(0.0, f64::max);
        let labels = &figure.x.labels;
        let longest = labels
            .iter()
            .map(|label| text_width(label))
            .fold(0.0, f64::max);
        let mut left = widest + 14.0;
        let room = |left: f64| (frame.width - left - RIGHT) / labels.len().max(1) as f64;
        let is_slanted = longest + 6.0 > room(left);
        if is_slanted && let Some(first) = labels.first() {
            // A slanted label ends below its tick and begins to the left of it.
            left = left.max(text_width(first) * SLANT.0 + 6.0 - room(left) / 2.0);
        }
        let width = frame.width - left - RIGHT;
        let mut plot = Self {
            figure,
            x: x_axis(figure, width, frame),
            y,
            left,
            width,
            plot_height,
            height: 0.0,
            is_slanted,
        };
        let below = if is_slanted {
            14.0 + longest * SLANT.1
        } else {
            20.0
        };
        plot.height = TOP + plot_height + below + 24.0;
        plot
    }

    fn bottom(&self) -> f64 {
        TOP + self.plot_height
    }

    fn at_x(&self, x: f64) -> f64 {
        self.left + self.x.place(x)
    }

    fn at_y(&self, y: f64) -> f64 {
        self.bottom() - self.y.place(y)
    }

    fn draw_axes(&self, out: &mut String) {
        let y = &self.figure.y;
        let unit = if y.unit.name.is_empty() {
            String::new()
        } else {
            format!(", {}", y.unit.name)
        };
        svg_text(
            out,
            (2.0, 14.0),
            "axis-title",
            &format!("{}{unit}{}", y.title, remark(y.scale)),
        );
        for tick in &self.y.ticks {
            let at = self.at_y(*tick);
            let (from, to) = (self.left, self.left + self.width);
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>"
            );
            svg_text(
                out,
                (self.left - 6.0, at + 4.0),
                "tick end",
                &self.y.label(*tick),
            );
        }
        let labels = &self.figure.x.labels;
        let mut free_from = f64::NEG_INFINITY;
        for (number, tick) in self.x.ticks.iter().enumerate() {
            let at = self.at_x(*tick);
            let bottom = self.bottom();
            let _ = writeln!(
                out,
                "<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom:.1}\" y2=\"{:.1}\"/>",
                bottom + 4.0
            );
            let label = labels.get(number).cloned();
            let label = label.unwrap_or_else(|| self.x.label(*tick));
            if self.is_slanted {
                let (x, y) = (at + 4.0, bottom + 16.0);
                let _ = writeln!(
                    out,
                    "<text class=\"tick end\" transform=\"translate({x:.1} {y:.1}) rotate(-35)\">{}</text>",
                    esc(&label)
                );
                continue;
            }
            let half = text_width(&label) / 2.0;
            if at - half < free_from {
                continue; // It would overlap its neighbour.
            }
            free_from = at + half + 4.0;
            let x = at.min(self.left + self.width + RIGHT - half);
            svg_text(out, (x, bottom + 18.0), "tick middle", &label);
        }
        let bottom = self.bottom();
        let (from, to) = (self.left, self.left + self.width);
        let _ = writeln!(
            out,
            "<line class=\"axis\" x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{bottom:.1}\" y2=\"{bottom:.1}\"/>"
        );
        let middle = self.left + self.width / 2.0;
        let x = &self.figure.x;
        let title = format!("{}{}", x.title, remark(x.scale));
        svg_text(
            out,
            (middle, self.height - 6.0),
            "axis-title middle",
            &title,
        );
    }

    /// Draws a marked moment: a vertical line with its label.
    fn mark(&self, out: &mut String, at: f64, label: &str) {
        let x = self.at_x(at);
        let bottom = self.bottom();
        let _ = writeln!(
            out,
            "<line class=\"moment\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\"/>"
        );
        let right = x + text_width(label) + 6.0 < self.left + self.width + RIGHT;
        let (x, class) = if right {
            (x + 4.0, "tick")
        } else {
            (x - 4.0, "tick end")
        };
        svg_text(out, (x, TOP + 10.0), class, label);
    }

    fn curve(&self, out: &mut String, number: usize, line: &Line) {
        let colour = number % COLOURS;
        let is_marked = self.figure.mean_over.is_none() && line.points.len() <= MARKED;
        let aside = if is_marked {
            (number as f64 - (self.figure.lines.len() - 1) as f64 / 2.0) * APART
        } else {
            0.0
        };
        let shown = |value: Option<f64>| value.filter(|value| self.y.shows(*value));
        let ours = |point: &Point| shown(point.measured.map(|estimate| estimate.mean));
        let _ = writeln!(out, "<g class=\"c{colour}\">");
        let printed = |point: &Point| shown(point.published);
        self.path(out, "printed", line, aside, &printed);
        if !is_marked {
            self.band(out, line);
        }
        self.path(
            out,
            if is_marked { "ours" } else { "ours series" },
            line,
            aside,
            &ours,
        );
        if is_marked {
            for (place, point) in line.points.iter().enumerate() {
                let title = esc(&self.tooltip(line, place, point));
                let _ = writeln!(out, "<g><title>{title}</title>");
                let x = self.at_x(point.x) + aside;
                if let Some(value) = printed(point) {
                    marker(out, "hollow", number, (x, self.at_y(value)));
                }
                if let Some(value) = ours(point) {
                    self.error_bar(out, x, point);
                    marker(out, "full", number, (x, self.at_y(value)));
                }
                out.push_str("</g>\n");
            }
        }
        out.push_str("</g>\n");
    }

    /// Draws a curve through all points with a value, with gaps where a point has none.
    fn path(
        &self,
        out: &mut String,
        class: &str,
        line: &Line,
        aside: f64,
        value: &dyn Fn(&Point) -> Option<f64>,
    ) {
        let mut path = String::new();
        let mut is_begun = false;
        for point in &line.points {
            let Some(value) = value(point) else {
                is_begun = false;
                continue;
            };
            let letter = if is_begun { 'L' } else { 'M' };
            is_begun = true;
            let (x, y) = (self.at_x(point.x) + aside, self.at_y(value));
            let _ = write!(path, "{letter}{x:.1} {y:.1}");
        }
        if !path.is_empty() {
            let title = esc(&line.label);
            let _ = writeln!(
                out,
                "<path class=\"{class}\" d=\"{path}\"><title>{title}</title></path>"
            );
        }
    }

    /// Draws the intervals of a curve with many points as a band.
    fn band(&self, out: &mut String, line: &Line) {
        let ends: Vec<(f64, f64, f64)> = line
            .points
            .iter()
            .filter_map(|point| {
                // Where all seeds agree, the band is as thin as the line.
                let estimate = point.measured?;
                let (low, high) = estimate
                    .interval()
                    .unwrap_or((estimate.mean, estimate.mean));
                let shows = self.y.shows(low) && self.y.shows(high);
                shows.then(|| (self.at_x(point.x), self.at_y(low), self.at_y(high)))
            })
            .collect();
        if ends.len() < 2 {
            return;
        }
        let mut points = String::new();
        for (x, low, _) in &ends {
            let _ = write!(points, "{x:.1},{low:.1} ");
        }
        for (x, _, high) in ends.iter().rev() {
            let _ = write!(points, "{x:.1},{high:.1} ");
        }
        let _ = writeln!(
            out,
            "<polygon class=\"band\" points=\"{}\"/>",
            points.trim_end()
        );
    }

    fn error_bar(&self, out: &mut String, x: f64, point: &Point) {
        let Some((low, high)) = point.measured.and_then(|estimate| estimate.interval()) else {
            return;
        };
        if !self.y.shows(high) {
            return;
        }
        let low = if self.y.shows(low) {
            self.at_y(low)
        } else {
            self.bottom()
        };
        let high = self.at_y(high);
        let (left, right) = (x - 3.5, x + 3.5);
        let _ = writeln!(
            out,
            "<path class=\"error\" d=\"M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}H{right:.1}M{left:.1} {high:.1}H{right:.1}\"/>"
        );
    }

    fn bars(&self, out: &mut String) {
        let places = self.x.ticks.len().max(1) as f64;
        let room = self.width / places * 0.78;
        let each = (room / self.figure.lines.len().max(1) as f64).min(64.0);
        let all = each * self.figure.lines.len() as f64;
        let base = self.at_y(0.0);
        for (number, line) in self.figure.lines.iter().enumerate() {
            let _ = writeln!(out, "<g class=\"c{}\">", number % COLOURS);
            for (place, point) in line.points.iter().enumerate() {
                let left = self.at_x(point.x) - all / 2.0 + number as f64 * each;
                let middle = left + each / 2.0;
                let title = esc(&self.tooltip(line, place, point));
                let _ = writeln!(out, "<g><title>{title}</title>");
                let value = point.measured.map(|estimate| estimate.mean);
                if let Some(value) = value.filter(|value| self.y.shows(*value)) {
                    let top = self.at_y(value);
                    let (y, height) = (top.min(base), (base - top).abs());
                    let (x, width) = (left + 1.0, (each - 2.0).max(1.0));
                    let _ = writeln!(
                        out,
                        "<rect class=\"bar\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
                    );
                    self.error_bar(out, middle, point);
                }
                if let Some(value) = point.published.filter(|value| self.y.shows(*value)) {
                    diamond(out, (middle, self.at_y(value)));
                }
                out.push_str("</g>\n");
            }
            out.push_str("</g>\n");
        }
    }

    fn tooltip(&self, line: &Line, place: usize, point: &Point) -> String {
        let unit = self.figure.y.unit;
        let digits = unit.digits;
        let label = self.figure.x.labels.get(place).cloned();
        let label = label.unwrap_or_else(|| self.x.label(point.x));
        let ours = match point.measured {
            Some(estimate) => format!(
                "{}{}",
                minus(format_args!("{estimate:.digits$}")),
                unit.suffix()
            ),
            None => "no value".to_owned(),
        };
        let printed = point.published.map_or(String::new(), |value| {
            format!("; printed: {}{}", minus(value), unit.suffix())
        });
        let note = if point.note.is_empty() { "" } else { "; " };
        format!(
            "{}, {label}: {ours}{printed}{note}{}",
            line.label, point.note
        )
    }
}

/// Returns what the title of an axis adds about its scale.
fn remark(scale: Scale) -> &'static str {
    match scale {
        Scale::Linear => "",
        Scale::Log => " (logarithmic)",
    }
}

/// Returns the horizontal axis: numbers, labels or time.
fn x_axis(figure: &Figure, width: f64, frame: Frame) -> Axis {
    let x = &figure.x;
    if !x.at.is_empty() {
        return Axis::at(x.scale, &x.at, width);
    }
    if !x.labels.is_empty() {
        return Axis::places(x.labels.len(), width);
    }
    let all = figure.lines.iter().flat_map(|line| &line.points);
    let greatest = all.map(|point| point.x).fold(0.0, f64::max);
    let end = figure
        .mean_over
        .map_or(greatest, |over| greatest + over / 2.0);
    let ticks = if frame.is_narrow { 5 } else { 10 };
    Axis::new(
        Scale::Linear,
        (0.0, end),
        (Some(0.0), Some(end)),
        width,
        ticks,
    )
}

/// Returns the least and the greatest value to show, including intervals.
///
/// If no value is negative, the negative part of an interval has no meaning and is not shown.
fn bounds(figure: &Figure) -> (f64, f64) {
    let points = || figure.lines.iter().flat_map(|line| &line.points);
    let fits = |value: &f64| value.is_finite() && (figure.y.scale == Scale::Linear || *value > 0.0);
    let values = points().flat_map(|point| {
        let mean = point.measured.map(|estimate| estimate.mean);
        mean.into_iter().chain(point.published)
    });
    let ends = points().flat_map(|point| {
        let interval = point.measured.and_then(|estimate| estimate.interval());
        interval
            .map(|(low, high)| [low, high])
            .into_iter()
            .flatten()
    });
    let within =
        |(least, greatest): (f64, f64), value: f64| (least.min(value), greatest.max(value));
    let nothing = (f64::INFINITY, f64::NEG_INFINITY);
    let (least, greatest) = values.filter(fits).fold(nothing, within);
    if least > greatest {
        return (0.0, 1.0);
    }
    let floor = if least >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    let ends = ends.filter(fits).map(|end| end.max(floor));
    ends.fold((least, greatest), within)
}

/// Returns the text alternative of a figure: each line by its first and last value.
fn alt(figure: &Figure) -> String {
    let unit = figure.y.unit.suffix();
    let digits = figure.y.unit.digits;
    let kind = match figure.form {
        Form::Line => "Line chart",
        Form::Bar => "Bar chart",
    };
    let (x, y) = (&figure.x, &figure.y);
    let mut text = format!(
        "{kind}: {}{} over {}{}.",
        y.title,
        remark(y.scale),
        x.title,
        remark(x.scale)
    );
    for line in &figure.lines {
        let mut values = line
            .points
            .iter()
            .filter_map(|point| point.measured.map(|estimate| estimate.mean));
        let first = values.next();
        let last = values.next_back().or(first);
        if let (Some(first), Some(last)) = (first, last) {
            let ends = minus(format_args!(
                "{first:.digits$}{unit} to {last:.digits$}{unit}"
            ));
            let _ = write!(text, " {}: from {ends}.", line.label);
        }
    }
    text
}
