//! The progress of a campaign, on standard error.
//!
//! Each failure is printed on its own line as soon as it is found. A terminal also shows a line that is updated in
//! place.

use std::io::{self, IsTerminal, Stderr, Write};

use fairwire_torture::run::Failure;

/// Moves to the beginning of the line and clears it.
const CLEAR: &str = "\r\x1b[K";

/// The progress of a campaign.
pub(crate) struct Progress<W> {
    out: W,
    is_terminal: bool,
    seeds: u64,
    done: u64,
    failures: u64,
}

impl Progress<Stderr> {
    /// Creates the progress of `seeds` seeds on standard error.
    pub(crate) fn new(seeds: u64) -> Self {
        let out = io::stderr();
        let is_terminal = out.is_terminal();
        Self::on(out, is_terminal, seeds)
    }
}

impl<W: Write> Progress<W> {
    fn on(out: W, is_terminal: bool, seeds: u64) -> Self {
        let mut progress = Self {
            out,
            is_terminal,
            seeds,
            done: 0,
            failures: 0,
        };
        progress.write_line();
        progress
    }

    /// Records that a seed has been run.
    pub(crate) fn tell(&mut self, seed: u64, failure: Option<&Failure>) {
        let before = self.per_mille();
        self.done += 1;
        if let Some(failure) = failure {
            self.failures += 1;
            let clear = if self.is_terminal { CLEAR } else { "" };
            self.write(format_args!(
                "{clear}seed {seed} failed: {}\n",
                failure.invariant
            ));
        }
        if failure.is_some() || self.per_mille() > before {
            self.write_line();
        }
    }

    /// Removes the progress line at the end.
    pub(crate) fn end(mut self) {
        if self.is_terminal {
            self.write(format_args!("{CLEAR}"));
        }
    }

    fn per_mille(&self) -> u128 {
        u128::from(self.done) * 1_000 / u128::from(self.seeds.max(1))
    }

    fn write_line(&mut self) {
        if self.is_terminal {
            let Self {
                done,
                seeds,
                failures,
                ..
            } = *self;
            let percent = self.per_mille() / 10;
            self.write(format_args!(
                "{CLEAR}{done} of {seeds} seeds ({percent}%), {failures} failures"
            ));
        }
    }

    /// Writes a text and ignores errors: the reader may be gone, but the campaign continues.
    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(text).and_then(|()| self.out.flush());
    }
}

#[cfg(test)]
mod tests {
    use fairwire_torture::run::Failure;

    use super::Progress;

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
}
