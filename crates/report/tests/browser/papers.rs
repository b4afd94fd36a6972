//! The HTML page: all references resolve within it, and names are escaped.

use std::collections::BTreeSet;

use fairwire_paper::{Bundle, Paper, PaperError, Reported};
use fairwire_papers::catalogue;
use fairwire_report::{page, write, write_all};
use fairwire_scenario::Adjust;
use fairwire_sim::results::{Form, Output, OutputDirectory, Results, SeriesChoice};

use self::synthetic::{extended_paper, figured_paper, paper_with_flows, results};

#[path = "../../../paper/src/synthetic.rs"]
mod synthetic;

const FIGURE: &str = r#"
[[figures]]
name = "f"
title = "Bits & <pieces>"
kind = "bar"
metric = "throughput"
flow = "dccp"
published = "t.csv"
x = { title = "cell", labels = ["a", "b"] }
y = { unit = "kbit/s" }
lines = [{ label = "one", cells = ["a", "b"] }]
"#;

const CLAIM: &str = r#"
[[claims]]
id = "C1"
place = "Table 1"
says = "b has more"
windows = ["whole"]
because = { holds = "It has.", fails = "It has not." }
checks = [{ what = "order", kind = "increasing", unit = "kbit/s", cells = ["a", "b"], flow = "dccp", metric = "throughput", why = "as printed" }]
"#;

fn html(cells: &[(&str, &[(f64, f64)])], papers: usize) -> String {
    let paper: Paper = figured_paper(FIGURE).expect("loads");
    let one = Reported {
        paper: &paper,
        report: paper.report(&results(&paper, cells)),
    };
    page(&vec![one; papers])
}

const BOTH: &[(&str, &[(f64, f64)])] = &[
    ("a", &[(99.0, 110.0), (101.0, 110.0)]),
    ("b", &[(210.0, 189.0)]),
];

/// Returns the parts of `page` between `before` and the next quotation mark.
fn quoted<'p>(page: &'p str, before: &str) -> Vec<&'p str> {
    let parts = page.split(before).skip(1);
    parts.filter_map(|part| part.split('"').next()).collect()
}

/// The page loads nothing and runs no script, and all its links and labels refer to ids in it.
#[test]
fn the_page_is_whole_in_itself() {
    let page = html(BOTH, 1);
    for foreign in ["http:", "https:", "<script", "@import", "url(", " src="] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    let ids = quoted(&page, " id=\"");
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), known.len(), "an id stands twice: {ids:?}");
    for target in quoted(&page, "href=\"#")
        .into_iter()
        .chain(quoted(&page, "aria-labelledby=\""))
    {
        assert!(known.contains(target), "{target}");
    }
}

/// One row has the published value, ours with its interval, and the difference in the paper's unit.
///
/// The note on the published value is there, and so are the drawings of the figure.
#[test]
fn tables_and_figures_are_there() {
    let page = html(BOTH, 1);
    let row = page
        .split("<tr role=\"row\">")
        .find(|row| row.contains(">second</th>"))
        .expect("the row of cell b");
    for part in [
        "<span class=\"value\">210 <sup",
        ">[1]</sup>",
        "<b>189.0</b>",
        "\u{2212}21.0",
        "\u{2212}10.0 %",
    ] {
        assert!(row.contains(part), "{part}: {row}");
    }
    assert!(page.contains("<li>odd</li>"));
    assert!(page.contains("Bits &amp; &lt;pieces&gt;") && !page.contains("<pieces>"));
    assert_eq!(
        page.matches("<rect class=\"bar\" x=\"6\"").count(),
        0,
        "one line needs no legend"
    );
    assert_eq!(
        page.matches("class=\"over\" d=\"M").count(),
        5,
        "two bars, twice, and the legend"
    );
    assert!(page.contains(
        "aria-label=\"Bar chart: throughput over cell. one: from 100.0 kbit/s to 210.0 kbit/s.\""
    ));
}

