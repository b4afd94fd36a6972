//! A bar that says what runs and how long it will take.

use fairwire_lab::campaign::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on the terminal; nothing where there is none.
pub(crate) fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(
        "{msg:36} {wide_bar} {percent:>3} %  {elapsed} gone, {eta} left",
    );
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
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
