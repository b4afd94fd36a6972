//! Families in a paper's own files: how they are expanded, and what is refused.

use crate::synthetic::{PUBLISHED, extended_paper, paper, paper_with_cells, printed_paper};
use crate::{Paper, PaperError};
use fairwire_scenario::Adjust;

/// Returns the claims in debug form, as they were read.
fn read(claims: &str) -> String {
    let paper = paper(claims).unwrap_or_else(|error| panic!("{error}"));
    format!("{:#?}", paper.claims)
}

fn refused(claims: &str) -> String {
    match paper(claims) {
        Ok(_) => panic!("not refused: {claims}"),
        Err(error) => error.to_string(),
    }
}

const SHORT: &str = r#"
axes.cell = { a = { kbit = 100 }, b = { kbit = 200 } }
[defaults]
flow = "dccp"
[shared]
reason = "five per cent of what {cell} has"
[parts.near]
kind = "relative"
tolerance = 0.05
[[claims]]
id = "C1"
place = "Table 1"
says = "a and b have 100 and 200 kbit/s, {{cell}}"
metric = "throughput"
windows = ["whole", "late"]
because = { holds = "they do.", fails = "they do not." }
checks = [
  { for = "cell", extends = "near", what = "{cell}", cells = ["{cell}"], expected = ["{cell.kbit}"], why = "{shared.reason}" },
]
isolated_by = [
  { for.window = ["whole", "late"], items = [{ says = "{window}", cells = ["{cell}"], window = "{window}" }] },
  { says = "all", of = [{ sum = [{ for = "cell", cell = "{cell}" }] }], window = "whole" },
]
"#;

const LONG: &str = r#"
[[claims]]
id = "C1"
place = "Table 1"
says = "a and b have 100 and 200 kbit/s, {{cell}}"
windows = ["whole", "late"]
because = { holds = "they do.", partly = "they do.", fails = "they do not." }
[[claims.checks]]
kind = "relative"
what = "a"
of = [{ cell = "a", flow = "dccp", metric = "throughput" }]
unit = "kbit/s"
expected = [100]
tolerance = 0.05
why = "five per cent of what a has"
[[claims.checks]]
kind = "relative"
what = "b"
cells = ["b"]
flow = "dccp"
metric = "throughput"
unit = "kbit/s"
expected = [200]
tolerance = 0.05
why = "five per cent of what b has"
[[claims.isolated_by]]
says = "whole"
cells = ["a", "b"]
flow = "dccp"
metric = "throughput"
window = "whole"
unit = "kbit/s"
[[claims.isolated_by]]
says = "late"
cells = ["a", "b"]
flow = "dccp"
metric = "throughput"
window = "late"
unit = "kbit/s"
[[claims.isolated_by]]
says = "all"
of = [{ sum = [
  { cell = "a", flow = "dccp", metric = "throughput", window = "whole" },
  { cell = "b", flow = "dccp", metric = "throughput", window = "whole" },
] }]
unit = "kbit/s"
"#;

/// The short form is read as the long one.
///
/// Texts in lists expand to all values of an axis and `for` repeats tables. A table that extends a part takes what it
/// does not state from there, and a check takes it from its claim or its file.
#[test]
fn the_short_form_is_the_long_one() {
    assert_eq!(read(SHORT), read(LONG));
}

/// `"all"` and `"judged"` remove a default, and a link replaces a flow.
#[test]
fn what_is_said_above_can_be_undone() {
    let of = |said: &str, more: &str| {
        read(&format!(
            "[defaults]\n{said}\n[[claims]]\nid = \"C\"\nplace = \"p\"\nsays = \"s\"\nwindows = [\"late\"]\n\
             because = {{ holds = \"h\", fails = \"f\" }}\n\
             checks = [{{ kind = \"increasing\", cells = [\"a\", \"b\"], {more} }}]\n"
        ))
    };
    let undone = of(
        "flow = \"dccp\"\nwindow = \"whole\"",
        "metric = \"throughput\", flow = \"all\", window = \"judged\"",
    );
    assert_eq!(undone, of("", "metric = \"throughput\""));
    let link = of(
        "flow = \"dccp\"",
        "link = \"one\", metric = \"utilisation\"",
    );
    assert_eq!(link, of("", "link = \"one\", metric = \"utilisation\""));
    let isolated = |said: &str| {
        let run = format!("says = \"s\", cells = [\"a\"], window = \"late\", {said}");
        of(
            "flow = \"dccp\"",
            &format!("metric = \"loss\" }}]\nisolated_by = [{{ {run}"),
        )
    };
    assert!(isolated("link = \"one\", metric = \"utilisation\"").contains("Utilisation"));
}

