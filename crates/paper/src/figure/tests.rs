//! Figures: what they contain, and what is refused when a paper is loaded.

use crate::PaperError;
use crate::synthetic::{extended_paper, figured_paper, results, run_with_throughput};
use crate::{Figure, Paper};
use fairwire_scenario::Adjust;

/// Loads the synthetic paper with a figure over both of its cells; `more` is the rest of that figure.
fn over_cells(more: &str) -> Result<Paper, PaperError> {
    figured_paper(&format!(
        "[[figures]]\nname = \"f\"\ntitle = \"F\"\nkind = \"line\"\n{more}\n"
    ))
}

const PLAIN: &str = r#"
metric = "throughput"
flow = "dccp"
published = "t.csv"
x = { title = "size", at = [10, 20] }
y = { unit = "kbit/s" }
lines = [{ label = "one", cells = ["a", "b"] }]
"#;

fn only(paper: &Paper, cells: &[(&str, &[(f64, f64)])]) -> Figure {
    let mut figures = paper.report(&results(paper, cells)).figures;
    assert_eq!(figures.len(), 1);
    figures.remove(0)
}

/// A point has the mean over the seeds with its interval, in the figure's unit, and the published number.
///
/// A cell that was not run has a place without a value.
#[test]
fn points_are_measured_beside_printed() {
    let paper = over_cells(PLAIN).expect("loads");
    let figure = only(&paper, &[("a", &[(99.0, 0.0), (101.0, 0.0)])]);
    let points = &figure.lines[0].points;
    assert_eq!((points[0].x, points[1].x), (10.0, 20.0));
    let measured = points[0].measured.expect("two seeds");
    assert_eq!((measured.mean, measured.count), (100.0, 2));
    assert_eq!(points[0].published, Some(100.0));
    assert!(points[1].measured.is_none());
    assert_eq!(points[1].published, Some(210.0));
    assert_eq!(points[1].note, "odd");
}

/// Published numbers may come from several files: each point takes its number from the file that has its cell.
#[test]
fn printed_numbers_may_stand_in_several_files() {
    let several = PLAIN.replace("\"t.csv\"", "[\"t.csv\"]");
    let figure = only(&over_cells(&several).expect("loads"), &[]);
    let printed: Vec<Option<f64>> = figure.lines[0]
        .points
        .iter()
        .map(|it| it.published)
        .collect();
    assert_eq!(printed, [Some(100.0), Some(210.0)]);
    let unknown = PLAIN.replace("\"t.csv\"", "[\"t.csv\", \"u.csv\"]");
    let error = over_cells(&unknown).expect_err("no such file").to_string();
    assert!(error.contains("there is no file 'u.csv'"), "{error}");
}

/// The windows of one cell can be points: here the whole run and its late part.
#[test]
fn windows_are_points() {
    let text = PLAIN
        .replace(
            "cells = [\"a\", \"b\"]",
            "cell = \"a\", windows = [\"whole\", \"late\"]",
        )
        .replace("at = [10, 20]", "labels = [\"all\", \"late\"]");
    let paper = over_cells(&text).expect("loads");
    let figure = only(&paper, &[("a", &[(50.0, 70.0)])]);
    let means: Vec<f64> = figure.lines[0]
        .points
        .iter()
        .filter_map(|point| Some(point.measured?.mean))
        .collect();
    assert_eq!(means, [50.0, 70.0]);
}

