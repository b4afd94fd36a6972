//! Tables: published values, ours with intervals, and the differences in the paper's units.
//!
//! All metrics of a table are in one HTML table, with a group of rows for each metric, so that the columns line up. On
//! a telephone the style changes the display of rows to a few lines each. That would remove their roles for screen
//! readers, so the roles are written out.

use maud::{Markup, html};

use super::contents::table_anchor;
use super::markup::{mean_and_interval, minus, paragraph, prose};
use fairwire_paper::{Block, Difference, Measured, POINTS, Paper, Row, Table, Unit};
use fairwire_sim::results::{Grid, NO_VALUE};

/// Returns a table with its heading.
pub(super) fn table(paper: &Paper, table: &Table) -> Markup {
    let id = table_anchor(&paper.name, &table.name);
    let view = View {
        paper,
        table,
        has_published: rows(table).any(|(_, row)| row.published.is_some()),
        has_flows: has_flows(table),
    };
    html! {
        section class="block" aria-labelledby=(id) {
            h4 id=(id) { (table.title) }
            (paragraph("about", &table.about))
            (view.numbers(&id))
            (view.unperturbed(&id))
            (view.notes())
        }
    }
}

/// The greatest number of windows with differences beside the numbers; with more, they are below.
const MOST_BESIDE: usize = 2;

struct View<'a> {
    paper: &'a Paper,
    table: &'a Table,
    has_published: bool,
    has_flows: bool,
}

impl View<'_> {
    fn numbers(&self, id: &str) -> Markup {
        html! {
            div class="scroll" role="region" tabindex="0" aria-labelledby=(id) {
                table class={ "numbers" (self.class()) } role="table" aria-labelledby=(id) style=(self.widths()) {
                    (self.head())
                    @for block in &self.table.blocks { (self.block(block)) }
                }
            }
        }
    }

    /// Returns the notes about published numbers, each once, in the order of the rows.
    fn note_texts(&self) -> Vec<&str> {
        let mut notes: Vec<&str> = Vec::new();
        if self.has_published {
            for (_, row) in rows(self.table) {
                if !row.note.is_empty() && !notes.contains(&row.note.as_str()) {
                    notes.push(&row.note);
                }
            }
        }
        notes
    }

    fn notes(&self) -> Markup {
        let notes = self.note_texts();
        html! {
            @if !notes.is_empty() {
                ol class="notes" {
                    @for note in notes { li { (prose(note)) } }
                }
            }
        }
    }

    /// Returns the class for the place of differences: beside the numbers, below them, or none.
    fn class(&self) -> &'static str {
        match (self.has_published, self.table.windows.len()) {
            (false, _) => " alone",
            (true, count) if count <= MOST_BESIDE => " beside",
            (true, _) => "",
        }
    }

    /// Returns the widths of the widest interval and difference of the table, so that numbers line up.
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

    fn head(&self) -> Markup {
        html! {
            thead role="rowgroup" {
                tr role="row" {
                    @if self.has_flows { (column("text", "flow")) }
                    (column("text", &self.table.heading))
                    @if self.has_published { (column("number", "published")) }
                    @for window in &self.table.windows {
                        th role="columnheader" scope="col" class="number" {
                            @if self.has_published { "ours, " }
                            (self.paper.window_heading(window))
                            @if self.has_published { " " small { "difference" } }
                        }
                    }
                }
            }
        }
    }

    fn block(&self, block: &Block) -> Markup {
        let notes = self.note_texts();
        html! {
            tbody role="rowgroup" {
                tr role="row" class="metric" {
                    th role="rowheader" scope="rowgroup" colspan=(self.columns()) {
                        (block.metric.replace('_', " ")) (unit_after_comma(block)) " "
                        span class="meaning" { (prose(&block.meaning)) }
                    }
                }
                @for row in &block.rows { (self.row(row, block.printed_digits(), &notes)) }
            }
        }
    }

    fn row(&self, row: &Row, digits: usize, notes: &[&str]) -> Markup {
        let printed = row
            .published
            .map(|value| minus(format_args!("{value:.digits$}")));
        let printed = printed.unwrap_or_else(|| "\u{2013}".to_owned());
        html! {
            tr role="row" {
                @if self.has_flows {
                    th role="rowheader" scope="row" class="text" { (self.paper.flow_name(&row.flow)) }
                }
                th role="rowheader" scope="row" class="text label" { (row.label) }
                @if self.has_published {
                    td role="cell" class="number printed" data-h="published" {
                        span class="value" { (printed) (note_mark(row, notes)) }
                    }
                }
                @for (window, measured) in self.table.windows.iter().zip(&row.measured) {
                    td role="cell" class="number" data-h=(self.paper.window_heading(window)) {
                        (cell(measured, row.published, self.has_published))
                    }
                }
            }
        }
    }

    /// Returns the values of the unperturbed run, for comparison with single runs.
    fn unperturbed(&self, id: &str) -> Markup {
        let has_it = |row: &Row| row.measured.iter().any(|one| one.unperturbed.is_some());
        let shown: Vec<(&Block, &Row)> = rows(self.table)
            .filter(|(block, row)| block.unperturbed && has_it(row))
            .collect();
        html! {
            @if !shown.is_empty() {
                details {
                    summary { "The unperturbed run: flows start exactly when the paper says" }
                    div class="scroll" role="region" tabindex="0" aria-label="unperturbed run" {
                        table class="numbers plain" role="table" aria-labelledby=(id) {
                            thead role="rowgroup" {
                                tr role="row" {
                                    (column("text", "metric"))
                                    (column("text", &self.table.heading))
                                    @for window in &self.table.windows {
                                        (column("number", self.paper.window_heading(window)))
                                    }
                                }
                            }
                            tbody role="rowgroup" {
                                @for (block, row) in shown { (self.unperturbed_row(block, row)) }
                            }
                        }
                    }
                }
            }
        }
    }

    fn unperturbed_row(&self, block: &Block, row: &Row) -> Markup {
        let digits = block.unit.digits;
        let value = |measured: &Measured| {
            let value = measured.unperturbed;
            value.map_or("no value".to_owned(), |value| {
                minus(format_args!("{value:.digits$}"))
            })
        };
        html! {
            tr role="row" {
                th role="rowheader" scope="row" class="text" {
                    (block.metric.replace('_', " ")) (unit_after_comma(block))
                }
                th role="rowheader" scope="row" class="text label" {
                    @if self.has_flows { (self.paper.flow_name(&row.flow)) ", " }
                    (row.label)
                }
                @for (window, measured) in self.table.windows.iter().zip(&row.measured) {
                    td role="cell" class="number" data-h=(self.paper.window_heading(window)) {
                        (value(measured))
                    }
                }
            }
        }
    }
}

