//! Captures of packets.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use fairwire_scenario::Cell;
use fairwire_sim::campaign::{Campaign, run_cells};
use fairwire_sim::results;
use fairwire_sim::{Tap, check_links};
use pyo3::prelude::*;

use crate::attended::attended;
use crate::errors::{RunError, ScenarioError};
use crate::law;

/// Runs a seed of `cell` and writes its packets to `path`. Returns the number of packets.
pub(crate) fn capture(
    py: Python<'_>,
    cell: &Cell,
    seed: u64,
    path: &Path,
    links: Vec<String>,
) -> PyResult<u64> {
    check_links(&cell.scenario, &links)
        .map_err(|error| ScenarioError::new_err(error.to_string()))?;
    let failed = |error: std::io::Error| {
        let text = format!("cannot write {}: {error}", path.display());
        PyErr::from(std::io::Error::new(error.kind(), text))
    };
    let out = BufWriter::new(File::create(path).map_err(failed)?);
    let mut cell = cell.clone();
    let run = &mut cell.scenario.run;
    (run.seed, run.seeds, run.max_seeds) = (seed, 1, 1);
    cell.wants_unperturbed = false;
    let laws = law::of_cells(std::slice::from_ref(&cell));
    let (ran, interrupted) = attended(py, None, laws, move |watch| {
        let campaign = Campaign {
            threads: 1,
            stop: &watch.stop,
            progress: &|progress| watch.note(progress),
            capture: Some(Tap {
                out: Box::new(out),
                links,
            }),
        };
        run_cells("", &[cell], campaign, &mut |_| Ok(())).map_err(|error| error.to_string())
    })?;
    if let Some(error) = interrupted {
        return Err(error);
    }
    let ran = ran.map_err(RunError::new_err)?;
    let run = ran.cells.first().and_then(|cell| cell.runs.first());
    if let Some(reason) = run.and_then(|run| run.capture_failure.as_ref()) {
        return Err(failed(std::io::Error::other(reason.clone())));
    }
    let captured = run.and_then(|run| run.captured.as_ref());
    let packets = |captured: &results::Captured| {
        ["dccp", "tcp", "udp"]
            .map(|name| captured.packets(name))
            .iter()
            .sum()
    };
    Ok(captured.map_or(0, packets))
}
