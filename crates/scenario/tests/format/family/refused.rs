//! An error in a family points at the place where it is written, and names the cell.

use std::fmt::Write as _;

use fairwire_scenario::Adjust;

use super::super::{beside, refusal};
use super::text;

/// The text before the network, the text after it, the place of the error and part of its message. Lines are those of
/// the first text, or from line 10 on those of the second.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    (
        "axes.queue = []",
        "",
        "test.toml:2:14",
        "an axis has 1 to 10000 values",
    ),
    (
        "axes.n = [1]",
        "",
        "test.toml:2:6",
        "an axis cannot be called 'n'",
    ),
    (
        "axes.a = [1, \"1\"]",
        "",
        "test.toml:2:14",
        "the axis 'a' has '1' twice",
    ),
    (
        "axes.a = [[1]]",
        "",
        "test.toml:2:11",
        "a value of an axis is a text, a number",
    ),
    (
        "axes.a = { x = 1 }",
        "",
        "test.toml:2:16",
        "each value has a table of its attributes",
    ),
    (
        "axes.rate = [1]",
        "[cells.\"{rat}\"]",
        "test.toml:10:8",
        "no axis is called 'rat': write 'rate'",
    ),
    (
        "axes.rate = [1, 2]",
        "[cells.plain]\naxes.rate = [1, 2]",
        "test.toml:11:6",
        "the axis 'rate' has 2 values here and is not in the name of the cell",
    ),
    (
        "axes.tcp = { reno = {}, vegas = {} }",
        "[cells.\"{tcp}\"]\naxes.tcp = [\"vgas\"]",
        "test.toml:11:13",
        "the axis 'tcp' has no value 'vgas': did you mean 'vegas'? write one of reno, vegas",
    ),
    (
        "axes.a = [1, 2]",
        "[cells.\"{a}\"]\n[cells.2]",
        "test.toml:11:8",
        "two cells or parts are called '2'",
    ),
    (
        "axes.a = [1]\naxes.b = [2]",
        "[cells.x]\nextends = \"nowhere\"",
        "test.toml:12:11",
        "no cell or part is called 'nowhere'",
    ),
    (
        "extends = \"parent.toml\"",
        "",
        "test.toml:2:11",
        "cannot read 'parent.toml'",
    ),
    (
        "extends = \"../parent.toml\"",
        "",
        "test.toml:2:11",
        "is in another folder",
    ),
    (
        "extends = \"circle.toml\"",
        "",
        "circle.toml:1:11",
        "test.toml extends circle.toml extends circle.toml",
    ),
    (
        "extends = 5",
        "",
        "test.toml:2:11",
        "'extends' is a name, or a list of names",
    ),
    (
        "",
        "[parts.\"{x}\"]",
        "test.toml:10:8",
        "a part's name has no {x}",
    ),
    (
        "",
        "[parts.x]\naxes.y = [1]",
        "test.toml:11:1",
        "a part has no axes",
    ),
    (
        "",
        "[parts.a]\nextends = \"b\"\n[parts.b]\nextends = \"a\"\n[cells.c]\nextends = \"a\"",
        "test.toml:13:11",
        "c extends a extends b extends a",
    ),
    (
        "groups.all = [\"pl*\", 5]",
        "[cells.plain]",
        "test.toml:2:14",
        "a group is a list of names of cells",
    ),
    (
        "groups.all = []",
        "[cells.plain]",
        "test.toml:2:14",
        "the group 'all' has no cells",
    ),
    (
        "groups.all = [\"pl*\", \"x\"]",
        "[cells.plain]",
        "test.toml:2:22",
        "no cell is called 'x'",
    ),
    (
        "axes.a = [1, 2]",
        "about = \"{b}\"",
        "test.toml:10:",
        "nothing fills {b}",
    ),
    (
        "axes.tcp.reno = { label = \"Reno\" }\nabout = \"{tcp.labl}\"",
        "",
        "test.toml:3:9",
        "the tcp reno has no 'labl': write 'label'",
    ),
    (
        "about = \"{shared.wy}\"",
        "[shared]\nwhy = \"a\"",
        "test.toml:2:9",
        "nothing shared is called 'wy': write 'why'",
    ),
    (
        "about = \"{shared.why}\"",
        "[shared]\nwhy = \"a {shared.why}\"",
        "test.toml:",
        "does one contain itself?",
    ),
    (
        "about = \"as {shared.why}\"",
        "[shared]\nwhy = [1]",
        "test.toml:2:9",
        "{shared.why} is a list or a table here",
    ),
    (
        "",
        "[flows.\"web{n}\"]\nwire = \"500 B\"",
        "test.toml:10:8",
        "state the members of 'web{n}' exactly once: count = 5",
    ),
    (
        "",
        "[flows.\"web{n}\"]\ncount = 1001",
        "test.toml:11:9",
        "'count' is a whole number from 0 to 1000",
    ),
    (
        "",
        "[flows.\"web{x}\"]\ncount = 2",
        "test.toml:10:8",
        "nothing fills {x}: the members of this family are named by {n}",
    ),
    (
        "",
        "[flows.web]\ncount = 2",
        "test.toml:11:1",
        "'count' belongs to a family of flows, whose name has a placeholder: write [flows.\"web{n}\"]",
    ),
    (
        "",
        "[flows.\"web{n}\"]\nfor = [1]",
        "test.toml:11:7",
        "write for.NAME = [...]",
    ),
];

