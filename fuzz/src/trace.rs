//! A log of what an input does, to examine a finding: `FAIRWIRE_FUZZ_TRACE=1`.

use std::fmt::Arguments;
use std::sync::OnceLock;

/// Returns whether the log is enabled.
pub(crate) fn is_on() -> bool {
    static ON: OnceLock<bool> = OnceLock::new();
    *ON.get_or_init(|| std::env::var_os("FAIRWIRE_FUZZ_TRACE").is_some())
}

/// Writes a line, if the log is enabled.
pub(crate) fn line(text: Arguments<'_>) {
    if is_on() {
        eprintln!("{text}");
    }
}
