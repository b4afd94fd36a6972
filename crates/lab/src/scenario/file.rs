//! Scenario files: a base, cells laid over it, and what the command line lays over both.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use fairwire_units::Duration;
use serde::Deserialize;

use super::check;
use super::check::checker::name_problem;
use super::complete;
use super::place::{FOLLOWS, Place, ScenarioError, SourceText};
use super::read::Reader;
use super::schema;
use super::setting::Setting;
use super::shorten::{QUOTED, shorten};
use super::topology::{Topology, Wireless};
use super::traces::{Beside, Traces};
use super::tree::{Node, Provenance, Value};
use super::{Named, Scenario};

/// What the command line changes.
#[derive(Clone, Debug, Default)]
pub struct Adjust {
    /// `path.to.key=value` for every cell; `path.to.key=` takes the key or table away.
    pub set: Vec<String>,
    /// Only this cell.
    pub only: Option<String>,
    /// Another duration.
    pub duration: Option<Duration>,
    /// Another number of seeds: so many, no more and no fewer.
    pub seeds: Option<u32>,
    /// Another first seed.
    pub seed: Option<u64>,
    /// A paper's quick form, which may be shorter.
    pub quick: bool,
}

/// One experiment of a file, ready to run.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its name; `base` in a file without cells.
    pub name: String,
    /// All of it.
    pub scenario: Scenario,
    /// Where values come from, by dotted path, as far as it is said.
    pub provenance: BTreeMap<String, Provenance>,
    /// Dotted paths of the values that the file or the command line states; all others are defaults.
    pub stated: Vec<String>,
}

/// No scenario is longer; what is (a device, a capture) is not read to its end.
const LONGEST_FILE: u64 = 4 << 20;

/// A scenario file, read but not yet made into cells.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    base: Node,
    cells: Vec<(String, Place, Node)>,
    traces: Beside,
}

impl Cell {
    /// How many runs there will be, and why, in a sentence.
    pub fn plan(&self) -> String {
        let run = &self.scenario.run;
        if !self.scenario.is_random() {
            return "nothing is random: one run".to_owned();
        }
        let random = if self.scenario.is_perturbed_only() {
            "random starts, and the run without them"
        } else {
            "random links or sources"
        };
        let (seeds, most) = (run.seeds, run.max_seeds);
        if seeds == most {
            return format!("{seeds} seeds from {} on: {random}", run.seed);
        }
        format!(
            "{seeds} to {most} seeds from {} on, as the spread asks: {random}",
            run.seed
        )
    }
}

/// The name of the only cell of a file without cells.
pub(super) const BASE: &str = "base";

impl ScenarioFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read or is no TOML.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let name = path.display().to_string();
        let text = read_bounded(path)
            .map_err(|error| ScenarioError::new(format!("cannot read {name}: {error}")))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self {
            traces: Beside::Folder(folder),
            ..Self::parse(&name, &text)?
        })
    }

    /// Looks for the traces of links in `texts`, by the paths that the scenario writes, and not in files.
    #[must_use]
    pub fn with_traces(self, texts: BTreeMap<String, String>) -> Self {
        Self {
            traces: Beside::Texts(Arc::new(texts)),
            ..self
        }
    }

    /// Reads `text`, which messages call `name`. It has no traces, for it is in no folder, unless it is given them
    /// [by their names](Self::with_traces).
    ///
    /// # Errors
    /// If it is no TOML, or its cells are no tables.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        let source = Arc::new(SourceText {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        let mut base = Node::parse(&source)?;
        let mut cells = Vec::new();
        if let Some(node) = base.take("cells") {
            let Value::Table(entries) = node.value else {
                let message = "cells are tables: write [cells.NAME]";
                return Err(ScenarioError::at(message, &node.place));
            };
            for entry in entries {
                if !matches!(entry.node.value, Value::Table(_)) {
                    let message = "a cell is a table of overrides: write [cells.NAME]";
                    return Err(ScenarioError::at(message, &entry.place));
                }
                if let Some(message) = name_problem(&entry.name) {
                    return Err(ScenarioError::at(message, &entry.place));
                }
                cells.push((entry.name, entry.place, entry.node));
            }
        }
        let trees = cells.iter_mut().map(|(_, _, cell)| cell);
        let form = schema::form();
        for tree in trees.chain([&mut base]) {
            schema::expand(tree, &form);
        }
        Ok(Self {
            base,
            cells,
            traces: Beside::default(),
        })
    }

    /// Names of the cells in the order of the file.
    pub fn names(&self) -> Vec<&str> {
        if self.cells.is_empty() {
            return vec![BASE];
        }
        self.cells
            .iter()
            .map(|(name, _, _)| name.as_str())
            .collect()
    }

    /// The cells, adjusted and checked.
    ///
    /// # Errors
    /// The first thing that is wrong with any of them, or an `only` that names none.
    pub fn cells(&self, adjust: &Adjust) -> Result<Vec<Cell>, ScenarioError> {
        let settings = adjust.set.iter().map(|setting| Setting::parse(setting));
        let settings = settings
            .chain(adjust.duration.map(|time| Ok(Setting::duration(time))))
            .collect::<Result<Vec<_>, _>>()?;
        let names = self.names();
        if let Some(only) = adjust.only.as_deref().filter(|only| !names.contains(only)) {
            let (only, names) = (shorten(only, QUOTED), names.join(", "));
            let message = format!("there is no cell '{only}': write one of {names}");
            return Err(ScenarioError::new(message));
        }
        let wanted = |name: &str| adjust.only.as_deref().is_none_or(|only| only == name);
        // A key that goes need not be in every cell, but in one.
        let mut applied = vec![false; settings.len()];
        let mut trees = Vec::new();
        for name in names.into_iter().filter(|name| wanted(name)) {
            let mut tree = Node::empty(&self.base.place);
            tree.lay_over(&self.base)?;
            if let Some((_, _, over)) = self.cells.iter().find(|(cell, _, _)| cell == name) {
                tree.lay_over(over)?;
            }
            for (setting, applied) in settings.iter().zip(&mut applied) {
                *applied |= setting.apply(&mut tree)?;
            }
            trees.push((name, tree));
        }
        let mut missed = settings.iter().zip(applied).filter(|(_, applied)| !applied);
        if let (Some((setting, _)), Some((_, tree))) = (missed.next(), trees.first())
            && let Some(error) = setting.missed(tree)
        {
            return Err(error);
        }
        let mut traces = Traces::of(&self.traces);
        let cells = trees.into_iter();
        let cells = cells.map(|(name, tree)| cell(name, tree, adjust, &mut traces));
        cells.collect()
    }
}

