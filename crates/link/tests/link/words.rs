//! The words that describe a link, and what is said of those that cannot be.

use fairwire_link::{PRESETS, Words, change_at};

fn words(text: &str) -> Words {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Descriptions that mean the same are the same link.
#[test]
fn words_have_their_meaning() {
    for (one, other) in [
        ("rate 2mbit delay 100ms", "delay 0.1s rate 2000kbit"),
        ("rate 1mbps", "rate 8mbit"),
        ("loss 1%", "loss random 1.0%"),
        ("loss gemodel 1%", "loss gemodel 1% 99% 100% 0%"),
        ("delay 20ms 5ms", "delay 20ms 5ms distribution uniform"),
        ("latency 20ms", "delay 20ms"),
        ("limit 50 rate none", "limit 50"),
        ("rate 1mbit queue 200ms limit 50", "rate 1mbit limit 50"),
        (
            "ecn mtu 1400 overhead 14 ecn off mtu none overhead 0",
            "rate none",
        ),
        ("delay 1ms reorder 5% gap 3 reorder 0%", "delay 1ms"),
    ] {
        assert_eq!(words(one), words(other), "{one} | {other}");
    }
    assert_ne!(
        words("delay 20ms 5ms"),
        words("delay 20ms 5ms distribution normal")
    );
    assert_ne!(words("rate 2mbit"), words("rate 2mbit back rate 1mbit"));
}

/// netem's own words, as its manual and its users write them.
#[test]
fn netem_is_understood() {
    for text in [
        "delay 20ms 5ms distribution normal loss gemodel 1% 10% rate 40mbit",
        "delay 100ms 20ms distribution pareto",
        "loss 0.3% limit 1000",
        "duplicate 1% corrupt 0.1%",
        "delay 10ms reorder 25%",
        "delay 10ms reorder 100% gap 5",
        "rate 100kbit loss gemodel 5% 30% 70% 0.1% ecn",
        "rate 5mbit queue 200ms codel mtu 1400",
        "delay 300usec",
    ] {
        words(text);
    }
}

/// Each preset is a link, has a source, and can be changed.
#[test]
fn presets_are_links() {
    for preset in PRESETS {
        let link = words(preset.name);
        assert_eq!(link, words(preset.words));
        assert_ne!(link, words(&format!("{} loss 3%", preset.name)));
        assert!(!preset.source.is_empty());
    }
}

/// What cannot be is refused with what to write instead, and changes nothing.
#[test]
fn what_cannot_be_is_refused() {
    for (text, problem) in [
        ("rate 0mbit", "write 1bit to 100gbit"),
        ("rate 10tbit", "write 1bit to 100gbit"),
        ("rate -5mbit", "is not a rate: write 500kbit"),
        ("rate 5", "is not a rate: write 500kbit"),
        ("rate 5mbit 14", "'overhead 14' here"),
        ("delay 100", "is not a time: write 20ms"),
        ("delay -1ms", "is not a time"),
        ("delay 2000min", "at most 3600s"),
        ("delay 10ms 2ms 25%", "correlations are not modelled"),
        (
            "delay 10ms 2ms distribution lognormal",
            "uniform, normal or pareto",
        ),
        ("loss 101%", "0% to 100%"),
        ("loss 1", "0% to 100%"),
        ("loss 1% 25%", "correlations are not modelled"),
        ("loss state 1% 2%", "gemodel"),
        ("duplicate 1% 50%", "correlations"),
        ("limit 0", "from 1 to"),
        ("limit many", "from 1 to"),
        ("queue 10", "64kb or 200ms"),
        ("queue 100ms", "a time needs a rate"),
        ("reorder 25%", "add 'delay 10ms'"),
        ("delay 10ms gap 5", "'reorder 25%'"),
        ("mtu 20", "at least 68"),
        ("slot 10ms", "not modelled"),
        ("dealy 10ms", "did you mean 'delay'?"),
        ("down now", "'down now' is not possible"),
        ("trace /no/such/file", "cannot be read"),
        ("back back", "stands once"),
    ] {
        let error = text.parse::<Words>().expect_err(text).to_string();
        assert!(error.contains(problem), "{text}: {error}");
        let mut link = words("limit 5");
        assert!(link.change(&format!("loss 3% {text}")).is_err());
        assert_eq!(link, words("limit 5"), "{text}");
    }
    for text in ["down", "10 down", "10s", "5s rate 0bit"] {
        assert!(change_at(text).is_err(), "{text}");
    }
    // Whether these go together depends on the link.
    for text in [
        "2.5s rate 500kbit back down",
        "1s reorder 25%",
        "1s queue 200ms",
    ] {
        assert!(change_at(text).is_ok(), "{text}");
    }
}
