//! The Error Text of the Reset that ends a connection (RFC 4340, section 5.6), and the text of a Close Code.

use std::fmt;
use std::sync::Arc;

/// The text in which a peer explains why it ended the connection: that of its Reset, or of its close.
///
/// **The text of a Reset is not authenticated.** A peer may write anything, and so can anybody who reads the connection's
/// packets, because they are not encrypted. The text of a close is authentic with DTLS. [`Display`](fmt::Display) escapes what a terminal would interpret, such as control
/// characters and marks that change the direction of writing. [`as_str`](Self::as_str) returns the text as received.
#[derive(Clone, Eq, Hash, PartialEq)]
pub struct ErrorText(Arc<str>);

impl ErrorText {
    /// Maximum length in bytes; a longer text is cut before it is sent or kept.
    pub const MAX: usize = 256;

    /// Returns the beginning of `text`, as much as fits, or `None` if it is empty.
    pub(crate) fn new(text: &str) -> Option<Self> {
        let text = Self::cut(text, Self::MAX);
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// Returns the beginning of `text` that has at most `max` bytes.
    pub(crate) fn cut(text: &str, max: usize) -> &str {
        let mut end = text.len().min(max);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        &text[..end]
    }

    /// Returns the text in a Reset's application data; bytes that are not UTF-8 become U+FFFD.
    pub(crate) fn of_data(data: &[u8]) -> Option<Self> {
        let kept = &data[..data.len().min(Self::MAX)];
        Self::new(&String::from_utf8_lossy(kept))
    }

    /// Returns the text as received, without escapes.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '\'' | '"' | '\\' => write!(f, "{c}"),
            other => write!(f, "{}", other.escape_debug()),
        })
    }
}

impl fmt::Debug for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorText;

    /// A text of any length is accepted and cut between characters.
    #[test]
    fn long_texts_are_cut() {
        let long = "é".repeat(200);
        let text = ErrorText::new(&long).expect("there is one");
        assert_eq!(text.as_str(), "é".repeat(128));
        let odd = format!("a{long}");
        let text = ErrorText::new(&odd).expect("there is one");
        assert_eq!(text.as_str().len(), 255);
        assert_eq!(ErrorText::new(""), None);
    }

    /// Any bytes become a text within the limit, and printing it sends no command to a terminal.
    #[test]
    fn any_bytes_are_a_text() {
        let escape = ErrorText::of_data(b"\x1b[2J\xff\r\n").expect("there is one");
        assert_eq!(escape.as_str(), "\u{1b}[2J\u{fffd}\r\n");
        assert_eq!(escape.to_string(), r"\u{1b}[2J�\r\n");
        let turned = ErrorText::of_data("\u{202e}txt".as_bytes()).expect("there is one");
        assert_eq!(turned.to_string(), r"\u{202e}txt");
        let garbage = ErrorText::of_data(&[0xff; 2_000]).expect("there is one");
        assert!(garbage.as_str().len() <= ErrorText::MAX);
        assert_eq!(ErrorText::of_data(&[]), None);
        let quoted = ErrorText::new(r#"can't open "C:\""#).expect("there is one");
        assert_eq!(quoted.to_string(), r#"can't open "C:\""#);
        assert_eq!(format!("{quoted:?}"), r#""can't open \"C:\\\"""#);
    }
}
