//! Inputs of `claims`.

use std::path::Path;

use fairwire_fuzz::claims::{FILES, run};
use fairwire_paper::{Bundle, Paper};
use fairwire_scenario::Adjust;

use super::Seeds;

/// Each file of the small paper.
pub(super) fn seeds() -> Seeds {
    let seed = |(n, (file, text)): (u8, (&str, &str))| {
        (format!("seed-{file}"), [&[n], text.as_bytes()].concat())
    };
    (0..).zip(FILES).map(seed).collect()
}

/// The small paper loads.
#[test]
fn the_small_paper_loads() {
    let files = FILES.map(|(file, text)| (file.to_owned(), text.to_owned()));
    let bundle = Bundle::in_memory("small", files.into());
    Paper::load(&bundle, &Adjust::default()).expect("it loads");
}

/// The claims of a real paper do not fit the small one, and are refused without harm.
#[test]
fn claims_of_real_papers_are_refused() {
    let papers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../papers");
    let mut seen = 0;
    for paper in std::fs::read_dir(papers).expect("papers") {
        let Ok(claims) = std::fs::read(paper.expect("an entry").path().join("claims.toml")) else {
            continue;
        };
        run(&[b"\0", claims.as_slice()].concat());
        seen += 1;
    }
    assert!(seen >= 5, "{seen} papers");
}
