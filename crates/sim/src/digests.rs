//! Golden digests: the expected digest of what each run shows on the wires.
//!
//! The scenarios in `scenarios/` have theirs in `scenarios/digests.toml`, with a table per file and cell. A paper has
//! its own, of the runs that its tables are made from. The same scenario and seed give the same digest on every machine
//! and in every build, so a difference means that results changed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use fairwire_units::Duration;
use serde::{Deserialize, Serialize};

use crate::{RunError, RunOptions, run};
use fairwire_scenario::{Adjust, Cell, ScenarioError, ScenarioFile};

/// The longest simulated time of a digested run, so that a check takes seconds.
pub const LONGEST: Duration = Duration::from_secs(200);

/// The name of the file with the digests.
pub const FILE: &str = "digests.toml";

/// The digests of one cell.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CellDigests {
    /// The simulated time of the runs.
    pub duration: String,
    /// The digest of the run with the first seed.
    pub first_seed: String,
    /// The digest of the unperturbed run, if the cell has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unperturbed: Option<String>,
}

/// Digests by scenario file (its name without `.toml`), then by cell.
pub type Golden = BTreeMap<String, BTreeMap<String, CellDigests>>;

/// Why digests cannot be computed or compared.
#[derive(Debug, thiserror::Error)]
pub enum DigestError {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(ScenarioError),
    /// A run failed.
    #[error(transparent)]
    Run(RunError),
    /// A file cannot be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, io::Error),
    /// The scenario belongs to a paper, which has digests of its own.
    #[error(
        "the digests of a paper are those of its quick run: use fairwire paper {0} --quick --check-digests"
    )]
    IsPaper(String),
    /// There are no golden digests of this scenario.
    #[error(
        "there are no golden digests of {0} in the {FILE} beside it: write them with --update-digests"
    )]
    NoGolden(PathBuf),
}

/// One cell whose digests are not the golden ones.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ChangedDigest {
    /// The cell.
    pub cell: String,
    /// The golden digests, if there are any.
    pub golden: Option<CellDigests>,
    /// The digests of this run.
    pub now: CellDigests,
}

/// Runs all cells of the scenario at `path` and returns their digests.
///
/// # Errors
/// See [`DigestError`].
pub fn compute(path: &Path) -> Result<BTreeMap<String, CellDigests>, DigestError> {
    let cells = ScenarioFile::load(path)
        .and_then(|file| file.cells(&Adjust::default()))
        .map_err(DigestError::Scenario)?;
    if let Some(paper) = cells.iter().find_map(|cell| cell.scenario.paper.clone()) {
        return Err(DigestError::IsPaper(paper));
    }
    let mut digests = BTreeMap::new();
    for cell in cells {
        digests.insert(cell.name.clone(), of_cell(&cell)?);
    }
    Ok(digests)
}

/// Returns the golden digests of the scenario at `path`; empty if there are none.
///
/// # Errors
/// If the file exists and cannot be read.
pub fn golden(path: &Path) -> Result<BTreeMap<String, CellDigests>, DigestError> {
    Ok(read(path)?.remove(&stem(path)).unwrap_or_default())
}

/// Runs the scenario at `path` and lists the cells that differ from their golden digests.
///
/// # Errors
/// See [`DigestError`].
pub fn check(path: &Path) -> Result<Vec<ChangedDigest>, DigestError> {
    // Errors of the scenario itself come before missing digests.
    let computed = compute(path)?;
    let golden = golden(path)?;
    if golden.is_empty() {
        return Err(DigestError::NoGolden(path.to_owned()));
    }
    Ok(moved(computed, &golden))
}

/// Returns the cells of `computed` that differ from `golden`.
fn moved(
    computed: BTreeMap<String, CellDigests>,
    golden: &BTreeMap<String, CellDigests>,
) -> Vec<ChangedDigest> {
    let mut moved = Vec::new();
    for (cell, now) in computed {
        let written = golden.get(&cell).cloned();
        if written.as_ref() != Some(&now) {
            moved.push(ChangedDigest {
                cell,
                golden: written,
                now,
            });
        }
    }
    moved
}

/// Runs the scenario at `path` and writes its digests beside it. Returns the cells that changed.
///
/// # Errors
/// See [`DigestError`].
pub fn update(path: &Path) -> Result<Vec<ChangedDigest>, DigestError> {
    let moved = moved(compute(path)?, &golden(path)?);
    let mut all = read(path)?;
    let cells = all.entry(stem(path)).or_default();
    let known = ScenarioFile::load(path).map_err(DigestError::Scenario)?;
    let names = known.names();
    cells.retain(|cell, _| names.contains(&cell.as_str()));
    for cell in &moved {
        cells.insert(cell.cell.clone(), cell.now.clone());
    }
    let file = beside(path);
    let failed = |error: io::Error| DigestError::File(file.clone(), error);
    let text = toml::to_string(&all).map_err(|error| failed(io::Error::other(error)))?;
    let head = "# Golden digests. `fairwire run FILE --update-digests` writes them;\n\
                # docs/results-that-move.md says which moved and why.\n\n";
    fs::write(&file, format!("{head}{text}")).map_err(failed)?;
    Ok(moved)
}

fn of_cell(cell: &Cell) -> Result<CellDigests, DigestError> {
    let mut scenario = cell.scenario.clone();
    scenario.run.duration = scenario.run.duration.min(LONGEST);
    scenario.measure = fairwire_scenario::Measure::default();
    let seed = scenario.run.seed;
    let digest = |perturbed| {
        run(&scenario, (seed, perturbed), RunOptions::default())
            .map(|result| result.digest.to_string())
            .map_err(DigestError::Run)
    };
    Ok(CellDigests {
        duration: scenario.run.duration.to_string(),
        first_seed: digest(true)?,
        unperturbed: if scenario.is_perturbed_only() {
            Some(digest(false)?)
        } else {
            None
        },
    })
}

fn beside(path: &Path) -> PathBuf {
    path.with_file_name(FILE)
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn read(path: &Path) -> Result<Golden, DigestError> {
    let file = beside(path);
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Golden::new()),
        Err(error) => return Err(DigestError::File(file, error)),
    };
    toml::from_str(&text).map_err(|error| DigestError::File(file, io::Error::other(error)))
}
