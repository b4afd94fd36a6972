//! The report of a scenario file: the results of its cells as plots and tables.

mod plots;

use std::io;
use std::path::Path;

use maud::{Markup, html};

use super::figure::figure;
use super::markup::{paragraph, prose};
use super::shell::shell;
use crate::results::{Results, table, write_file};
use plots::plots;

/// The name of the page's file.
pub const PAGE: &str = "report.html";

/// The prefix of ids in the page.
const ID: &str = "run";

/// Returns the results of a scenario file as one page: its plots, then a table for each cell.
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
                (notes(&results.notes))
                @if !plots.is_empty() {
                    section aria-labelledby="plots" {
                        h2 id="plots" { "Plots" }
                        @for plot in &plots { (figure(ID, plot)) }
                    }
                }
                (tables(results))
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

fn notes(notes: &[String]) -> Markup {
    html! {
        @if !notes.is_empty() {
            ul class="notes" {
                @for note in notes { li { (prose(note)) } }
            }
        }
    }
}

/// Returns a table of each cell, as the command prints it.
fn tables(results: &Results) -> Markup {
    let is_only = results.cells.len() == 1;
    html! {
        section aria-labelledby="tables" {
            h2 id="tables" { "Tables" }
            p class="about" { "Means over the seeds with 95 % intervals." }
            @for cell in &results.cells {
                details open[is_only] {
                    summary {
                        b { (cell.name) }
                        @for (axis, value) in &cell.axes { ", " (axis) " = " (value) }
                    }
                    div class="scroll" role="region" tabindex="0" aria-label=(cell.name) {
                        pre { (table(cell)) }
                    }
                    @for note in cell.notes() { p class="small" { "Note: " (prose(note)) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
