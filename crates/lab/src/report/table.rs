//! Tables: published, ours with its interval, and the difference in the paper's own units.
//!
//! One table with a group of rows for each metric, so that columns stand under each other. On a
//! telephone the style turns each row into a few lines; roles are written out because a
//! changed display would take them away from screen readers.

use std::fmt::Write as _;

use super::contents::table_anchor;
use super::markup::{esc, mean_and_interval, minus, paragraph, prose};
use crate::paper::{Block, Difference, Measured, POINTS, Paper, Row, Table};

/// A table under its heading.
pub(super) fn table(out: &mut String, paper: &Paper, table: &Table) {
    let id = table_anchor(&paper.name, &table.name);
    let _ = writeln!(out, "<section class=\"block\" aria-labelledby=\"{id}\">");
    let _ = writeln!(out, "<h4 id=\"{id}\">{}</h4>", esc(&table.title));
    paragraph(out, "about", &table.about);
    let view = View {
        paper,
        table,
        has_published: rows(table).any(|(_, row)| row.published.is_some()),
        has_flows: has_flows(table),
    };
    view.write(out, &id);
    out.push_str("</section>\n");
}

/// With more windows than this, differences stand below the numbers and not beside them.
const MOST_BESIDE: usize = 2;

struct View<'a> {
    paper: &'a Paper,
    table: &'a Table,
    has_published: bool,
    has_flows: bool,
}

