//! The built-in papers, and reports over synthetic results.

mod families;

use std::collections::BTreeSet;
use std::path::Path;

use super::figure::FigurePlan;
use super::quantity::Quantity;
use super::synthetic::{PUBLISHED, extended_paper, figured_paper, paper, printed_paper, results};
use super::{Bundle, Paper, Reported};
use fairwire_scenario::Adjust;

/// Returns the papers of the repository, which another crate builds in.
fn papers() -> Vec<Bundle> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let all = std::fs::read_dir(all).expect("papers");
    let all = all.map(|paper| paper.expect("an entry").path());
    let all = all.filter(|paper| Bundle::is_in(paper));
    all.map(|paper| Bundle::read(&paper).expect("a paper"))
        .collect()
}

/// Every cell of a paper is used: in a table, a figure, a claim or the sweep.
#[test]
fn every_cell_is_shown() {
    let mut hidden = Vec::new();
    for bundle in papers() {
        let paper = Paper::load(&bundle, &Adjust::default());
        let paper = paper.unwrap_or_else(|error| panic!("{error}"));
        let tables = paper.tables.iter().flat_map(|table| &table.blocks);
        let rows = tables.flat_map(|block| &block.rows);
        let mut shown: BTreeSet<&str> = rows.flat_map(|row| row.quantity.cells()).collect();
        shown.extend(paper.figures.iter().flat_map(FigurePlan::cells));
        for claim in &paper.claims {
            shown.extend(claim.cells());
            let isolated = claim.isolated_by.iter().flat_map(|runs| &runs.quantities);
            let must = claim.contradiction.iter().flat_map(|it| &it.must);
            let must = must.flat_map(|check| &check.quantities);
            shown.extend(isolated.chain(must).flat_map(Quantity::cells));
            let controls = claim.controls.iter().flat_map(|control| &control.by);
            shown.extend(controls.map(String::as_str));
        }
        let is_hidden = |cell: &&str| !shown.contains(cell) && !cell.contains("-at-");
        let names = paper.cells.iter().map(|cell| cell.name.as_str());
        let names = names.filter(is_hidden);
        hidden.extend(names.map(|cell| format!("{}: {cell}", paper.name)));
    }
    assert!(hidden.is_empty(), "{hidden:#?}");
}

/// The text shows the published number, the mean with its interval and the difference.
///
/// Published numbers with a remark have a note.
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
        [
            "flow",
            "what",
            "published",
            "whole",
            "difference",
            "the",
            "late",
            "part",
            "difference"
        ]
    );
    let first = [
        "dccp", "first", "100", "100.0", "±", "12.7", "0", "(0.0", "%)", "110.0", "(no", "spread)",
        "+10.0", "(+10.0", "%)",
    ];
    assert_eq!(line("dccp"), first);
    let second = text
        .lines()
        .find(|line| line.contains("[1] 210"))
        .expect("a note");
    assert!(second.contains("-21.0 (-10.0 %)"), "{second}");
    assert!(text.contains("[1] odd"));
    assert!(text.contains("The unperturbed run"));
    assert!(!text.contains("PARTIAL"));
}

/// The report names the runs in which a flow delivered nothing, because a zero in a table does not tell why.
#[test]
fn silent_flows_are_told() {
    let paper = figured_paper("").expect("loads");
    let both: [(&str, &[(f64, f64)]); 2] = [
        ("a", &[(99.0, 110.0)]),
        ("b", &[(210.0, 189.0), (0.0, 0.0)]),
    ];
    let mut results = results(&paper, &both);
    assert!(!paper.report(&results).how.contains("delivered nothing"));
    let note = format!("dccp: {}", fairwire_sim::NO_DELIVERY_NOTES[2]);
    results.cells[1].runs[1].notes.push(note);
    let how = paper.report(&results).how;
    assert!(
        how.contains("In some runs of b (1) a flow delivered nothing:"),
        "{how}"
    );
}

