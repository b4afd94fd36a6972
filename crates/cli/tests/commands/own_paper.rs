//! `fairwire paper ./DIR`: a user's own paper, without building anything.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::{err, out, unzipped};

const MANIFEST: &str = r#"title = "A paper of two cells"
authors = "Somebody"
line = "a line"
runtime = "no time"
scenarios = ["cells.toml"]
claims = "claims.toml"
published = ["table.csv"]

[[tables]]
name = "table"
title = "Table 1: what comes"
published = "table.csv"
heading = "rate"
cells = [{ cell = "slow", label = "1 Mbit/s" }, { cell = "fast", label = "2 Mbit/s" }]
flows = ["dccp"]
metrics = [{ metric = "throughput", unit = "kbit/s" }]
"#;

const CELLS: &str = r#"title = "One flow over one link"
[run]
duration = "5 s"
[topology]
kind = "chain"
links.one = { rate = "1 Mbit/s", delay = "5 ms" }
[flows.dccp]
wire = "500 B"
traffic = "greedy"
dccp = { ccid = 2 }
[cells.slow]
[cells.fast]
topology.links.one.rate = "2 Mbit/s"
"#;

const CLAIMS: &str = r#"[[claims]]
id = "T-1"
says = "More comes over the faster link."
place = "somewhere"
because = { holds = "It is the only bottleneck.", fails = "?" }
[[claims.checks]]
kind = "increasing"
unit = "kbit/s"
of = [
  { cell = "slow", flow = "dccp", metric = "throughput", window = "whole" },
  { cell = "fast", flow = "dccp", metric = "throughput", window = "whole" },
]
[[claims]]
id = "T-2"
says = "It is red."
place = "elsewhere"
not_testable = "no colours here"
"#;

const TABLE: &str = "cell,flow,metric,value,unit,note\nslow,dccp,throughput,950,kbit/s,\n";

/// How the first check of the claims begins.
const CHECK: &str = "kind = \"increasing\"";

/// A directory that holds the paper and is removed at the end of the test.
pub(crate) struct Mine(pub(crate) PathBuf);

impl Mine {
    pub(crate) fn new(name: &str) -> Self {
        let unique = format!("fairwire-own-{name}-{}", std::process::id());
        let mine = Self(std::env::temp_dir().join(unique));
        std::fs::create_dir_all(mine.0.join("mine")).expect("a directory");
        for (file, text) in [
            ("paper.toml", MANIFEST),
            ("cells.toml", CELLS),
            ("claims.toml", CLAIMS),
            ("table.csv", TABLE),
        ] {
            mine.write(file, text);
        }
        mine
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.0.join("mine").join(file), text).expect("written");
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// Runs the command next to the paper's directory.
    pub(crate) fn fairwire(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_fairwire"))
            .args(arguments)
            .current_dir(&self.0)
            .output()
            .expect("the command starts")
    }
}

