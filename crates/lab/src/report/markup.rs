//! Small pieces of markup: names in text, numbers as a reader expects them, the two frames.

use std::fmt::{Display, Write as _};

use fairwire_measure::{Estimate, Spread};
use maud::{Markup, PreEscaped, html};

use crate::paper::Measured;

/// `text` with everything that HTML would read as markup written out.
pub(super) fn esc(text: &str) -> String {
    html! { (text) }.into_string()
}

/// What `draw` writes: a drawing, whose places are computed.
pub(super) fn drawing(draw: impl FnOnce(&mut String)) -> Markup {
    let mut out = String::new();
    draw(&mut out);
    PreEscaped(out)
}

/// `text`, with what stands between backticks as names of the scenario format.
pub(super) fn prose(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    html! {
        @for (number, part) in parts.iter().enumerate() {
            @if number % 2 == 0 {
                (part)
            } @else if number + 1 < parts.len() {
                code { (part) }
            } @else {
                // A backtick that nothing closes is one.
                "`" (part)
            }
        }
    }
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
pub(super) fn paragraph(class: &str, text: &str) -> Markup {
    let text = text.trim();
    html! {
        @if !text.is_empty() {
            p class=(class) { (prose(text)) }
        }
    }
}

/// A dotted path that may be broken behind its dots.
pub(super) fn breakable(path: &str) -> Markup {
    html! {
        @for (number, part) in path.split('.').enumerate() {
            @if number > 0 { "." wbr; }
            (part)
        }
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

/// `1396.6 ± 0.5`, or what is missing.
pub(super) fn measured(one: &Measured) -> String {
    minus(one.text())
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
    use super::{breakable, esc, prose, slug};

    /// What HTML would read as markup is written out.
    #[test]
    fn markup_in_a_name_stays_a_name() {
        assert_eq!(esc("<b a='1'>&\""), "&lt;b a='1'&gt;&amp;&quot;");
        assert_eq!(slug("Table I: <x>"), "Table-I---x-");
    }

    /// Names of the format stand out; what is no pair stays as it was written.
    #[test]
    fn backticks_are_names() {
        let prose = |text| prose(text).into_string();
        assert_eq!(
            prose("see `a<b`, & more"),
            "see <code>a&lt;b</code>, &amp; more"
        );
        assert_eq!(prose("a ` b"), "a ` b");
        assert_eq!(prose(""), "");
        assert_eq!(breakable("a.b<").into_string(), "a.<wbr>b&lt;");
    }
}
