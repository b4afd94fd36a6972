//! Small parts of texts: quantities, names, placeholders, places in messages.

use std::sync::Arc;

use fairwire_scenario::choices::{choices, count};
use fairwire_scenario::place::{Place, SourceText};
use fairwire_scenario::shorten::shorten;
use fairwire_scenario::tree::Node;
use fairwire_scenario::{Adjust, MinRto, ScenarioError, StartOffset, matches_pattern};
use fairwire_units::Duration;

use super::cells;
use super::family::text;

fn source(name: &str, text: &str) -> Arc<SourceText> {
    let (name, text) = (name.to_owned(), text.to_owned());
    Arc::new(SourceText { name, text })
}

/// A printed quantity reads back as the same value. One with another unit is refused.
#[test]
fn printed_quantities_are_read_back() {
    for rto in [MinRto::Ns2, MinRto::Time(Duration::from_millis(200))] {
        assert_eq!(rto.to_string().parse(), Ok(rto));
    }
    let five = StartOffset::UpTo(Duration::from_millis(5));
    for offset in [StartOffset::None, StartOffset::Rtt, five] {
        assert_eq!(offset.to_string().parse(), Ok(offset));
    }
    assert!("20 pac".parse::<MinRto>().is_err());
}

/// The first axis changes last. No axes have one combination, and an axis without values has none.
#[test]
fn the_first_axis_changes_last() {
    let all: Vec<Vec<usize>> = choices(vec![2, 3]).collect();
    assert_eq!(all, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
    assert_eq!(choices(Vec::new()).collect::<Vec<_>>(), [[0_usize; 0]]);
    assert_eq!(choices(vec![2, 0]).count(), 0);
    assert_eq!(count([usize::MAX, 2]), usize::MAX);
}

/// An error in an argument shows the option as it is on the command line.
#[test]
fn an_error_points_at_its_option() {
    let source = source("command line", "--duration 0s");
    let error = ScenarioError::at("no time", &Place::new(&source, 11..13));
    assert_eq!(
        error.to_string(),
        "no time\n --> command line\n  |\n  | --duration 0s\n  |            ^^"
    );
}

/// The message shows the file, line, column, the line itself, and marks below the wrong part.
#[test]
fn an_error_points_at_its_line() {
    let source = source("a.toml", "x = 1\nrate = \"2 µbit\"\n");
    let error = ScenarioError::at("no such unit", &Place::new(&source, 13..22));
    assert_eq!(error.line_column(), Some((2, 8)));
    assert_eq!(
        error.to_string(),
        "no such unit\n --> a.toml:2:8\n  |\n2 | rate = \"2 µbit\"\n  |        ^^^^^^^^"
    );
    let beyond = ScenarioError::at("end", &Place::new(&source, 900..901));
    assert_eq!(beyond.line_column(), Some((3, 1)));
}

/// A star matches any text, including the empty one.
#[test]
fn stars_match() {
    for (pattern, name, is) in [
        ("a", "a", true),
        ("a", "ab", false),
        ("a*", "a", true),
        ("*-q10", "96k-q10", true),
        ("*-q10", "96k-q100", false),
        ("9*-*0", "96k-q10", true),
        ("a*a", "a", false),
        ("*", "", true),
    ] {
        assert_eq!(matches_pattern(pattern, name), is, "{pattern} {name}");
    }
}

/// Names with or without an attribute are placeholders, double braces make a literal, and everything else is text.
#[test]
fn texts_have_parts() {
    let about = "a {m}0 s, {rate.text}; {{m}}, {2}, { m }, [{x=1}] {} {m.} {m.b.c} {.m} {{m} µ{";
    let head = format!("about = \"{about}\"\naxes.m = [1]\naxes.rate.fast.text = \"2 Mbit/s\"");
    let cell = &cells(&text(&head, ""), &Adjust::default())[0];
    assert_eq!(
        cell.scenario.about.as_deref(),
        Some("a 10 s, 2 Mbit/s; {m}, {2}, { m }, [{x=1}] {} {m.} {m.b.c} {.m} {1 µ{")
    );
}

/// A value that is written in one line reads back as the same value, even with keys that need quotes.
#[test]
fn inline_reads_back() {
    let text = "list = [{ plain-1 = 1, \"with.dot\" = \"a\", \"\" = 2, \"a b\" = true, \"q\\\"'\\n\" = 1.5 }]";
    let read = |text: &str| Node::parse_plain(&source("a test", text)).expect("reads");
    let list = |mut node: Node| node.take("list").expect("there").inline();
    let once = list(read(text));
    assert!(
        once.starts_with("[{ plain-1 = 1, \"with.dot\" = \"a\""),
        "{once}"
    );
    assert_eq!(list(read(&format!("list = {once}"))), once);
}

/// Short texts are unchanged, and long ones keep both ends. Characters are never cut, nor are words of a list.
#[test]
fn both_ends_are_kept() {
    assert_eq!(shorten("as it is", 8), "as it is");
    let long = format!("a{}z", "\u{b5}".repeat(1_000));
    let short = shorten(&long, 20);
    assert_eq!(short.chars().count(), 20);
    assert!(short.starts_with('a') && short.ends_with('z'), "{short}");
    let list = "allowed keys: throughput, latency, goodput, delay";
    assert_eq!(shorten(list, 40), "allowed keys: ... goodput, delay");
}
