//! A progress bar that shows what runs and how long it will take.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use console::Term;
use fairwire_sim::campaign::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::print::note;

/// The template for a terminal that is wide enough: name, bar, numbers.
const WIDE: &str = "{msg:36!} {wide_bar} {percent:>3} %  {elapsed} elapsed{left}";
/// The template without a bar, for a narrow terminal; the name is cut at the end of the line.
const NARROW: &str = "{percent:>3} %  {elapsed} elapsed{left}  {wide_msg}";
/// The smallest width with room for a bar, in columns.
const ROOM_FOR_A_BAR: u16 = 76;
/// The width that is assumed if the terminal does not report one, in columns.
const USUAL: u16 = 80;

/// The time after which the rest is estimated in any case.
const LONG_ENOUGH: Duration = Duration::from_secs(10);
/// The time that the rest takes at least, if it is reported without a terminal.
const WORTH_A_NOTE: Duration = Duration::from_secs(60);

/// A progress bar on the terminal. Without a terminal it shows nothing, but a long run gets one note with the time left.
pub(crate) struct Bar {
    bar: ProgressBar,
    is_noted: AtomicBool,
}

impl Bar {
    /// Updates the bar.
    pub(crate) fn show(&self, progress: Progress<'_>) {
        match progress {
            Progress::Cell { batch, cell } => self.bar.set_message(format!("{batch}: {cell}")),
            Progress::Planned(work) => self.bar.inc_length(work),
            Progress::Done(work) => {
                self.bar.inc(work);
                self.tell();
            }
        }
    }

    /// Prints the note, if it is time for it.
    fn tell(&self) {
        if !self.bar.is_hidden() || self.is_noted.load(Ordering::Relaxed) {
            return;
        }
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        if let Some(text) = long_run_note(self.bar.elapsed(), done, all)
            && !self.is_noted.swap(true, Ordering::Relaxed)
        {
            note(&text);
        }
    }

    /// Calls `print` while the bar is off the terminal.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Makes a progress bar.
pub(crate) fn bar() -> Bar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let columns = Term::stderr()
        .size_checked()
        .map_or(USUAL, |(_, columns)| columns);
    let style = ProgressStyle::with_template(template(columns));
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let rest = |state: &ProgressState, text: &mut dyn Write| {
        if let Some(left) = left(state.elapsed(), state.pos(), state.len().unwrap_or(0)) {
            let _ = write!(text, ", {:#} left", HumanDuration(left));
        }
    };
    bar.set_style(style.with_key("left", rest));
    Bar {
        bar,
        is_noted: AtomicBool::new(false),
    }
}

/// Returns the template for a terminal of this width.
fn template(columns: u16) -> &'static str {
    // For a width of zero, indicatif assumes the usual width as well.
    if (1..ROOM_FOR_A_BAR).contains(&columns) {
        NARROW
    } else {
        WIDE
    }
}

/// Returns the note on the remaining time, if there is an estimate and it is long.
fn long_run_note(gone: Duration, done: u64, all: u64) -> Option<String> {
    let left = left(gone, done, all).filter(|left| gone >= LONG_ENOUGH && *left >= WORTH_A_NOTE)?;
    Some(format!(
        "at this speed the rest takes at least about {}",
        HumanDuration(left)
    ))
}

/// Estimates the remaining time from the progress so far. The first cells do not represent the whole run, so there is
/// no estimate before 3 s and 2 % of the work, or before 10 s.
fn left(gone: Duration, done: u64, all: u64) -> Option<Duration> {
    let is_enough = gone >= LONG_ENOUGH || done >= all.div_ceil(50);
    if gone < Duration::from_secs(3) || done == 0 || !is_enough {
        return None;
    }
    let rest = all.saturating_sub(done) as f64 / done as f64;
    Duration::try_from_secs_f64(gone.as_secs_f64() * rest).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{NARROW, WIDE, left, long_run_note, template};

    /// There is no estimate before 3 s and 2 % of the work, or before 10 s. After that, the rest is taken to need time in
    /// proportion. A note on it is only printed if it is long.
    #[test]
    fn no_guess_in_the_first_seconds() {
        let second = Duration::from_secs(1);
        assert_eq!(left(second * 2, 500, 1_000), None);
        assert_eq!(left(second * 3, 19, 1_000), None);
        assert_eq!(left(second * 3, 20, 1_000), Some(second * 147));
        assert_eq!(left(second * 30, 500, 1_000), Some(second * 30));
        assert_eq!(left(second * 60, 1_000, 1_000), Some(Duration::ZERO));
        assert_eq!(left(second * 60, 0, 0), None, "nothing is planned yet");
        assert_eq!(left(second * 10, 1, 1_000), Some(second * 9_990));
        assert_eq!(left(second * 10, 0, 1_000), None);
        let note = "at this speed the rest takes at least about 3 hours";
        assert_eq!(long_run_note(second * 10, 1, 1_000).as_deref(), Some(note));
        assert_eq!(long_run_note(second * 9, 20, 1_000), None, "too early");
        assert_eq!(long_run_note(second * 10, 200, 1_000), None, "only 40 s");
        // More work was done than planned, before the plan grew.
        assert_eq!(left(second * 60, 1_010, 1_000), Some(Duration::ZERO));
    }

    /// A narrow terminal gets a line without a bar. A terminal that reports no width gets the usual line.
    #[test]
    fn the_line_fits_the_terminal() {
        for (columns, line) in [
            (40, NARROW),
            (75, NARROW),
            (76, WIDE),
            (240, WIDE),
            (0, WIDE),
        ] {
            assert_eq!(template(columns), line, "{columns}");
        }
    }
}
