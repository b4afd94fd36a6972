//! The golden digests, of the first seed of every cell.

use fairwire_paper::{Paper, digests};

use crate::{load, runs};

/// Every cell of every paper shows on the wires what its golden digest says.
///
/// One seed of each takes a third of the time of all; `fairwire paper all --check-digests` compares those.
#[test]
fn of_every_paper() {
    for bundle in fairwire_papers::catalogue() {
        let name = bundle.name();
        let golden = Paper::golden(bundle).unwrap_or_else(|error| panic!("{error}"));
        let golden = digests::of_first(&golden, 1);
        let paper = load(name, true, Some(1));
        assert_eq!(golden.len(), paper.cells.len(), "{name}");
        let results = runs::results(name, &paper.cells);
        let moved = digests::compare(&golden, &digests::digests(&results));
        assert!(moved.is_empty(), "{name}: {moved:#?}");
    }
}
