//! A bar that says what runs and how long it will take.

use std::fmt::Write;
use std::time::Duration;

use console::Term;
use fairwire_lab::campaign::Progress;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// What fills any width that holds all of it: name, bar, numbers.
const WIDE: &str = "{msg:36!} {wide_bar} {percent:>3} %  {elapsed} gone{left}";
/// Without a bar where there is no room for one; the name is cut where the line ends.
const NARROW: &str = "{percent:>3} %  {elapsed} gone{left}  {wide_msg}";
/// Columns below which a bar has no room.
const ROOM_FOR_A_BAR: u16 = 76;
/// Columns of a terminal that does not tell.
const USUAL: u16 = 80;

/// A bar on the terminal; nothing where there is none.
pub(crate) fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let columns = Term::stderr()
        .size_checked()
        .map_or(USUAL, |(_, columns)| columns);
    let style = ProgressStyle::with_template(template(columns));
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let told = |state: &ProgressState, text: &mut dyn Write| {
        if let Some(left) = left(state.elapsed(), state.pos(), state.len().unwrap_or(0)) {
            let _ = write!(text, ", {:#} left", HumanDuration(left));
        }
    };
    bar.set_style(style.with_key("left", told));
    bar
}

/// Shows how far things are.
pub(crate) fn show(bar: &ProgressBar, progress: Progress<'_>) {
    match progress {
        Progress::Cell { batch, cell } => bar.set_message(format!("{batch}: {cell}")),
        Progress::Planned(work) => bar.inc_length(work),
        Progress::Done(work) => bar.inc(work),
    }
}

/// The line for a terminal of so many columns.
fn template(columns: u16) -> &'static str {
    // Where it tells nonsense (a width of zero), indicatif takes the usual one as well.
    if (1..ROOM_FOR_A_BAR).contains(&columns) {
        NARROW
    } else {
        WIDE
    }
}

/// How long the rest takes if it goes on as it went. The first cells of a run are no measure of all of
/// it: nothing is said before some seconds and a share of the work are behind it.
fn left(gone: Duration, done: u64, all: u64) -> Option<Duration> {
    if gone < Duration::from_secs(3) || done < all.div_ceil(50).max(1) {
        return None;
    }
    let rest = all.saturating_sub(done) as f64 / done as f64;
    Duration::try_from_secs_f64(gone.as_secs_f64() * rest).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{NARROW, WIDE, left, template};

    /// Three seconds and two hundredths of the work are the least to judge by; from there on the rest
    /// takes as long as what is done did, in proportion.
    #[test]
    fn no_guess_in_the_first_seconds() {
        let second = Duration::from_secs(1);
        assert_eq!(left(second * 2, 500, 1_000), None);
        assert_eq!(left(second * 3, 19, 1_000), None);
        assert_eq!(left(second * 3, 20, 1_000), Some(second * 147));
        assert_eq!(left(second * 30, 500, 1_000), Some(second * 30));
        assert_eq!(left(second * 60, 1_000, 1_000), Some(Duration::ZERO));
        assert_eq!(left(second * 60, 0, 0), None, "nothing is planned yet");
        // More than was planned, until the plan is told to be longer.
        assert_eq!(left(second * 60, 1_010, 1_000), Some(Duration::ZERO));
    }

    /// Where the bar has no room the line is without it; a terminal that says nothing is an ordinary one.
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
