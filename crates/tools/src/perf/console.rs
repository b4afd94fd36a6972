//! Where a measurement is shown: results to one stream, progress to the terminal.

use std::io::{self, IsTerminal, Write};

use super::report::{ErrorReport, Interval, Outcome};
use super::text;

/// Prints a measurement as text while it runs, or as one JSON object at its end.
pub struct Console {
    out: Box<dyn Write + Send>,
    json: bool,
    /// Progress goes here, if there is a terminal to see it.
    progress: Option<Box<dyn Write + Send>>,
    /// Is a line of progress on the screen?
    shown: bool,
    /// Are results lost because the stream took no more, and not because its reader had enough?
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
    /// Results to standard output; progress to standard error if that is a terminal.
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

    /// Results to `out`, no progress.
    pub fn to(out: Box<dyn Write + Send>, json: bool) -> Self {
        Self {
            out,
            json,
            progress: None,
            shown: false,
            failed: false,
        }
    }

    /// The exit status of a command that would end with `code`: results that could not be printed
    /// are a failure too.
    pub fn exit_code(&self, code: u8) -> u8 {
        code.max(u8::from(self.failed))
    }

    /// What is about to happen; text only.
    pub(crate) fn announce(&mut self, line: &str) {
        if !self.json {
            self.print(&format!("{line}\n"));
        }
    }

    /// What happened beside the measurement; where the output is JSON, to standard error.
    pub(crate) fn aside(&mut self, line: &str) {
        if self.json {
            let _ = writeln!(io::stderr(), "{line}");
        } else {
            self.print(&format!("{line}\n"));
        }
    }

    /// The heading of the lines to come.
    pub(crate) fn heading(&mut self, rows: &[Interval]) {
        if let (false, Some(first)) = (self.json, rows.first()) {
            self.print(&text::heading(first));
        }
    }

    /// One line for each flow.
    pub(crate) fn intervals(&mut self, rows: &[Interval]) {
        if !self.json {
            let lines: String = rows.iter().map(text::interval).collect();
            self.print(&lines);
        }
    }

    /// The end.
    pub(crate) fn outcome(&mut self, outcome: &Outcome) {
        if self.json {
            self.print_json(outcome);
        } else {
            self.print(&text::summary(outcome));
        }
    }

    /// A measurement that never began.
    pub(crate) fn failure(&mut self, error: &ErrorReport) {
        if self.json {
            self.print_json(&serde_json::json!({ "error": error }));
        } else {
            self.progress("");
            // Where results are read by a program, errors must not be among them.
            let _ = writeln!(io::stderr(), "error: {}", error.message);
        }
    }

    /// A passing note.
    pub(crate) fn progress(&mut self, note: &str) {
        let Some(progress) = &mut self.progress else {
            return;
        };
        if self.shown || !note.is_empty() {
            // Back to the start of the line, note, and erase what is left of the old one.
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
            return; // That ends the output, not the measurement: its reader has seen enough.
        }
        // Said once, and at once: a server may run for days.
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

    /// Results that no disk takes make a success a failure; a reader who closed the pipe does not.
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