impl Drop for Mine {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A paper with a store runs only what the store does not have, and its report is the one without a store.
#[test]
fn a_paper_with_a_store_keeps_its_runs() {
    let mine = Mine::new("stored");
    let paper = |more: &[&str]| {
        let run = mine.fairwire(&[&["paper", "mine"], more].concat());
        assert!(run.status.success(), "{}", err(&run));
        (out(&run), err(&run))
    };
    let stored = |seeds: &str| paper(&["--seeds", seeds, "--store", "runs"]);
    let note = |found: &str, done: &str| format!("runs: {found} found, {done} done\n");
    let (report, first) = stored("2");
    assert!(report.contains("T-1 reproduced"), "{report}");
    assert_eq!(report, paper(&["--seeds", "2"]).0);
    // Each cell has two seeds and the unperturbed run.
    assert_eq!(first, note("0 runs", "6 runs"));
    assert_eq!(stored("2"), (report, note("6 runs", "0 runs")));
    let (report, third) = stored("3");
    assert_eq!(report, paper(&["--seeds", "3"]).0);
    assert_eq!(third, note("6 runs", "2 runs"));
    let listed = out(&mine.fairwire(&["store", "runs"]));
    assert!(listed.contains(" mine "), "{listed}");
    // What cannot be a store is refused, as it is by a sweep.
    let refused = mine.fairwire(&["paper", "mine", "--store", "mine/paper.toml"]);
    assert_eq!(refused.status.code(), Some(1));
    let text = "mine/paper.toml is a file, and a store is a folder";
    assert!(err(&refused).contains(text), "{}", err(&refused));
}

/// A directory is run like a built-in paper: its table beside the published one, a verdict for each claim, golden
/// digests. It is selected by a path, or by its name alone if no built-in paper has that name.
#[test]
fn a_directory_is_a_paper() {
    let mine = Mine::new("runs");
    let output = mine.fairwire(&["paper", "./mine", "--seeds", "2"]);
    assert!(output.status.success(), "{}", err(&output));
    let text = out(&output);
    for part in [
        "Table 1: what comes",
        "950",
        "T-1 reproduced",
        "T-2 not testable here",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let csv = mine.fairwire(&["paper", "mine", "--seeds", "2", "--csv", "verdicts"]);
    assert!(
        out(&csv).contains("\nmine,T-1,reproduced,"),
        "{}",
        out(&csv)
    );
    let inside = Command::new(env!("CARGO_BIN_EXE_fairwire"))
        .args(["paper", ".", "--update-digests"])
        .current_dir(mine.0.join("mine"))
        .output()
        .expect("the command starts");
    assert!(inside.status.success(), "{}", err(&inside));
    assert!(!out(&inside).contains("build again"), "{}", out(&inside));
    let hold = mine.fairwire(&["paper", "mine/", "--check-digests"]);
    // Two cells, with three seeds and the unperturbed run each.
    assert_eq!(
        out(&hold),
        "all 8 digests of mine match\n",
        "{}",
        err(&hold)
    );
    let first = mine.fairwire(&["paper", "mine/", "--check-digests", "--seeds", "1"]);
    assert_eq!(
        out(&first),
        "all 4 digests of mine match\n",
        "{}",
        err(&first)
    );
}

/// A report has only the time series that a figure shows, for each seed.
#[test]
fn the_series_of_figures_are_written() {
    let mine = Mine::new("figures");
    let figure = r#"
[[figures]]
name = "queue"
title = "The queue of the fast link"
kind = "line"
series = "queue"
y = { unit = "packets" }
lines = [{ label = "fast", cell = "fast", link = "one" }]
"#;
    mine.write("paper.toml", &format!("{MANIFEST}{figure}"));
    let series = |choice: &[&str]| {
        let arguments = ["paper", "./mine", "--seeds", "2", "--out", "out"];
        let output = mine.fairwire(&[&arguments[..], choice].concat());
        assert!(output.status.success(), "{}", err(&output));
        let path = mine.0.join("out/series.csv.gz");
        let text = if path.exists() {
            unzipped(&path)
        } else {
            String::new()
        };
        let rows = text.lines().skip(1).map(str::to_owned);
        rows.collect::<Vec<String>>()
    };
    let rows = series(&[]);
    let has = |start: &str| rows.iter().filter(|row| row.starts_with(start)).count();
    // The run lasts five seconds, with one sample per second.
    assert_eq!(has("fast,1,link,one,queue,"), 5, "{rows:?}");
    assert_eq!(has("fast,2,link,one,queue,"), 5, "{rows:?}");
    assert_eq!(has("fast,"), rows.len(), "{rows:?}");
    assert!(rows.iter().all(|row| row.contains(",link,one,queue,")));
    assert!(series(&["--series", "none"]).is_empty());
}

/// A table alone has no series. `--series all` writes them, and also all numbers as JSON. The resolved scenario of a
/// cell reproduces its series: it is the same run.
#[test]
fn series_can_be_left_out_and_had_again() {
    let mine = Mine::new("series");
    mine.write(
        "cells.toml",
        &format!("{CELLS}[measure]\nseries = \"1 s\"\n"),
    );
    let table = |place: &str, more: &[&str]| {
        let arguments = [
            "paper", "./mine", "--table", "table", "--seeds", "1", "--out", place,
        ];
        let output = mine.fairwire(&[&arguments[..], more].concat());
        assert!(output.status.success(), "{}", err(&output));
    };
    table("without", &[]);
    table("with", &["--series", "all"]);
    let [without, with] = ["without", "with"].map(|place| mine.0.join(place));
    assert!(!without.join("series.csv.gz").exists());
    for file in ["runs.csv", "tables.csv"] {
        let (without, with) = (format!("without/{file}"), format!("with/{file}"));
        assert_eq!(mine.read(&without), mine.read(&with), "{file}");
    }
    for file in ["results.csv.gz", "summary.csv.gz"] {
        let (without, with) = (without.join(file), with.join(file));
        assert_eq!(unzipped(&without), unzipped(&with), "{file}");
    }
    let json = |place: &Path| -> Value {
        serde_json::from_str(&unzipped(&place.join("results.json.gz"))).expect("JSON")
    };
    let (slim, full) = (json(&without), json(&with));
    for (part, whole) in [
        (&slim["cells"][0], &full["cells"][0]),
        (&slim["cells"][0]["runs"][0], &full["cells"][0]["runs"][0]),
    ] {
        for (key, value) in part.as_object().expect("an object") {
            let has_runs = key == "runs" || key == "unperturbed";
            assert!(has_runs || *value == whole[key], "{key}");
        }
    }
    for key in ["values", "series"] {
        assert!(slim["cells"][0]["runs"][0][key].is_null());
        assert!(full["cells"][0]["runs"][0][key].is_array());
    }
    let again = ["run", "without/slow.toml", "--seeds", "1", "--out", "again"];
    let output = mine.fairwire(&again);
    assert!(output.status.success(), "{}", err(&output));
    // The cell has its own name in the paper. In its own file it is called 'base'.
    let series_of = |text: String, cell: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix(cell));
        let plain = lines.map(|line| line.split(',').take(6).collect::<Vec<_>>().join(","));
        plain.collect()
    };
    let series = series_of(unzipped(&with.join("series.csv.gz")), "slow,1,");
    // Eight series or more, of five seconds.
    assert!(series.len() >= 40, "{}", series.len());
    assert_eq!(series_of(mine.read("again/series.csv"), "base,1,"), series);
}

