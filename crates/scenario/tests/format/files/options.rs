//! Mistakes in `--set`: the error shows the option and a hint.

use fairwire_scenario::Adjust;

use super::super::{refused, with_axes, with_set};
use super::GOOD;

/// Each option, a part of the hint, and the text at which the error points.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("run.seeds=20000", "1 to 10000", "--set run.seeds=20000"),
    (
        "flows.video.traffic.kind=short-flows",
        "write the whole table, as in 'flows.video.traffic={ kind = \"short-flows\", every = ... }'",
        "--set flows.video.traffic.kind=short-flows",
    ),
    (
        "topology.bottleneck.queue=red",
        "as in 'topology.bottleneck.queue={ kind = \"red\", min = ... }'",
        "--set topology.bottleneck.queue=red",
    ),
    (
        "flows.vidoe.start=5s",
        "no flow is called 'vidoe': did you mean 'video'? write one of",
        "--set flows.vidoe.start=5s",
    ),
    // A greedy flow over UDP: each key is valid alone, and the file was valid without the option.
    (
        "flows.web.udp={}",
        "use traffic with a rate",
        "--set flows.web.udp={}",
    ),
    (
        "flows.web.traffic={ kind = \"short-flows\", every = \"1 s\", sizes.kind = \"pareto\" }",
        "'shape' is missing here: ",
        "sizes.kind = \"pareto\"",
    ),
];

/// If an option makes a valid scenario invalid, the error shows the option.
#[test]
fn options_are_at_fault_themselves() {
    for (option, says, shows) in MISTAKES {
        let error = refused(GOOD, &with_set(&[option]));
        assert!(
            error.contains(says) && error.contains(shows),
            "{option}: {error}"
        );
        assert!(error.contains("command line"), "{option}: {error}");
    }
}

/// Two axes that give a key a value are refused, because one of them would have no effect.
#[test]
fn axes_share_no_key() {
    let tables = "topology.bottleneck={ queue = '10 packets' },{ queue = '20 packets' }";
    let error = refused(
        GOOD,
        &with_axes(&[tables, "topology.bottleneck.queue=5 packets,6 packets"]),
    );
    let says = "the axis 'topology.bottleneck' gives the same key a value";
    assert!(error.contains(says), "{error}");
}

/// A key that is changed for all cells is no axis as well, and no two cells have the same name: either is an error.
#[test]
fn nothing_is_given_twice() {
    let queue = "topology.bottleneck.queue";
    for (option, axis, says) in [
        ("=20 packets", "=10 packets,20 packets", "give it once"),
        ("=", "=10 packets,20 packets", "give it once"),
        (
            "={ kind = 'codel', limit = '50 packets' }",
            ".limit=10 packets,20 packets",
            "give it once",
        ),
        (
            "",
            "=20 packets,20packets",
            "two cells have the name 'plain-queue20packets', with topology.bottleneck.queue = 20 packets and 20packets",
        ),
    ] {
        let option = (!option.is_empty()).then(|| format!("{queue}{option}"));
        let adjust = Adjust {
            axes: vec![format!("{queue}{axis}")],
            ..with_set(option.as_slice())
        };
        let error = refused(GOOD, &adjust);
        assert!(error.contains(says), "{error}");
    }
}