/// A cell is found by its name, and by its name with values as they are written in the axis.
#[test]
fn cells_are_found_by_the_values_of_their_axes() {
    let cells =
        "[cells.\"{kind}-long\"]\n[cells.x_y-long]\n[axes]\nkind = [\"a_b\", \"5 Mbit/s\"]\n";
    let claims = r#"
[axes.kind]
"a_b" = { also = "A_B" }
"5 Mbit/s" = { also = "B.C" }
[[claims]]
id = "C1"
place = "Table 1"
says = "They are equal."
flow = "dccp"
metric = "throughput"
window = "whole"
kind = "equal"
tolerance = 1
why = "they are"
because = { holds = "they are.", fails = "they are not." }
checks = [
  { what = "{kind.also}", for = "kind", of = [{ cell = "a" }, { cell = "{kind}-long" }] },
  { what = "all", cells = ["{kind}-long"] },
  { what = "exact", cells = ["x_y-long", "a-b-long"] },
]
controls = [{ says = "the other", cells = ["a_b-long"], by = ["5 Mbit/s-long"] }]
"#;
    let paper = paper_with_cells(claims, cells).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = paper.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["a", "b", "a-b-long", "5Mbit-long", "x_y-long"]);
    let read = format!("{:#?}", paper.claims);
    for part in [
        "what: \"A_B\"",
        "what: \"B.C\"",
        "by: [\n                    \"5Mbit-long\"",
    ] {
        assert!(read.contains(part), "{part}: {read}");
    }
    assert_eq!(
        paper.claims[0].cells(),
        ["5Mbit-long", "a", "a-b-long", "x_y-long"]
    );
}

/// A printed number is found by the name that its file has, whether values in it are as in the axis or in the cell.
#[test]
fn printed_numbers_are_found_by_either_name_of_their_cell() {
    let rows = |first: &str, second: &str| {
        format!(
            "{PUBLISHED}{first},dccp,throughput,1,kbit/s,\n{second},dccp,throughput,2,kbit/s,\n"
        )
    };
    let more = r#"
[[tables]]
name = "rates"
title = "Table 2"
published = "t.csv"
heading = "rate"
cells = [{ for = "rate", cell = "{rate}-long", label = "{rate}", published = "{rate}-long" }]
flows = ["dccp"]
metrics = [{ metric = "throughput", unit = "kbit/s" }]
"#;
    let cells = "[cells.\"{rate}-long\"]\n[axes]\nrate = [\"5 Mbit/s\", \"7.5 Mbit/s\"]\n";
    let exact = more.replace(
        r#"{ for = "rate", cell = "{rate}-long", label = "{rate}", published = "{rate}-long" }"#,
        r#"{ cell = "5Mbit-long", label = "5" }, { cell = "7-5Mbit-long", label = "7.5" }"#,
    );
    for published in [
        rows("5 Mbit/s-long", "7.5 Mbit/s-long"),
        rows("5Mbit-long", "7-5Mbit-long"),
    ] {
        for more in [more, &exact] {
            let paper = printed_paper(more, cells, &published);
            let paper = paper.unwrap_or_else(|error| panic!("{error}"));
            let rows = &paper.tables[1].blocks[0].rows;
            let read: Vec<_> = rows
                .iter()
                .map(|row| (row.cell.as_str(), row.published.as_ref().map(|it| it.0)))
                .collect();
            let found = [("5Mbit-long", Some(1.0)), ("7-5Mbit-long", Some(2.0))];
            assert_eq!(read, found, "{more}");
        }
    }
}

