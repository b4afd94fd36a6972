//! Tables of contents: one of all papers with their parts, and one of the tables and figures of each part.

use maud::{Markup, html};

use super::markup::slug;
use fairwire_paper::Part;
use fairwire_paper::Reported;

/// The names of the parts of a paper's section.
pub(super) const NETWORK: &str = "Network";
pub(super) const TABLES: &str = "Tables";
pub(super) const FIGURES: &str = "Figures";
pub(super) const VERDICTS: &str = "Verdicts";
pub(super) const LEFT_OUT: &str = "Left out";
pub(super) const VALUES: &str = "Values";

/// A part of a paper's section: its anchor, its name, its title, and the anchors and titles of its contents.
pub(super) struct Place {
    pub(super) anchor: String,
    pub(super) name: &'static str,
    pub(super) title: &'static str,
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

/// Returns links to the tables and figures of a part, if it has more than one.
pub(super) fn of_place(place: &Place) -> Markup {
    html! {
        @if place.inside.len() > 1 {
            nav class="contents" aria-label=(place.title) {
                ul {
                    @for (anchor, title) in &place.inside { li { (link(anchor, title)) } }
                }
            }
        }
    }
}

fn link(anchor: &str, name: &str) -> Markup {
    html! { a href={ "#" (anchor) } { (name) } }
}

/// Returns the parts of a paper's section that have contents.
pub(super) fn places(one: &Reported<'_>) -> Vec<Place> {
    let id = slug(&one.paper.name);
    let tables = inside(one, Part::Published, true, false);
    let figures = inside(one, Part::Published, false, true);
    let left_out = inside(one, Part::LeftOut, true, true);
    let has_verdicts = !one.report.verdicts.is_empty();
    let place = |anchor: &str, name, title, inside| Place {
        anchor: format!("{id}-{anchor}"),
        name,
        title,
        inside,
    };
    let mut places = vec![place("network", NETWORK, "The network", Vec::new())];
    if !tables.is_empty() {
        let title = "Published and measured values";
        places.push(place("tables", TABLES, title, tables));
    }
    if !figures.is_empty() {
        let title = "Figures, redrawn from our runs";
        places.push(place("figures", FIGURES, title, figures));
    }
    if has_verdicts {
        let title = "The reason for each verdict";
        places.push(place("verdicts", VERDICTS, title, Vec::new()));
    }
    if !left_out.is_empty() {
        let title = "What the paper left out";
        places.push(place("left-out", LEFT_OUT, title, left_out));
    }
    let title = "Where every value comes from";
    places.push(place("sources", VALUES, title, Vec::new()));
    places
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
