//! Placeholders in texts: `{name}` and `{name.attribute}`. `{{name}}` writes a literal `{name}`.

/// A placeholder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Placeholder<'a> {
    /// The placeholder with its braces.
    pub(super) whole: &'a str,
    pub(super) name: &'a str,
    pub(super) attribute: Option<&'a str>,
}

/// A part of a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part<'a> {
    Text(&'a str),
    Placeholder(Placeholder<'a>),
    /// The inside of a pair of double braces, with one pair of braces.
    Literal(&'a str),
}

/// Returns the parts of `text`. Braces of any other form are text.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut all = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(next) = text[at..].find('{') {
        at += next;
        let rest = &text[at..];
        let double = rest.strip_prefix('{').and_then(placeholder);
        let double = double.filter(|inner| rest[1 + inner.whole.len()..].starts_with('}'));
        let (part, length) = match (double, placeholder(rest)) {
            (Some(inner), _) => (Part::Literal(inner.whole), inner.whole.len() + 2),
            (None, Some(placeholder)) => (Part::Placeholder(placeholder), placeholder.whole.len()),
            (None, None) => {
                at += 1;
                continue;
            }
        };
        if from < at {
            all.push(Part::Text(&text[from..at]));
        }
        all.push(part);
        at += length;
        from = at;
    }
    if from < text.len() {
        all.push(Part::Text(&text[from..]));
    }
    all
}

/// Returns the placeholders of `text`.
pub(super) fn placeholders(text: &str) -> impl Iterator<Item = Placeholder<'_>> {
    parts(text).into_iter().filter_map(|part| match part {
        Part::Placeholder(placeholder) => Some(placeholder),
        Part::Text(_) | Part::Literal(_) => None,
    })
}

/// Returns the placeholder if `text` is one and nothing else.
pub(super) fn only(text: &str) -> Option<Placeholder<'_>> {
    placeholder(text).filter(|placeholder| placeholder.whole.len() == text.len())
}

/// Returns `text` with its placeholders made literal, so that a later reader of the text sees them unchanged.
pub(crate) fn literal(text: &str) -> String {
    let mut all = String::new();
    for part in parts(text) {
        match part {
            Part::Text(text) => all += text,
            Part::Placeholder(Placeholder { whole, .. }) | Part::Literal(whole) => {
                for part in ["{", whole, "}"] {
                    all += part;
                }
            }
        }
    }
    all
}

/// The longest name of an axis or an attribute, in characters.
const LONGEST: usize = 80;

/// Returns whether this is a valid name for an axis.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && is_word(text)
}

/// Returns whether this is a valid name for an attribute.
fn is_word(text: &str) -> bool {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=LONGEST).contains(&text.len()) && text.chars().all(is_of_word)
}

/// Returns the placeholder at the beginning of `text`.
fn placeholder(text: &str) -> Option<Placeholder<'_>> {
    let end = text.strip_prefix('{')?.find('}')? + 1;
    let inner = &text[1..end];
    let (name, attribute) = match inner.split_once('.') {
        Some((name, attribute)) => (name, Some(attribute)),
        None => (inner, None),
    };
    (is_name(name) && attribute.is_none_or(is_word)).then_some(Placeholder {
        whole: &text[..=end],
        name,
        attribute,
    })
}
