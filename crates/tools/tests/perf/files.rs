//! Transfers of files: what is saved, and what is not.

use std::time::Duration;

use fairwire_tools::perf::{Limit, Protocol, Server, ServerOptions};

use super::{ALL, Running, Scratch, loopback, options, run};

/// A file that is saved where it is read arrives whole. If its transfer ends early, it stays as it was.
#[test]
fn a_file_may_be_saved_over_itself() {
    let scratch = Scratch::new("itself");
    let path = scratch.0.join("x");
    let data: Vec<u8> = (0..300_000_u32).map(|i| i.to_le_bytes()[1]).collect();
    std::fs::write(&path, &data).expect("written");
    let server = Running::start(Protocol::Tcp, Some(path.clone()));
    let mut options = options(server.port, Protocol::Tcp);
    options.file = Some(path.clone());
    options.limit = None;
    let (outcome, text) = run(&options);
    assert_eq!((outcome.exit_code(), server.end().0), (0, 0), "{text}");
    assert_eq!(std::fs::read(&path).expect("saved"), data);
}

/// A file of an odd size arrives complete: the same bytes, the same hashes, nothing missing. An empty file does too.
#[test]
fn a_file_crosses_whole() {
    let scratch = Scratch::new("file");
    let (from, to) = (scratch.0.join("from"), scratch.0.join("to"));
    for protocol in ALL {
        for size in [300_001_u32, 0] {
            let data: Vec<u8> = (0..size)
                .map(|i| i.wrapping_mul(i).to_be_bytes()[2])
                .collect();
            std::fs::write(&from, &data).expect("written");
            let server = Running::start(protocol, Some(to.clone()));
            let mut options = options(server.port, protocol);
            options.limit = None;
            options.rate = Some(20_000_000);
            options.file = Some(from.clone());
            let (outcome, text) = run(&options);
            let (code, served) = server.end();
            let what = format!("{protocol:?}, {size} bytes:\n{text}{served}");
            assert_eq!((outcome.exit_code(), code), (0, 0), "{what}");
            assert_eq!(std::fs::read(&to).expect("saved"), data, "{what}");
            for text in [text, served] {
                assert!(text.contains(": identical"), "{what}");
                assert!(text.contains("nothing is missing"), "{what}");
            }
        }
    }
}

/// A client that ends before the end of its file leaves the file on the server's disk as it was: nothing is saved, and
/// both ends say why. The server fails; the client has done what it was asked to.
#[test]
fn a_part_of_a_file_replaces_nothing() {
    let scratch = Scratch::new("part");
    let (from, to) = (scratch.0.join("from"), scratch.0.join("to"));
    std::fs::write(&from, vec![7; 3_000_000]).expect("written");
    std::fs::write(&to, "a whole file").expect("written");
    let limits = [
        Limit::Time(Duration::from_millis(300)),
        Limit::Bytes(100_000),
    ];
    for protocol in ALL {
        for limit in limits {
            let server = Running::start(protocol, Some(to.clone()));
            let mut options = options(server.port, protocol);
            options.limit = Some(limit);
            options.file = Some(from.clone());
            let (outcome, text) = run(&options);
            let (code, served) = server.end();
            let what = format!("{protocol:?}, {limit:?}:\n{text}{served}");
            assert_eq!((outcome.exit_code(), code), (0, 1), "{what}");
            let kept = std::fs::read(&to).expect("still there");
            assert_eq!(kept, b"a whole file", "{what}");
            let beside = std::fs::read_dir(&scratch.0).expect("a directory").count();
            assert_eq!(beside, 2, "{what}");
            for text in [&text, &served] {
                let why = "not saved: the client did not send the whole file";
                assert!(text.contains(why), "{what}");
            }
        }
    }
}