/// With an output directory, the terminal shows one line for each claim and where the report is. The directory holds
/// what is printed without one.
#[test]
fn with_a_directory_little_is_printed() {
    let mine = Mine::new("brief");
    let output = mine.fairwire(&["paper", "./mine", "--seeds", "1", "--out", "out"]);
    assert!(output.status.success(), "{}", err(&output));
    let brief = "A paper of two cells\nSomebody\n\n  T-1  reproduced\n  T-2  not testable here\n  \
                 2 claims: 1 reproduced, 1 not testable here\n";
    assert_eq!(out(&output), brief);
    assert_eq!(
        err(&output),
        "written: out/report.html, as text out/report.txt\n"
    );
    let whole = mine.fairwire(&["paper", "./mine", "--seeds", "1"]);
    assert_eq!(out(&whole), mine.read("out/report.txt"));
    let csv = [
        "paper", "./mine", "--seeds", "1", "--out", "out", "--csv", "tables",
    ];
    assert_eq!(out(&mine.fairwire(&csv)), mine.read("out/tables.csv"));
}

/// A file, a part of it and its wrong replacement, and how the error begins and the place that it names.
const WRONG: &[(&str, &str, &str, &str)] = &[
    (
        "paper.toml",
        "line = ",
        "lin = ",
        "unknown key 'lin'|mine/paper.toml:3:1",
    ),
    (
        "paper.toml",
        "\"slow\"",
        "\"slwo\"",
        "table table: there is no cell 'slwo'|mine/paper.toml:",
    ),
    (
        "paper.toml",
        "\"cells.toml\"",
        "\"cels.toml\"",
        "there is no file 'cels.toml' in this paper: did you mean 'cells.toml'?|mine/paper.toml:5:14",
    ),
    (
        "claims.toml",
        "cell = \"fast\"",
        "cell = \"fats\"",
        "claim T-1: there is no cell 'fats'|mine/claims.toml:",
    ),
    (
        "claims.toml",
        "not_testable = ",
        "not_testable ",
        "|mine/claims.toml:17:14",
    ),
    (
        "cells.toml",
        "\"5 s\"",
        "\"5\"",
        "'5' has no unit: write one of h, min, s, ms, us, ns\n --> mine/cells.toml:3:12",
    ),
    (
        "table.csv",
        "kbit/s",
        "furlong",
        "unknown unit 'furlong'|mine/table.csv:2:1",
    ),
    (
        "table.csv",
        "kbit/s",
        "ms",
        "table table: 'throughput' is printed in 'ms', not in 'kbit/s'|mine/paper.toml:16:23",
    ),
    (
        "table.csv",
        "slow",
        "slwo",
        "there is no cell 'slwo': did you mean 'slow'?|mine/table.csv:2:1",
    ),
    (
        "table.csv",
        "950",
        "much",
        "the value 'much' is not a number|mine/table.csv:2:1",
    ),
    (
        "table.csv",
        "cell,",
        "cel,",
        "no column is called 'cel': did you mean 'cell'?|mine/table.csv:1:1",
    ),
    (
        "paper.toml",
        "claims.toml",
        "clams.toml",
        "there is no file 'clams.toml' in this paper: did you mean 'claims.toml'?|mine/paper.toml:6:10",
    ),
    (
        "paper.toml",
        "published = \"table.csv\"",
        "published = \"tabel.csv\"",
        "table table: there is no file 'tabel.csv' among 'published': write 'table.csv'|mine/paper.toml:12:13",
    ),
    (
        "paper.toml",
        "{ cell = \"slow\", label = \"1 Mbit/s\" }",
        "\"slow\"",
        "expected a table as { cell = \"NAME\", label = \"...\" }, found the text \"slow\"|mine/paper.toml:14:10",
    ),
    (
        "paper.toml",
        "flows = [\"dccp\"]",
        "flows = \"dccp\"",
        "expected a list in brackets, found the text \"dccp\"|mine/paper.toml:15:9",
    ),
    (
        "paper.toml",
        "[[tables]]",
        "windows.lat = \"late\"\n[[tables]]",
        "no cell has 'lat', which [windows] names: write 'whole'|mine/paper.toml:9:9",
    ),
    (
        "paper.toml",
        "[[tables]]",
        "flows.dcpc = \"late\"\n[[tables]]",
        "no cell has 'dcpc', which [flows] names: did you mean 'dccp'? write one of all, dccp|mine/paper.toml:9:7",
    ),
    // A flow's reverse direction may have a name for readers, too.
    (
        "paper.toml",
        "[[tables]]",
        "flows = { \"dccp/back\" = \"a\", \"dcpc/back\" = \"b\" }\n[[tables]]",
        "no cell has 'dcpc/back', which [flows] names|mine/paper.toml:9:30",
    ),
    (
        "paper.toml",
        "unit = \"kbit/s\"",
        "unit = \"kbit/s\", digits = -1",
        "expected a whole number of at least 0, found the whole number -1|mine/paper.toml:16:",
    ),
    (
        "cells.toml",
        "[flows.dccp]",
        "[flows.\"dccp{n}\"]\ncount = 0",
        "'count' is 0, so 'dccp{n}' makes no flow, and there is no other|mine/cells.toml:8:9",
    ),
    (
        "cells.toml",
        "[run]",
        "axes.blue = [1, 2]\n[run]",
        "nothing uses the axis 'blue': write {blue} into|mine/cells.toml:2:6",
    ),
    (
        "claims.toml",
        "[[claims]]",
        "axes.blue = [1, 2]\n[[claims]]",
        "nothing uses the axis 'blue': write {blue} into|mine/claims.toml:1:6",
    ),
    // Neither a comment nor braces that are text use an axis.
    (
        "claims.toml",
        "[[claims]]",
        "axes.blue = [1, 2] # {blue}\nshared.a = \"{{blue}}\"\n[[claims]]",
        "nothing uses the axis 'blue'|mine/claims.toml:1:6",
    ),
    (
        "claims.toml",
        "[[claims]]",
        "parts.z = { tolerence = 1 }\n[[claims]]",
        "no file that paper.toml lists extends the part 'z': write extends = \"z\"|mine/claims.toml:1:7",
    ),
    (
        "cells.toml",
        "[run]",
        "parts.z.run = { duratoin = \"1 s\" }\n[run]",
        "no file that paper.toml lists extends the part 'z': write extends = \"z\"|mine/cells.toml:2:7",
    ),
    (
        "table.csv",
        "950",
        "\"950",
        "this value has no quote at its end|mine/table.csv:2:",
    ),
    (
        "cells.toml",
        "\"5 s\"",
        "{ value = \"5 s\", sorce = \"paper\" }",
        "unknown key 'sorce' beside 'value': did you mean 'source'?|mine/cells.toml:3:29",
    ),
    (
        "cells.toml",
        "topology.links.one.rate = ",
        "flows.dcpc.dccp.ccid = 3\ntopology.links.one.rate = ",
        "no flow is called 'dcpc': write 'dccp'; this makes a new flow|mine/cells.toml:13:7",
    ),
    (
        "claims.toml",
        CHECK,
        "kind = \"relative\"\ntolerance = \"30 %\"",
        "expected a number without quotes (30 % is 0.3 in a check|mine/claims.toml:8:13",
    ),
    (
        "claims.toml",
        CHECK,
        "kind = \"range\"\nexpected = [950, 20]\nwhy = \"so\"",
        "claim T-1: 'expected' of a range is [lower, upper], and 950 is more than 20: write [20, 950]|mine/claims.toml:8:12",
    ),
    (
        "claims.toml",
        "{ cell = \"slow\", flow = \"dccp\", metric = \"throughput\", window = \"whole\" }",
        "{ published = \"tabel.csv\", cell = \"slow\" }",
        "claim T-1: there is no file 'tabel.csv' among 'published': write 'table.csv'|mine/claims.toml:10:17",
    ),
    (
        "claims.toml",
        "{ cell = \"slow\", flow = \"dccp\", metric = \"throughput\", window = \"whole\" }",
        "{ published = \"table.csv\", cell = \"slow\", flow = \"dcpc\", metric = \"throughput\" }",
        "claim T-1: there is no published flow 'dcpc' in the cell 'slow' of 'table.csv': write 'dccp'|mine/claims.toml:10:52",
    ),
];