/// A report over some of the cells says in text and JSON that it is partial, and shows no number for what is missing.
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
    let reported = [Reported {
        paper: &paper,
        report,
    }];
    let json = reported[0].json();
    assert_eq!(json["partial"], true);
    let rows = &json["tables"][0]["rows"];
    assert_eq!(rows[1]["windows"]["late"]["n"], 0);
    assert_eq!(rows[0]["windows"]["late"]["difference"], 10.0);
    assert_eq!(Reported::all_json(&reported)["partial"], true);
    assert!(Reported::summary(&reported).contains("PARTIAL"));
    let csv = String::from_utf8(Reported::tables_csv(&reported)).expect("UTF-8");
    assert!(
        csv.contains("test,table,b,second,dccp,throughput,kbit/s,late,210,0,,,,,,odd,true"),
        "{csv}"
    );
}

const HOLDS: &str = r#"
[[claims]]
id = "T-1"
says = "It is fast."
place = "somewhere"
windows = ["whole"]
because = { holds = "it is", fails = "it is not" }
[[claims.checks]]
kind = "range"
cells = ["a"]
flow = "dccp"
metric = "throughput"
unit = "kbit/s"
expected = [90, 110]
why = "so"
[[claims]]
id = "T-2"
says = "It is red."
place = "somewhere"
not_testable = "no colours here"
"#;

/// Papers that are run together have one count of verdicts, and JSON and CSV state the paper with every claim.
#[test]
fn papers_are_counted_together() {
    let paper = paper(HOLDS).expect("loads");
    let results = results(&paper, &[("a", &[(99.0, 1.0)]), ("b", &[(1.0, 1.0)])]);
    let one = Reported {
        paper: &paper,
        report: paper.report(&results),
    };
    let both = [one.clone(), one];
    let together = Reported::together(&both).sentence();
    assert_eq!(together, "4 claims: 2 reproduced, 2 not testable here");
    let summary = Reported::summary(&both);
    assert!(
        summary.contains("test      2 claims: 1 reproduced, 1 not testable here"),
        "{summary}"
    );
    let json = Reported::all_json(&both);
    assert_eq!(json["verdicts"]["reproduced"], 2);
    assert_eq!(json["papers"][1]["verdicts"][1]["id"], "T-2");
    let csv = String::from_utf8(Reported::verdicts_csv(&both)).expect("UTF-8");
    assert!(csv.contains(
        "\ntest,T-2,not testable here,,It is red.,somewhere,no colours here,false,false\n"
    ));
}

/// The brief form of one paper has a line for each claim and their count.
///
/// That of several papers has the counts only, and that of a selection of tables has the tables.
#[test]
fn a_report_in_brief() {
    let paper = paper(HOLDS).expect("loads");
    let results = results(&paper, &[("a", &[(99.0, 1.0)]), ("b", &[(1.0, 1.0)])]);
    let reported = |paper| {
        [Reported {
            paper,
            report: paper.report(&results),
        }]
    };
    let one = reported(&paper);
    let expected = "A paper\nSomebody\n\n  T-1  reproduced\n  T-2  not testable here\n  \
        2 claims: 1 reproduced, 1 not testable here\n";
    assert_eq!(Reported::brief(&one, false), expected);
    assert_eq!(Reported::brief(&one, true), Reported::summary(&one));
    let whole = Reported::text(&one, true);
    assert!(whole.contains("Table 1") && whole.ends_with(&Reported::summary(&one)));
    let table = paper.clone().with_tables(&["table".to_owned()]);
    let table = table.expect("a table");
    let brief = Reported::brief(&reported(&table), false);
    assert!(brief.contains("Table 1"), "{brief}");
}

