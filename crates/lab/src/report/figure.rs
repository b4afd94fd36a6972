//! Figures: a drawing for wide pages and one for telephones, a legend, and the numbers.

use std::fmt::Write as _;

use super::chart::{COLOURS, chart, marker};
use super::contents::figure_anchor;
use super::markup::{Frame, esc, mean_and_interval, minus, paragraph};
use crate::paper::{Figure, Form, Paper, Point};

/// A figure under its heading.
pub(super) fn figure(out: &mut String, paper: &Paper, figure: &Figure) {
    let id = figure_anchor(&paper.name, &figure.name);
    let title = esc(&figure.title);
    let _ = writeln!(
        out,
        "<section class=\"block\" aria-labelledby=\"{id}\">\n<h4 id=\"{id}\">{title}</h4>"
    );
    paragraph(out, "about", &figure.about);
    out.push_str("<figure class=\"chart\">\n");
    chart(out, figure, Frame::WIDE);
    chart(out, figure, Frame::NARROW);
    out.push_str("<figcaption>\n");
    legend(out, figure);
    if let Some(over) = figure.mean_over {
        let _ = writeln!(
            out,
            "<p class=\"small\">Each point is a mean over {} s and over the seeds; the band is its 95 % interval.</p>",
            (over * 1e3 + 0.5).floor() / 1e3
        );
    }
    out.push_str("</figcaption></figure>\n");
    if figure.mean_over.is_none() {
        numbers(out, figure, &id);
    }
    out.push_str("</section>\n");
}

fn legend(out: &mut String, figure: &Figure) {
    let points = || figure.lines.iter().flat_map(|line| &line.points);
    let is_series = figure.mean_over.is_some();
    out.push_str("<ul class=\"legend\">\n");
    if figure.lines.len() > 1 || is_series {
        for (number, line) in figure.lines.iter().enumerate() {
            let _ = write!(
                out,
                "<li><svg class=\"key\" viewBox=\"0 0 28 12\" aria-hidden=\"true\"><g class=\"c{}\">",
                number % COLOURS
            );
            match figure.form {
                Form::Bar => {
                    out.push_str(
                        "<rect class=\"bar\" x=\"6\" y=\"1\" width=\"16\" height=\"10\"/>",
                    );
                }
                Form::Line => {
                    let class = if is_series { "ours series" } else { "ours" };
                    let _ = write!(out, "<path class=\"{class}\" d=\"M1 6H27\"/>");
                    if !is_series {
                        marker(out, "full", number, (14.0, 6.0));
                    }
                }
            }
            let _ = writeln!(out, "</g></svg> {}</li>", esc(&line.label));
        }
    }
    if points().any(|point| point.published.is_some()) {
        let key = match figure.form {
            Form::Bar => "<path class=\"over\" d=\"M2 6h24M14 1l5 5l-5 5l-5 -5z\"/>",
            Form::Line => {
                "<g class=\"ink\"><path class=\"printed\" d=\"M1 6H27\"/><circle class=\"hollow\" cx=\"14\" cy=\"6\" r=\"4\"/></g>"
            }
        };
        let _ = writeln!(
            out,
            "<li><svg class=\"key\" viewBox=\"0 0 28 12\" aria-hidden=\"true\">{key}</svg> hollow: printed in the paper</li>"
        );
    }
    if points().any(|point| point.measured.and_then(|one| one.interval()).is_some()) && !is_series {
        out.push_str(
            "<li><svg class=\"key\" viewBox=\"0 0 28 12\" aria-hidden=\"true\"><g class=\"ink\"><path class=\"error\" d=\"M14 1V11M10 1H18M10 11H18\"/></g></svg> 95 % interval</li>\n",
        );
    }
    out.push_str("</ul>\n");
}

/// The same as a table, for those who do not see the drawing and those who want to know exactly.
fn numbers(out: &mut String, figure: &Figure, id: &str) {
    let _ = writeln!(
        out,
        "<details><summary>The numbers of this figure</summary>\n\
         <div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"{id}\">\n\
         <table class=\"figures\" aria-labelledby=\"{id}\"><thead><tr><th scope=\"col\">{}</th>",
        esc(&figure.x.title)
    );
    for line in &figure.lines {
        let _ = write!(
            out,
            "<th scope=\"col\" class=\"number\">{}{}</th>",
            esc(&line.label),
            esc(&comma_unit(figure))
        );
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    let places = figure.x.labels.len().max(figure.x.at.len());
    for place in 0..places {
        let number = || figure.x.at.get(place).map(minus);
        let label = figure.x.labels.get(place).cloned().or_else(number);
        let label = label.unwrap_or_default();
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", esc(&label));
        for line in &figure.lines {
            let point = line.points.get(place);
            let text = point.map_or(String::new(), |point| self::point(point, figure));
            let _ = write!(out, "<td class=\"number\">{text}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div></details>\n");
}

fn comma_unit(figure: &Figure) -> String {
    let name = figure.y.unit.name;
    if name.is_empty() {
        String::new()
    } else {
        format!(", {name}")
    }
}

fn point(point: &Point, figure: &Figure) -> String {
    let digits = figure.y.unit.digits;
    let ours = match point.measured {
        None => "no value".to_owned(),
        Some(estimate) => {
            let (mean, interval) = mean_and_interval(estimate, digits);
            format!("{mean} {}", esc(&interval))
        }
    };
    match point.published {
        None => ours,
        Some(value) => format!("{ours} <small>printed {}</small>", minus(value)),
    }
}