/// A series is averaged over its seeds and over the given time: twenty seconds in steps of five give four points, each
/// in the middle of its step.
#[test]
fn series_are_means_over_time() {
    let text = r#"
series = "throughput"
mean_over = "5 s"
y = { unit = "bit/s" }
lines = [{ label = "one", cell = "a", flow = "dccp" }]
"#;
    let paper = over_cells(text).expect("loads");
    let mut results = results(&paper, &[("a", &[(1.0, 1.0)])]);
    let up: Vec<f64> = (0..20).map(f64::from).collect();
    let down: Vec<f64> = up.iter().map(|value| 2.0 - value).collect();
    results.cells[0].runs = vec![run_with_throughput(1, &up), run_with_throughput(2, &down)];
    let figure = paper.report(&results).figures.remove(0);
    assert_eq!(figure.mean_over, Some(5.0));
    assert_eq!(figure.x.title, "time, s");
    let points = &figure.lines[0].points;
    let places: Vec<f64> = points.iter().map(|point| point.x).collect();
    assert_eq!(places, [2.5, 7.5, 12.5, 17.5]);
    // (0+1+2+3+4)/5 = 2 for the first seed and 2 - 2 = 0 for the second: every point has the mean 1, with an interval.
    for point in points {
        let measured = point.measured.expect("two seeds");
        assert_eq!(measured.mean, 1.0);
        assert!(measured.interval().is_some());
    }
}

/// An unknown name, a wrong number of points and an axis that cannot be drawn are each refused.
///
/// The error names the figure and says what is wrong.
#[test]
fn what_cannot_be_drawn_is_refused() {
    let series = "series = \"throughput\"\ny = { unit = \"bit/s\" }\n";
    let line = "lines = [{ label = \"one\", cell = \"a\", flow = \"dccp\" }]\n";
    for (text, words) in [
        (PLAIN.replace("\"b\"]", "\"c\"]"), "there is no cell 'c'"),
        (
            PLAIN.replace("= \"throughput\"", "= \"speed\""),
            "there is no metric 'speed'",
        ),
        (
            PLAIN.replace("flow = \"dccp\"", "flow = \"tcp\""),
            "there is no flow 'tcp'",
        ),
        (
            PLAIN.replace("flow = \"dccp\"", "link = \"two\""),
            "there is no link 'two'",
        ),
        (
            PLAIN.replace("[10, 20]", "[10]"),
            "2 points where 'x' has 1",
        ),
        (PLAIN.replace("[10, 20]", "[20, 10]"), "must increase"),
        (
            PLAIN.replace("[10, 20] }", "[0, 20], scale = \"log\" }"),
            "above zero",
        ),
        (PLAIN.replace("kbit/s", "ms"), "not in 'ms'"),
        (PLAIN.replace("t.csv", "u.csv"), "there is no file 'u.csv'"),
        (
            PLAIN.replace(
                "lines = [{ label = \"one\", cells = [\"a\", \"b\"] }]",
                "lines = []",
            ),
            "no 'lines'",
        ),
        (
            format!("{}{line}", series.replace("throughput", "speed")),
            "there is no series 'speed'",
        ),
        (
            format!("{}{line}", series.replace("bit/s", "s")),
            "not in 's'",
        ),
        (
            format!("{series}mean_over = \"5\"\n{line}"),
            "is not a time",
        ),
        (
            format!("{series}metric = \"loss\"\n{line}"),
            "a series over time",
        ),
    ] {
        let error = over_cells(&text).expect_err(&text).to_string();
        assert!(
            error.contains("figure f") && error.contains(words),
            "{words}: {error}"
        );
    }
}

/// A quick form that moves an event moves its mark; a mark without a place for the quick form stays.
#[test]
fn marks_move_with_the_quick_form() {
    let more = r#"
[[figures]]
name = "f"
title = "F"
kind = "line"
series = "throughput"
y = { unit = "bit/s" }
marks = [{ at = 10, quick = 5, label = "moved" }, { at = 12, label = "stays" }]
lines = [{ label = "one", cell = "a", flow = "dccp" }]
[quick]
says = "Shorter."
set = []
"#;
    for (quick, wanted) in [(false, [10.0, 12.0]), (true, [5.0, 12.0])] {
        let adjust = Adjust {
            quick,
            ..Adjust::default()
        };
        let paper = extended_paper("claims = []", more, &adjust).expect("loads");
        let figure = only(&paper, &[]);
        let marks: Vec<f64> = figure.marks.iter().map(|mark| mark.at).collect();
        assert_eq!(marks, wanted);
    }
}