/// Returns a table of texts: its first row is the head, its first column names the rows, and the rest are numbers.
pub(super) fn grid(label: &str, grid: &Grid) -> Markup {
    let Some((head, rows)) = grid.0.split_first() else {
        return Markup::default();
    };
    let texts = rows.iter().flat_map(|row| row.iter().skip(1));
    let interval = texts.map(|text| mean_and_rest(text).1.chars().count());
    html! {
        div class="scroll" role="region" tabindex="0" aria-label=(label) {
            table class="numbers alone" role="table" aria-label=(label) style={ "--pm:" (interval.max().unwrap_or(0)) "ch" } {
                thead role="rowgroup" {
                    tr role="row" {
                        @for (at, heading) in head.iter().enumerate() {
                            (column(if at == 0 { "text" } else { "number" }, heading))
                        }
                    }
                }
                tbody role="rowgroup" {
                    @for row in rows {
                        tr role="row" {
                            @for (at, (text, heading)) in row.iter().zip(head).enumerate() {
                                @if at == 0 {
                                    th role="rowheader" scope="row" class="text label" { (text) }
                                } @else {
                                    td role="cell" class="number" data-h=(heading) { (of_text(text)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the value that `text` shows, or that there is none.
fn of_text(text: &str) -> Markup {
    if text == NO_VALUE {
        return none();
    }
    let (mean, rest) = mean_and_rest(text);
    value(&minus(mean), &rest)
}

/// Splits the text of an estimate into the mean and its interval, or the reason why it has none.
fn mean_and_rest(text: &str) -> (&str, String) {
    let (mean, rest) = text.split_once(' ').unwrap_or((text, ""));
    (mean, rest.trim_matches(['(', ')']).to_owned())
}

fn column(class: &str, text: &str) -> Markup {
    html! { th role="columnheader" scope="col" class=(class) { (text) } }
}

fn unit_after_comma(block: &Block) -> String {
    if block.unit.name.is_empty() {
        String::new()
    } else {
        format!(", {}", block.unit.name)
    }
}

/// Returns the mean, interval and difference of one value. A report has thousands of these, so the markup is short.
fn cell(measured: &Measured, published: Option<f64>, has_differences: bool) -> Markup {
    let Some(estimate) = measured.estimate else {
        return none();
    };
    let (mean, interval) = mean_and_interval(estimate, measured.unit.digits);
    let runs = measured.runs;
    html! {
        (value(&mean, &interval))
        @if estimate.count < runs as u64 {
            span class="some" { "in " (estimate.count) " of " (runs) " runs" }
        }
        @if let Some(published) = published {
            (difference(estimate.mean, published, measured.unit))
        } @else if has_differences {
            // Other rows have a difference, so this one leaves room for it.
            small {}
        }
    }
}

fn value(mean: &str, interval: &str) -> Markup {
    html! { span { b { (mean) } " " i { (interval) } } }
}

fn none() -> Markup {
    html! { span class="none" { "no value" } }
}

fn difference(mean: f64, published: f64, unit: Unit) -> Markup {
    let difference = Difference::of(mean, published, unit);
    let units = minus(difference.units(unit.digits));
    let share = difference.share().unwrap_or_default();
    html! {
        small {
            (units)
            @if difference.unit != POINTS {
                " " i { (minus(share.replace('x', "\u{d7}"))) }
            }
        }
    }
}

/// Returns the number of the note about a published value, if there is one.
fn note_mark(row: &Row, notes: &[&str]) -> Markup {
    let place = notes.iter().position(|note| *note == row.note);
    html! {
        @if let Some(place) = place {
            // The blank and the brackets keep it apart from the number where the table is copied as text.
            " " sup class="mark" title=(row.note) { "[" (place + 1) "]" }
        }
    }
}

fn rows(table: &Table) -> impl Iterator<Item = (&Block, &Row)> {
    table
        .blocks
        .iter()
        .flat_map(|block| block.rows.iter().map(move |row| (block, row)))
}

/// Returns whether there is more than one flow, so that rows must name theirs.
fn has_flows(table: &Table) -> bool {
    let mut flows = rows(table).map(|(_, row)| &row.flow);
    let first = flows.next();
    flows.any(|flow| Some(flow) != first)
}
