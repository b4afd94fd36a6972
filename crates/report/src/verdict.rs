//! Verdicts: the text of each claim, its verdict with the reason, and the outcome of each check.

use maud::{Markup, PreEscaped, html};

use super::markup::{measured, minus, prose, slug};
use fairwire_paper::{
    CLOSE, Checked, Isolated, Judged, MOST_IN_LINE, Measured, Paper, Tally, Verdict,
};

/// The length of a name, in bytes, from which values do not stand in columns beside each other.
const LONG_LABEL: usize = 60;

/// Returns the class that gives a verdict its colour.
pub(super) fn class(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "v-yes",
        Verdict::Condition(_) => "v-if",
        Verdict::Fitted => "v-fit",
        Verdict::NotReproduced => "v-no",
        Verdict::Contradiction => "v-both",
        Verdict::NotTestable => "v-out",
        Verdict::NotRun | Verdict::Unspecific => "v-late",
    }
}

/// Returns the meaning of a verdict, for the reader's guide.
pub(super) fn meaning(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "The claim holds in our runs, wherever it is judged.",
        Verdict::Condition(_) => {
            "It holds for some of the values that the paper leaves open, or under a condition that the paper does not mention. The condition is stated."
        }
        Verdict::Unspecific => {
            "Its checks hold in our runs, and also in a control, which lacks what the claim is about. So they do not show that the claim is right about it. The control is named."
        }
        Verdict::Fitted => "It holds, with a value that was chosen so that it would.",
        Verdict::NotReproduced => {
            "At least one of its checks fails in our runs, even if the others hold. The reason is given, with the runs that isolate it."
        }
        Verdict::Contradiction => "The paper's own numbers cannot all be true.",
        Verdict::NotTestable => "It cannot be tested with this simulator.",
        Verdict::NotRun => "Its runs are missing, because the report was interrupted.",
    }
}

/// Returns an icon for each verdict, so that colour is not the only difference.
fn icon(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "<path d=\"M3 8.5l3.5 3.5L13 4.5\"/>",
        Verdict::Condition(_) => {
            "<circle cx=\"8\" cy=\"8\" r=\"5.5\"/><path class=\"fill\" d=\"M8 2.5a5.5 5.5 0 0 1 0 11z\"/>"
        }
        Verdict::Fitted => "<path d=\"M2 6.5c2-3 4-3 6 0s4 3 6 0M2 11c2-3 4-3 6 0s4 3 6 0\"/>",
        Verdict::Unspecific => "<path d=\"M8 3v6.5M8 12.4v.2\"/>",
        Verdict::NotReproduced => "<path d=\"M3.5 3.5l9 9M12.5 3.5l-9 9\"/>",
        Verdict::Contradiction => "<path d=\"M2.5 6h11M2.5 10.5h11M11 2.5l-6 11\"/>",
        Verdict::NotTestable => "<path d=\"M3 8h10\"/>",
        Verdict::NotRun => "<circle cx=\"8\" cy=\"8\" r=\"5.5\" stroke-dasharray=\"2 2\"/>",
    }
}

/// Returns a verdict as a coloured text with its icon.
pub(super) fn badge(verdict: &Verdict, text: &str) -> Markup {
    html! {
        span class={ "badge " (class(verdict)) } {
            svg class="icon" viewBox="0 0 16 16" aria-hidden="true" { (PreEscaped(icon(verdict))) }
            (text)
        }
    }
}

/// Returns the number of verdicts of each kind, as a bar and in words.
pub(super) fn tally(tally: &Tally) -> Markup {
    html! {
        @if tally.total() > 0 {
            div class="tally" {
                div class="share" aria-hidden="true" {
                    @for (verdict, count) in tally.counts() {
                        span class=(class(verdict)) style={ "flex:" (count) } {}
                    }
                }
                ul class="counts" {
                    @for (verdict, count) in tally.counts() {
                        li { (badge(verdict, &format!("{count} {}", verdict.counted()))) }
                    }
                }
            }
        }
    }
}

/// Returns all claims of a paper.
pub(super) fn verdicts(paper: &Paper, judged: &[Judged]) -> Markup {
    html! {
        @for one in judged { (claim(paper, one)) }
    }
}

