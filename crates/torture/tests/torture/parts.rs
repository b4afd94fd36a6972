//! Tests of single parts: a host's clock, names of events, limits of a run, the progress and the laws that are drawn.

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::time::Duration;

use fairwire_proto::laws::laws;
use fairwire_torture::clock::Clock;
use fairwire_torture::events::{is_name, unknown};
use fairwire_torture::plan::Plan;
use fairwire_torture::progress::Progress;
use fairwire_torture::run::{Failure, Options, Outcome, catch, run, run_within_time, within};
use fairwire_units::Instant;
use serde_json::Value;

/// A timer set by the host's clock expires when that clock shows its time, at any rate.
///
/// It is late by no more than about a nanosecond.
#[test]
fn timers_are_set_by_the_hosts_clock() {
    for ppm in [-100_000, -1, 0, 7, 100_000] {
        let mut clock = Clock::new(ppm);
        let now = Instant::from_nanos(1_234_567_891);
        clock.step(now, fairwire_units::Duration::from_secs(3_600));
        clock.run_at(now, -ppm);
        let shown = clock.shows(now) + fairwire_units::Duration::from_nanos(987_654_321);
        let at = clock.when(shown);
        assert!(clock.shows(at) >= shown, "{ppm}");
        let before = at.saturating_before(fairwire_units::Duration::from_nanos(2));
        assert!(clock.shows(before) < shown, "{ppm}");
    }
}

/// The message for an unknown event lists similar names, or all names if there are none.
#[test]
fn the_nearest_names_are_told() {
    assert_eq!(
        unknown("aborted"),
        "no event is called 'aborted'; did you mean 'closed: Aborted' or 'closed: reset Aborted' \
         or 'closed: peer error Aborted'?"
    );
    assert_eq!(
        unknown("fates: expired"),
        "no event is called 'fates: expired'; did you mean 'fate: Expired'?"
    );
    for asked in ["", "nonsense"] {
        let names = unknown(asked).lines().count() - 1;
        assert_eq!(names, 12 + 9 + 9 + 2 * 13);
    }
    assert!(is_name("closed: reset CcidSpecific(130)"));
    assert!(!is_name("closed: reset CcidSpecific(12)"));
}

/// A run that never ends is abandoned and counts as a failure.
///
/// A run that ends is not changed by the time limit.
#[test]
fn endless_runs_are_given_up() {
    let (never, wait) = mpsc::channel::<()>();
    let waits = within(Duration::ZERO, move || wait.recv());
    assert_eq!(waits, None);
    drop(never);
    let endless = Outcome::endless();
    assert!(endless.is_endless());
    let failure = endless.failure.expect("that is a failure");
    let says = "the run ends (host 0, 0.000000 s): the run did not end within 60 s";
    assert_eq!(failure.to_string(), says);
    let (plan, options) = (Plan::draw(3), Options::default());
    let watched = run_within_time(&plan, &options);
    assert!(!watched.is_endless());
    assert_eq!(watched, run(&plan, &options));
}

/// A panic of the implementation is a failure of its seed, with its message and place.
///
/// It does not affect the next run.
#[test]
fn panics_are_caught() {
    let text = catch(|| panic!("the invariant {} is broken", 7)).err();
    let text = text.expect("it panics");
    assert!(text.starts_with("the invariant 7 is broken at "), "{text}");
    assert!(text.contains("parts.rs:"), "{text}");
    assert_eq!(catch(|| 5), Ok(5));
}

fn written(is_terminal: bool, seeds: u64) -> String {
    let failure = Failure {
        invariant: "data-once".into(),
        text: "twice\nand again".into(),
        at_ns: 0,
        host: 0,
    };
    let mut out = Vec::new();
    let mut progress = Progress::on(&mut out, is_terminal, seeds);
    for seed in 0..seeds {
        progress.tell(seed, (seed == 1).then_some(&failure));
    }
    progress.end();
    String::from_utf8(out).expect("it writes text")
}

/// On a terminal the progress line is updated in place, and a failure gets its own line, which remains.
#[test]
fn a_terminal_shows_how_far_it_is() {
    let screen = written(true, 3).replace("\r\x1b[K", "|");
    assert_eq!(
        screen,
        "|0 of 3 seeds (0%), 0 failures|1 of 3 seeds (33%), 0 failures\
         |seed 1 failed: data-once\n\
         |2 of 3 seeds (66%), 1 failures|3 of 3 seeds (100%), 1 failures|"
    );
    let lines = written(true, 5_000).matches('\r').count();
    assert_eq!(lines, 1 + 1_000 + 2 + 1, "as often as a thousandth is done");
}

/// A file gets the failures only.
#[test]
fn a_file_gets_the_failures_alone() {
    assert_eq!(written(false, 3), "seed 1 failed: data-once\n");
}

/// Every built-in law can be drawn, and no other one is.
#[test]
fn every_law_can_be_drawn() {
    let plans = (0..3_000).map(Plan::draw);
    let of_plan = |plan: Plan| {
        let connections = plan.connections.into_iter();
        connections.flat_map(|of| [of.client_settings, of.server_settings].concat())
    };
    // With settings of its own, a law is a table.
    let law = |setting: String| {
        let law = setting.strip_prefix("ccid2.law=")?;
        let table: Option<Value> = serde_json::from_str(law).ok();
        let kind = table.and_then(|table| Some(table["kind"].as_str()?.to_owned()));
        Some(kind.unwrap_or_else(|| law.to_owned()))
    };
    let drawn: BTreeSet<String> = plans.flat_map(of_plan).filter_map(law).collect();
    let known = laws();
    let known: BTreeSet<String> = known.iter().map(|law| law.name().to_owned()).collect();
    assert_eq!(drawn, known);
}
