//! Axes of the command line.

use fairwire_scenario::{Adjust, Cell, ScenarioError, ScenarioFile};

use super::super::{cells, refused, with_axes};
use super::{names, text};

fn dumbbell(values: &[&str]) -> Result<Vec<Cell>, ScenarioError> {
    ScenarioFile::dumbbell()?.cells(&with_axes(values))
}

/// The command line replaces the values of an axis of the file, and the other axes keep theirs.
#[test]
fn axes_of_the_file_get_other_values() {
    let file = text(
        "axes.queue = [\"5 packets\", \"codel\"]\naxes.window = [4]",
        "",
    );
    let file = file
        .replace("\"20 packets\"", "\"{queue}\"")
        .replace("tcp = {}", "tcp = { window = \"{window} packets\" }");
    let cells = cells(&file, &with_axes(&["window=8,16"]));
    assert_eq!(
        names(&cells),
        [
            "queue5packets-window8",
            "queue5packets-window16",
            "codel-window8",
            "codel-window16"
        ]
    );
    let axes = [("queue", "codel"), ("window", "16")];
    let axes = axes.map(|(axis, value)| (axis.to_owned(), value.to_owned()));
    assert_eq!(cells[3].axes, axes);
}

/// An axis that is a dotted path is laid as `--set` lays it. Each cell exists once for each value, which is in its name
/// and among its axes. The only cell of a file adds no name of its own.
#[test]
fn paths_multiply_cells() {
    let starts = "flows.one.start=0s,5 s";
    let queues = "topology.bottleneck.queue=codel,{ kind = \"codel\", ecn = true }";
    let four = cells(&text("", ""), &with_axes(&[starts, queues]));
    assert_eq!(four.len(), 4);
    assert_eq!(four[2].name, "start5s-codel");
    let start = |cell: &Cell| {
        cell.scenario
            .flows
            .get("one")
            .map(|flow| flow.start.to_string())
    };
    assert_eq!(start(&four[0]), Some("0s".to_owned()));
    assert_eq!(start(&four[3]), Some("5s".to_owned()));
    let link = four[3]
        .scenario
        .topology
        .link("bottleneck")
        .expect("a link");
    assert!(format!("{:?}", link.queue).contains("ecn: true"));
    assert_eq!(
        four[2].axes[1],
        ("topology.bottleneck.queue".to_owned(), "codel".to_owned())
    );
    let two = text("", "[cells.a]\n[cells.b]");
    let cells = cells(&two, &with_axes(&[starts]));
    assert_eq!(
        names(&cells),
        ["a-start0s", "a-start5s", "b-start0s", "b-start5s"]
    );
    assert_eq!(cells[1].family.as_deref(), Some("a-{flows.one.start}"));
}

/// Commas separate values, unless they are within quotes, brackets or braces. A list is read as a list.
#[test]
fn values_are_parted_by_commas() {
    let file = text("axes.word = ['x']\nabout = \"say {word}\"", "");
    let queue = "topology.bottleneck.queue";
    for (path, argument, values) in [
        ("word", "2,3", ["2", "3"]),
        (
            queue,
            "10 packets, 200 packets",
            ["10 packets", "200 packets"],
        ),
        ("word", "'a, b',c", ["a, b", "c"]),
        ("word", r#"["a, b", "codel"]"#, ["a, b", "codel"]),
        (
            queue,
            r#"codel,{ kind = "codel", ecn = true }"#,
            ["codel", r#"{ kind = "codel", ecn = true }"#],
        ),
    ] {
        let cells = cells(&file, &with_axes(&[&format!("{path}={argument}")]));
        let of_path = |cell: &Cell| cell.axes.iter().find(|(name, _)| name == path).cloned();
        let texts: Vec<_> = cells
            .iter()
            .filter_map(of_path)
            .map(|(_, value)| value)
            .collect();
        assert_eq!(texts, values, "{path}={argument}");
    }
}

/// Without a file a dumbbell is run. Its cells are named after the axes that were given; the others have one value
/// each.
#[test]
fn a_dumbbell_needs_no_file() {
    let cells = dumbbell(&["ccid=2,3", "queue=10 packets,200 packets"]).expect("four cells");
    assert_eq!(
        names(&cells),
        [
            "ccid2-queue10packets",
            "ccid2-queue200packets",
            "ccid3-queue10packets",
            "ccid3-queue200packets"
        ]
    );
    let flows = |cell: &Cell| cell.scenario.enabled_flows().count();
    assert_eq!(flows(&cells[0]), 2);
    for (values, name) in [
        (["tcps=0,5", "law=newreno,vegas"], "vegas-tcps5"),
        (
            ["rate=1 Mbit/s,2 Mbit/s", "delay=1 ms"],
            "rate2Mbit-delay1ms",
        ),
        (["loss=0 %,1 %", "queue=codel,fq-codel"], "fq-codel-loss1"),
    ] {
        let cells = dumbbell(&values).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            cells.last().map(|cell| cell.name.as_str()),
            Some(name),
            "{values:?}"
        );
    }
}

/// An invalid axis is refused with a hint.
#[test]
fn wrong_axes_are_refused() {
    let many = (0..102)
        .map(|ms| format!("{ms} ms"))
        .collect::<Vec<_>>()
        .join(",");
    let (rates, delays) = (
        format!("rate={many}")
            .replace("ms", "Mbit/s")
            .replace("=0 ", "=200 "),
        format!("delay={many}"),
    );
    let more = format!("topology.bottleneck.back.delay={many}");
    for (values, says) in [
        (
            &["quue=codel"][..],
            "did you mean 'queue'? write one of ccid, law, queue, rate, delay, loss, tcps",
        ),
        (&["ccid"], "write --axes NAME=VALUE,VALUE"),
        (&["ccid="], "this axis has no value"),
        (&["ccid=[]"], "this axis has no value"),
        (&["ccid=2,,3"], "a value is missing between two commas"),
        (&["ccid=2,3,2"], "this axis has '2' twice"),
        (
            &["topology.bottleneck.loss=1 %,{ remove = true }"],
            "neither remove nor replace keys",
        ),
        (&["flows..start=1s"], "a part of the key's path is empty"),
        (&["ccid=9"], "the CCID is 2"),
        (&["ccid=2,3", "ccid=4"], "given before"),
        (
            &["topology.botleneck.delay=1ms"],
            "did you mean 'bottleneck'?",
        ),
        (&[&rates, &delays], "a file has 10000 at most"),
        (&[&rates, &more], "more than 10000 cells"),
    ] {
        let error = dumbbell(values).expect_err(says).to_string();
        assert!(error.contains(says), "{values:?}: {error}");
    }
    let file = text(
        "axes.window = [4, 8]",
        "[cells.\"w{window}\"]\nflows.one.tcp.window = \"{window} packets\"\n[cells.plain]",
    );
    let adjust = Adjust {
        only: vec!["plain".into()],
        ..with_axes(&["window=9"])
    };
    let error = refused(&file, &adjust);
    assert!(
        error.contains("no cell that is to run has this axis"),
        "{error}"
    );
}