/// Each built-in paper says in three sentences what it asked and what we found, with a figure that shows it.
#[test]
fn three_sentences_and_a_figure() {
    for bundle in catalogue() {
        let paper = Paper::load(bundle, &Paper::adjust(true, None)).expect("loads");
        let overview = paper.overview.as_ref().expect("an overview");
        let text = format!("{} {} ", overview.asked.trim(), overview.found.trim());
        let sentences = text.matches(". ").count() + text.matches("? ").count();
        assert_eq!(sentences, 3, "{text}");
        assert!(overview.figure.is_some(), "{}", paper.name);
        let one = Reported {
            paper: &paper,
            report: paper.report(&Results::default()),
        };
        let page = page(&[one.clone(), one]);
        let first = page.split("class=\"finding\"").nth(1).expect("a finding");
        assert!(first.contains("<b>Asked:</b>") && first.contains("<svg"));
    }
}

/// A figure of the first page that the paper does not have is refused.
#[test]
fn an_overview_without_its_figure_is_refused() {
    let overview = "[overview]\nasked = \"a?\"\nfound = \"b.\"\nfigure = \"g\"\n";
    let error = figured_paper(&format!("{FIGURE}{overview}")).expect_err("refused");
    assert!(
        error.to_string().contains("there is no figure 'g'"),
        "{error}"
    );
    figured_paper(&format!("{FIGURE}{}", overview.replace("\"g\"", "\"f\""))).expect("loads");
}

/// A finding names the claims that it rests on, with links, and what the verdicts do not bear out. It must quote itself,
/// and the claims and verdicts must exist.
#[test]
fn a_finding_names_its_verdicts() {
    let with = |ground: &str| {
        let overview = "[overview]\nasked = \"a?\"\nfound = \"It is so.\"\n";
        let overview = format!("{overview}rests_on = [{{ says = {ground} }}]\n");
        extended_paper(CLAIM, &overview, &Adjust::default())
    };
    for (ground, says) in [
        (
            "'It was', verdicts = { C1 = 'reproduced' }",
            "'found' does not say 'It was'",
        ),
        ("'It is', verdicts = {}", "'It is' rests on no verdict"),
        (
            "'It is', verdicts = { C7 = 'reproduced' }",
            "there is no claim 'C7'",
        ),
        (
            "'It is', verdicts = { C1 = 'right' }",
            "there is no verdict 'right': there are reproduced,",
        ),
    ] {
        let error = with(ground).expect_err(ground).to_string();
        assert!(error.contains(says), "{error}");
    }
    for (verdict, is_borne_out) in [("reproduced", true), ("fitted", false)] {
        let ground = format!("'It is', verdicts = {{ C1 = '{verdict}' }}");
        let paper = with(&ground).unwrap_or_else(|error| panic!("{error}"));
        let one = Reported {
            paper: &paper,
            report: paper.report(&results(&paper, BOTH)),
        };
        let page = page(&[one.clone(), one]);
        assert!(page.contains("<a href=\"#claim-C1\">C1</a>"));
        let told = "These runs do not bear out \u{201c}It is\u{201d}";
        assert_eq!(!page.contains(told), is_borne_out, "{verdict}");
    }
}

/// A page over some of the runs says so at its top, and shows no number for missing values.
#[test]
fn a_partial_page_says_so() {
    assert!(!html(BOTH, 1).contains("is partial"));
    let page = html(&[("a", &[(99.0, 110.0)])], 1);
    assert!(page.contains("This report is partial."));
    assert!(page.contains("<span class=\"none\">no value</span>"));
    assert!(html(&[("a", &[(99.0, 110.0)])], 2).contains("<b>Partial.</b>"));
}

/// Flows that differ in name only share a host of the drawing, which counts them; a flow with another setting has its
/// own host. The text alternative lists all names.
#[test]
fn equal_flows_are_drawn_once() {
    let like_dccp = "wire = \"500 B\"\ntraffic = \"greedy\"\ndccp = { ccid = 2 }\n";
    let flows = format!(
        "[flows.second]\n{like_dccp}[flows.other]\n{like_dccp}start = \"1 s\"\n[flows.third]\n{like_dccp}"
    );
    let paper = paper_with_flows(&flows).expect("loads");
    let page = page(&[Reported {
        paper: &paper,
        report: paper.report(&results(&paper, BOTH)),
    }]);
    let hosts: Vec<&str> = page
        .split("class=\"host-name middle\"")
        .skip(1)
        .filter_map(|part| part.split('<').next()?.split('>').nth(1))
        .collect();
    let wide = ["dccp and 2 alike", "receiver", "other", "receiver"];
    let narrow = ["dccp and 2\u{2026}", "receiver", "other", "receiver"];
    assert_eq!(
        hosts,
        [wide, narrow].concat(),
        "in the wide drawing and in the narrow one"
    );
    assert!(page.contains("Flows: dccp, second and third (DCCP, left to right). other (DCCP"));
}

