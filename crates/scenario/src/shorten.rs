//! Long texts in messages, shortened to their beginning and their end.

/// The most characters that a message quotes from a file or an argument.
pub const QUOTED: usize = 120;

/// Returns `text`, or as much of its beginning and its end as fits into `most` characters.
pub fn shorten(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(5);
    let (head, tail) = (kept - kept / 2, kept / 2);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    // At a space, where there is one not far away.
    let start = match start.rfind(' ') {
        Some(space) if space > start.len() / 2 => &start[..space],
        _ => &start,
    };
    let end = match end.find(' ') {
        Some(space) if space < end.len() / 2 => &end[space + 1..],
        _ => &end,
    };
    format!("{start} ... {end}")
}
