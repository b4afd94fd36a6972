//! Verdicts: what each claim says, what was asked, what came of it, and why.

use std::fmt::Write as _;

use super::markup::{esc, measured, minus, prose, slug};
use crate::paper::{CLOSE, Checked, Isolated, Judged, Measured, Paper, Tally, Verdict};

/// More figures of a check than this are named one by one.
const MOST_IN_LINE: usize = 2;

/// The class that gives a verdict its colour.
pub(super) fn class(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "v-yes",
        Verdict::Condition(_) => "v-if",
        Verdict::Fitted => "v-fit",
        Verdict::NotReproduced => "v-no",
        Verdict::Contradiction => "v-both",
        Verdict::NotTestable => "v-out",
        Verdict::NotRun => "v-late",
    }
}

/// What each verdict means, for the reader's guide.
pub(super) fn meaning(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "The claim holds in our runs, wherever it is judged.",
        Verdict::Condition(_) => {
            "It holds in part of what the paper leaves open, or under a condition that the paper does not mention. The condition is named."
        }
        Verdict::Fitted => "It holds, with a value that was chosen so that it would.",
        Verdict::NotReproduced => {
            "It does not hold in our runs. The reason is given, with the runs that isolate it."
        }
        Verdict::Contradiction => "The paper's own numbers cannot all be true.",
        Verdict::NotTestable => "Nothing that can be run here would show it.",
        Verdict::NotRun => "Its runs are missing, because the report was interrupted.",
    }
}

/// A sign for each verdict, so that colour is never alone.
pub(super) fn icon(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Reproduced => "<path d=\"M3 8.5l3.5 3.5L13 4.5\"/>",
        Verdict::Condition(_) => {
            "<circle cx=\"8\" cy=\"8\" r=\"5.5\"/><path class=\"fill\" d=\"M8 2.5a5.5 5.5 0 0 1 0 11z\"/>"
        }
        Verdict::Fitted => "<path d=\"M2 6.5c2-3 4-3 6 0s4 3 6 0M2 11c2-3 4-3 6 0s4 3 6 0\"/>",
        Verdict::NotReproduced => "<path d=\"M3.5 3.5l9 9M12.5 3.5l-9 9\"/>",
        Verdict::Contradiction => "<path d=\"M2.5 6h11M2.5 10.5h11M11 2.5l-6 11\"/>",
        Verdict::NotTestable => "<path d=\"M3 8h10\"/>",
        Verdict::NotRun => "<circle cx=\"8\" cy=\"8\" r=\"5.5\" stroke-dasharray=\"2 2\"/>",
    }
}

/// A verdict as a coloured word with its sign.
pub(super) fn badge(out: &mut String, verdict: &Verdict, text: &str) {
    let _ = write!(
        out,
        "<span class=\"badge {}\"><svg class=\"icon\" viewBox=\"0 0 16 16\" aria-hidden=\"true\">{}</svg>{}</span>",
        class(verdict),
        icon(verdict),
        esc(text)
    );
}

/// How many of each kind, as a bar and in words.
pub(super) fn tally(out: &mut String, tally: &Tally) {
    if tally.total() == 0 {
        return;
    }
    out.push_str("<div class=\"tally\"><div class=\"share\" aria-hidden=\"true\">");
    for (verdict, count) in tally.counts() {
        let class = class(verdict);
        let _ = write!(
            out,
            "<span class=\"{class}\" style=\"flex:{count}\"></span>"
        );
    }
    out.push_str("</div><ul class=\"counts\">");
    for (verdict, count) in tally.counts() {
        out.push_str("<li>");
        badge(out, verdict, &format!("{count} {}", verdict.counted()));
        out.push_str("</li>");
    }
    out.push_str("</ul></div>\n");
}

/// All claims of a paper.
pub(super) fn verdicts(out: &mut String, paper: &Paper, judged: &[Judged]) {
    for one in judged {
        claim(out, paper, one);
    }
}

