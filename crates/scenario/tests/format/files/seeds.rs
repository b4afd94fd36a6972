//! The numbers of seeds that a file and the command line ask for.

use fairwire_scenario::Adjust;

use super::super::{cells, refusal};
use super::GOOD;

/// With 40 seeds, `max_seeds` is 40 unless it is stated; a stated `max_seeds` below `seeds` is refused.
#[test]
fn as_many_seeds_at_most_as_are_asked_for() {
    let with = |run: &str| GOOD.replacen("[run]", &format!("[run]\n{run}"), 1);
    for (run, seeds, most) in [("", 10, 30), ("seeds = 40", 40, 40), ("seeds = 20", 20, 30)] {
        let cell = &cells(&with(run), &Adjust::default())[0];
        let run = &cell.scenario.run;
        assert_eq!((run.seeds, run.max_seeds), (seeds, most));
        assert!(!cell.stated.contains(&"run.max_seeds".to_owned()));
    }
    let asked = |seeds| Adjust {
        seeds: Some(seeds),
        ..Adjust::default()
    };
    let note = "25 seeds run, although the file states max_seeds = 20";
    for (seeds, noted) in [(20, false), (25, true)] {
        let cell = &cells(&with("max_seeds = 20"), &asked(seeds))[0];
        assert_eq!(
            (cell.scenario.run.seeds, cell.scenario.run.max_seeds),
            (seeds, seeds)
        );
        assert_eq!(cell.notes.contains(&note.to_owned()), noted);
    }
    let error = refusal(&with("seeds = 40\nmax_seeds = 20"));
    assert!(
        error.contains("max_seeds is 20, which is less than seeds, 40")
            && error.contains("test.toml:7:"),
        "{error}"
    );
    let error = refusal(&with("seeds = 0"));
    assert!(
        error.contains("the number of seeds is 1 to 10000") && error.contains("test.toml:6:9"),
        "{error}"
    );
}
