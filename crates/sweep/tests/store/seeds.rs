//! Which seeds a sweep runs.

use fairwire_sim::campaign::{Precision, Seeds};
use fairwire_sim::results::Metric;

use crate::{cells, open, planned, run_all};

/// As many seeds run as the interval needs, and a second sweep needs no more.
#[test]
fn seeds_follow_the_wanted_interval() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    let seeds = |within| {
        Seeds::Until(Precision {
            metric: Metric::Throughput,
            of: Some("one".to_owned()),
            window: Some("whole".to_owned()),
            within,
            least: 3,
            most: 40,
        })
    };
    let mut runs = Vec::new();
    for within in [0.5, 0.02, 1e-6] {
        let mut plan = planned(&cells("5 packets"), seeds(within), &mut store).expect("a plan");
        run_all(&mut plan, &mut store, 2).expect("runs");
        let widths = plan.map_cells(&mut store, |cell| {
            let subject = fairwire_sim::results::Subject::flow("one");
            let estimate = cell
                .estimate(&subject, "whole", Metric::Throughput)
                .expect("values");
            (cell.runs.len(), estimate.relative_half_width())
        });
        let (count, width) = widths.expect("cells")[0];
        let notes = plan.map_cells(&mut store, |cell| plan.note(cell));
        let note = notes.expect("cells").remove(0);
        let is_narrow = width.is_none_or(|width| width <= within);
        let says =
            "queue5packets: after 40 seeds the half width of the throughput of one in whole is";
        assert_eq!(note.is_some_and(|it| it.starts_with(says)), !is_narrow);
        assert!(
            width.is_none_or(|width| width <= within) || count == 40,
            "{count}: {width:?}"
        );
        runs.push(count);
    }
    assert!(
        runs.is_sorted() && runs[0] < 10 && runs[2] == 40,
        "{runs:?}"
    );
    let plan = planned(&cells("5 packets"), seeds(1e-6), &mut store).expect("a plan");
    assert!(plan.is_complete());
}

/// Numbers of seeds that cannot be are refused before anything runs, and what is wanted reads as a sentence.
#[test]
fn seeds_that_cannot_be_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    let until = |within, least, most| {
        Seeds::Until(Precision {
            within,
            least,
            most,
            ..Precision::default()
        })
    };
    for (seeds, first, text) in [
        (
            until(0.05, 5, 3),
            1,
            "at most 3 seeds were asked for, and an interval begins with 5",
        ),
        (until(0.05, 1, 3), 1, "an interval needs at least 2 seeds"),
        (until(f64::NAN, 5, 9), 1, "a share of the mean above 0"),
        (
            until(0.05, 5, 10),
            u64::MAX - 9,
            "leaves no room for 10 seeds: write at most 18446744073709551605",
        ),
    ] {
        let mut cells = cells("5 packets");
        cells[0].scenario.run.seed = first;
        let planned = planned(&cells, seeds, &mut store);
        let error = planned.expect_err("it is refused").to_string();
        assert!(error.contains(text), "{error}");
    }
    assert!(store.sweeps().expect("sweeps").is_empty());
    assert_eq!(
        until(0.07, 5, 1_000).to_string(),
        "at least 5, at most 1000, as many as it takes until the 95 % interval of the throughput of every flow is within 7 % \
         of its mean"
    );
}

/// An interval of something that no run can have is refused before the first one, with what there is.
#[test]
fn an_interval_needs_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    let seeds = Seeds::Until(Precision {
        of: Some("tow".to_owned()),
        ..Precision::default()
    });
    let error = planned(&cells("5 packets"), seeds, &mut store).expect_err("no such flow");
    assert!(store.sweeps().expect("a list").is_empty());
    let text = "queue5packets has no value for the throughput of tow in any window; the metric is there for one in whole, ";
    assert!(error.to_string().contains(text), "{error}");
}

/// Cells that differ in their seeds only have their own runs, and share those that both want.
#[test]
fn cells_with_the_same_scenario_have_their_own_seeds() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    let mut all = cells("5 packets,6 packets,7 packets");
    let scenario = all[0].scenario.clone();
    for (cell, (first, count)) in all.iter_mut().zip([(1, 2), (1, 4), (3, 3)]) {
        cell.scenario = scenario.clone();
        let run = &mut cell.scenario.run;
        (run.seed, run.seeds, run.max_seeds) = (first, count, count);
    }
    let mut plan = planned(&all, Seeds::AsStated, &mut store).expect("a plan");
    run_all(&mut plan, &mut store, 2).expect("runs");
    assert!(plan.is_complete());
    // Seeds 1 to 5, and the unperturbed run, which is the same for all of them.
    assert_eq!((plan.found(), plan.done()), (0, 6));
    let seeds = plan.map_cells(&mut store, |cell| {
        assert!(!cell.partial && cell.unperturbed.is_some());
        cell.runs.iter().map(|run| run.seed).collect::<Vec<_>>()
    });
    let seeds = seeds.expect("cells");
    assert_eq!(seeds, [vec![1, 2], vec![1, 2, 3, 4], vec![3, 4, 5]]);
}
