//! Whether a bug is planted. `scripts/torture-plants` puts this file into `units` in its copy of the sources.

use std::sync::OnceLock;

/// Returns whether the environment plants the bug of this name (`FAIRWIRE_PLANT`).
pub fn planted(name: &str) -> bool {
    static PLANTED: OnceLock<Option<String>> = OnceLock::new();
    let planted = PLANTED.get_or_init(|| std::env::var("FAIRWIRE_PLANT").ok());
    planted.as_deref() == Some(name)
}
