//! How far a campaign is, on standard error: each failure in a line of its own as soon as it is found, and on a
//! terminal a line that is written again and again.

use std::io::{self, IsTerminal, Stderr, Write};

use fairwire_torture::run::Failure;

/// Back to the beginning of the line, and empty it.
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
    /// On standard error, of so many seeds.
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

    /// A seed has been run.
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

    /// All has been run: the line goes away.
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

    /// Whoever reads it may be gone; the campaign goes on.
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

    /// On a terminal the line is written again, and a failure gets a line of its own that stays.
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

    /// A file gets the failures, and nothing else.
    #[test]
    fn a_file_gets_the_failures_alone() {
        assert_eq!(written(false, 3), "seed 1 failed: data-once\n");
    }
}
