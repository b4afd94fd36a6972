//! Tests of three hundred seeds and of the torture test itself.
//!
//! The torture test is deterministic, reaches the situations that it claims, and replays and shrinks failures.

use std::num::NonZeroUsize;

use fairwire_torture::plan::Plan;
use fairwire_torture::plan::fault::all_names;
use fairwire_torture::run::Options;
use fairwire_torture::{campaign, events, report, run, shrink};

fn jobs(n: usize) -> NonZeroUsize {
    NonZeroUsize::new(n).expect("at least one job")
}

/// In 300 seeds endpoints and applications violate no invariant under faults of every kind.
///
/// Every kind of fault, every state and every way to end a connection occurs in them.
#[test]
fn three_hundred_seeds_hold_and_reach_everything() {
    let campaign = campaign::run(0, 300, campaign::cores(), &Options::default());
    println!("{}", report::text(&campaign));
    for (seed, failure) in &campaign.failures {
        println!("seed {seed}: {failure}\n  fairwire-torture --seed {seed} --trace");
    }
    assert!(campaign.failures.is_empty());
    let tally = &campaign.tally;
    for fault in all_names() {
        assert!(tally.faults.contains_key(fault), "no packet met: {fault}");
    }
    for state in [
        "REQUEST", "RESPOND", "PARTOPEN", "OPEN", "CLOSEREQ", "CLOSING", "CLOSED", "INVITED",
        "LISTEN1",
    ] {
        assert!(tally.states.contains_key(state), "nobody was in {state}");
    }
    for ccid in [2, 3, 4] {
        assert!(tally.ccids.contains_key(&ccid), "nobody had CCID {ccid}");
    }
    assert!(
        tally.events.contains_key("Secured"),
        "no session of DTLS was complete"
    );
    for name in tally.events.keys() {
        assert!(events::is_name(name), "cannot be forbidden: {name}");
    }
    for end in [
        "Closed",
        "reset",
        "peer error",
        "ConnectTimeout",
        "Unreachable",
        "Reflected",
        "IdleTimeout",
        "CloseTimeout",
        "Aborted",
    ] {
        let name = format!("closed: {end}");
        let happened = tally.events.keys().any(|event| event.starts_with(&name));
        assert!(happened, "no connection ended in this way: {end}");
    }
    for fate in [
        "Acknowledged",
        "Dropped",
        "Expired",
        "Lost",
        "Marked",
        "Refused",
        "Sent",
        "TooLarge",
    ] {
        let name = format!("fate: {fate}");
        assert!(
            tally.events.contains_key(&name),
            "no datagram had it: {name}"
        );
    }
    for wrap in ["24 bits", "24 bits, short", "48 bits"] {
        assert!(
            tally.wraps.contains_key(wrap),
            "no number crossed it: {wrap}"
        );
    }
}

/// A seed gives the same run each time, to the last byte of its log, for any number of parallel runs.
#[test]
fn the_same_seed_is_the_same_run() {
    let trace = Options {
        trace: true,
        ..Options::default()
    };
    for seed in 0..12 {
        let plan = Plan::draw(seed);
        assert_eq!(plan, Plan::draw(seed), "seed {seed}");
        let once = run::run(&plan, &trace);
        assert!(!once.log.is_empty(), "seed {seed}");
        assert_eq!(once, run::run(&plan, &trace), "seed {seed}");
        let quietly = run::run(&plan, &Options::default());
        assert_eq!(
            once.digest, quietly.digest,
            "seed {seed}: watching changed it"
        );
    }
    let alone = campaign::run(40, 12, jobs(1), &Options::default());
    assert_eq!(alone, campaign::run(40, 12, jobs(3), &Options::default()));
}

/// Writing a plan to a file and reading it back gives the same plan.
#[test]
fn plans_survive_their_file() {
    for seed in 0..200 {
        let plan = Plan::draw(seed);
        let text = plan.to_text();
        assert_eq!(Plan::from_text(&text), Ok(plan), "seed {seed}:\n{text}");
    }
    let wrong = Plan::draw(0).to_text().replace("\"udp\"", "\"tcp\"");
    let error = Plan::from_text(&wrong).expect_err("there is no such key");
    assert!(error.contains("tcp") && error.contains("line 3"), "{error}");
}

/// A failing seed fails in the same way when it is run again, and its shrunk plan is smaller and fails in that way too.
///
/// The shrunk plan also fails after it was read back from its file.
#[test]
fn a_failure_replays_and_shrinks() {
    let forbid = Options {
        forbid: Some("closed: Aborted".to_owned()),
        ..Options::default()
    };
    let found = campaign::run(0, 10, campaign::cores(), &forbid);
    let (seed, failure) = found
        .failures
        .first()
        .expect("applications abort here and there");
    let plan = Plan::draw(*seed);
    let again = run::run(&plan, &forbid).failure;
    assert_eq!(again.as_ref(), Some(failure), "seed {seed}");
    let shrunk = shrink::shrink(&plan, &forbid, 400).expect("it fails");
    assert_eq!(shrunk.failure.invariant, failure.invariant, "seed {seed}");
    let (before, after) = (plan.parts(), shrunk.plan.parts());
    assert!(
        after * 4 < before,
        "seed {seed}: from {before} parts to {after}"
    );
    let read = Plan::from_text(&shrunk.plan.to_text()).expect("what was written can be read");
    assert_eq!(run::run(&read, &forbid).failure, Some(shrunk.failure));
}

/// Plans that a check once complained of without reason hold: a Request that arrives twice with different options, and
/// a datagram that was sent again because the application reported it as dropped.
#[test]
fn plans_that_failed_hold() {
    for text in [
        include_str!("plans/copies-of-a-request.json"),
        include_str!("plans/reported-and-sent-again.json"),
    ] {
        let plan = Plan::from_text(text).expect("a plan");
        let outcome = run::run(&plan, &Options::default());
        assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    }
}
