//! The report page of a scenario file.

use std::sync::atomic::AtomicBool;

use fairwire_paper::{Form, Scale};
use fairwire_report::{Group, experiment_page, plots};
use fairwire_scenario::{Adjust, ScenarioFile};
use fairwire_sim::campaign::{Campaign, run_cells};
use fairwire_sim::results::{Metric, Results, Subject, Value, table, tables};

fn results(axes: &[&str], set: &[&str]) -> Results {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let adjust = Adjust {
        axes: words(axes),
        set: words(set),
        duration: Some("2s".parse().expect("a time")),
        seeds: Some(2),
        ..Adjust::default()
    };
    let cells = ScenarioFile::dumbbell().and_then(|file| file.cells(&adjust));
    let cells = cells.unwrap_or_else(|error| panic!("{error}"));
    let campaign = Campaign {
        threads: 2,
        stop: &AtomicBool::new(false),
        progress: &|_| {},
        capture: None,
    };
    run_cells("dumbbell", &cells, campaign, &mut |_| Ok(()))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the title of a group with those of its plots.
fn titles(group: &Group) -> (&str, Vec<&str>) {
    let plots = group.plots.iter();
    let plots = plots.map(|plot| plot.title.as_str());
    (&group.title, plots.collect())
}

/// The axis with numeric values is horizontal, and each value of the others gives a line.
///
/// Each point is the mean of a cell with its interval. The plots of one metric belong together and have one scale.
#[test]
fn axes_make_lines() {
    let results = results(&["queue=codel,10 packets", "rate=1 Mbit/s,40 Mbit/s"], &[]);
    let plots = plots(&results.cells);
    let titles: Vec<(&str, Vec<&str>)> = plots.iter().map(titles).collect();
    assert_eq!(
        titles,
        [
            ("goodput", vec!["goodput of dccp", "goodput of tcp1"]),
            ("loss", vec!["loss of dccp", "loss of tcp1"]),
            (
                "delay_mean",
                vec!["delay_mean of dccp", "delay_mean of tcp1"]
            ),
            ("utilisation", vec!["utilisation of bottleneck"]),
            ("queue_mean", vec!["queue_mean of bottleneck"]),
            ("jain", vec!["jain"]),
        ]
    );
    let goodput = &plots[0].plots[0];
    assert_eq!(goodput.y.to, plots[0].plots[1].y.to, "one scale for both");
    assert!(goodput.y.to.is_some() && plots[5].plots[0].y.to.is_none());
    assert_eq!((goodput.form, goodput.x.scale), (Form::Line, Scale::Log));
    assert_eq!(goodput.x.title, "rate, Mbit/s");
    let lines: Vec<&str> = goodput
        .lines
        .iter()
        .map(|line| line.label.as_str())
        .collect();
    assert_eq!(lines, ["codel", "queue 10 packets"]);
    let fast = &goodput.lines[1].points[1];
    let cell = results.cell("queue10packets-rate40Mbit").expect("a cell");
    let samples = cell.samples(&Subject::flow("dccp"), "whole", Metric::Goodput);
    let mean = samples.iter().sum::<f64>() / samples.len() as f64;
    let measured = fast.measured.expect("a value");
    assert!((fast.x - 40.0).abs() < 1e-9);
    assert!((measured.mean - mean / 1e3).abs() < 1e-6);
    assert_eq!(measured.count, 2);
}

/// Values that are not numbers stand side by side, and so do cells without axes.
#[test]
fn names_stand_side_by_side() {
    let words = plots(&results(&["queue=codel,fq-codel"], &[]).cells);
    let first = &words[0].plots[0];
    assert_eq!(first.form, Form::Bar);
    assert_eq!(first.x.labels, ["codel", "fq-codel"]);
    let alone = plots(&results(&[], &["measure.series=500 ms"]).cells);
    let first = &alone[0].plots[0];
    assert_eq!(first.x.labels, ["base"]);
    assert_eq!(first.title, "goodput of flows");
    let lines: Vec<&str> = first.lines.iter().map(|line| line.label.as_str()).collect();
    assert_eq!(lines, ["dccp", "tcp1"]);
    let over_time = &alone.last().expect("plots over time").plots[0];
    assert_eq!(over_time.title, "throughput over time: base");
    let lines: Vec<&str> = over_time
        .lines
        .iter()
        .map(|line| line.label.as_str())
        .collect();
    assert_eq!(lines, ["dccp", "tcp1"]);
    let times: Vec<f64> = over_time.lines[0]
        .points
        .iter()
        .map(|point| point.x)
        .collect();
    assert_eq!(times, [0.25, 0.75, 1.25, 1.75]);
}

/// The page has the network with its rates and delays, the number of seeds, each plot, each cell's table and the notes.
///
/// The plots of one metric stand side by side; texts from a file are escaped.
#[test]
fn the_page_has_plots_tables_and_notes() {
    let mut results = results(&["ccid=2,3"], &["title=<b>bold</b>"]);
    results.notes = vec!["mind the <gap>".to_owned()];
    let page = experiment_page(&results);
    for part in [
        "<h1>&lt;b&gt;bold&lt;/b&gt;</h1>",
        "mind the &lt;gap&gt;",
        "goodput of dccp",
        "ccid3",
        "<svg",
        "throughput kbit/s",
        "2 cells, 2 seeds each, of 2 s.",
        "bottleneck: 10 Mbit/s, ",
        "<div class=\"side\">",
    ] {
        assert!(page.contains(part), "{part} is missing");
    }
    for foreign in ["http://", "https://", "<script", "<pre"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

/// The values of a cell stand in tables like those of papers: each column has a heading, each row begins with the name
/// of its flow or link, and numbers stand at the right, the mean apart from its interval. They are the printed ones.
#[test]
fn values_of_cells_are_in_tables() {
    let results = results(&[], &[]);
    let page = experiment_page(&results);
    let cell = &results.cells[0];
    let windows = tables(cell).windows;
    assert_eq!(windows.len(), 1, "the whole run");
    assert!(page.contains("<h4>whole run, 2 s</h4>"), "{page}");
    let text = table(cell);
    for grid in windows[0].subjects.iter().flatten() {
        let (head, rows) = grid.0.split_first().expect("a head");
        assert!(!rows.is_empty());
        for (at, heading) in head.iter().enumerate() {
            let class = if at == 0 { "text" } else { "number" };
            let head =
                format!("<th role=\"columnheader\" scope=\"col\" class=\"{class}\">{heading}</th>");
            assert!(page.contains(&head), "{head}");
        }
        for row in rows {
            let begins = format!(
                "<th role=\"rowheader\" scope=\"row\" class=\"text label\">{}</th>",
                row[0]
            );
            let of_row = page.split_once(&begins).expect(&begins).1;
            let of_row = of_row.split_once("</tr>").expect("its end").0;
            for (value, heading) in row.iter().zip(head).skip(1) {
                let (mean, rest) = value.split_once(' ').unwrap_or((value, ""));
                let rest = rest.trim_matches(['(', ')']).replace('<', "&lt;");
                let begins = format!("<td role=\"cell\" class=\"number\" data-h=\"{heading}\">");
                let shown = of_row.split_once(&begins).expect(&begins).1;
                let expected = format!("<span><b>{mean}</b> <i>{rest}</i></span></td>");
                assert!(shown.starts_with(&expected), "{expected} in {shown}");
                assert!(text.contains(value.as_str()), "{value} in {text}");
            }
        }
    }
    let jain = &windows[0].all[0][1];
    let mean = jain.split(' ').next().expect("a mean");
    let shown = format!("data-h=\"Jain's index\"><span><b>{mean}</b>");
    assert!(page.contains(&shown), "{jain}");
}

/// A value that a run does not have is not a number, and a negative one has a minus sign.
#[test]
fn missing_values_are_told() {
    let mut results = results(&[], &["measure.metrics=[\"loss\", \"goodput\"]"]);
    let runs = &mut results.cells[0].runs;
    runs.push(runs[1].clone());
    for (number, run) in runs.iter_mut().enumerate() {
        let has_loss = |value: &Value| value.subject != Subject::flow("dccp");
        run.values
            .retain(|value| value.metric != Metric::Loss || has_loss(value));
        for value in &mut run.values {
            value.value = -1.5 - 1e-4 * number as f64;
        }
    }
    let page = experiment_page(&results);
    for part in [
        "<span class=\"none\">no value</span>",
        "<b>\u{2212}1.500</b> <i>± &lt;0.001</i>",
        "--pm:8ch",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}
