//! The papers that are built in, and reports over synthetic results.

use super::synthetic::{paper, results};
use super::{Bundle, Paper, catalogue};
use crate::scenario::Adjust;

/// Every paper in the catalogue loads: each name in its tables and claims exists.
#[test]
fn every_paper_loads() {
    for bundle in catalogue() {
        let paper = Paper::load(bundle, &Adjust::default());
        let paper = paper.unwrap_or_else(|error| panic!("{error}"));
        assert!(
            !paper.cells.is_empty() && !paper.claims.is_empty(),
            "{}",
            paper.name
        );
        Paper::golden(bundle).unwrap_or_else(|error| panic!("{error}"));
    }
    let error = Bundle::find("no-delay")
        .expect_err("no such paper")
        .to_string();
    assert!(error.contains("long-delay"), "{error}");
}

/// The text shows the printed number, the mean with its interval and the difference; numbers that
/// are odd have a note.
#[test]
fn tables_stand_beside_what_was_printed() {
    let paper = paper("claims = []").expect("loads");
    let results = results(
        &paper,
        &[
            ("a", &[(99.0, 110.0), (101.0, 110.0)]),
            ("b", &[(210.0, 189.0)]),
        ],
    );
    let text = paper.text(&paper.report(&results));
    let line = |start: &str| {
        let found = text
            .lines()
            .find(|line| line.trim_start().starts_with(start));
        found
            .unwrap_or_else(|| panic!("no '{start}' in\n{text}"))
            .split_whitespace()
            .collect::<Vec<_>>()
    };
    assert_eq!(
        line("flow"),
        ["flow", "what", "published", "whole", "the", "late", "part"]
    );
    let first = [
        "dccp", "first", "100", "100.0", "±", "12.7", "+0.0", "%", "110.0", "(no", "spread)",
        "+10.0", "%",
    ];
    assert_eq!(line("dccp"), first);
    let second = text
        .lines()
        .find(|line| line.contains("[1] 210"))
        .expect("a note");
    assert!(second.contains("-10.0 %"), "{second}");
    assert!(text.contains("[1] odd"));
    assert!(text.contains("The unperturbed run"));
    assert!(!text.contains("PARTIAL"));
}

/// A report over part of the cells says that it is partial, in text and JSON, and shows no number
/// for what is missing.
#[test]
fn partial_results_are_marked() {
    let paper = paper("claims = []").expect("loads");
    let report = paper.report(&results(&paper, &[("a", &[(99.0, 110.0)])]));
    assert!(report.partial);
    let text = paper.text(&report);
    assert!(
        text.contains("PARTIAL") && text.contains("no value"),
        "{text}"
    );
    assert_eq!(paper.json(&report)["partial"], true);
    assert_eq!(
        paper.json(&report)["tables"][0]["rows"][1]["windows"]["late"]["n"],
        0
    );
    let csv = String::from_utf8(report.tables_csv().expect("writes")).expect("UTF-8");
    assert!(
        csv.contains("table,b,second,dccp,throughput,kbit/s,late,210,0,,,,odd"),
        "{csv}"
    );
}
