//! Printing that survives a closed pipe, and the exit statuses.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use fairwire_scenario::place::escaped;
use serde_json::{Value, json};

/// The command could not do its work.
pub(crate) const FAILED: u8 = 1;
/// Wrong usage: the command line or the scenario file is wrong.
pub(crate) const USAGE: u8 = 2;

/// Prints `text` to standard output and returns the exit status.
pub(crate) fn text(text: &str) -> ExitCode {
    match try_text(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(FAILED, &error),
    }
}

/// Returns results as they are printed with `--json`.
pub(crate) fn json(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    format!("{text}\n")
}

/// Prints `text` to standard output, with control characters escaped. A closed pipe is not an error: the reader needs no
/// more.
pub(crate) fn try_text(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let text = escaped(text.to_owned());
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            let message = format!("cannot print: {error}");
            Err(io::Error::new(error.kind(), message))
        }
        _ => Ok(()),
    }
}

/// Reports an error before anything was printed: like [`fail`], or with `json` as a JSON object on standard output.
pub(crate) fn refuse(json: bool, status: u8, what: &dyn Display) -> ExitCode {
    if !json {
        return fail(status, what);
    }
    match try_text(&error_json(status, &what.to_string())) {
        Ok(()) => ExitCode::from(status),
        Err(_) => fail(status, what),
    }
}

/// Returns an error as a line of JSON, with its exit status.
pub(crate) fn error_json(status: u8, message: &str) -> String {
    let kind = if status == USAGE { "usage" } else { "failed" };
    let report = json!({ "error": { "kind": kind, "exit": status, "message": message } });
    format!("{report}\n")
}

/// Prints an error and returns the exit status.
pub(crate) fn fail(status: u8, what: &dyn Display) -> ExitCode {
    note(&format!("error: {what}"));
    ExitCode::from(status)
}

/// Prints every failure. Returns the exit status of a command that printed what results it had.
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

/// Prints a line for people to standard error, with control characters escaped. A failure to write it is ignored.
pub(crate) fn note(what: &dyn Display) {
    let _ = writeln!(io::stderr().lock(), "{}", escaped(what.to_string()));
}
