//! Whole runs of scenarios, held to what models, papers and other programs say.

mod adaptive_video;
mod allocations;
mod axis;
mod both_ways;
mod by_hand;
mod campaigns;
mod capture;
mod dctcp;
mod digests;
mod dtls;
mod expected;
mod jitter;
mod models;
mod output;
mod parking_lot;
mod registered;
mod response;
mod results;
mod routes;
mod short_flows;
mod small_packets;
mod stacks;
mod tcp;
mod trace;
mod video;
mod wlan;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use fairwire_scenario::{Adjust, Cell, Scenario, ScenarioError, ScenarioFile};
use fairwire_sim::campaign::{self, Campaign, run_cells};
use fairwire_sim::results::{Results, RunResult};
use fairwire_sim::{RunOptions, run};

/// Counts the allocations of each thread.
#[global_allocator]
static ALLOCATOR: fairwire_held::Counting = fairwire_held::Counting;

/// Returns what these `--set` change.
fn with_set(set: &[impl ToString]) -> Adjust {
    Adjust {
        set: set.iter().map(ToString::to_string).collect(),
        ..Adjust::default()
    }
}

/// Returns what `--only` of one cell changes.
fn only(cell: &str) -> Adjust {
    Adjust {
        only: vec![cell.to_owned()],
        ..Adjust::default()
    }
}

fn read(text: &str, adjust: &Adjust) -> Result<Vec<Cell>, ScenarioError> {
    ScenarioFile::parse("test.toml", text)?.cells(adjust)
}

fn cells(text: &str, adjust: &Adjust) -> Vec<Cell> {
    read(text, adjust).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the first cell of `text` with these `--set`.
fn scenario(text: &str, set: &[impl ToString]) -> Scenario {
    cells(text, &with_set(set)).swap_remove(0).scenario
}

/// Returns the cells of a file in `scenarios`.
fn ours(file: impl AsRef<Path>, adjust: &Adjust) -> Vec<Cell> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    ScenarioFile::load(&folder.join(file))
        .and_then(|file| file.cells(adjust))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a scenario with this seed, with random delays of the flows' starts.
fn once(scenario: &Scenario, seed: u64) -> RunResult {
    run(scenario, (seed, true), RunOptions::default())
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

/// Runs a scenario with this seed and without random delays of the flows' starts.
fn unperturbed(scenario: &Scenario, seed: u64) -> RunResult {
    run(scenario, (seed, false), RunOptions::default())
        .unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

/// Runs all seeds of all cells.
fn all_seeds(cells: &[Cell]) -> Results {
    let campaign = Campaign {
        threads: campaign::threads(),
        stop: &AtomicBool::new(false),
        progress: &|_| {},
        capture: None,
    };
    run_cells("test", cells, campaign, &mut |_| Ok(())).expect("runs")
}