/// An error in a file is reported with the file and the line before anything runs. The exit status is that of wrong
/// usage, because the user can correct it.
#[test]
fn what_is_wrong_is_told_with_its_line() {
    let mine = Mine::new("wrong");
    for &(file, right, wrong, words) in WRONG {
        let text = mine.read(&format!("mine/{file}"));
        mine.write(file, &text.replacen(right, wrong, 1));
        let output = mine.fairwire(&["paper", "mine", "--out", "out"]);
        let told = err(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        let (words, place) = words.split_once('|').unwrap_or((words, ""));
        assert!(
            told.starts_with(&format!("error: {words}")) && told.contains(place),
            "{words}: {told}"
        );
        assert!(!mine.0.join("out").exists());
        mine.write(file, &text);
    }
}

/// A directory without a paper is reported as such. For a name that is neither a paper nor a path, the error mentions
/// both. A directory does not hide a built-in paper of the same name, and 'all' means the built-in papers.
#[test]
fn directories_and_names() {
    let mine = Mine::new("names");
    std::fs::rename(mine.0.join("mine"), mine.0.join("satellite")).expect("renamed");
    std::fs::create_dir(mine.0.join("empty")).expect("made");
    std::fs::write(mine.0.join("empty/notes.txt"), "").expect("written");
    let cases = [
        ("./empty", "it has no paper.toml"),
        ("./missing", "./missing: cannot read"),
        (
            "./satellite/paper.toml",
            "./satellite/paper.toml: give the directory: ./satellite",
        ),
        (
            "./empty/notes.txt",
            "./empty/notes.txt: a paper is a directory, and this is a file",
        ),
        (
            "empty",
            "write one of wifi-handoff, voip, satellite, queue-size, long-delay, all, or the path of a directory",
        ),
    ];
    for (name, words) in cases {
        let output = mine.fairwire(&["paper", name]);
        assert_eq!(output.status.code(), Some(2), "{}", err(&output));
        assert!(err(&output).contains(words), "{}", err(&output));
    }
    let table = mine.fairwire(&["paper", "satellite", "--table", "table"]);
    assert!(
        err(&table).contains("the paper satellite has no table 'table'"),
        "{}",
        err(&table)
    );
    let table = mine.fairwire(&["paper", "./satellite", "--table", "table", "--seeds", "1"]);
    assert!(table.status.success(), "{}", err(&table));
    let list = out(&mine.fairwire(&["paper"]));
    assert!(
        list.contains("fairwire paper ./DIR runs a paper of your own"),
        "{list}"
    );
    assert!(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../papers/README.md")
            .is_file()
    );
}

/// Results cannot be written into the directory that the paper is read from.
#[test]
fn a_paper_is_no_place_for_its_results() {
    let mine = Mine::new("place");
    for place in ["mine", "./mine/../mine"] {
        let refused = mine.fairwire(&["paper", "./mine", "--out", place]);
        assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
        let told = err(&refused);
        assert!(told.contains("is the paper itself"), "{told}");
    }
    let kept = std::fs::read_dir(mine.0.join("mine")).expect("a directory");
    assert_eq!(kept.count(), 4);
}
