//! The report of a scenario file: its network, and the results of its cells as plots and tables.

mod plots;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use fairwire_measure::counted;
use maud::{Markup, html};

use super::figure::figure;
use super::markup::{paragraph, prose};
use super::shell::shell;
use super::table::grid;
use super::topology::{networks, spaced};
use fairwire_scenario::Cell;
use fairwire_sim::results::{CellResult, Grid, Results, Tables, WindowTables, tables, write_file};

pub use plots::{Group, plots};

/// The name of the page's file.
pub const PAGE: &str = "report.html";

/// The prefix of ids in the page.
const ID: &str = "run";

/// Returns the results of a scenario file as one page: its network, its plots, then a table for each cell.
pub fn experiment_page(results: &Results) -> String {
    let first = results.cells.first().map(|cell| &cell.scenario);
    let one = results
        .cells
        .iter()
        .all(|cell| Some(&cell.scenario.title) == first.map(|it| &it.title));
    let title = match first {
        Some(first) if one => first.title.as_str(),
        _ => results.name.as_str(),
    };
    let about = first.and_then(|first| first.about.as_deref());
    let plots = plots(&results.cells);
    let cells: Vec<Cell> = results.cells.iter().map(cell).collect();
    shell(
        title,
        &html! {
            header class="top" {
                p class="kicker" { "Fairwire run" }
                h1 { (title) }
                (paragraph("lead", about.unwrap_or_default()))
                @if results.partial {
                    p class="partial" role="note" {
                        b { "These results are partial." }
                        " The run was interrupted before it was complete."
                    }
                }
            }
            main id="main" {
                p { (how(&results.cells)) }
                (notes(&results.notes))
                section aria-labelledby="network" {
                    h2 id="network" { "Network" }
                    (networks(&cells, &str::to_owned))
                }
                @if !plots.is_empty() {
                    section aria-labelledby="plots" {
                        h2 id="plots" { "Plots" }
                        @for group in &plots {
                            h3 { (group.title) }
                            (paragraph("about", &group.about))
                            div class=(if group.plots.len() > 1 { "side" } else { "" }) {
                                @for plot in &group.plots { (figure(ID, plot)) }
                            }
                        }
                    }
                }
                (of_cells(results))
            }
            footer {
                p {
                    "Made by Fairwire " (results.version) " from " code { (results.name) } ". The files beside this page have every number \
                     and the resolved scenario of each cell. The same scenario and the same seed give the same numbers on every machine."
                }
            }
        },
    )
}

/// Writes the page into `directory`.
///
/// # Errors
/// If that fails; the error names the file.
pub fn write_experiment(directory: &Path, results: &Results) -> io::Result<()> {
    write_file(directory, PAGE, experiment_page(results).as_bytes())
}

/// Returns how often and for how long the cells ran.
fn how(cells: &[CellResult]) -> String {
    let seeds = || cells.iter().map(|cell| cell.runs.len());
    let spans = || cells.iter().map(|cell| cell.scenario.run.duration);
    let (Some(few), Some(many)) = (seeds().min(), seeds().max()) else {
        return "No cell was run.".to_owned();
    };
    let spans = spans().min().zip(spans().max());
    let spans = spans.map_or(String::new(), |(short, long)| {
        if short == long {
            spaced(&long.to_string())
        } else {
            let [short, long] = [short, long].map(|span| spaced(&span.to_string()));
            format!("{short} to {long}")
        }
    });
    let words = |count: usize| counted(count as u64, "seed");
    let seeds = if few == many {
        words(many)
    } else {
        format!("{few} to {}", words(many))
    };
    let cells = counted(cells.len() as u64, "cell");
    format!(
        "{cells}, {seeds} each, of {spans}. Values are means over the seeds with 95 % intervals (Student's t)."
    )
}

/// Returns the cell that `result` is of, for what the drawing of its network needs.
fn cell(result: &CellResult) -> Cell {
    Cell {
        name: result.name.clone(),
        family: None,
        axes: result.axes.clone(),
        extends: Vec::new(),
        scenario: result.scenario.clone(),
        provenance: result.provenance.clone(),
        stated: Vec::new(),
        notes: Vec::new(),
        computed: BTreeMap::new(),
        wants_unperturbed: false,
    }
}

fn notes(notes: &[String]) -> Markup {
    html! {
        @if !notes.is_empty() {
            ul class="notes" {
                @for note in notes { li { (prose(note)) } }
            }
        }
    }
}

/// Returns the tables of each cell, with the values that the command prints.
fn of_cells(results: &Results) -> Markup {
    let is_only = results.cells.len() == 1;
    html! {
        section aria-labelledby="tables" {
            h2 id="tables" { "Tables" }
            p class="about" { "A row for each flow and link, with means over the seeds and 95 % intervals." }
            @for cell in &results.cells {
                details open[is_only] {
                    summary {
                        b { (cell.name) }
                        @for (axis, value) in &cell.axes { ", " (axis) " = " (value) }
                        ": " (counted(cell.runs.len() as u64, "seed")) ", " (spaced(&cell.scenario.run.duration.to_string()))
                    }
                    (of_cell(cell))
                    @for note in cell.notes() { p class="small" { "Note: " (prose(note)) } }
                }
            }
        }
    }
}

fn of_cell(cell: &CellResult) -> Markup {
    let Tables { windows, remarks } = tables(cell);
    html! {
        @for window in &windows { (of_window(&cell.name, window)) }
        @for remark in &remarks { p class="small" { (remark) } }
    }
}

fn of_window(cell: &str, window: &WindowTables) -> Markup {
    let title = match window.title.split_once(", ") {
        Some((name, span)) => {
            let words: Vec<String> = span.split(' ').map(spaced).collect();
            format!("{name}, {}", words.join(" "))
        }
        None => window.title.clone(),
    };
    let [flows, links] = &window.subjects;
    // All flows together have one row.
    let (mut head, mut row) = (vec!["flows".to_owned()], vec!["all".to_owned()]);
    for [heading, value] in &window.all {
        head.push(heading.clone());
        row.push(value.clone());
    }
    let all = (!window.all.is_empty()).then(|| Grid(vec![head, row]));
    let all_kinds = [("flows", flows), ("links", links), ("all flows", &all)];
    html! {
        h4 { (title) }
        @for (kind, rows) in all_kinds {
            @if let Some(rows) = rows { (grid(&format!("{cell}, {title}: {kind}"), rows)) }
        }
    }
}
