//! The target `scenario`: scenario files, and settings of `--set`.
//!
//! The first byte of an input selects what the rest is: a file, or settings for one of the files of `scenarios/`, one
//! per line. An accepted input must be explained, and read again from its complete form. A refused one must be refused
//! by a rule of the format, with a message of bounded length that names its place.

use std::sync::Once;

use fairwire_held::thread::measure;
use fairwire_scenario::{Adjust, Cell, Scenario, ScenarioError, ScenarioFile, explain};

/// The files that settings are applied to.
pub const BASES: [&str; 4] = [
    include_str!("../../scenarios/dumbbell.toml"),
    include_str!("../../scenarios/wlan.toml"),
    include_str!("../../scenarios/tcp-variants.toml"),
    include_str!("../../scenarios/both-ways.toml"),
];

/// The most settings of one run.
const MAX_SETTINGS: usize = 16;

/// The longest message, bytes, however long the text that it quotes is.
const MAX_MESSAGE: usize = 4_096;

/// Runs one input.
///
/// # Panics
/// Panics if a promise is broken.
pub fn run(data: &[u8]) {
    let Some((&mode, rest)) = data.split_first() else {
        return;
    };
    let rest = String::from_utf8_lossy(rest);
    warm();
    let (base, length) = match usize::from(mode).checked_sub(1) {
        None => ("", rest.len()),
        Some(n) => {
            let base = BASES[n % BASES.len()];
            (base, base.len() + rest.len())
        }
    };
    let ((), taken) = measure(|| {
        let judged = if base.is_empty() {
            file(&rest)
        } else {
            settings(base, &rest)
        };
        match judged {
            Ok(cell) => taken_as(&cell),
            Err(error) => refused(&error, base.is_empty()),
        }
    });
    // Each value takes a tree of a few hundred bytes, a few times. A family of cells or flows has as many values as its
    // limits allow (10,000 names, a thousand flows of sixty settings), however short its text is.
    let is_family = ["axes", "count", "extends", "shared"]
        .iter()
        .any(|key| rest.contains(key));
    let least = if is_family { 256 << 20 } else { 4 << 20 };
    let bound = least + 4_096 * length as u64;
    assert!(taken.peak <= bound, "{length} bytes: {taken:?}");
    assert_eq!(taken.kept, 0, "{taken:?}");
}

/// Initializes what is created only once: the format, presets, words.
pub(crate) fn warm() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for base in BASES {
            taken_as(&settings(base, "").expect("a committed scenario"));
        }
    });
}

/// Returns the first cell of a file.
fn file(text: &str) -> Result<Cell, ScenarioError> {
    cell(&ScenarioFile::parse("input.toml", text)?, Adjust::default())
}

/// Returns the first cell of a valid file with settings applied.
fn settings(base: &str, lines: &str) -> Result<Cell, ScenarioError> {
    let file = ScenarioFile::parse("base.toml", base).expect("a committed scenario");
    let set = lines.lines().take(MAX_SETTINGS).map(str::to_owned);
    let adjust = Adjust {
        set: set.collect(),
        ..Adjust::default()
    };
    cell(&file, adjust)
}

fn cell(file: &ScenarioFile, adjust: Adjust) -> Result<Cell, ScenarioError> {
    let only = file
        .names()
        .into_iter()
        .take(1)
        .map(str::to_owned)
        .collect();
    let mut cells = file.cells(&Adjust { only, ..adjust })?;
    Ok(cells.swap_remove(0))
}

/// Checks that an accepted cell can be explained, and that its complete form means the same.
fn taken_as(cell: &Cell) {
    assert!(!explain(cell).is_empty());
    assert!(!cell.plan().is_empty());
    let written = serde_json::to_string(&cell.scenario).expect("a scenario is written");
    let again: Scenario = serde_json::from_str(&written).expect("what is written is read");
    let again = serde_json::to_string(&again).expect("a scenario is written");
    assert_eq!(again, written);
}

/// Checks that a refusal names its place and is of bounded length.
fn refused(error: &ScenarioError, is_file: bool) {
    let message = error.to_string();
    assert!(message.len() <= MAX_MESSAGE, "{message}");
    assert!(!message.contains("a bug in Fairwire"), "{message}");
    assert!(!is_file || error.line_column().is_some(), "{message}");
}
