//! Tables of contents: one of all papers with their parts, and one of each paper's tables and figures.

use maud::{Markup, html};

use super::markup::slug;
use super::reported::Reported;
use crate::paper::Part;

/// A part of a paper's section: its anchor, its name, and the anchors and titles of its contents.
struct Place {
    anchor: String,
    name: &'static str,
    inside: Vec<(String, String)>,
}

/// Returns the contents of the whole page, shown beside the text if there is room and else before it.
pub(super) fn of_all(papers: &[Reported<'_>]) -> Markup {
    html! {
        nav class="toc" id="contents" aria-label="Contents" {
            ul {
                @if papers.len() > 1 {
                    li { (link("overview", "Overview")) }
                }
                li { (link("guide", "How to read this")) }
                @for one in papers {
                    li {
                        (link(&slug(&one.paper.name), &one.paper.name))
                        ul {
                            @for place in places(one) {
                                li { (link(&place.anchor, place.name)) }
                            }
                        }
                    }
                }
                li { (link("words", "Glossary")) }
            }
        }
    }
}

/// Returns the contents of one paper's section.
pub(super) fn of_one(one: &Reported<'_>) -> Markup {
    let id = slug(&one.paper.name);
    html! {
        nav class="contents" id={ (id) "-contents" } aria-label={ "Contents of " (id) } {
            ul {
                @for place in places(one) {
                    li {
                        (link(&place.anchor, place.name))
                        @if !place.inside.is_empty() {
                            ul {
                                @for (anchor, title) in &place.inside {
                                    li { (link(anchor, title)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn link(anchor: &str, name: &str) -> Markup {
    html! { a href={ "#" (anchor) } { (name) } }
}

/// Returns whether there are tables or figures of what the paper left out.
pub(super) fn has_left_out(one: &Reported<'_>) -> bool {
    !inside(one, Part::LeftOut, true, true).is_empty()
}

/// Returns the parts of a paper's section.
fn places(one: &Reported<'_>) -> Vec<Place> {
    let id = slug(&one.paper.name);
    let figures = inside(one, Part::Published, false, true);
    let left_out = inside(one, Part::LeftOut, true, true);
    let parts = [
        ("network", "Network", true, Vec::new()),
        (
            "tables",
            "Tables",
            true,
            inside(one, Part::Published, true, false),
        ),
        ("figures", "Figures", !figures.is_empty(), figures),
        (
            "verdicts",
            "Verdicts",
            !one.report.verdicts.is_empty(),
            Vec::new(),
        ),
        ("left-out", "Left out", !left_out.is_empty(), left_out),
        ("sources", "Values", true, Vec::new()),
    ];
    let there = parts.into_iter().filter(|(_, _, is_there, _)| *is_there);
    let place = |(part, name, _, inside)| Place {
        anchor: format!("{id}-{part}"),
        name,
        inside,
    };
    there.map(place).collect()
}

/// Returns the anchors and titles of the tables and figures of a part.
fn inside(
    one: &Reported<'_>,
    part: Part,
    with_tables: bool,
    with_figures: bool,
) -> Vec<(String, String)> {
    let paper = &one.paper.name;
    let mut found = Vec::new();
    let tables = one.report.tables.iter().filter(|_| with_tables);
    for table in tables.filter(|table| table.part == part) {
        found.push((table_anchor(paper, &table.name), table.title.clone()));
    }
    let figures = one.report.figures.iter().filter(|_| with_figures);
    for figure in figures.filter(|figure| figure.part == part) {
        found.push((figure_anchor(paper, &figure.name), figure.title.clone()));
    }
    found
}

/// Returns the anchor of a table.
pub(super) fn table_anchor(paper: &str, name: &str) -> String {
    format!("{paper}-{}", slug(name))
}

/// Returns the anchor of a figure.
pub(super) fn figure_anchor(paper: &str, name: &str) -> String {
    format!("{paper}-figure-{}", slug(name))
}
