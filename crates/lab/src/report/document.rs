//! The page as a whole: its head, the contents, the overview, a section for each paper, words explained.

use std::fmt::Write as _;

use super::contents;
use super::figure::figure;
use super::markup::{esc, paragraph, slug};
use super::sources::sources;
use super::table::table;
use super::topology::networks;
use super::verdict::{badge, meaning, tally, verdicts};
use crate::paper::{Part, Reported, Verdict};

/// How everything looks.
const STYLE: &str = include_str!("style.css");

/// Words that somebody who has not read the papers may want.
const WORDS: [(&str, &str); 12] = [
    (
        "DCCP",
        "Datagram Congestion Control Protocol (RFC 4340): like UDP it never sends a packet again, like TCP it slows down when the network is full.",
    ),
    (
        "CCID",
        "How a DCCP connection controls congestion: CCID 2 has a window as TCP has; CCID 3 (TFRC) computes a smooth rate from the losses; CCID 4 is that for small packets.",
    ),
    (
        "TFRC",
        "TCP-Friendly Rate Control (RFC 5348): the rate that a TCP would have at the same loss and round-trip time.",
    ),
    (
        "window",
        "How many packets may be on their way without being acknowledged.",
    ),
    (
        "slow start",
        "The beginning of a connection, in which its window or rate doubles every round trip; the threshold ends it.",
    ),
    (
        "round trip",
        "From sending a packet to hearing that it arrived.",
    ),
    (
        "queue",
        "Packets that wait where a link is slower than what comes in. DropTail: what finds it full is lost.",
    ),
    (
        "loss event",
        "All losses within one round trip count once: what TFRC's rate depends on. It is not the share of packets lost.",
    ),
    (
        "jitter",
        "How much delays differ. Papers define it differently or not at all; which definition stands in each table is said there.",
    ),
    (
        "throughput, goodput",
        "Bits of packets that arrive per second, headers included; and those of the data alone.",
    ),
    (
        "Jain's index",
        "1 if all flows get the same, 1/n if one of n flows gets everything.",
    ),
    (
        "MOS, R",
        "How well a call is heard, on a scale from 1 to 5, and the rating that it is computed from (ITU-T G.107).",
    ),
];

