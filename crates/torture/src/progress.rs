//! The progress of a campaign, on standard error.
//!
//! Each failure is printed on its own line as soon as it is found. A terminal also shows a line that is updated in
//! place.

use std::io::{self, IsTerminal, Stderr, Write};

use crate::run::Failure;

/// Moves to the beginning of the line and clears it.
const CLEAR: &str = "\r\x1b[K";

/// The progress of a campaign.
pub struct Progress<W> {
    out: W,
    is_terminal: bool,
    seeds: u64,
    done: u64,
    failures: u64,
}

impl Progress<Stderr> {
    /// Creates the progress of `seeds` seeds on standard error.
    pub fn new(seeds: u64) -> Self {
        let out = io::stderr();
        let is_terminal = out.is_terminal();
        Self::on(out, is_terminal, seeds)
    }
}

impl<W: Write> Progress<W> {
    /// Creates the progress of `seeds` seeds on `out`, which may be a terminal.
    pub fn on(out: W, is_terminal: bool, seeds: u64) -> Self {
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
    pub fn tell(&mut self, seed: u64, failure: Option<&Failure>) {
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
    pub fn end(mut self) {
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
