//! The marks of points: each line has its own shape, so that colour is not the only difference.

use std::fmt::Write as _;

/// Draws the mark of line `number`; `class` is `full` for measured and `hollow` for published values.
pub(crate) fn marker(out: &mut String, class: &str, number: usize, (x, y): (f64, f64)) {
    let d = match number % 6 {
        0 => {
            let _ = writeln!(
                out,
                "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>"
            );
            return;
        }
        1 => format!("M{:.1} {:.1}h7v7h-7z", x - 3.5, y - 3.5),
        2 => format!("M{x:.1} {:.1}l4.5 8h-9z", y - 5.0),
        3 => format!("M{x:.1} {:.1}l4.8 4.8l-4.8 4.8l-4.8 -4.8z", y - 4.8),
        4 => format!("M{x:.1} {:.1}l4.5 -8h-9z", y + 5.0),
        _ => format!("M{:.1} {:.1}h3v-3h3v3h3v3h-3v3h-3v-3h-3z", x - 4.5, y - 1.5),
    };
    let _ = writeln!(out, "<path class=\"{class}\" d=\"{d}\"/>");
}

/// Draws the mark of a published value over a bar.
pub(super) fn diamond(out: &mut String, (x, y): (f64, f64)) {
    let _ = writeln!(
        out,
        "<path class=\"over\" d=\"M{:.1} {y:.1}h24M{x:.1} {:.1}l5 5l-5 5l-5 -5z\"/>",
        x - 12.0,
        y - 5.0
    );
}
