//! The first page: what each paper asked, what our runs show, and a figure.

use maud::{Markup, html};

use super::figure::small_figure;
use super::markup::{paragraph, prose, slug};
use fairwire_paper::{Overview, Report, Reported};

/// Returns the first page of a report on several papers.
pub(super) fn overview(papers: &[Reported<'_>]) -> Markup {
    html! {
        section id="overview" aria-labelledby="overview-title" {
            h2 id="overview-title" { "What the papers asked, and what we found" }
            @for one in papers {
                article class="one" {
                    h3 { a href={ "#" (slug(&one.paper.name)) } { (one.paper.name) } }
                    (paragraph("card-title", &one.paper.title))
                    (finding(one))
                }
            }
            p { "All papers: " (Reported::together(papers).sentence()) "." }
        }
    }
}

/// Returns the question of a paper and the answer of our runs, beside the figure that shows it.
///
/// A paper that does not state them has only the line about its subject.
pub(super) fn finding(one: &Reported<'_>) -> Markup {
    let Some(overview) = &one.paper.overview else {
        return html! {
            (paragraph("small", &one.paper.line))
            (counts(one))
        };
    };
    let name = overview.figure.as_ref();
    let figure = name.and_then(|name| one.report.figures.iter().find(|it| it.name == *name));
    html! {
        div class="finding" {
            div {
                p { b { "Asked:" } " " (prose(overview.asked.trim())) }
                p { b { "Found:" } " " (prose(overview.found.trim())) }
                (grounds(overview, &one.report))
                (counts(one))
            }
            @if let Some(figure) = figure { (small_figure(&one.paper.name, figure)) }
        }
    }
}

/// Returns the verdicts that the answer rests on, and which statements the verdicts of these runs do not bear out.
fn grounds(overview: &Overview, report: &Report) -> Markup {
    let mut claims: Vec<&String> = Vec::new();
    for claim in overview.rests_on.iter().flat_map(|it| it.verdicts.keys()) {
        if !claims.contains(&claim) {
            claims.push(claim);
        }
    }
    let mut judged = report.verdicts.iter();
    let is_judged = judged.any(|one| claims.contains(&&one.id));
    html! {
        @if is_judged {
            p class="small" {
                "This rests on the verdicts on "
                @for (number, claim) in claims.iter().enumerate() {
                    @if number > 0 { ", " }
                    a href={ "#claim-" (slug(claim)) } { (claim) }
                }
                "."
            }
            @for it in overview.unfounded(&report.verdicts) {
                p class="partial" role="note" {
                    "These runs do not bear out \u{201c}" (prose(&it.says)) "\u{201d}: "
                    a href={ "#claim-" (slug(&it.claim)) } { (it.claim) }
                    " is " (it.found) " here, and not " (it.expected) "."
                }
            }
        }
    }
}

fn counts(one: &Reported<'_>) -> Markup {
    html! {
        p class="small" {
            (one.tally().sentence()) "."
            @if one.report.partial { " " b { "Partial." } }
        }
    }
}
