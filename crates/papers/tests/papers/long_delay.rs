//! The paper long-delay: its verdicts on Table I.

use fairwire_paper::Verdict;

use crate::{Verdicts, load};

/// The claims that must have a verdict.
const CLAIMS: [&str; 15] = [
    "S4-C1", "S4-C1b", "S4-C2", "S4-C3", "S4-C3t", "S4-C4", "S4-C5", "S4-C6", "S4-C7", "S4-C8",
    "S4-C9", "S4-C10", "S4-D1", "S4-D2", "S4-D3",
];

/// Table I holds in the second half of the run, so the verdict is reproduced under a condition.
///
/// In the steady state the sawtooth gives the throughputs of Table I within 3 %. A TCP beside it is limited to its 20
/// packets: a TCP alone gets as much, so its rate is not specific to CCID 2's cut. The first loss comes where the paper sees the zig-zag begin. Over the whole run the throughputs differ,
/// which the condition says. Claims about cells that were not run are not judged.
#[test]
fn table_1_holds_once_the_climb_is_over() {
    let paper = load("long-delay", false, Some(2));
    let cells = ["cut-50", "cut-25", "cut-5", "tcp-like-tw", "tcp-alone"];
    let verdicts = Verdicts::after(&paper, &cells);
    verdicts.are_of(&CLAIMS);
    let Verdict::Condition(condition) = verdicts.of("S4-C3") else {
        panic!("{:?}", verdicts.of("S4-C3"));
    };
    assert!(
        condition.contains("170 s") && condition.contains("second half"),
        "{condition}"
    );
    assert_eq!(*verdicts.of("S4-C3t"), Verdict::Unspecific);
    assert_eq!(*verdicts.of("S4-C8"), Verdict::Reproduced);
    assert_eq!(*verdicts.of("S4-C6"), Verdict::Contradiction);
    assert_eq!(*verdicts.of("S4-D1"), Verdict::NotRun);
}
