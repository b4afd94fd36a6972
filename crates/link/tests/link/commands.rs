//! Changes of a link that runs.

use std::time::Duration;

use fairwire_link::{Options, Relay, ask};

use crate::world::{Running, all, echo, options, pause, socket};

/// A link goes down and up while it runs, and says what it dropped.
#[test]
fn a_link_goes_down_and_up() {
    let link = Running::start(options("delay 1ms", echo()));
    let (name, client) = (link.name(), socket());
    assert_eq!(ask(&name, "set down"), Ok("ok".to_owned()));
    client.send_to(b"lost", link.addr).expect("sent");
    assert_eq!(all(&client).len(), 0);
    assert_eq!(ask(&name, "set up"), Ok("ok".to_owned()));
    client.send_to(b"found", link.addr).expect("sent");
    assert_eq!(all(&client), [b"found"]);
    let shown = ask(&name, "show").expect("an answer");
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["there"]["drops"]["down"], 1);
    assert_eq!(shown["there"]["delivered"], 1);
    link.end();
    let error = ask(&name, "show").expect_err("it has ended");
    assert!(error.contains("no link called"), "{error}");
}

/// What waits survives a change of the rate, in its order; what is wrong changes nothing.
#[test]
fn what_waits_survives_a_change() {
    let link = Running::start(options("rate 1kbit back rate none", echo()));
    let (name, client) = (link.name(), socket());
    for number in 0..10_u8 {
        client.send_to(&[number; 100], link.addr).expect("sent");
    }
    assert_eq!(all(&client).len(), 0, "the first takes a second");
    for (words, problem) in [
        ("set rate 0mbit", "rate: 0mbit is not possible"),
        ("set dealy 1ms", "did you mean"),
        ("set queue 100ms rate none", "a time needs a rate"),
        ("hello", "understands 'set WORDS' and 'show'"),
    ] {
        let said = ask(&name, words).expect("an answer");
        assert!(said.contains(problem), "{words}: {said}");
    }
    assert_eq!(ask(&name, "set rate none"), Ok("ok".to_owned()));
    let got: Vec<u8> = all(&client).into_iter().map(|one| one[0]).collect();
    assert_eq!(got, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    link.end();
}

/// Changes come at their times, and the link ends at its own.
#[test]
fn changes_come_at_their_times() {
    let changes = [(0, "down"), (1_500, "up")];
    let mut relay = Relay::bind(Options {
        changes: changes
            .map(|(ms, words)| (Duration::from_millis(ms), words.to_owned()))
            .to_vec(),
        time: Some(Duration::from_secs(3)),
        ..options("delay 1ms", echo())
    })
    .expect("bound");
    let addr = relay.local_addr();
    let run = std::thread::spawn(move || relay.run(Duration::ZERO, |_| {}));
    let client = socket();
    pause(Duration::from_millis(200));
    client.send_to(b"lost", addr).expect("sent");
    assert_eq!(all(&client).len(), 0);
    let mut report = None;
    for _ in 0..100 {
        if run.is_finished() {
            break;
        }
        client.send_to(b"later", addr).expect("sent");
        pause(Duration::from_millis(50));
    }
    if run.is_finished() {
        report = run.join().expect("no panic").ok();
    }
    let report = report.expect("it has ended");
    assert!(report.there.drops.down >= 1, "{report:?}");
    assert!(report.there.delivered >= 1, "{report:?}");
}

/// A change that a command has made impossible is told at the end, and the link goes on.
#[test]
fn an_impossible_change_is_told() {
    let link = Running::start(Options {
        changes: vec![(Duration::from_secs(1), "queue 200ms".to_owned())],
        ..options("rate 1mbit", echo())
    });
    let (name, client) = (link.name(), socket());
    assert_eq!(ask(&name, "set rate none"), Ok("ok".to_owned()));
    pause(Duration::from_millis(1_200));
    client.send_to(b"on", link.addr).expect("sent");
    assert_eq!(all(&client), [b"on"]);
    let report = link.end();
    assert_eq!(report.problems.len(), 1, "{report:?}");
}

/// A second link of a name that runs is refused, and a name with a slash has no file.
#[test]
fn names_are_taken_once() {
    let link = Running::start(options("delay 1ms", echo()));
    for (name, problem) in [
        (link.name(), "runs: give this one another --name"),
        ("../wifi".to_owned(), "is not a name"),
    ] {
        let second = Relay::bind(Options {
            name: Some(name),
            ..options("delay 1ms", echo())
        });
        let error = second.expect_err("refused").to_string();
        assert!(error.contains(problem), "{error}");
    }
    link.end();
}
