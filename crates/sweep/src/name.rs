//! Names that nobody can foresee.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// Returns 16 hexadecimal digits that nobody can foresee.
pub(crate) fn unique() -> String {
    // The keys of a `RandomState` are drawn by the system.
    format!("{:016x}", RandomState::new().build_hasher().finish())
}