/// A selection of tables keeps only the cells that it needs.
///
/// A table that does not exist is refused with the names of all tables.
#[test]
fn a_table_alone_needs_its_own_cells() {
    let all = papers();
    let bundle = all.iter().find(|paper| paper.name() == "long-delay");
    let bundle = bundle.expect("it is there");
    let load = || Paper::load(bundle, &Adjust::default()).expect("loads");
    let all = load().cells.len();
    let one = load().with_tables(&["table1".to_owned()]).expect("a table");
    let mut cells: Vec<&str> = one.cells.iter().map(|cell| cell.name.as_str()).collect();
    cells.sort_unstable();
    let expected = [
        "cut-25",
        "cut-25-rfc",
        "cut-5",
        "cut-5-rfc",
        "cut-50",
        "cut-50-rfc",
    ];
    assert_eq!(cells, expected);
    assert!(all > 30 && one.claims.is_empty());
    let error = load()
        .with_tables(&["table9".to_owned()])
        .expect_err("no such table");
    assert!(error.is_usage());
    let words = error.to_string();
    assert!(
        words.contains("'table9'") && words.contains("table1, table2"),
        "{words}"
    );
}

/// Loads the synthetic paper with a table `t` of cell `a` and one metric.
fn one_metric(metric: &str) -> Result<Paper, super::PaperError> {
    let more = format!(
        "[[tables]]\nname = \"t\"\ntitle = \"T\"\nheading = \"what\"\n\
         cells = [{{ cell = \"a\", label = \"first\" }}]\nflows = [\"dccp\"]\nmetrics = [{metric}]\n"
    );
    extended_paper("claims = []", &more, &Adjust::default())
}

/// Tables convert rates to totals and count the runs that the rule for repetitions requires.
///
/// 100 and 104 kbit/s make 1,000 and 1,040 kB in 80 s, 1,020 kB in the mean, times the paper's 1.5. Of runs in groups
/// of three, 90, 100 and 110 require 16, and three equal runs require 3: 9.5 in the mean. A seventh run is ignored.
#[test]
fn what_tables_make_of_metrics() {
    let made = |metric: &str, values: &[(f64, f64)]| {
        let paper = one_metric(metric).expect("loads");
        let table = paper.report(&results(&paper, &[("a", values)])).tables;
        let table = table.last().expect("a table");
        let estimate = table.blocks[0].rows[0].measured[0].estimate;
        (table.blocks[0].metric.clone(), estimate.expect("runs").mean)
    };
    let load =
        r#"{ metric = "throughput", name = "load", unit = "B", over = "80 s", times = 1.5 }"#;
    let (name, bytes) = made(load, &[(100.0, 0.0), (104.0, 0.0)]);
    assert_eq!(name, "load");
    assert!((bytes - 1_530_000.0).abs() < 1e-3, "{bytes}");
    let nothing = r#"{ metric = "throughput", less = "throughput", unit = "kbit/s" }"#;
    assert!(made(nothing, &[(100.0, 0.0)]).1.abs() < 1e-9);
    let asks = r#"{ metric = "throughput", unit = "runs", repetitions = true }"#;
    let runs = [90.0, 100.0, 110.0, 100.0, 100.0, 100.0, 500.0].map(|value| (value, 0.0));
    assert!((made(asks, &runs).1 - 9.5).abs() < 1e-9);
}

/// Impossible conversions are refused: bits without a time, packets without a size, a time or a size without a unit,
/// and repetitions in another unit.
#[test]
fn impossible_metrics_are_told() {
    for (metric, told) in [
        (
            r#"{ metric = "throughput", unit = "KB" }"#,
            "is not in 'KB'",
        ),
        (
            r#"{ metric = "sent_rate", unit = "KB", over = "5 s" }"#,
            "is not in 'KB'",
        ),
        (
            r#"{ metric = "throughput", unit = "KB", over = "5" }"#,
            "is not a time",
        ),
        (
            r#"{ metric = "sent_rate", unit = "KB", over = "5 s", each = "1" }"#,
            "is not a size",
        ),
        (
            r#"{ metric = "throughput", unit = "kbit/s", repetitions = true }"#,
            "'repetitions' are in 'runs'",
        ),
    ] {
        let error = one_metric(metric).expect_err(told).to_string();
        assert!(error.contains(told), "{error}");
    }
}

