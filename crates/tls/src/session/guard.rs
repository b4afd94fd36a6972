//! Calls of the library that end no more than their session.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a call of the library, and returns what it says if it panics.
///
/// The panic hook of the process has run by then; this changes neither the hook nor what it prints. It is safe to go on
/// after a panic, because nobody calls that object of the library again: its session has failed.
pub(super) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        text.unwrap_or_else(|| "it panicked".to_owned())
    })
}
