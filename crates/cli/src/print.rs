//! Printing that survives a closed pipe, and the exit statuses.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::json;

/// The command could not do what was asked.
pub(crate) const FAILED: u8 = 1;
/// What was asked makes no sense: the command line is wrong, or the scenario file.
pub(crate) const USAGE: u8 = 2;

/// Prints `text` to standard output and gives the exit status.
pub(crate) fn text(text: &str) -> ExitCode {
    match try_text(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(FAILED, &error),
    }
}

/// Prints `text` to standard output. Somebody who closes the pipe has seen enough: no failure.
pub(crate) fn try_text(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let message = format!("cannot print: {error}");
            Err(io::Error::new(error.kind(), message))
        }
        _ => Ok(()),
    }
}

/// As [`fail`] where nothing was printed yet: as a JSON object on standard output if `json` is
/// asked for.
pub(crate) fn refuse(json: bool, status: u8, what: &dyn Display) -> ExitCode {
    if !json {
        return fail(status, what);
    }
    match try_text(&error_json(status, &what.to_string())) {
        Ok(()) => ExitCode::from(status),
        Err(_) => fail(status, what),
    }
}

/// An error as a line of JSON, with the exit status that goes with it.
pub(crate) fn error_json(status: u8, message: &str) -> String {
    let kind = if status == USAGE { "usage" } else { "failed" };
    let report = json!({ "error": { "kind": kind, "exit": status, "message": message } });
    format!("{report}\n")
}

/// Says what went wrong and gives the exit status.
pub(crate) fn fail(status: u8, what: &dyn Display) -> ExitCode {
    note(&format!("error: {what}"));
    ExitCode::from(status)
}

/// Says every failure; the status of a command that had these and still gave what it could.
pub(crate) fn end(failures: &[String]) -> ExitCode {
    for failure in failures {
        fail(FAILED, failure);
    }
    if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(FAILED)
    }
}

/// A line for people, to standard error; that it cannot be written is nobody's concern.
pub(crate) fn note(what: &dyn Display) {
    let _ = writeln!(io::stderr().lock(), "{what}");
}
