//! Small pieces of markup: escaped text, formatted numbers and the frames of drawings.

use std::fmt::{Display, Write as _};

use fairwire_measure::{Estimate, Spread};
use maud::{Markup, PreEscaped, html};

use fairwire_paper::Measured;

/// Escapes `text` for HTML.
pub(super) fn esc(text: &str) -> String {
    html! { (text) }.into_string()
}

/// Returns the markup that `draw` writes, without escaping it.
pub(super) fn drawing(draw: impl FnOnce(&mut String)) -> Markup {
    let mut out = String::new();
    draw(&mut out);
    PreEscaped(out)
}

/// Returns `text` with the parts between backticks as code.
pub(super) fn prose(text: &str) -> Markup {
    let parts: Vec<&str> = text.split('`').collect();
    html! {
        @for (number, part) in parts.iter().enumerate() {
            @if number % 2 == 0 {
                (part)
            } @else if number + 1 < parts.len() {
                code { (part) }
            } @else {
                // A backtick without a partner is shown as it is.
                "`" (part)
            }
        }
    }
}

/// Returns `text` with all but letters, digits, `-` and `_` replaced by dashes, for use as an `id`.
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

/// Returns a paragraph, or nothing if `text` is blank.
pub(super) fn paragraph(class: &str, text: &str) -> Markup {
    let text = text.trim();
    html! {
        @if !text.is_empty() {
            p class=(class) { (prose(text)) }
        }
    }
}

/// Returns a dotted path that may be wrapped after its dots.
pub(super) fn breakable(path: &str) -> Markup {
    html! {
        @for (number, part) in path.split('.').enumerate() {
            @if number > 0 { "." wbr; }
            (part)
        }
    }
}

/// Returns a number with a typographic minus sign.
pub(super) fn minus(number: impl Display) -> String {
    number.to_string().replace('-', "\u{2212}")
}

/// Returns a mean, and its interval or the reason why it has none.
pub(super) fn mean_and_interval(estimate: Estimate, digits: usize) -> (String, String) {
    let mean = minus(format_args!("{:.digits$}", estimate.mean));
    let after = match estimate.spread {
        // A mean of zero without a spread needs no explanation.
        Spread::None if estimate.mean == 0.0 => String::new(),
        Spread::None => "no spread".to_owned(),
        Spread::HalfWidth(_) => {
            // The formatting of `Estimate` keeps enough digits of a small interval.
            let text = format!("{estimate:.digits$}");
            let found = text.split_once(" \u{b1} ");
            format!("\u{b1} {}", found.map_or("", |(_, half)| half))
        }
    };
    (mean, after)
}

/// Returns `1396.6 ± 0.5`, or that there is no value.
pub(super) fn measured(one: &Measured) -> String {
    minus(one.text())
}

/// The size of a drawing. Text has the same size in both frames.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) width: f64,
    pub(super) is_narrow: bool,
}

impl Frame {
    /// The frame for screens and paper.
    pub(super) const WIDE: Self = Self {
        width: 720.0,
        is_narrow: false,
    };
    /// The frame for telephones.
    pub(super) const NARROW: Self = Self {
        width: 340.0,
        is_narrow: true,
    };

    /// Returns the class by which the style selects the drawing to show.
    pub(super) fn class(self) -> &'static str {
        if self.is_narrow { "narrow" } else { "wide" }
    }
}

/// Writes the beginning of a drawing: its size and its text alternative.
pub(super) fn svg(out: &mut String, frame: Frame, height: f64, shows: &str) {
    let (width, class) = (frame.width, frame.class());
    let _ = writeln!(
        out,
        "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">",
        esc(shows)
    );
}

/// Writes a text in a drawing.
pub(super) fn svg_text(out: &mut String, (x, y): (f64, f64), class: &str, text: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{class}\">{}</text>",
        esc(text)
    );
}

/// Returns the approximate width of a text in a drawing.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.6
}
