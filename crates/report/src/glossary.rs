//! The glossary at the end of a page.

use maud::{Markup, html};

use super::markup::prose;

/// The glossary of the documentation: paragraphs that begin with a term in bold.
const GLOSSARY: &str = include_str!("../../../docs/glossary.md");

/// Returns all terms with their meanings.
pub(super) fn glossary() -> Markup {
    html! {
        details class="part" {
            summary { h2 { "Glossary" } }
            dl class="words" id="words" {
                @for (term, meaning) in terms(GLOSSARY) {
                    div { dt { (term) } dd { (prose(&meaning)) } }
                }
            }
        }
    }
}

/// Returns the terms that `text` explains in paragraphs `**term**: meaning`.
fn terms(text: &str) -> Vec<(&str, String)> {
    let paragraphs = text.split("\n\n");
    paragraphs
        .filter_map(|paragraph| {
            let (term, meaning) = paragraph.trim().strip_prefix("**")?.split_once("**: ")?;
            Some((
                term,
                meaning.split_whitespace().collect::<Vec<_>>().join(" "),
            ))
        })
        .collect()
}
