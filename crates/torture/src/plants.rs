//! Planted bugs: whether each is found, after how many seeds, and by which invariant.
//!
//! Each bug is planted in a separate process, because some bugs cause runs that never end. A seed finds a bug if it
//! violates an invariant with the bug that it does not violate without.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::process::Command;

use fairwire_units::plant::{self, Plant};

use crate::campaign;
use crate::plan::Plan;
use crate::run::{self, Options};

/// Plants the bug with this name for the rest of the process.
///
/// # Errors
/// The list of names, if there is no bug with this name.
pub fn plant(name: &str) -> Result<(), String> {
    let Some(plant) = Plant::from_name(name) else {
        let names: Vec<&str> = Plant::ALL.iter().map(|plant| plant.name()).collect();
        return Err(format!(
            "there is no planted bug '{name}'; the names are {}",
            names.join(", ")
        ));
    };
    plant::set(Some(plant));
    Ok(())
}

/// How a bug was found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    /// The number of seeds that were needed.
    pub seeds: u64,
    /// The violated invariant.
    pub invariant: String,
}

/// Returns the output of a process with `--until-failure`: one line with parts separated by tabs.
pub fn line(first: u64, seeds: u64, jobs: NonZeroUsize) -> String {
    match campaign::first_failure(first, seeds, jobs, &Options::default()) {
        None => "missed".to_owned(),
        Some((seed, failure)) => format!("{seed}\t{}\t{failure}", failure.invariant),
    }
}

/// Plants every bug in turn, runs at most `seeds` seeds for each, and writes a Markdown table.
///
/// Also returns the number of bugs that were not found.
///
/// # Errors
/// The reason why a process could not be run.
pub fn table(first: u64, seeds: u64, jobs: NonZeroUsize) -> Result<(String, usize), String> {
    let mut text = "| Bug | What it breaks | Seeds | Found by |\n|---|---|---|---|\n".to_owned();
    let mut missed = 0;
    for plant in Plant::ALL {
        let found = find(*plant, first, seeds, jobs)?;
        let (count, invariant) = match &found {
            Some(found) => (found.seeds.to_string(), format!("`{}`", found.invariant)),
            None => ("missed".to_owned(), "-".to_owned()),
        };
        missed += usize::from(found.is_none());
        let (name, breaks) = (plant.name(), plant.breaks().trim());
        let _ = writeln!(text, "| `{name}` | {breaks} | {count} | {invariant} |");
    }
    Ok((text, missed))
}

/// Runs seeds with a bug until one fails in a way in which it does not fail without the bug.
fn find(plant: Plant, first: u64, seeds: u64, jobs: NonZeroUsize) -> Result<Option<Found>, String> {
    let end = first + seeds;
    let mut from = first;
    while from < end {
        let Some((seed, invariant)) = next_failure(plant, from, end - from, jobs)? else {
            return Ok(None);
        };
        // No bug is planted in this process.
        let without = run::run(&Plan::draw(seed), &Options::default()).failure;
        if without.is_none_or(|without| without.invariant != invariant) {
            return Ok(Some(Found {
                seeds: seed - first + 1,
                invariant,
            }));
        }
        from = seed + 1;
    }
    Ok(None)
}

/// Runs seeds with a bug in another process. Returns the first seed that fails, and the invariant.
fn next_failure(
    plant: Plant,
    first: u64,
    seeds: u64,
    jobs: NonZeroUsize,
) -> Result<Option<(u64, String)>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(["--plant", plant.name(), "--until-failure"])
        .args(["--first", &first.to_string()])
        .args(["--seeds", &seeds.to_string()])
        .args(["--jobs", &jobs.to_string()])
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next().unwrap_or_default();
    let mut parts = line.split('\t');
    match (parts.next(), parts.next()) {
        (Some("missed"), _) => Ok(None),
        (Some(seed), Some(invariant)) => {
            let seed: u64 = seed.parse().map_err(|_| format!("not a seed: {line}"))?;
            Ok(Some((seed, invariant.to_owned())))
        }
        _ => Err(format!(
            "unexpected output of the process for {}: {}",
            plant.name(),
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}
