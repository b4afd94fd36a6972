//! The golden digests, of the first seed of every cell.

use fairwire_paper::{Paper, digests};
use fairwire_scenario::Cell;

use crate::{load, runs};

/// Every cell of every paper shows on the wires what its golden digest says.
///
/// One seed of each, and of a sweep's points a third, take much less time than all; `fairwire paper all
/// --check-digests` compares those.
#[test]
fn of_every_paper() {
    for bundle in fairwire_papers::catalogue() {
        let name = bundle.name();
        let golden = Paper::golden(bundle).unwrap_or_else(|error| panic!("{error}"));
        let mut golden = digests::of_first(&golden, 1);
        let mut cells = load(name, true, Some(1)).cells;
        assert_eq!(golden.len(), cells.len(), "{name}");
        thin(&mut cells);
        golden.retain(|known, _| cells.iter().any(|cell| cell.name == *known));
        assert_eq!(golden.len(), cells.len(), "{name}");
        let results = runs::results(name, &cells);
        let moved = digests::compare(&golden, &digests::digests(&results));
        assert!(moved.is_empty(), "{name}: {moved:#?}");
    }
}

/// Removes two thirds of the points of a sweep over three values of three axes. Each value of an axis still meets each
/// value of the others once.
fn thin(cells: &mut Vec<Cell>) {
    let point = |cell: &Cell| Some(cell.name.split_once("-at-")?.1.to_owned());
    let mut points: Vec<String> = Vec::new();
    for swept in cells.iter().filter_map(point) {
        if !points.contains(&swept) {
            points.push(swept);
        }
    }
    assert!([0, 27].contains(&points.len()), "{points:?}");
    // The last axis changes first. The point that the findings have is one of those that stay.
    let stays = |at: usize| (at / 9 + at / 3 + at) % 3 == 2;
    cells.retain(|cell| {
        let swept = point(cell).and_then(|swept| points.iter().position(|known| *known == swept));
        swept.is_none_or(stays)
    });
}
