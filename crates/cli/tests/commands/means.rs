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
        out(output).lines().map(words).collect::<Vec<Vec<String>>>()
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
    let base = all[1][0].clone();
    let apart = rows(&ask(&["--of", "tcp*,dccp", "--total", "--against", &base]));
    assert_eq!(of(&apart[1]), 0.0, "a cell does not differ from itself");
    let difference = of(&all[2]) - of(&all[1]);
    // Each number is rounded to a tenth.
    assert!((of(&apart[2]) - difference).abs() < 0.2, "{apart:?}");

    let wrong = ask(&["--against", "nothing"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(err(&wrong).contains(&base), "{}", err(&wrong));
    let wrong = ask(&["--of", "nobody"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(err(&wrong).contains("no goodput of nobody in whole: there are"));
    assert!(
        out(&wrong).contains("bottleneck"),
        "the tables are not lost"
    );
}