fn claim(out: &mut String, paper: &Paper, judged: &Judged) {
    let id = format!("claim-{}", slug(&judged.id));
    let _ = write!(
        out,
        "<article class=\"claim {}\" id=\"{id}\">\n<header><h4>{}</h4> ",
        class(&judged.verdict),
        esc(&judged.id)
    );
    badge(out, &judged.verdict, judged.verdict.words());
    let _ = writeln!(
        out,
        " <span class=\"place\">{}</span></header>\n<p class=\"says\">{}</p>",
        esc(&judged.place),
        prose(&judged.says)
    );
    if let Verdict::Condition(condition) = &judged.verdict {
        let _ = writeln!(
            out,
            "<p class=\"condition\"><b>Condition:</b> {}</p>",
            prose(condition)
        );
    }
    let _ = writeln!(
        out,
        "<p class=\"why\"><b>Why:</b> {}</p>",
        prose(judged.because.trim())
    );
    if judged.close {
        let _ = writeln!(
            out,
            "<p class=\"condition\"><b>Close:</b> {}</p>",
            esc(CLOSE)
        );
    }
    if let Some(summary) = evidence(judged) {
        let _ = writeln!(
            out,
            "<details class=\"evidence\"><summary>{summary}</summary>"
        );
        let parts = [
            ("What was asked, and what came of it", &judged.evidence),
            ("What the paper's own numbers must fulfil", &judged.printed),
        ];
        for (title, list) in parts {
            checks(out, paper, title, list);
        }
        isolating(out, &judged.isolated);
        out.push_str("</details>\n");
    }
    out.push_str("</article>\n");
}

/// What there is to see of how a verdict came about, in a line.
fn evidence(judged: &Judged) -> Option<String> {
    let checks = || judged.evidence.iter().chain(&judged.printed);
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

fn checks(out: &mut String, paper: &Paper, title: &str, checks: &[Checked]) {
    if checks.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h5>{title}</h5>\n<ul class=\"checks\">");
    let mut last: Option<&Checked> = None;
    for check in checks {
        if last.is_none_or(|last| !last.asks_the_same(check)) {
            let what = if check.what.is_empty() { "" } else { ": " };
            let why = if check.why.is_empty() {
                String::new()
            } else {
                format!(" <span class=\"reason\">({})</span>", esc(&check.why))
            };
            let _ = writeln!(
                out,
                "<li class=\"asked\">{}{what}wanted {}{why}</li>",
                esc(&check.what),
                esc(&minus(check.wanted())),
            );
        }
        answer(out, paper, check);
        last = Some(check);
    }
    out.push_str("</ul>\n");
}

fn answer(out: &mut String, paper: &Paper, check: &Checked) {
    let (class, word) = match check.holds {
        Some(true) => ("holds", "holds"),
        Some(false) => ("fails", "fails"),
        None => ("none", "no value"),
    };
    let window = check
        .window
        .as_deref()
        .map(|window| paper.window_heading(window));
    let window = window.map_or(String::new(), |window| format!(", {}", esc(window)));
    let close = if check.close { " (close)" } else { "" };
    let window = format!("{close}{window}");
    if check.measured.len() > MOST_IN_LINE {
        let _ = write!(out, "<li class=\"answer {class}\"><b>{word}</b>{window}:");
        named(out, &check.measured);
        out.push_str("</li>\n");
        return;
    }
    let figures: Vec<String> = check.measured.iter().map(measured).collect();
    let unit = check
        .measured
        .first()
        .map_or(String::new(), |one| one.unit.suffix());
    let _ = writeln!(
        out,
        "<li class=\"answer {class}\"><b>{word}</b>{window}: <span class=\"figures\">{}{}</span></li>",
        figures.join(" / "),
        esc(&unit)
    );
}

/// The runs that show what a result depends on.
fn isolating(out: &mut String, isolated: &[Isolated]) {
    for one in isolated {
        let _ = writeln!(
            out,
            "<h5>Isolating runs: {}</h5>",
            esc(one.says.trim_end_matches(':'))
        );
        named(out, &one.measured);
    }
}

/// Figures, each under the name of what it is of.
fn named(out: &mut String, figures: &[Measured]) {
    out.push_str("<dl class=\"runs\">\n");
    for figure in figures {
        let _ = writeln!(
            out,
            "<div><dt>{}</dt><dd>{}{}</dd></div>",
            esc(&figure.label),
            measured(figure),
            esc(&figure.unit.suffix())
        );
    }
    out.push_str("</dl>\n");
}