/// Each error points at its place.
#[test]
fn families_are_refused_where_they_stand() {
    let circle = [("circle.toml", "extends = \"circle.toml\"")];
    let mut wrong: Vec<String> = Vec::new();
    for (head, tail, place, hint) in REFUSED {
        let file = text(head, tail);
        match beside(&file, &circle, &Adjust::default()) {
            Ok(_) => wrong.push(format!("{head} {tail}: taken")),
            Err(error) => {
                let error = error.to_string();
                if !error.contains(hint) || !error.contains(place) {
                    wrong.push(format!("{head} {tail}, not {place}: {error}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A wrong value of an axis is shown where it is written. The error also says where it is used, and in which cell.
#[test]
fn a_wrong_value_is_told_at_the_axis() {
    let file = text(
        "axes.queue = [\"5 packets\", \"9 pakets\"]\naxes.a = [1]",
        "[cells.\"q-{queue}\".topology.bottleneck]\nqueue = \"{queue}\"",
    );
    let error = refusal(&file);
    assert!(error.contains("test.toml:2:28\n"), "{error}");
    assert!(error.contains("\n  = used at test.toml:12:9\n"), "{error}");
    assert!(
        error.ends_with("\n  = in cell 'q-9pakets' (queue = 9 pakets)"),
        "{error}"
    );
}

/// Unbounded growth is refused before it takes memory.
#[test]
fn families_are_bounded() {
    let many: Vec<String> = (0..101).map(|value| value.to_string()).collect();
    let many = many.join(", ");
    let file = text(&format!("axes.a = [{many}]\naxes.b = [{many}]"), "");
    let error = refusal(&file);
    assert!(
        error.contains("'{a}-{b}' is 10201 cells, and a file has 10000 at most"),
        "{error}"
    );
    // Each part extends the one before twice: the limit of a thousand layers applies before they multiply.
    let mut parts = "[parts.p0]\n".to_owned();
    for n in 1..30 {
        let _ = writeln!(parts, "[parts.p{n}]\nextends = [\"p{0}\", \"p{0}\"]", n - 1);
    }
    let file = text("", &format!("{parts}[cells.x]\nextends = \"p29\""));
    let error = refusal(&file);
    assert!(
        error.contains("a cell extends at most 1000 others"),
        "{error}"
    );
    // The same for shared values.
    let mut shared = format!("[shared]\ns0 = \"{}\"\n", "x".repeat(5_000));
    for n in 1..8 {
        let ten = format!("{{shared.s{}}}", n - 1).repeat(10);
        let _ = writeln!(shared, "s{n} = \"{ten}\"");
    }
    let file = text("about = \"{shared.s7}\"", &shared);
    let error = refusal(&file);
    assert!(error.contains("bytes of text at most"), "{error}");
    assert!(error.len() < 4_096, "{}", error.len());
    // Quotes in messages are short even if the name is long.
    let name = "z".repeat(10_000);
    let file = text(&format!("about = \"{{{name}}}\"\naxes.{name} = [1]"), "");
    let error = refusal(&file);
    assert!(error.len() < 4_096, "{}", error.len());
    // A name made of values that is too long for a cell.
    let long = "y".repeat(300);
    let file = text(&format!("axes.a = [\"{long}\"]"), "");
    let error = refusal(&file);
    assert!(error.contains("is longer than 200 characters"), "{error}");
}
