//! Keys that are written in another way by now.

/// The table, the old key, and how it is written now.
const RENAMED: &[(&str, &str, &str)] = &[];

/// How the old key `key` of `table` is written now.
pub(super) fn renamed(table: &str, key: &str) -> Option<&'static str> {
    let known = RENAMED
        .iter()
        .find(|(in_table, old, _)| *in_table == table && *old == key);
    known.map(|(_, _, now)| *now)
}
