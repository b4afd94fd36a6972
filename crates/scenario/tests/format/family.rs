//! Families of cells and flows: what they stand for, and which errors are reported.

mod crossed;
mod flows;
mod refused;

use fairwire_scenario::{Adjust, Cell, Source};
use fairwire_units::Rate;

use super::{beside, cells, read};

/// A network with one flow, for the test files.
pub(super) const BASE: &str = r#"
run.duration = "10 s"
topology.kind = "dumbbell"
topology.access = { rate = "100 Mbit/s", delay = "1 ms" }
topology.bottleneck = { rate = "1 Mbit/s", delay = "10 ms", queue = "20 packets" }
flows.one = { wire = "1000 B", traffic = "greedy", tcp = {} }
"#;

/// Returns the file made of `head`, [`BASE`] and `tail`.
pub(super) fn text(head: &str, tail: &str) -> String {
    format!("title = \"a test\"\n{head}\n{BASE}\n{tail}")
}

fn names(cells: &[Cell]) -> Vec<&str> {
    cells.iter().map(|cell| cell.name.as_str()).collect()
}

fn rate(cell: &Cell) -> Rate {
    let link = cell.scenario.topology.link("bottleneck");
    link.and_then(|link| link.rate).expect("a rate")
}

/// In a file without cells each combination of values of its axes is a cell, named after the values. A placeholder that
/// stands alone keeps the type of its value, and may be a short form.
#[test]
fn axes_alone_are_a_family() {
    let file = text(
        "axes.queue = [\"5 packets\", \"codel\"]\naxes.window = [4, 8]\naxes.ecn = [true]",
        "[flows.two]\nwire = \"500 B\"\ntraffic = \"greedy\"\ntcp = { ecn = \"{ecn}\", window = \"{window} packets\" }",
    )
    .replace("queue = \"20 packets\"", "queue = \"20 packets\", back.queue = \"{queue}\"");
    let cells = cells(&file, &Adjust::default());
    let expected = [
        "queue5packets-window4-true",
        "queue5packets-window8-true",
        "codel-window4-true",
        "codel-window8-true",
    ];
    assert_eq!(names(&cells), expected);
    let last = &cells[3];
    assert_eq!(last.family.as_deref(), Some("{queue}-{window}-{ecn}"));
    let axes = [("queue", "codel"), ("window", "8"), ("ecn", "true")];
    assert_eq!(
        last.axes,
        axes.map(|(name, value)| (name.into(), value.into()))
    );
    let two = last
        .scenario
        .flows
        .get("two")
        .and_then(|flow| flow.tcp.clone());
    let written = toml::to_string(&two.expect("a TCP")).expect("prints");
    assert!(
        written.contains("window = \"8 packets\"") && written.contains("ecn = true"),
        "{written}"
    );
    let back = |cell: &Cell| {
        let link = cell
            .scenario
            .topology
            .link("bottleneck")
            .expect("one")
            .reversed();
        toml::to_string(&link).expect("prints")
    };
    assert!(back(last).contains("kind = \"codel\""), "{}", back(last));
    assert!(
        back(&cells[0]).contains("limit = \"5 packets\""),
        "{}",
        back(&cells[0])
    );
}