fn cell(
    name: &str,
    mut tree: Node,
    adjust: &Adjust,
    traces: &mut Traces<'_>,
) -> Result<Cell, ScenarioError> {
    complete::complete(&mut tree);
    let whole = complete::ways_back(&tree)?;
    schema::check(&whole, &schema::form())?;
    let mut scenario = Scenario::deserialize(Reader(&whole)).map_err(ScenarioError::unforeseen)?;
    traces.fill(&scenario.topology, &tree)?;
    if adjust.duration.is_some() {
        fit(&mut scenario, &mut tree);
    }
    if let Some(seeds) = adjust.seeds {
        scenario.run.seeds = seeds;
        scenario.run.max_seeds = seeds;
    }
    if let Some(seed) = adjust.seed {
        let seeds = u64::from(scenario.run.max_seeds);
        if seed.checked_add(seeds).is_none() {
            let most = u64::MAX - seeds;
            let message =
                format!("--seed {seed} leaves no room for {seeds} seeds: write at most {most}");
            return Err(ScenarioError::new(message));
        }
        scenario.run.seed = seed;
    }
    check::check(&scenario, &tree)?;
    let mut provenance = BTreeMap::new();
    let mut stated = Vec::new();
    tree.leaves("", &mut |path, node| {
        if node.place.source.name == FOLLOWS {
            return;
        }
        stated.push(path.to_owned());
        if let Some(known) = &node.provenance {
            provenance.insert(path.to_owned(), known.clone());
        }
    });
    Ok(Cell {
        name: name.to_owned(),
        scenario,
        provenance,
        stated,
    })
}

/// After a change of duration: windows that begin after it are left out, others end with it. Hand-offs after
/// it are left out, too, and of `tree`, whose places are found by their numbers.
fn fit(scenario: &mut Scenario, tree: &mut Node) {
    let duration = scenario.run.duration;
    if let Topology::Wlan(Wireless { wlan, .. }) = &mut scenario.topology {
        let list = tree.below_mut(&["topology", "wlan", "handoffs"]);
        if let Some(Value::Array(items)) = list.map(|list| &mut list.value) {
            let mut stays = wlan.handoffs.iter().map(|one| one.at < duration);
            items.retain(|_| stays.next().unwrap_or(true));
        }
        wlan.handoffs.retain(|hand_off| hand_off.at < duration);
    }
    let measure = &mut scenario.measure;
    let mut left_out = Vec::new();
    let windows = std::mem::take(&mut measure.windows);
    let kept = windows.0.into_iter().filter_map(|(name, mut window)| {
        if window.from.unwrap_or_default() >= duration {
            left_out.push(name);
            return None;
        }
        window.to = window.to.map(|to| to.min(duration));
        Some((name, window))
    });
    measure.windows = Named(kept.collect());
    let is_left_out = |name: &String| left_out.contains(name);
    measure.baseline = measure.baseline.take().filter(|name| !is_left_out(name));
}

/// The text of a file.
fn read_bounded(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(LONGEST_FILE + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST_FILE {
        let message = format!("it is longer than {LONGEST_FILE} bytes, so it is no scenario");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}
