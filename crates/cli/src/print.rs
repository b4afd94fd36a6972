//! Printing that survives a closed pipe, and the exit statuses.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

/// The command could not do what was asked.
pub(crate) const FAILED: u8 = 1;
/// What was asked makes no sense.
pub(crate) const USAGE: u8 = 2;

/// Prints `text` to standard output. Somebody who closes the pipe has seen enough: no failure.
pub(crate) fn text(text: &str) -> ExitCode {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => fail(FAILED, &format!("cannot print: {error}")),
    }
}

/// Says what went wrong and gives the exit status.
pub(crate) fn fail(status: u8, what: &dyn Display) -> ExitCode {
    note(&format!("error: {what}"));
    ExitCode::from(status)
}

/// A line for people, to standard error; that it cannot be written is nobody's concern.
pub(crate) fn note(what: &dyn Display) {
    let _ = writeln!(io::stderr().lock(), "{what}");
}