/// A name with placeholders stands for all combinations of values, the leftmost axis outermost. One cell may restrict
/// an axis. Attributes fill texts and names.
#[test]
fn a_name_is_a_product() {
    let file = text(
        "[axes.speed]\nslow = { rate = \"1 Mbit/s\", end = \"\" }\nfast = { rate = \"2 Mbit/s\", end = \"-f\" }\n\
         [axes]\nn1 = [1, 2]\n[topology.access]\n",
        "[cells.\"{speed}-{n1}\"]\ntitle = \"{speed.rate} and {n1}, {{n1}}\"\n\
         topology.bottleneck.rate = \"{speed.rate}\"\n\
         [cells.\"x{speed.end}\"]\n\
         [cells.\"only-{n1}\"]\naxes = { n1 = [2], speed = [\"fast\"] }\ntopology.bottleneck.rate = \"{speed.rate}\"",
    )
    .replace("[topology.access]\n", "")
    .replace("run.duration", "[run]\nduration")
    .replace("topology.kind", "[topology]\nkind")
    .replace("\ntopology.access", "\naccess")
    .replace("\ntopology.bottleneck = ", "\nbottleneck = ")
    .replace("\nflows.one", "\n[flows]\none");
    let cells = cells(&file, &Adjust::default());
    assert_eq!(
        names(&cells),
        ["slow-1", "slow-2", "fast-1", "fast-2", "x", "x-f", "only-2"]
    );
    assert_eq!(cells[3].scenario.title, "2 Mbit/s and 2, {n1}");
    assert_eq!(rate(&cells[2]), Rate::from_bits_per_s(2_000_000));
    assert_eq!(rate(&cells[6]), Rate::from_bits_per_s(2_000_000));
    assert_eq!(cells[4].family.as_deref(), Some("x{speed.end}"));
}

/// The layers from low to high are: what the file extends, the file, what each cell extends in order, the cell, and the
/// command line. What a cell extends is laid over what that extends itself, and passes on the values of its axes.
#[test]
fn layers_have_an_order() {
    let tail = "[parts.half]\ntopology.bottleneck.rate = \"0.5 Mbit/s\"\nrun.seed = 5\n\
                [parts.deep]\nextends = \"half\"\nrun.seed = 6\nabout = \"deep\"\n\
                [cells.plain]\n\
                [cells.\"q{queue}\"]\ntopology.bottleneck.queue = \"{queue} packets\"\nabout = \"of {queue}\"\n\
                [cells.\"both\"]\nextends = [\"deep\", \"q7\"]\nrun.seed = 8\ntitle = \"{queue} waiting\"\n\
                [cells.other]\nextends = [\"q9\", \"half\"]";
    let cells = cells(&text("axes.queue = [7, 9]", tail), &Adjust::default());
    assert_eq!(names(&cells), ["plain", "q7", "q9", "both", "other"]);
    let both = &cells[3];
    assert_eq!(rate(both), Rate::from_bits_per_s(500_000));
    assert_eq!(both.scenario.run.seed, 8);
    assert_eq!(both.scenario.about.as_deref(), Some("of 7"));
    assert_eq!(both.scenario.title, "7 waiting");
    assert_eq!(both.extends, ["half", "deep", "q7"]);
    assert_eq!(both.axes, [("queue".to_owned(), "7".to_owned())]);
    assert_eq!(
        (cells[4].scenario.run.seed, cells[0].scenario.run.seed),
        (5, 1)
    );
    let adjust = Adjust {
        set: vec!["about=set {queue}".into()],
        only: vec!["both".into()],
        ..Adjust::default()
    };
    let set = super::cells(&text("axes.queue = [7, 9]", tail), &adjust);
    assert_eq!(set[0].scenario.about.as_deref(), Some("set 7"));
}

