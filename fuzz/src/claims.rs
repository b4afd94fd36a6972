//! The target `claims`: a paper's own files, with its claims, published values, tables and figures.
//!
//! The first byte of an input selects the file of a small paper that the rest replaces. An accepted paper must be
//! judged without results and printed. A refused one must be refused with a message of bounded length.

use std::collections::BTreeMap;

use fairwire_held::thread::measure;
use fairwire_paper::{Bundle, Paper, PaperError};
use fairwire_scenario::Adjust;
use fairwire_sim::results::Results;

/// The files of the small paper.
pub const FILES: [(&str, &str); 4] = [
    ("claims.toml", include_str!("claims/claims.toml")),
    ("paper.toml", include_str!("claims/paper.toml")),
    ("published.csv", include_str!("claims/published.csv")),
    ("scenario.toml", include_str!("claims/scenario.toml")),
];

/// The longest message, bytes, however long the text that it quotes is.
const MAX_MESSAGE: usize = 8_192;

/// Runs one input.
///
/// # Panics
/// Panics if a promise is broken.
pub fn run(data: &[u8]) {
    let Some((&mode, rest)) = data.split_first() else {
        return;
    };
    crate::scenario::warm();
    let name = FILES[usize::from(mode) % FILES.len()].0;
    let text = String::from_utf8_lossy(rest);
    let ((), taken) = measure(|| match load((name, &text)) {
        Ok(paper) => judged(&paper),
        Err(error) => {
            let message = error.to_string();
            assert!(message.len() <= MAX_MESSAGE, "{message}");
            assert!(!message.contains("a bug in Fairwire"), "{message}");
        }
    });
    // A line of a manifest may have sixteen cells, and each is a scenario of some kilobytes.
    let bound = (8 << 20) + 8_192 * text.len() as u64;
    assert!(taken.peak <= bound, "{} bytes: {taken:?}", text.len());
    assert_eq!(taken.kept, 0, "{taken:?}");
}

/// Loads the small paper with its file of this name replaced.
fn load((name, text): (&str, &str)) -> Result<Paper, PaperError> {
    let own = FILES.map(|(file, own)| (file.to_owned(), own.to_owned()));
    let mut files = BTreeMap::from(own);
    files.insert(name.to_owned(), text.to_owned());
    Paper::load(&Bundle::in_memory("small", files), &Adjust::default())
}

/// Checks that a report without any results is partial and can be printed.
fn judged(paper: &Paper) {
    let results = Results {
        name: "small".to_owned(),
        version: "0",
        cells: Vec::new(),
        partial: true,
        notes: Vec::new(),
    };
    let report = paper.report(&results);
    assert!(report.partial);
    assert!(!paper.text(&report).is_empty());
    assert!(!paper.brief(&report).is_empty());
}