/// A limit that the file does not reach changes nothing: the whole file is saved.
#[test]
fn a_file_within_its_limit_is_saved() {
    let scratch = Scratch::new("within");
    let (from, to) = (scratch.0.join("from"), scratch.0.join("to"));
    std::fs::write(&from, vec![7; 100_000]).expect("written");
    for protocol in ALL {
        for limit in [
            Limit::Time(Duration::from_secs(20)),
            Limit::Bytes(10_000_000),
        ] {
            let server = Running::start(protocol, Some(to.clone()));
            let mut options = options(server.port, protocol);
            options.limit = Some(limit);
            options.file = Some(from.clone());
            let (outcome, text) = run(&options);
            let (code, served) = server.end();
            let what = format!("{protocol:?}, {limit:?}:\n{text}{served}");
            assert_eq!((outcome.exit_code(), code), (0, 0), "{what}");
            let saved = std::fs::read(&to).expect("saved");
            assert!(saved == vec![7; 100_000], "{what}");
            std::fs::remove_file(&to).expect("removed");
        }
    }
}

/// A client learns before it sends that the server does not save the file. One that saves it gives no such note.
#[test]
fn a_file_that_nobody_saves_is_noted_first() {
    let scratch = Scratch::new("unsaved");
    let (from, to) = (scratch.0.join("from"), scratch.0.join("to"));
    std::fs::write(&from, vec![7; 100_000]).expect("written");
    for protocol in ALL {
        for save in [None, Some(to.clone())] {
            let is_noted = save.is_none();
            let server = Running::start(protocol, save);
            let mut options = options(server.port, protocol);
            options.limit = None;
            options.file = Some(from.clone());
            let (outcome, text) = run(&options);
            let (code, served) = server.end();
            let what = format!("{protocol:?}:\n{text}{served}");
            assert_eq!((outcome.exit_code(), code), (0, 0), "{what}");
            let note = "note: the server does not save the file";
            let before_the_lines = text.find(note).map(|at| Some(at) < text.find("[ ID]"));
            assert_eq!(before_the_lines, is_noted.then_some(true), "{what}");
        }
    }
    let server = Running::start(Protocol::Dccp, None);
    let mut options = options(server.port, Protocol::Dccp);
    options.limit = Some(Limit::Bytes(10_000));
    let (_, text) = run(&options);
    assert_eq!(server.end().0, 0, "{text}");
    assert!(!text.contains("note:"), "no file is sent: {text}");
}

/// A server that cannot save files does not start.
#[test]
fn a_server_that_cannot_save_does_not_start() {
    let mut options = ServerOptions::new(0);
    options.bind = Some(loopback());
    options.save = Some("/dev/null/x".into());
    let error = Server::bind(options.clone()).expect_err("no directory");
    assert_eq!(error.exit_code(), 1);
    let text = error.to_string();
    assert!(text.contains("cannot save to /dev/null/x"), "{text}");
    // A directory that is missing is not made: its name may be misspelt.
    let scratch = Scratch::new("missing");
    let missing = scratch.0.join("no/such");
    options.save = Some(missing.join("x"));
    let error = Server::bind(options).expect_err("no directory").to_string();
    let advice = format!("make it with 'mkdir -p {}'", missing.display());
    assert!(error.contains(&advice), "{error}");
    assert!(!scratch.0.join("no").exists());
}

/// A full disk ends the measurement on both sides with a reason, and the results so far are shown.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_on_both_sides() {
    let scratch = Scratch::new("full");
    let from = scratch.0.join("from");
    std::fs::write(&from, vec![7; 3_000_000]).expect("written");
    let server = Running::start(Protocol::Dccp, Some("/dev/full".into()));
    let mut options = options(server.port, Protocol::Dccp);
    options.limit = None;
    options.file = Some(from);
    let (outcome, text) = run(&options);
    let (code, served) = server.end();
    assert_eq!((outcome.exit_code(), code), (1, 1), "{text}{served}");
    let error = outcome.error.as_ref().expect("that of the flow");
    assert!(error.message.contains("/dev/full"), "{error:?}");
    assert_eq!(text.matches("/dev/full").count(), 1, "said once: {text}");
    assert!(
        served.contains("not saved: cannot write /dev/full"),
        "{served}"
    );
    for text in [text, served] {
        for claim in ["nothing is missing", "no --save"] {
            assert!(!text.contains(claim), "{text}");
        }
        assert!(text.contains("/dev/full"), "{text}");
        assert!(
            text.contains(" sent ") || text.contains(" receiver\n"),
            "{text}"
        );
    }
}
