//! A paper's own files: what it claims, what was published, which tables and figures it has.
//!
//! The first byte of an input chooses which file of a small paper the rest takes the place of. What is taken must be
//! judged without results and with some, and printed; what is refused must be refused in a message of bounded length.

use std::collections::BTreeMap;

use fairwire_held::thread::measure;
use fairwire_lab::paper::{Bundle, Paper, PaperError};
use fairwire_lab::results::Results;
use fairwire_lab::scenario::Adjust;

/// The files of the small paper.
pub(crate) const FILES: [(&str, &str); 4] = [
    ("claims.toml", include_str!("claims/claims.toml")),
    ("paper.toml", include_str!("claims/paper.toml")),
    ("published.csv", include_str!("claims/published.csv")),
    ("scenario.toml", include_str!("claims/scenario.toml")),
];

/// Bytes of the largest message, however long what it quotes is.
const MAX_MESSAGE: usize = 8_192;

/// Runs one input.
///
/// # Panics
/// If a promise is broken.
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
            assert!(!message.contains("a mistake in Fairwire"), "{message}");
        }
    });
    // Sixteen cells may stand in a line of a manifest; each is a scenario of some kilobytes.
    let bound = (8 << 20) + 8_192 * text.len() as u64;
    assert!(taken.peak <= bound, "{} bytes: {taken:?}", text.len());
    assert_eq!(taken.kept, 0, "{taken:?}");
}

/// The small paper with `file` in place of its own of this name.
fn load((name, text): (&str, &str)) -> Result<Paper, PaperError> {
    let own = FILES.map(|(file, own)| (file.to_owned(), own.to_owned()));
    let mut files = BTreeMap::from(own);
    files.insert(name.to_owned(), text.to_owned());
    Paper::load(&Bundle::in_memory("small", files), &Adjust::default())
}

/// A report without any results is partial, has no claim held, and can be printed.
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fairwire_lab::paper::{Bundle, catalogue};

    use super::{FILES, load, run};
    use crate::seeds;

    /// The small paper is one, and so is each of the repository; their claims are seeds.
    #[test]
    fn seeds_are_committed() {
        let all: Vec<(String, Vec<u8>)> = (0_u8..)
            .zip(FILES)
            .map(|(n, (file, text))| {
                load((file, text)).expect("the small paper loads");
                (format!("seed-{file}"), [&[n], text.as_bytes()].concat())
            })
            .collect();
        for (_, seed) in &all {
            run(seed);
        }
        seeds::check("claims", &all);
    }

    /// What a real paper says makes no sense of the small one, and is refused without harm.
    #[test]
    fn claims_of_real_papers_are_refused() {
        for paper in catalogue().iter().map(Bundle::name) {
            let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../papers");
            let claims = std::fs::read(papers.join(paper).join("claims.toml"));
            run(&[b"\0", claims.expect("claims").as_slice()].concat());
        }
    }
}
