//! The page as a whole: head, contents, overview, a section for each paper, and the glossary.

use std::io;
use std::path::Path;

use maud::{Markup, html};

use super::contents::{self, Place};
use super::figure::figure;
use super::glossary::glossary;
use super::markup::{paragraph, slug};
use super::overview::{finding, overview};
use super::shell::shell;
use super::sources::sources;
use super::table::table;
use super::topology::networks;
use super::verdict::{badge, meaning, tally, verdicts};
use fairwire_paper::{IDS, Paper, Part, REPORT_PAGE, Reported, Table, Verdict, without_repeats};
use fairwire_sim::results::write_file;

/// Writes the report on one paper, with its page, into `directory`, where its results are.
///
/// # Errors
/// If a file cannot be written; the error names it.
pub fn write(one: &Reported<'_>, directory: &Path) -> io::Result<()> {
    one.write(directory)?;
    write_page(std::slice::from_ref(one), directory)
}

/// Writes the report on all `papers` together, with its page, into `directory`, which has a folder for each.
///
/// # Errors
/// If a file cannot be written; the error names it.
pub fn write_all(papers: &[Reported<'_>], directory: &Path) -> io::Result<()> {
    Reported::write_all(papers, directory)?;
    write_page(papers, directory)
}

fn write_page(papers: &[Reported<'_>], directory: &Path) -> io::Result<()> {
    write_file(directory, REPORT_PAGE, page(papers).as_bytes())
}

/// Returns the report on `papers` as one page.
pub fn page(papers: &[Reported<'_>]) -> String {
    let title = match papers {
        [one] => one.paper.title.clone(),
        _ => format!("{} papers on DCCP, run again", papers.len()),
    };
    shell(
        &title,
        &html! {
            (top(papers, &title))
            (contents::of_all(papers))
            main id="main" {
                @if papers.len() > 1 { (overview(papers)) }
                (guide(papers))
                @for one in papers { (paper(one, papers.len() > 1)) }
                (glossary())
            }
            footer {
                p {
                    "Made by Fairwire " (env!("CARGO_PKG_VERSION")) ". Tables, figures and verdicts stand beside this file as CSV and JSON. \
                     The same scenario and the same seed give the same numbers on every machine."
                }
            }
        },
    )
}

fn top(papers: &[Reported<'_>], title: &str) -> Markup {
    html! {
        header class="top" {
            p class="kicker" { "Fairwire report" }
            h1 { (title) }
            @if let [one] = papers {
                (paragraph("authors", &one.paper.authors))
                (paragraph("lead", &one.paper.line))
            } @else {
                p class="lead" {
                    "Every experiment of these papers, simulated again. First what each paper asked and what we found; then a verdict on \
                     each of its claims. Closed parts hold the reasons, the tables and figures, and what the papers left out. \
                     Closed parts are not printed."
                }
            }
            @if Reported::is_partial(papers) {
                p class="partial" role="note" {
                    b { "This report is partial." }
                    " The run was interrupted before it was complete. \
                     Missing values are shown as \u{201c}no value\u{201d}, and missing verdicts as \u{201c}not run\u{201d}; the values shown are complete."
                }
            }
            @if papers.iter().any(|one| one.paper.is_quick()) {
                p class="small" role="note" {
                    b { "Quick form." }
                    " At most three seeds unless asked otherwise, and shorter runs where a paper says so: \
                     intervals are wide, and a verdict marked \u{201c}close\u{201d} may change in a full run (without "
                    code { "--quick" }
                    "). If runs have two typical outcomes, three seeds may all give the same one; such a verdict is not marked."
                }
            }
        }
    }
}

/// Returns the instructions for reading the page. Only verdicts that occur are explained.
fn guide(papers: &[Reported<'_>]) -> Markup {
    let together = Reported::together(papers);
    let run = papers.iter().flat_map(|one| &one.paper.cells).next();
    html! {
        details class="guide" {
            summary { "How to read this: published and measured values, verdicts" }
            div id="guide" {
                p {
                    b { "Published" } " is what the paper printed, " b { "ours" }
                    " the mean of our runs with its 95 % interval (\u{b1}). With it stands the " b { "difference" }
                    ": ours less the published number, in the paper's own unit, and as a share of it; two percentages differ by points. \
                     A claim is judged by checks, each with its tolerance and the reason for it"
                    @if papers.iter().all(|one| one.paper.is_built_in) {
                        "; tolerances of printed numbers were set before anything ran, and all checks were read again beside the claims afterwards"
                    }
                    ". Names"
                    @if let Some(cell) = run { " such as " code { (cell.name) } }
                    " are names of runs: their scenarios are beside this report. A verdict is " b { "close" }
                    " if a limit lies within an interval, so that other seeds could change it. Technical terms are explained "
                    a href="#words" { "at the end" } "."
                }
                @if together.total() > 0 {
                    dl class="verdicts" {
                        @for (verdict, _) in together.counts() {
                            div {
                                dt { (badge(verdict, verdict.words())) }
                                dd { (meaning(verdict)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn paper(one: &Reported<'_>, is_one_of_many: bool) -> Markup {
    let paper = one.paper;
    let id = slug(&paper.name);
    let title = format!("{id}-title");
    html! {
        section class="paper" id=(id) aria-labelledby=(title) {
            @if is_one_of_many {
                p class="kicker" { (paper.name) }
                h2 id=(title) { (paper.title) }
                (paragraph("authors", &paper.authors))
                (paragraph("lead", &paper.line))
                @if one.report.partial {
                    p class="partial" { "The runs of this paper are partial." }
                }
            } @else {
                h2 id=(title) { "Summary" }
                (finding(one))
            }
            (paragraph("", &paper.about))
            (tally(&one.tally()))
            (claims_at_a_glance(one))
            @for place in contents::places(one) { (fold(one, &place)) }
        }
    }
}

/// Returns a part of a paper's section, closed until a reader opens it or follows a link into it.
fn fold(one: &Reported<'_>, place: &Place) -> Markup {
    html! {
        details class="part" {
            summary { h3 { (place.title) } }
            div id=(place.anchor) {
                (contents::of_place(place))
                (content(one, place.name))
            }
        }
    }
}

fn content(one: &Reported<'_>, part: &str) -> Markup {
    let (paper, report) = (one.paper, &one.report);
    let shown = without_repeats(&report.tables);
    html! {
        @match part {
            contents::NETWORK => { (networks(&paper.cells, &|flow| paper.flow_name(flow))) }
            contents::TABLES => {
                (paragraph("about", &report.how))
                (tables(paper, &shown, Part::Published))
            }
            contents::FIGURES => { (figures(one, Part::Published)) }
            contents::VERDICTS => {
                @if paper.is_built_in { (paragraph("about", IDS)) }
                (verdicts(paper, &report.verdicts))
            }
            contents::LEFT_OUT => {
                (tables(paper, &shown, Part::LeftOut))
                (figures(one, Part::LeftOut))
            }
            _ => { (sources(paper)) }
        }
    }
}

fn tables(paper: &Paper, tables: &[Table], part: Part) -> Markup {
    html! {
        @for one in tables.iter().filter(|one| one.part == part) { (table(paper, one)) }
    }
}

fn figures(one: &Reported<'_>, part: Part) -> Markup {
    let figures = one.report.figures.iter();
    html! {
        @for shown in figures.filter(|figure| figure.part == part) { (figure(&one.paper.name, shown)) }
    }
}

/// Returns a list of the claims with their verdicts, with links to the details.
fn claims_at_a_glance(one: &Reported<'_>) -> Markup {
    html! {
        @if !one.report.verdicts.is_empty() {
            ul class="glance" {
                @for judged in &one.report.verdicts {
                    li {
                        a href={ "#claim-" (slug(&judged.id)) } { (judged.id) } " "
                        span class="glance-says" { (judged.says) } " "
                        (badge(&judged.verdict, judged.verdict.words()))
                        @if let Verdict::Condition(condition) = &judged.verdict {
                            " " span class="small" { (condition) }
                        }
                        @if judged.close { " " span class="small" { "close" } }
                    }
                }
            }
        }
    }
}
