//! Values of a network in words.

/// Summarizes many values by one; the values that differ are listed below the drawing.
///
/// If at least four fifths have the same value, that is the result. If more than half have it, or if there are two or
/// three different values, one value is named with the number of others. Otherwise only the number of different values
/// is given.
pub(super) fn summarize(values: impl Iterator<Item = String>, plural: &str) -> String {
    let mut known: Vec<(String, usize)> = Vec::new();
    for value in values {
        match known.iter_mut().find(|(one, _)| *one == value) {
            Some((_, count)) => *count += 1,
            None => known.push((value, 1)),
        }
    }
    let all: usize = known.iter().map(|(_, count)| count).sum();
    let with_others = |value: &str| format!("{} and {} more", spaced(value), known.len() - 1);
    match known.iter().max_by_key(|(_, count)| *count) {
        Some((value, count)) if count * 5 >= all * 4 => spaced(value),
        Some((value, count)) if count * 2 > all => with_others(value),
        _ => match known.as_slice() {
            [(first, _), _] | [(first, _), _, _] => with_others(first),
            _ => format!("{} {plural}", known.len()),
        },
    }
}

/// Returns `text` with its first letter in upper case.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Returns `value` with a space between the number and the unit: `300 ms` for `300ms`.
pub(crate) fn spaced(value: &str) -> String {
    let unit = value.find(|c: char| c.is_ascii_alphabetic());
    match unit {
        Some(place) if place > 0 && value.as_bytes()[place - 1].is_ascii_digit() => {
            let unit = match &value[place..] {
                "us" => "\u{b5}s",
                unit => unit,
            };
            format!("{} {unit}", &value[..place])
        }
        _ => value.to_owned(),
    }
}

/// Joins `words` as `a, b and c`.
pub(super) fn join_words(words: &[String]) -> String {
    match words {
        [] => "no flow".to_owned(),
        [one] => one.clone(),
        [some @ .., last] => format!("{} and {last}", some.join(", ")),
    }
}