/// A published number of another kind than what a table or figure shows is refused.
#[test]
fn printed_units_are_of_the_kind_that_is_shown() {
    for unit in ["ms", "%"] {
        let published = PUBLISHED.replace("100,kbit/s", &format!("100,{unit}"));
        let error = printed_paper("", "", &published).expect_err(unit);
        let told = format!("table table: 'throughput' is printed in '{unit}', not in 'kbit/s'");
        assert!(error.to_string().starts_with(&told), "{error}");
    }
    let published = PUBLISHED.replace("100,kbit/s", "0.1,Mbit/s");
    let paper = printed_paper("", "", &published).expect("loads");
    let tables = paper.fill_tables(&results(&paper, &[]));
    assert_eq!(tables[0].blocks[0].rows[0].published, Some(100.0));
}

/// A cell or flow of a published number that the paper does not have is refused at its line, and so is a misspelt metric.
///
/// A metric of the paper's own, and another name of a cell that a table gives, are not. The papers load in both forms.
#[test]
fn the_names_of_printed_numbers_are_checked() {
    let with = |row: &str| printed_paper("", "", &format!("{PUBLISHED}{row},1,kbit/s,\n"));
    for (row, told) in [
        ("q99,dccp,throughput", "there is no cell 'q99'"),
        (
            "a,dcpc,goodput",
            "there is no flow 'dcpc': did you mean 'dccp'?",
        ),
        (
            "a,dccp,goodptu",
            "there is no metric 'goodptu': did you mean 'goodput'?",
        ),
        (
            "a,dccp,t_mxa",
            "there is no metric 't_mxa': did you mean 't_max'?",
        ),
    ] {
        let error = with(row).expect_err(row).to_string();
        assert!(error.starts_with(told), "{error}");
        assert!(error.contains("t.csv:4:1"), "{error}");
    }
    for row in ["a,dccp,goodput_run_1", "a,dccp/back,goodput", "a,all,t_max"] {
        with(row).unwrap_or_else(|error| panic!("{row}: {error}"));
    }
    let table = "[[tables]]\nname = \"other\"\ntitle = \"T\"\npublished = \"t.csv\"\nheading = \"what\"\n\
        cells = [{ cell = \"b\", label = \"b\", published = \"as printed\" }]\nflows = [\"dccp\"]\n\
        metrics = [{ metric = \"goodput\", published = \"goodptu\" }]\n";
    let published = format!("{PUBLISHED}as printed,dccp,goodptu,1,kbit/s,\n");
    printed_paper(table, "", &published).unwrap_or_else(|error| panic!("{error}"));
    for bundle in papers() {
        for quick in [false, true] {
            let paper = Paper::load(&bundle, &Paper::adjust(quick, None));
            paper.unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

/// A row may be compared with the published number of another cell; a cell without one is refused.
#[test]
fn a_row_may_stand_beside_the_number_of_another() {
    let table = "[[tables]]\nname = \"other\"\ntitle = \"Other\"\npublished = \"t.csv\"\nheading = \"what\"\n\
        cells = [{ cell = \"b\", label = \"b\", published = \"a\" }]\nflows = [\"dccp\"]\n\
        metrics = [{ metric = \"throughput\", unit = \"kbit/s\" }]\n";
    let load = |table: &str| extended_paper("claims = []", table, &Adjust::default());
    let paper = load(table).expect("loads");
    let tables = paper.fill_tables(&results(&paper, &[("b", &[(150.0, 150.0)])]));
    let row = &tables.last().expect("the table").blocks[0].rows[0];
    assert_eq!((row.cell.as_str(), row.published), ("b", Some(100.0)));
    let error = load(&table.replace("published = \"a\"", "published = \"c\"")).expect_err("no c");
    assert!(error.to_string().contains("cell 'c'"), "{error}");
}