/// The report on `papers` as one page.
pub fn page(papers: &[Reported<'_>]) -> String {
    let mut out = String::with_capacity(1 << 20);
    let title = match papers {
        [one] => one.paper.title.clone(),
        _ => format!("{} papers on DCCP, run again", papers.len()),
    };
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">To the content</a>\n",
        esc(&title)
    );
    top(&mut out, papers, &title);
    contents::of_all(&mut out, papers);
    out.push_str("<main id=\"main\">\n");
    if papers.len() > 1 {
        overview(&mut out, papers);
    }
    guide(&mut out, papers);
    for one in papers {
        paper(&mut out, one, papers.len() > 1);
    }
    words(&mut out);
    let _ = write!(
        out,
        "</main>\n<footer><p>Made by Fairwire {}. Tables, figures and verdicts stand beside this file as CSV and JSON. \
         The same scenario and the same seed give the same numbers on every machine.</p></footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    out
}

fn top(out: &mut String, papers: &[Reported<'_>], title: &str) {
    let _ = writeln!(
        out,
        "<header class=\"top\">\n<p class=\"kicker\">Fairwire report</p>\n<h1>{}</h1>",
        esc(title)
    );
    if let [one] = papers {
        paragraph(out, "authors", &one.paper.authors);
        paragraph(out, "lead", &one.paper.line);
    } else {
        paragraph(
            out,
            "lead",
            "Every experiment of these papers, simulated anew: what was printed beside what comes out, with intervals, a verdict on each \
             claim with its reason, and what the papers left out.",
        );
    }
    if Reported::is_partial(papers) {
        out.push_str(
            "<p class=\"partial\" role=\"note\"><b>This report is partial.</b> The run was interrupted before it was complete. \
             What is missing shows as \u{201c}no value\u{201d} and \u{201c}not run\u{201d}; what is here was computed to its end.</p>\n",
        );
    }
    if papers.iter().any(|one| one.paper.is_quick()) {
        out.push_str(
            "<p class=\"small\" role=\"note\"><b>Quick form.</b> Three seeds unless asked otherwise, and shorter runs where a paper says so: \
             intervals are wide, and a verdict marked \u{201c}close\u{201d} may turn in a full run (without <code>--quick</code>). \
             Three seeds may also all fall on one side where runs come out in two ways: then nothing is marked.</p>\n",
        );
    }
    out.push_str("</header>\n");
}

fn overview(out: &mut String, papers: &[Reported<'_>]) {
    out.push_str("<section id=\"overview\" aria-labelledby=\"overview-title\">\n<h2 id=\"overview-title\">Overview</h2>\n");
    let together = Reported::together(papers);
    let _ = writeln!(out, "<p>{}.</p>", esc(&together.sentence()));
    out.push_str("<div class=\"cards\">\n");
    for one in papers {
        let _ = writeln!(
            out,
            "<article class=\"card\"><h3><a href=\"#{}\">{}</a></h3>",
            slug(&one.paper.name),
            esc(&one.paper.name)
        );
        paragraph(out, "card-title", &one.paper.title);
        paragraph(out, "small", &one.paper.line);
        tally(out, &one.tally());
        if one.report.partial {
            out.push_str("<p class=\"small\"><b>Partial.</b></p>\n");
        }
        out.push_str("</article>\n");
    }
    out.push_str("</div>\n</section>\n");
}

/// How to read the page: only the verdicts that occur are explained.
fn guide(out: &mut String, papers: &[Reported<'_>]) {
    let together = Reported::together(papers);
    let run = papers.iter().flat_map(|one| &one.paper.cells).next();
    let run = run.map_or(String::new(), |cell| {
        format!(" such as <code>{}</code>", esc(&cell.name))
    });
    let _ = writeln!(
        out,
        "<details class=\"guide\" id=\"guide\" open><summary>How to read this</summary>\n\
         <p><b>Published</b> is what the paper printed, <b>ours</b> the mean of our runs with its 95 % interval (\u{b1}). With it stands the \
         <b>difference</b>: ours less the published number, in the paper's own unit, and as a share of it; two percentages differ by points. \
         A claim is judged by checks that were written down, with their tolerances and reasons, before anything ran; a claim of ours whose \
         checks came after the runs says so. Names{run} are names of runs: their \
         scenarios stand beside this report. A verdict is <b>close</b> if a limit lies within an interval, so that other seeds could turn it. \
         Words of the field are explained <a href=\"#words\">at the end</a>.</p>",
    );
    if together.total() > 0 {
        out.push_str("<dl class=\"verdicts\">\n");
        for (verdict, _) in together.counts() {
            out.push_str("<div><dt>");
            badge(out, verdict, verdict.words());
            let _ = writeln!(out, "</dt><dd>{}</dd></div>", esc(meaning(verdict)));
        }
        out.push_str("</dl>\n");
    }
    out.push_str("</details>\n");
}

fn paper(out: &mut String, one: &Reported<'_>, is_one_of_many: bool) {
    let (paper, report) = (one.paper, &one.report);
    let id = slug(&paper.name);
    let _ = writeln!(
        out,
        "<section class=\"paper\" id=\"{id}\" aria-labelledby=\"{id}-title\">"
    );
    if is_one_of_many {
        let _ = writeln!(
            out,
            "<p class=\"kicker\">{}</p>\n<h2 id=\"{id}-title\">{}</h2>",
            esc(&paper.name),
            esc(&paper.title)
        );
        paragraph(out, "authors", &paper.authors);
        paragraph(out, "lead", &paper.line);
        if report.partial {
            out.push_str("<p class=\"partial\">The runs of this paper are partial.</p>\n");
        }
    } else {
        let _ = writeln!(out, "<h2 id=\"{id}-title\">In short</h2>");
    }
    paragraph(out, "", &paper.about);
    tally(out, &one.tally());
    claims_at_a_glance(out, one);
    paragraph(out, "about", &report.how);
    contents::of_one(out, one);

    heading(out, &id, "network", "The network");
    networks(out, paper);
    let parts = |part: Part| {
        let tables = report.tables.iter().filter(move |table| table.part == part);
        let figures = report
            .figures
            .iter()
            .filter(move |figure| figure.part == part);
        (tables, figures)
    };
    let (tables, figures) = parts(Part::Published);
    heading(
        out,
        &id,
        "tables",
        "What the paper printed, and what we get",
    );
    for one in tables {
        table(out, paper, one);
    }
    if report
        .figures
        .iter()
        .any(|figure| figure.part == Part::Published)
    {
        heading(out, &id, "figures", "Figures, redrawn from our runs");
    }
    for one in figures {
        figure(out, paper, one);
    }
    if !report.verdicts.is_empty() {
        heading(out, &id, "verdicts", "Verdicts, claim by claim");
        verdicts(out, paper, &report.verdicts);
    }
    let (tables, figures) = parts(Part::LeftOut);
    if contents::has_left_out(one) {
        heading(out, &id, "left-out", "What the paper left out");
    }
    for one in tables {
        table(out, paper, one);
    }
    for one in figures {
        figure(out, paper, one);
    }
    heading(out, &id, "sources", "Where every value comes from");
    sources(out, paper);
    out.push_str("</section>\n");
}

fn heading(out: &mut String, paper: &str, part: &str, text: &str) {
    let _ = writeln!(
        out,
        "<p class=\"up\"><a href=\"#{paper}-contents\">Contents of {paper}</a></p>\n<h3 id=\"{paper}-{part}\">{}</h3>",
        esc(text)
    );
}

/// Each claim in a line, with its verdict, linked to what led to it.
fn claims_at_a_glance(out: &mut String, one: &Reported<'_>) {
    if one.report.verdicts.is_empty() {
        return;
    }
    out.push_str("<ul class=\"glance\">\n");
    for judged in &one.report.verdicts {
        let _ = write!(
            out,
            "<li><a href=\"#claim-{}\">{}</a> <span class=\"glance-says\">{}</span> ",
            slug(&judged.id),
            esc(&judged.id),
            esc(&judged.says)
        );
        badge(out, &judged.verdict, judged.verdict.words());
        if let Verdict::Condition(condition) = &judged.verdict {
            let _ = write!(out, " <span class=\"small\">{}</span>", esc(condition));
        }
        if judged.close {
            out.push_str(" <span class=\"small\">close</span>");
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
}

fn words(out: &mut String) {
    out.push_str(
        "<section aria-labelledby=\"words\">\n<h2 id=\"words\">Words</h2>\n<dl class=\"words\">\n",
    );
    for (word, says) in WORDS {
        let _ = writeln!(
            out,
            "<div><dt>{}</dt><dd>{}</dd></div>",
            esc(word),
            esc(says)
        );
    }
    out.push_str("</dl>\n</section>\n");
}
