//! The sources of the values of a paper's scenarios, over all its cells.

use maud::{Markup, html};

use super::markup::breakable;
use super::topology::spaced;
use fairwire_paper::Paper;
use fairwire_scenario::explain_sourced;

/// The kinds of sources with their meanings, from the least certain to the most certain.
const KINDS: [(&str, &str); 4] = [
    (
        "fitted",
        "chosen to meet a published number: no claim about that number is then called reproduced",
    ),
    (
        "assumed",
        "the paper is silent; chosen without looking at any result",
    ),
    (
        "derived",
        "follows from what the paper states, such as the defaults of the tool that it names",
    ),
    ("paper", "stated in the paper"),
];

/// A value with a source, and the cells that have it.
struct Known {
    path: String,
    value: String,
    source: &'static str,
    note: String,
    meaning: String,
    cells: Vec<String>,
}

/// Returns the sources of all values, by kind.
pub(super) fn sources(paper: &Paper) -> Markup {
    let known = known(paper);
    let kinds = KINDS.map(|(kind, meaning)| {
        let rows: Vec<&Known> = known.iter().filter(|one| one.source == kind).collect();
        (kind, meaning, rows)
    });
    html! {
        @for (kind, meaning, rows) in kinds.iter().filter(|(_, _, rows)| !rows.is_empty()) {
            details class="sources" open[matches!(*kind, "fitted" | "assumed")] {
                summary {
                    b { (kind) }
                    ": " (rows.len()) " " (if rows.len() == 1 { "value" } else { "values" }) ", " (meaning)
                }
                div class="scroll" role="region" tabindex="0" aria-label={ (kind) " values" } {
                    table class="values" role="table" aria-label={ (kind) " values" } {
                        thead role="rowgroup" {
                            tr role="row" {
                                @for column in ["what", "value", "in", "note"] {
                                    th role="columnheader" scope="col" { (column) }
                                }
                            }
                        }
                        tbody role="rowgroup" {
                            @for row in rows { (row.row(paper.cells.len())) }
                        }
                    }
                }
            }
        }
        p class="about" {
            "What is not listed is a default of the scenario format. The resolved scenario of each run, \
             every value included, stands beside this report."
        }
    }
}

impl Known {
    fn row(&self, all: usize) -> Markup {
        let cells = match self.cells.len() {
            count if count == all => "all runs".to_owned(),
            count if count > 3 => format!("{count} of {all} runs"),
            _ => self.cells.join(", "),
        };
        html! {
            tr role="row" {
                th role="rowheader" scope="row" {
                    code { (breakable(&self.path)) } " "
                    span class="meaning" { (self.meaning) }
                }
                td role="cell" data-h="value" { (self.value) }
                td role="cell" data-h="in" { (cells) }
                td role="cell" data-h="note" { (self.note) }
            }
        }
    }
}

/// Returns every value with a source; a value that several cells share is listed once.
fn known(paper: &Paper) -> Vec<Known> {
    let mut known: Vec<Known> = Vec::new();
    for cell in &paper.cells {
        for line in explain_sourced(cell) {
            if !KINDS.iter().any(|(kind, _)| *kind == line.source) {
                continue;
            }
            let value = spaced(line.value.trim_matches('"'));
            let note = line.note.unwrap_or_default();
            let same = |one: &&mut Known| {
                one.path == line.path
                    && one.value == value
                    && one.source == line.source
                    && one.note == note
            };
            if let Some(one) = known.iter_mut().find(same) {
                one.cells.push(cell.name.clone());
                continue;
            }
            // Values of the same path stay together.
            let behind = known.iter().rposition(|one| one.path == line.path);
            let place = behind.map_or(known.len(), |last| last + 1);
            known.insert(
                place,
                Known {
                    path: line.path,
                    value,
                    source: line.source,
                    note,
                    meaning: line.meaning,
                    cells: vec![cell.name.clone()],
                },
            );
        }
    }
    known
}