fn tables(more: &str) -> Result<Paper, PaperError> {
    extended_paper("claims = []", more, &Adjust::default())
}

/// Tables are repeated too, take the defaults of the file, and a metric may be a plain name, in its usual unit.
#[test]
fn tables_are_a_family() {
    let more = r#"
[axes]
cell = ["a", "b"]
[defaults.tables]
heading = "what"
flows = ["dccp"]
windows = ["whole", "late"]
[[tables]]
for = "cell"
name = "of-{cell}"
title = "Table of {cell}"
cells = [{ cell = "{cell}", label = "it" }]
metrics = ["throughput"]
"#;
    let paper = tables(more).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = paper
        .tables
        .iter()
        .map(|table| table.name.as_str())
        .collect();
    assert_eq!(names, ["table", "of-a", "of-b"]);
    assert_eq!(paper.tables[2].windows, ["whole", "late"]);
    assert_eq!(paper.tables[2].blocks[0].unit.name, "kbit/s");
    assert_eq!(paper.tables[2].blocks[0].rows[0].cell, "b");
    let error = tables("[defaults.tabels]\n").expect_err("misspelt");
    assert!(error.to_string().contains("none of 'tabels'"), "{error}");
}

/// Each mistake is reported in words, with file and line.
#[test]
fn faults_are_told() {
    let check = |from: &str, to: &str| {
        assert!(SHORT.contains(from), "{from}");
        refused(&SHORT.replacen(from, to, 1))
    };
    for (from, to, told) in [
        (
            "for = \"cell\"",
            "for = \"cel\"",
            "no axis is called 'cel': write 'cell'",
        ),
        (
            "for.window = [\"whole\", \"late\"]",
            "for.window = []",
            "an axis has 1 to 10000 values",
        ),
        ("{cell.kbit}", "{cell.bit}", "the cell a has no 'bit'"),
        (
            "cells = [\"{cell}\"], expected",
            "cells = [\"{c}\"], expected",
            "no axis is called 'c'",
        ),
        ("what = \"{cell}\"", "what = \"{c}\"", "nothing fills {c}"),
        (
            "extends = \"near\"",
            "extends = \"far\"",
            "no part is called 'far'",
        ),
        (
            "[parts.near]",
            "[parts.near]\nextends = \"near\"",
            "in a circle",
        ),
        (
            "{shared.reason}",
            "{shared.raison}",
            "nothing shared is called 'raison'",
        ),
        (
            "items = [",
            "says = \"x\", items = [",
            "'says' is beside 'items'",
        ),
        (
            "for.window = [\"whole\", \"late\"], items",
            "for = [\"cell\", \"cell\"], items",
            "'cell' has a value here already",
        ),
        (
            "cells = [\"{cell}\"], window",
            "cells = [\"{groups.g}\"], window",
            "no group is called 'g'",
        ),
        (
            "axes.cell = {",
            "axes.n = {",
            "an axis cannot be called 'n'",
        ),
        ("[defaults]\n", "[[defaults]]\n", "'defaults' is a table"),
        (
            "[defaults]\n",
            "[defaults]\nflwo = \"dccp\"\n",
            "claims cannot have a default 'flwo'",
        ),
        ("[[claims]]", "[[claim]]", "'claims' is missing"),
        (
            "metric = \"throughput\"",
            "metric = \"thoughput\"",
            "there is no metric 'thoughput'",
        ),
    ] {
        let error = check(from, to);
        assert!(error.contains(told), "{told}: {error}");
        assert!(error.contains("--> test/claims.toml:"), "{error}");
    }
}

/// An expansion that is too large is refused before it fills the memory.
#[test]
fn too_much_is_refused() {
    let values: Vec<String> = (0..400).map(|value| value.to_string()).collect();
    let values = values.join(", ");
    let error = refused(&format!(
        "axes.x = [{values}]\naxes.y = [{values}]\n[[claims]]\nwindows = [\"{{x}}-{{y}}\"]\n"
    ));
    assert!(error.contains("values and"), "{error}");
}
