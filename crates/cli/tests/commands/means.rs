//! `fairwire run --mean`.

use std::process::Output;

use crate::{err, fairwire, out};

/// `--mean` answers one question for each cell in place of the tables, and `--against` takes differences seed by seed.
#[test]
fn one_mean_for_each_cell() {
    let ask = |more: &[&str]| {
        let axes = ["run", "--axes", "queue=10 packets,50 packets"];
        let rest = "--axes ccid=2 --duration 5s --seeds 3 --mean goodput".split(' ');
        let all = axes.into_iter().chain(rest).chain(more.iter().copied());
        fairwire(&all.collect::<Vec<&str>>())
    };
    let rows = |output: &Output| {
        assert!(output.status.success(), "{}", err(output));
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        let text = out(output);
        let rows = text.lines().filter(|line| !line.starts_with("Differences"));
        rows.map(words).collect::<Vec<Vec<String>>>()
    };
    let all = rows(&ask(&["--of", "tcp*,dccp", "--total"]));
    assert_eq!(all.len(), 3, "a head and two cells: {all:?}");
    assert_eq!(all[0], ["cell", "goodput", "kbit/s", "seeds"]);
    let of = |row: &[String]| row[1].parse::<f64>().expect("a number");
    for row in &all[1..] {
        // The link of 10 Mbit/s is shared.
        assert!((1e3..1e4).contains(&of(row)), "{row:?}");
        assert_eq!(row.last().map(String::as_str), Some("3"));
    }
    let told = out(&ask(&["--of", "dccp", "--minus", "tcp*"]));
    let first = "Differences, seed by seed: dccp less tcp*\n";
    assert!(told.starts_with(first), "{told}");
    let base = all[1][0].clone();
    let told = out(&ask(&["--against", &base]));
    let first = format!("Differences, seed by seed: each cell less {base}\n");
    assert!(told.starts_with(&first), "{told}");
    let apart = rows(&ask(&["--of", "tcp*,dccp", "--total", "--against", &base]));
    assert_eq!(of(&apart[1]), 0.0, "a cell does not differ from itself");
    let difference = of(&all[2]) - of(&all[1]);
    // Each number is rounded to a tenth.
    assert!((of(&apart[2]) - difference).abs() < 0.2, "{apart:?}");

    let wrong = ask(&["--against", "nothing"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(err(&wrong).contains(&base), "{}", err(&wrong));
    // Before any run.
    for (asked, said) in [
        (
            ["--of", "nobody"],
            "no goodput of nobody in whole: there are",
        ),
        (
            ["--minus", "nobody"],
            "no goodput of nobody in whole: there are",
        ),
        (
            ["--window", "early"],
            "no goodput of any flow in early: there are",
        ),
        (
            ["--of", "bottleneck"],
            "no goodput of bottleneck in whole: there are",
        ),
    ] {
        let wrong = ask(&asked);
        assert_eq!(wrong.status.code(), Some(2), "{asked:?}");
        assert!(err(&wrong).contains(said), "{}", err(&wrong));
        assert!(out(&wrong).is_empty(), "{asked:?}");
    }

    let options = ["--of", "tcp*,dccp", "--total", "--against", &base, "--json"];
    let json: serde_json::Value = serde_json::from_str(&out(&ask(&options))).expect("JSON");
    let names = (&json["metric"], &json["unit"], &json["against"]);
    assert_eq!(
        names,
        (&"goodput".into(), &"bit/s".into(), &base.as_str().into())
    );
    let cells = json["cells"].as_array().expect("cells");
    for (cell, row) in cells.iter().zip(&apart[1..]) {
        assert_eq!(
            (&cell["name"], &cell["n"]),
            (&row[0].as_str().into(), &3.into())
        );
        let mean = cell["mean"].as_f64().expect("a number");
        assert!((mean / 1e3 - of(row)).abs() < 0.051, "{cell} {row:?}");
    }
    assert_eq!(cells[0]["half_width_95"], serde_json::Value::Null);
    assert!(
        cells[1]["half_width_95"]
            .as_f64()
            .is_some_and(|it| it > 0.0)
    );
}

/// A metric that does not exist is refused with the names of those that do.
#[test]
fn an_unknown_metric_is_told() {
    let wrong = fairwire(&["run", "--axes", "ccid=2", "--mean", "godput"]);
    assert_eq!(wrong.status.code(), Some(2));
    let text = "no metric \"godput\": there are throughput, goodput, ";
    assert!(err(&wrong).contains(text), "{}", err(&wrong));
}

/// What only runs can tell is told after them, with all that they found.
#[test]
fn results_without_an_answer_are_not_lost() {
    let ask = |more: &[&str]| {
        let all = "run --axes ccid=2 --axes tcps=0 --duration 1s --seeds 1 --mean retransmitted";
        fairwire(
            &all.split(' ')
                .chain(more.iter().copied())
                .collect::<Vec<_>>(),
        )
    };
    let wrong = ask(&[]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(
        err(&wrong).contains("has no retransmitted"),
        "{}",
        err(&wrong)
    );
    let text = out(&wrong);
    assert!(text.contains("bottleneck"), "the tables are not lost");
    let wrong = ask(&["--json"]);
    assert_eq!(wrong.status.code(), Some(1));
    let all: serde_json::Value = serde_json::from_str(&out(&wrong)).expect("JSON");
    let runs = &all["cells"][0]["runs"];
    assert!(runs.is_array(), "the results are not lost");
}
