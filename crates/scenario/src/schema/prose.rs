//! Sentences, lines and links of the pages that describe the format.

use std::collections::BTreeMap;

/// The marker before a table in a document; the name of the type whose keys the table lists follows it.
pub(super) const BEGIN: &str = "<!-- keys: ";
/// In a marker it stands before the name of a type whose keys the table leaves out.
pub(super) const WITHOUT: &str = " without ";

/// The columns of a line of text.
const LINE: usize = 120;

/// Where each type is described.
pub(super) struct Places(BTreeMap<String, Place>);

/// A page, and the last heading above a table.
struct Place {
    page: String,
    anchor: String,
    /// Whether the heading is the title of the page.
    is_title: bool,
}

impl Places {
    /// Finds the markers in pages.
    pub(super) fn of(pages: &BTreeMap<String, String>) -> Self {
        let mut places = BTreeMap::new();
        for (page, text) in pages {
            let mut heading = "";
            let mut is_code = false;
            for line in text.lines() {
                is_code ^= line.starts_with("```");
                if line.starts_with('#') && !is_code {
                    heading = line;
                }
                let marker = line
                    .strip_prefix(BEGIN)
                    .and_then(|rest| rest.split_once(" -->"));
                if let Some((marker, _)) = marker {
                    let name = marker.split(WITHOUT).next().unwrap_or_default();
                    let place = Place {
                        page: page.clone(),
                        anchor: anchor(heading.trim_start_matches('#')),
                        is_title: heading.starts_with("# "),
                    };
                    places.insert(name.to_owned(), place);
                }
            }
        }
        Self(places)
    }
}

/// A page that is written: its name decides how links lead elsewhere.
pub(super) struct Page<'a> {
    name: &'a str,
    places: &'a Places,
}

impl<'a> Page<'a> {
    pub(super) fn new(name: &'a str, places: &'a Places) -> Self {
        Self { name, places }
    }

    /// Returns the link from this page to the description of a type, if it has a table of its own.
    pub(super) fn link(&self, of: &str) -> Option<String> {
        let place = self.places.0.get(of)?;
        let (page, anchor) = (place.page.as_str(), &place.anchor);
        if page == self.name {
            return Some(format!("#{anchor}"));
        }
        let folder = |name: &str| name.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let path = match (folder(page), folder(self.name)) {
            (theirs, ours) if theirs == ours => page.rsplit('/').next().unwrap_or(page).to_owned(),
            _ => format!("{}{page}", self.to_docs()),
        };
        Some(if place.is_title {
            path
        } else {
            format!("{path}#{anchor}")
        })
    }

    /// Returns a meaning as text of this page: the links of a meaning are relative to `docs`, and names of Rust items
    /// are no links.
    pub(super) fn text(&self, meaning: &str) -> String {
        let mut text = String::new();
        let mut parts = meaning.split("](");
        text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            text.push_str("](");
            if !part.starts_with(['#', '/']) && !part.starts_with("http") {
                text.push_str(&self.to_docs());
            }
            text.push_str(part);
        }
        while let Some(end) = text.match_indices("`]").map(|(at, _)| at).find(|at| {
            let rest = &text[at + 2..];
            !rest.starts_with('(') && text[..*at].rfind("[`").is_some()
        }) {
            text.remove(end + 1);
            if let Some(start) = text[..end].rfind("[`") {
                text.remove(start);
            }
        }
        text
    }

    /// Returns the way from this page's folder to `docs`.
    fn to_docs(&self) -> String {
        "../".repeat(self.name.matches('/').count())
    }
}

/// Returns the anchor of a heading, as GitHub makes it.
fn anchor(title: &str) -> String {
    let kept = title.trim().chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter
            .is_alphanumeric()
            .then(|| letter.to_ascii_lowercase()),
    });
    kept.collect()
}

/// Returns where the sentences of a text end. A full stop ends one if a blank and no small letter follow.
pub(super) fn sentences(text: &str) -> impl Iterator<Item = usize> {
    let ends = |at: &usize| {
        let next = text[at + 2..].chars().next();
        next.is_some_and(|letter| !letter.is_lowercase())
    };
    let stops = text.match_indices(". ").map(|(at, _)| at).filter(ends);
    stops.map(|at| at + 1).chain(std::iter::once(text.len()))
}

/// Returns a text with a capital at its beginning.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Returns an item of a list in lines of at most [`LINE`] columns. `bullet` begins the first one.
pub(super) fn wrapped(bullet: &str, text: &str) -> String {
    let indent = " ".repeat(bullet.len());
    let mut lines = String::new();
    let mut line = bullet.to_owned();
    let mut is_empty = true;
    for word in words(text) {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > LINE {
            lines.push_str(&line);
            lines.push('\n');
            line.clone_from(&indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&word);
        is_empty = false;
    }
    lines.push_str(&line);
    lines.push('\n');
    lines
}

/// Returns the words of a text. Code is one word, and an operator belongs to the word before it: at the beginning of a
/// line it would be the mark of a list.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_code = false;
    for word in text.split(' ') {
        let joins = is_code || ["-", "+", "*", "="].contains(&word);
        match words.last_mut() {
            Some(last) if joins => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
        is_code ^= word.matches('`').count() % 2 == 1;
    }
    words
}