/// A file takes over another file's base, axes, parts and shared values. That file's cells can be extended, but are not
/// run. A third file that two files extend is laid once.
#[test]
fn files_extend_files() {
    let first = text(
        "axes.mbit = [3, 4]",
        "[shared]\nwhy = \"for a test\"\n[parts.more]\nrun.seeds = 12\n[cells.\"at-{mbit}\"]\ntopology.bottleneck.rate = \"{mbit} Mbit/s\"",
    );
    let second = "extends = \"first.toml\"\nrun.duration = \"5 s\"\n[cells.own]";
    let third = "extends = \"first.toml\"\nrun.seed = 3\n[cells.own]";
    let file = "extends = [\"second.toml\", \"third.toml\"]\nabout = \"{shared.why}\"\n\
                [cells.\"late-{mbit}\"]\nextends = [\"at-{mbit}\", \"more\"]\nflows.one.start = \"1 s\"";
    let others = [
        ("first.toml", &*first),
        ("second.toml", second),
        ("third.toml", third),
    ];
    let cells = beside(file, &others, &Adjust::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(names(&cells), ["late-3", "late-4"]);
    let run = &cells[1].scenario.run;
    assert_eq!(run.duration, fairwire_units::Duration::from_secs(5));
    assert_eq!((run.seed, run.seeds), (3, 12));
    assert_eq!(rate(&cells[1]), Rate::from_bits_per_s(4_000_000));
    assert_eq!(cells[1].scenario.about.as_deref(), Some("for a test"));
    assert_eq!(
        cells[1].extends,
        ["first.toml", "second.toml", "third.toml", "at-4", "more"]
    );
}

/// What a file without cells extends is laid over it in each of its cells, so an axis can name parts.
#[test]
fn an_axis_of_parts() {
    let file = text(
        "axes.test = [\"ccid3\", \"cubic\"]\nextends = \"{test}\"",
        "[parts]\nccid3.flows.one.dccp.ccid = 3\ncubic.flows.one.tcp.law = \"cubic\"",
    );
    let cells = cells(&file, &Adjust::default());
    assert_eq!(names(&cells), ["ccid3", "cubic"]);
    let one = |cell: &Cell| cell.scenario.flows.get("one").cloned().expect("there");
    assert!(one(&cells[0]).dccp.is_some() && one(&cells[0]).tcp.is_none());
    assert_eq!(one(&cells[1]).tcp.expect("a TCP").law.kind(), "cubic");
}

/// A filled-in value has the source of the place where it is used, unless the axis states another. Notes are filled in
/// as well.
#[test]
fn sources_belong_to_who_states_them() {
    let file = text(
        "axes.loss.low = { value-of = { value = \"1 %\", source = \"fitted\", note = \"to the print\" }, queue = 9 }",
        "[cells.\"{loss}\".topology.bottleneck]\nsource = \"paper\"\nnote = \"as {loss}\"\nloss = \"{loss.value-of}\"\n\
         queue = \"{loss.queue} packets\"",
    );
    let cells = cells(&file, &Adjust::default());
    let known = |path: &str| {
        let known = &cells[0].provenance[path];
        (known.source, known.note.clone())
    };
    assert_eq!(
        known("topology.bottleneck.loss.rate"),
        (Source::Fitted, Some("to the print".into()))
    );
    assert_eq!(
        known("topology.bottleneck.queue.limit"),
        (Source::Paper, Some("as low".into()))
    );
}

/// Names, groups and patterns select cells, which come in the order of the file.
#[test]
fn cells_are_chosen() {
    let file = text(
        "axes.queue = [7, 9]\naxes.end = [\"a\", \"b\"]\ngroups.ends = [\"q7-{end}\", \"*-b\"]",
        "[cells.\"q{queue}-{end}\"]\n[cells.plain]",
    );
    let only = |words: &[&str]| {
        let adjust = Adjust {
            only: words.iter().map(|&word| word.to_owned()).collect(),
            ..Adjust::default()
        };
        read(&file, &adjust)
    };
    let chosen = |words: &[&str]| names(&only(words).expect("some")).join(" ");
    assert_eq!(chosen(&[]), "q7-a q7-b q9-a q9-b plain");
    assert_eq!(chosen(&["plain", "q9-a"]), "q9-a plain");
    assert_eq!(chosen(&["ends"]), "q7-a q7-b q9-b");
    assert_eq!(chosen(&["q9-*", "plain"]), "q9-a q9-b plain");
    for (word, hint) in [
        ("q7-c", "did you mean 'q7-a'? write one of q7-a"),
        ("z*", "plain, ends"),
    ] {
        let error = only(&[word]).expect_err("none").to_string();
        assert!(error.contains(hint), "{error}");
    }
}