fn claim(paper: &Paper, judged: &Judged) -> Markup {
    html! {
        article class={ "claim " (class(&judged.verdict)) } id={ "claim-" (slug(&judged.id)) } {
            header {
                h4 { (judged.id) } " "
                (badge(&judged.verdict, judged.verdict.words())) " "
                span class="place" { (judged.place) }
            }
            p class="says" { (prose(&judged.says)) }
            @if let Verdict::Condition(condition) = &judged.verdict {
                p class="condition" { b { "Condition:" } " " (prose(condition)) }
            }
            p class="why" { b { "Why:" } " " (prose(judged.because.trim())) }
            @if let Some(swept) = &judged.swept {
                p class="why" { b { "Range:" } " " (swept) }
            }
            @if judged.close {
                p class="condition" { b { "Close:" } " " (CLOSE) }
            }
            @for control in judged.controls.iter().filter(|control| control.passes) {
                p class="condition" { b { "Control:" } " " (control.sentence()) }
            }
            @if let Some(summary) = evidence(judged) {
                details class="evidence" {
                    summary { (summary) }
                    (checks(paper, "Checks and their outcomes", &judged.evidence))
                    (checks(paper, "Limits of the claim", &judged.beyond))
                    @for control in judged.controls.iter().filter(|control| !control.passes) {
                        p { "Control: " (control.sentence()) }
                    }
                    (checks(paper, "Checks of the paper's own numbers", &judged.printed))
                    (isolating(&judged.isolated))
                }
            }
        }
    }
}

/// Returns the summary of the evidence for a verdict, in a line; `None` without evidence.
fn evidence(judged: &Judged) -> Option<String> {
    let checks = || {
        let evidence = judged.evidence.iter().chain(&judged.beyond);
        evidence.chain(&judged.printed)
    };
    let (all, held) = (
        checks().count(),
        checks().filter(|check| check.holds == Some(true)).count(),
    );
    let runs: usize = judged.isolated.iter().map(|one| one.measured.len()).sum();
    let parts = [
        (all > 0).then(|| format!("Checks that hold: {held} of {all}")),
        (runs > 0).then(|| format!("Numbers that isolate the cause: {runs}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(". "))
}

fn checks(paper: &Paper, title: &str, checks: &[Checked]) -> Markup {
    let before = std::iter::once(None).chain(checks.iter().map(Some));
    html! {
        @if !checks.is_empty() {
            h5 { (title) }
            ul class="checks" {
                @for (check, before) in checks.iter().zip(before) {
                    @if before.is_none_or(|before| !before.is_same_check(check)) {
                        (asked(check))
                    }
                    (answer(paper, check))
                }
            }
        }
    }
}

fn asked(check: &Checked) -> Markup {
    html! {
        li class="asked" {
            (check.what)
            @if !check.what.is_empty() { ", " }
            "expected: " (minus(check.expectation()))
            @let of = check.of(MOST_IN_LINE);
            @if !of.is_empty() { "; compared: " (of) }
            @if !check.why.is_empty() {
                " " span class="reason" { "(" (check.why) ")" }
            }
        }
    }
}

fn answer(paper: &Paper, check: &Checked) -> Markup {
    let (class, word) = match check.holds {
        Some(true) => ("holds", "holds"),
        Some(false) => ("fails", "fails"),
        None => ("none", "no value"),
    };
    let window = check.window.as_deref();
    let window = window.map(|window| paper.window_heading(window));
    let figures: Vec<String> = check.measured.iter().map(measured).collect();
    let unit = check.measured.first().map(|one| one.unit.suffix());
    html! {
        li class={ "answer " (class) } {
            b { (word) }
            @if check.close { " (close)" }
            @if let Some(window) = window { ", " (window) }
            ":"
            @if check.measured.len() > MOST_IN_LINE {
                (named(&check.measured))
            } @else {
                " " span class="figures" { (figures.join(" / ")) (unit.unwrap_or_default()) }
            }
        }
    }
}

/// Returns the isolating runs of a claim.
fn isolating(isolated: &[Isolated]) -> Markup {
    html! {
        @for one in isolated {
            h5 { "Isolating runs: " (one.says.trim_end_matches(':')) }
            (named(&one.measured))
        }
    }
}

/// Returns values, each with the name of its run.
fn named(figures: &[Measured]) -> Markup {
    let long = figures.iter().any(|figure| figure.label.len() > LONG_LABEL);
    let class = if long { "runs long" } else { "runs" };
    html! {
        dl class=(class) {
            @for figure in figures {
                div {
                    dt { (figure.label) }
                    dd { (measured(figure)) (figure.unit.suffix()) }
                }
            }
        }
    }
}
