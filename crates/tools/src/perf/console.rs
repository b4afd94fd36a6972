//! The output of a measurement: results to one stream, progress to the terminal.

use std::io::{self, IsTerminal, Write};

use super::PerfError;
use super::report::{ErrorReport, Interval, Outcome};
use super::text;

/// The output of a measurement: text while it runs, or one JSON object at its end.
pub struct Console {
    out: Box<dyn Write + Send>,
    json: bool,
    /// The stream for progress, if there is a terminal.
    progress: Option<Box<dyn Write + Send>>,
    /// Whether a progress line is on the screen.
    shown: bool,
    /// Whether results were lost because the stream failed. A closed pipe does not count.
    failed: bool,
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console")
            .field("json", &self.json)
            .finish_non_exhaustive()
    }
}

impl Console {
    /// Makes a console that prints results to standard output, and progress to standard error if that is a terminal.
    pub fn standard(json: bool) -> Self {
        let stderr = io::stderr();
        Self {
            out: Box::new(io::stdout()),
            json,
            progress: (!json && stderr.is_terminal()).then(|| Box::new(stderr) as _),
            shown: false,
            failed: false,
        }
    }

    /// Makes a console that prints results to `out`, without progress.
    pub fn to(out: Box<dyn Write + Send>, json: bool) -> Self {
        Self {
            out,
            json,
            progress: None,
            shown: false,
            failed: false,
        }
    }

    /// Returns the exit status of a command that would end with `code`: results that could not be printed are a failure
    /// too.
    pub fn exit_code(&self, code: u8) -> u8 {
        code.max(u8::from(self.failed))
    }

    /// Prints what is about to happen; with text output only.
    pub(crate) fn announce(&mut self, line: &str) {
        if !self.json {
            self.print(&format!("{line}\n"));
        }
    }

    /// Prints an event beside the measurement; with JSON output to standard error.
    pub(crate) fn note(&mut self, line: &str) {
        if self.json {
            let _ = writeln!(io::stderr(), "{line}");
        } else {
            self.print(&format!("{line}\n"));
        }
    }

    /// Prints the heading of the lines that follow.
    pub(crate) fn heading(&mut self, rows: &[Interval]) {
        if let (false, Some(first)) = (self.json, rows.first()) {
            self.print(&text::heading(first));
        }
    }

    /// Prints one line for each flow.
    pub(crate) fn intervals(&mut self, rows: &[Interval]) {
        if !self.json {
            let lines: String = rows.iter().map(text::interval).collect();
            self.print(&lines);
        }
    }

    /// Prints the results at the end.
    pub(crate) fn outcome(&mut self, outcome: &Outcome) {
        if self.json {
            self.print_json(outcome);
        } else {
            self.print(&text::summary(outcome));
        }
    }

    /// Prints the results at the end: as text, or as JSON.
    pub(crate) fn results(&mut self, text: &str, json: &impl serde::Serialize) {
        if self.json {
            self.print_json(json);
        } else {
            self.print(text);
        }
    }

    /// Prints the error of a command that never began.
    pub(crate) fn refuse(&mut self, error: &PerfError) {
        self.failure(&ErrorReport::from(error));
    }

    /// Prints an error that the results name as well; with JSON output only these do.
    pub(crate) fn refuse_in_text(&mut self, error: &PerfError) {
        if !self.json {
            self.refuse(error);
        }
    }

    /// Prints the error of a measurement that never began.
    pub(crate) fn failure(&mut self, error: &ErrorReport) {
        if self.json {
            self.print_json(&serde_json::json!({ "error": error }));
        } else {
            self.progress("");
            // Errors go to standard error, because a program may read the results.
            let _ = writeln!(io::stderr(), "error: {}", error.message);
        }
    }

    /// Shows a progress note that later output replaces.
    pub(crate) fn progress(&mut self, note: &str) {
        let Some(progress) = &mut self.progress else {
            return;
        };
        if self.shown || !note.is_empty() {
            // Return to the start of the line, write the note, and erase the rest of the old one.
            let _ = write!(progress, "\r{note}\x1b[K");
            let _ = progress.flush();
        }
        self.shown = !note.is_empty();
    }

    fn print_json(&mut self, value: &impl serde::Serialize) {
        if let Ok(json) = serde_json::to_string_pretty(value) {
            self.print(&format!("{json}\n"));
        }
    }

    fn print(&mut self, text: &str) {
        self.progress("");
        let printed = self.out.write_all(text.as_bytes());
        let Err(error) = printed.and_then(|()| self.out.flush()) else {
            return;
        };
        if error.kind() == io::ErrorKind::BrokenPipe {
            return; // The reader needs no more output; the measurement goes on.
        }
        // Reported once, and at once: a server may run for days.
        if !std::mem::replace(&mut self.failed, true) {
            let _ = writeln!(io::stderr(), "error: cannot print: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Console;
    use std::io::{self, Write};

    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Results that cannot be written make the exit status a failure; a reader that closed the pipe does not.
    #[test]
    fn lost_results_are_a_failure() {
        for (kind, code) in [
            (io::ErrorKind::StorageFull, 1),
            (io::ErrorKind::BrokenPipe, 0),
        ] {
            for json in [false, true] {
                let mut console = Console::to(Box::new(Broken(kind)), json);
                assert_eq!(console.exit_code(0), 0);
                if json {
                    console.print_json(&1);
                } else {
                    console.announce("text");
                }
                assert_eq!(console.exit_code(0), code, "{kind}, JSON {json}");
                assert_eq!(console.exit_code(2), 2);
            }
        }
    }
}
