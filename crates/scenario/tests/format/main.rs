//! Scenarios are read as their documents say, and traffic and transports do what their settings say.

mod bdp;
mod docs;
mod family;
mod files;
mod graph;
mod preset;
mod queue;
mod schema;
mod traces;
mod traffic;
mod transport;
mod wlan;
mod words;

use fairwire_scenario::{Adjust, Cell, ScenarioError, ScenarioFile};
use fairwire_units::{Duration, Instant};

/// Returns the moment this many milliseconds after the beginning.
fn ms(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

/// Returns what these `--set` change.
fn with_set(set: &[impl ToString]) -> Adjust {
    Adjust {
        set: set.iter().map(ToString::to_string).collect(),
        ..Adjust::default()
    }
}

/// Returns what these `--axes` add.
fn with_axes(axes: &[&str]) -> Adjust {
    Adjust {
        axes: axes.iter().map(ToString::to_string).collect(),
        ..Adjust::default()
    }
}

fn read(text: &str, adjust: &Adjust) -> Result<Vec<Cell>, ScenarioError> {
    ScenarioFile::parse("test.toml", text)?.cells(adjust)
}

/// Reads `text`, beside which are the files `others`.
fn beside(
    text: &str,
    others: &[(&str, &str)],
    adjust: &Adjust,
) -> Result<Vec<Cell>, ScenarioError> {
    let others = others.iter();
    let others = others.map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    ScenarioFile::parse_beside("test.toml", text, others.collect())?.cells(adjust)
}

fn cells(text: &str, adjust: &Adjust) -> Vec<Cell> {
    read(text, adjust).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str, adjust: &Adjust) -> String {
    read(text, adjust).expect_err("refused").to_string()
}

/// Returns why `text` is refused without changes.
fn refusal(text: &str) -> String {
    refused(text, &Adjust::default())
}
