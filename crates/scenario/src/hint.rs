//! Hints for names that do not exist.

use fairwire_units::registry::nearest;

use super::shorten::{QUOTED, shorten};

/// Returns a hint for an unknown `word`: the nearest of `known`, and all of them.
pub fn name_hint<'a>(word: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    let hint = nearest(word, known.clone())
        .map(|one| format!("did you mean '{}'? ", shorten(one, QUOTED)))
        .unwrap_or_default();
    let known: Vec<&str> = known.take(100).collect();
    match &known[..] {
        [] => "there are none".to_owned(),
        [one] => format!("write '{}'", shorten(one, QUOTED)),
        known => {
            let all = shorten(&known.join(", "), 3 * QUOTED);
            format!("{hint}write one of {all}")
        }
    }
}