/// Characters with a meaning in HTML are escaped in drawings and ids. Text between backticks is code; a backtick without a
/// partner stays.
#[test]
fn markup_in_a_text_stays_text() {
    let figure = FIGURE
        .replace("title = \"cell\"", "title = \"<b a='1'>&\\\"\"")
        .replace("name = \"f\"", "name = \"Table I: <x>\"");
    let says = "see `a<b`, & more, a ` b";
    let claim = CLAIM.replace("b has more", says);
    let paper = extended_paper(&claim, &figure, &Adjust::default()).expect("loads");
    let page = page(&[Reported {
        paper: &paper,
        report: paper.report(&results(&paper, BOTH)),
    }]);
    for part in [
        " over &lt;b a='1'&gt;&amp;&quot;",
        "-Table-I---x-\"",
        "see <code>a&lt;b</code>, &amp; more, a ` b",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

/// Each paragraph of the glossary after the introduction explains a term. The page shows them, in alphabetical order
/// without duplicates.
#[test]
fn every_paragraph_of_the_glossary_is_a_term() {
    let page = html(BOTH, 1);
    let (_, words) = page.split_once("id=\"words\">").expect("a glossary");
    let (words, _) = words.split_once("</dl>").expect("its end");
    let terms = words.split("<dt>").skip(1);
    let terms: Vec<String> = terms
        .filter_map(|it| Some(it.split_once('<')?.0.to_lowercase()))
        .collect();
    let paragraphs = include_str!("../../../../docs/glossary.md")
        .trim()
        .split("\n\n");
    assert_eq!(
        terms.len() + 2,
        paragraphs.count(),
        "a heading, an introduction, and terms"
    );
    assert!(terms.is_sorted_by(|one, next| one < next), "{terms:?}");
}

/// `Reported::files` lists exactly the files that papers write.
#[test]
fn what_is_written_is_known_before() {
    let place = std::env::temp_dir().join(format!("fairwire-together-{}", std::process::id()));
    let paper = figured_paper(FIGURE).expect("loads");
    let reported = [Reported {
        paper: &paper,
        report: paper.report(&results(&paper, &[])),
    }];
    for all in [true, false] {
        let known = Reported::files(std::slice::from_ref(&paper), all);
        let claimed =
            OutputDirectory::open(&place, known.clone(), None, "a test").expect("claimed");
        let folder = claimed.place(all.then_some(paper.name.as_str()));
        let form = Form {
            gzip: true,
            series: SeriesChoice::All,
            ..Form::default()
        };
        let output = Output::create(&folder, form).expect("a folder");
        output.finish(&results(&paper, &[])).expect("written");
        write(&reported[0], &folder).expect("written");
        if all {
            write_all(&reported, &claimed.place(None)).expect("written");
        }
        for (folder, prefix) in [(claimed.place(None), ""), (folder, "test/")] {
            for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
                let is_file = entry.path().is_file();
                let name = entry.file_name().to_string_lossy().into_owned();
                let prefix = if all { prefix } else { "" };
                let is_known = known.contains(&format!("{prefix}{name}"));
                assert!(
                    is_known || !is_file || name == "fairwire-out.json",
                    "{name}"
                );
            }
        }
        claimed.publish(false).expect("published");
        assert_eq!(place.join("papers.json.gz").exists(), all);
        assert_eq!(place.join(&paper.name).exists(), all);
        assert_eq!(place.join("paper.json.gz").exists(), !all);
        assert!(place.join("report.html").exists());
    }
    std::fs::remove_dir_all(&place).expect("removed");
}