impl View<'_> {
    fn write(&self, out: &mut String, id: &str) {
        let mut notes: Vec<&str> = Vec::new();
        let _ = writeln!(
            out,
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"{id}\">\n\
             <table class=\"numbers{}\" role=\"table\" aria-labelledby=\"{id}\" style=\"{}\">",
            self.class(),
            self.widths()
        );
        self.head(out);
        for block in &self.table.blocks {
            self.block(out, block, &mut notes);
        }
        out.push_str("</table></div>\n");
        self.unperturbed(out, id);
        if !notes.is_empty() {
            out.push_str("<ol class=\"notes\">\n");
            for note in notes {
                let _ = writeln!(out, "<li>{}</li>", prose(note));
            }
            out.push_str("</ol>\n");
        }
    }

    /// How differences stand: beside the numbers, below them, or not at all.
    fn class(&self) -> &'static str {
        match (self.has_published, self.table.windows.len()) {
            (false, _) => " alone",
            (true, count) if count <= MOST_BESIDE => " beside",
            (true, _) => "",
        }
    }

    /// Intervals and differences are as wide as the widest of the table, so that numbers stand under each
    /// other.
    fn widths(&self) -> String {
        let (mut interval, mut off) = (0, "difference".len());
        for (block, row) in rows(self.table) {
            let digits = block.unit.digits;
            for one in &row.measured {
                let Some(estimate) = one.estimate else {
                    continue;
                };
                let text = mean_and_interval(estimate, digits).1;
                interval = interval.max(text.chars().count());
                if let Some(published) = row.published {
                    let units = Difference::of(estimate.mean, published, block.unit).units(digits);
                    off = off.max(units.chars().count());
                }
            }
        }
        if self.has_published {
            format!("--pm:{interval}ch;--off:{off}ch")
        } else {
            format!("--pm:{interval}ch")
        }
    }

    fn columns(&self) -> usize {
        1 + usize::from(self.has_flows) + usize::from(self.has_published) + self.table.windows.len()
    }

    fn head(&self, out: &mut String) {
        out.push_str("<thead role=\"rowgroup\"><tr role=\"row\">");
        let mut column = |class: &str, text: &str| {
            let _ = write!(
                out,
                "<th role=\"columnheader\" scope=\"col\" class=\"{class}\">{}</th>",
                esc(text)
            );
        };
        if self.has_flows {
            column("text", "flow");
        }
        column("text", &self.table.heading);
        if self.has_published {
            column("number", "published");
        }
        for window in &self.table.windows {
            let heading = esc(self.paper.window_heading(window));
            let (ours, off) = if self.has_published {
                ("ours, ", " <small>difference</small>")
            } else {
                ("", "")
            };
            let _ = write!(
                out,
                "<th role=\"columnheader\" scope=\"col\" class=\"number\">{ours}{heading}{off}</th>"
            );
        }
        out.push_str("</tr></thead>\n");
    }

    fn block<'b>(&self, out: &mut String, block: &'b Block, notes: &mut Vec<&'b str>) {
        let columns = self.columns();
        let name = block.metric.replace('_', " ");
        let unit = if block.unit.name.is_empty() {
            String::new()
        } else {
            format!(", {}", block.unit.name)
        };
        let _ = writeln!(
            out,
            "<tbody role=\"rowgroup\">\
             <tr role=\"row\" class=\"metric\"><th role=\"rowheader\" scope=\"rowgroup\" colspan=\"{columns}\">\
             {}{} <span class=\"meaning\">{}</span></th></tr>",
            esc(&name),
            esc(&unit),
            prose(&block.meaning)
        );
        for row in &block.rows {
            self.row(out, row, notes);
        }
        out.push_str("</tbody>\n");
    }

    fn row<'b>(&self, out: &mut String, row: &'b Row, notes: &mut Vec<&'b str>) {
        out.push_str("<tr role=\"row\">");
        if self.has_flows {
            let _ = write!(
                out,
                "<th role=\"rowheader\" scope=\"row\" class=\"text\">{}</th>",
                esc(&self.paper.flow_name(&row.flow))
            );
        }
        let _ = write!(
            out,
            "<th role=\"rowheader\" scope=\"row\" class=\"text label\">{}</th>",
            esc(&row.label)
        );
        if self.has_published {
            let printed = row.published.map_or("\u{2013}".to_owned(), minus);
            let mark = note_mark(row, notes);
            let _ = write!(
                out,
                "<td role=\"cell\" class=\"number printed\" data-h=\"published\"><span class=\"value\">{printed}{mark}</span></td>"
            );
        }
        for (window, measured) in self.table.windows.iter().zip(&row.measured) {
            let heading = esc(self.paper.window_heading(window));
            let _ = write!(
                out,
                "<td role=\"cell\" class=\"number\" data-h=\"{heading}\">{}</td>",
                cell(measured, row.published, self.has_published)
            );
        }
        out.push_str("</tr>\n");
    }

    /// What the run with nothing random in it says, for those who want to compare single runs.
    fn unperturbed(&self, out: &mut String, id: &str) {
        let shown: Vec<(&Block, &Row)> = rows(self.table)
            .filter(|(block, row)| {
                block.unperturbed && row.measured.iter().any(|one| one.unperturbed.is_some())
            })
            .collect();
        if shown.is_empty() {
            return;
        }
        let _ = writeln!(
            out,
            "<details><summary>The unperturbed run: flows start exactly when the paper says</summary>\n\
             <div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"unperturbed run\">\n\
             <table class=\"numbers plain\" role=\"table\" aria-labelledby=\"{id}\"><thead role=\"rowgroup\"><tr role=\"row\">\
             <th role=\"columnheader\" scope=\"col\" class=\"text\">metric</th>\
             <th role=\"columnheader\" scope=\"col\" class=\"text\">{}</th>",
            esc(&self.table.heading)
        );
        for window in &self.table.windows {
            let heading = esc(self.paper.window_heading(window));
            let _ = write!(
                out,
                "<th role=\"columnheader\" scope=\"col\" class=\"number\">{heading}</th>"
            );
        }
        out.push_str("</tr></thead>\n<tbody role=\"rowgroup\">\n");
        for (block, row) in shown {
            let flow = if self.has_flows {
                format!("{}, ", self.paper.flow_name(&row.flow))
            } else {
                String::new()
            };
            let _ = write!(
                out,
                "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\" class=\"text\">{}{}</th>\
                 <th role=\"rowheader\" scope=\"row\" class=\"text label\">{}</th>",
                esc(&block.metric.replace('_', " ")),
                esc(&unit_after_comma(block)),
                esc(&format!("{flow}{}", row.label))
            );
            for (window, measured) in self.table.windows.iter().zip(&row.measured) {
                let digits = block.unit.digits;
                let value = measured.unperturbed.map_or("no value".to_owned(), |value| {
                    minus(format_args!("{value:.digits$}"))
                });
                let heading = esc(self.paper.window_heading(window));
                let _ = write!(
                    out,
                    "<td role=\"cell\" class=\"number\" data-h=\"{heading}\">{value}</td>"
                );
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div></details>\n");
    }
}

fn unit_after_comma(block: &Block) -> String {
    if block.unit.name.is_empty() {
        String::new()
    } else {
        format!(", {}", block.unit.name)
    }
}

/// Mean, interval and difference of one number. There are thousands of these: their markup is short.
fn cell(measured: &Measured, published: Option<f64>, has_differences: bool) -> String {
    let Some(estimate) = measured.estimate else {
        return "<span class=\"none\">no value</span>".into();
    };
    let digits = measured.unit.digits;
    let (mean, interval) = mean_and_interval(estimate, digits);
    let some = if estimate.count < measured.asked as u64 {
        let (count, asked) = (estimate.count, measured.asked);
        format!("<span class=\"some\">in {count} of {asked} runs</span>")
    } else {
        String::new()
    };
    // Where other rows have a difference this one keeps its room free.
    let nothing = if has_differences {
        "<small></small>"
    } else {
        ""
    };
    let off = published.map_or(nothing.to_owned(), |published| {
        let difference = Difference::of(estimate.mean, published, measured.unit);
        let units = minus(difference.units(digits));
        if difference.unit == POINTS {
            return format!("<small>{units}</small>");
        }
        let share = difference.share().unwrap_or_default();
        let share = minus(share.replace('x', "\u{d7}"));
        format!("<small>{units} <i>{share}</i></small>")
    });
    format!(
        "<span><b>{mean}</b> <i>{}</i></span>{some}{off}",
        esc(&interval)
    )
}

/// The number of the note about a printed number, if there is one.
fn note_mark<'b>(row: &'b Row, notes: &mut Vec<&'b str>) -> String {
    if row.note.is_empty() {
        return String::new();
    }
    let known = notes.iter().position(|note| *note == row.note);
    let number = 1 + known.unwrap_or_else(|| {
        notes.push(&row.note);
        notes.len() - 1
    });
    format!(
        "<sup class=\"mark\" title=\"{}\">{number}</sup>",
        esc(&row.note)
    )
}

fn rows(table: &Table) -> impl Iterator<Item = (&Block, &Row)> {
    table
        .blocks
        .iter()
        .flat_map(|block| block.rows.iter().map(move |row| (block, row)))
}

/// Is there more than one flow, so that rows must say which?
fn has_flows(table: &Table) -> bool {
    let mut flows = rows(table).map(|(_, row)| &row.flow);
    let first = flows.next();
    flows.any(|flow| Some(flow) != first)
}
