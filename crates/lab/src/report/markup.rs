//! Small pieces of markup: escaped text, numbers as a reader expects them, the two frames.

use std::fmt::{Display, Write as _};

use fairwire_measure::{Estimate, Spread};

use crate::paper::Measured;

/// `text` with everything that HTML would read as markup written out.
pub(super) fn esc(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// `text` escaped, with what stands between backticks as names of the scenario format.
pub(super) fn prose(text: &str) -> String {
    let mut parts = text.split('`');
    let mut out = esc(parts.next().unwrap_or_default());
    while let Some(name) = parts.next() {
        match parts.next() {
            Some(after) => {
                let _ = write!(out, "<code>{}</code>{}", esc(name), esc(after));
            }
            // A backtick that nothing closes is one.
            None => {
                let _ = write!(out, "`{}", esc(name));
            }
        }
    }
    out
}

/// A name of letters, digits and dashes, for an `id`.
pub(super) fn slug(text: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
            c
        } else {
            '-'
        }
    };
    text.chars().map(plain).collect()
}

/// A paragraph, if there is anything in it.
pub(super) fn paragraph(out: &mut String, class: &str, text: &str) {
    let text = text.trim();
    if !text.is_empty() {
        let _ = writeln!(out, "<p class=\"{class}\">{}</p>", prose(text));
    }
}

/// A number with a real minus sign.
pub(super) fn minus(number: impl Display) -> String {
    number.to_string().replace('-', "\u{2212}")
}

/// A mean and what follows it: its interval, or why it has none.
pub(super) fn mean_and_interval(estimate: Estimate, digits: usize) -> (String, String) {
    let mean = minus(format_args!("{:.digits$}", estimate.mean));
    let after = match estimate.spread {
        // Nothing at all in every run needs no words.
        Spread::None if estimate.mean == 0.0 => String::new(),
        Spread::None => "no spread".to_owned(),
        Spread::HalfWidth(_) => {
            // The estimate prints its interval with the care for small ones that it deserves.
            let text = format!("{estimate:.digits$}");
            let found = text.split_once(" \u{b1} ");
            format!("\u{b1} {}", found.map_or("", |(_, half)| half))
        }
    };
    (mean, after)
}

/// `1396.6 ± 0.5` in markup, or what is missing.
pub(super) fn measured(one: &Measured) -> String {
    esc(&minus(one.text()))
}

/// The size of a drawing. Letters are of the same size in both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) width: f64,
    pub(super) is_narrow: bool,
}

impl Frame {
    /// For a page of a screen or on paper.
    pub(super) const WIDE: Self = Self {
        width: 720.0,
        is_narrow: false,
    };
    /// For a telephone.
    pub(super) const NARROW: Self = Self {
        width: 340.0,
        is_narrow: true,
    };

    /// The class by which the style shows one and hides the other.
    pub(super) fn class(self) -> &'static str {
        if self.is_narrow { "narrow" } else { "wide" }
    }
}

/// The beginning of a drawing: its size, and what it shows for those who do not see it.
pub(super) fn svg(out: &mut String, frame: Frame, height: f64, shows: &str) {
    let (width, class) = (frame.width, frame.class());
    let _ = writeln!(
        out,
        "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">",
        esc(shows)
    );
}

/// Text in a drawing.
pub(super) fn svg_text(out: &mut String, (x, y): (f64, f64), class: &str, text: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>",
        esc(text)
    );
}

/// About how wide a text is in a drawing.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.6
}

#[cfg(test)]
mod tests {
    use super::{esc, prose, slug};

    /// What HTML would read as markup is written out.
    #[test]
    fn markup_in_a_name_stays_a_name() {
        assert_eq!(esc("<b a='1'>&\""), "&lt;b a=&#39;1&#39;&gt;&amp;&quot;");
        assert_eq!(slug("Table I: <x>"), "Table-I---x-");
    }

    /// Names of the format stand out; what is no pair stays as it was written.
    #[test]
    fn backticks_are_names() {
        assert_eq!(
            prose("see `a<b`, & more"),
            "see <code>a&lt;b</code>, &amp; more"
        );
        assert_eq!(prose("a ` b"), "a ` b");
        assert_eq!(prose(""), "");
    }
}
