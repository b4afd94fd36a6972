//! Scenario files: a base, cells laid over it, and what the command line lays over both.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fairwire_units::Duration;
use serde::Deserialize;

use super::beside::{Beside, read_bounded};
use super::check;
use super::complete;
use super::family::{Draft, Families, LONGEST_FILE, Sheet};
use super::place::{FOLLOWS, Place, ScenarioError, SourceText};
use super::read::Reader;
use super::schema;
use super::setting::Setting;
use super::topology::{Topology, Wireless};
use super::traces::Traces;
use super::tree::{Node, Provenance, Value};
use super::{Named, Scenario};

/// What the command line changes.
#[derive(Clone, Debug, Default)]
pub struct Adjust {
    /// `path.to.key=value` for every cell; `path.to.key=` takes the key or table away.
    pub set: Vec<String>,
    /// Only these cells: names, groups, or patterns with `*`. All of them if there is none.
    pub only: Vec<String>,
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
    /// Its name; `base` in a file without cells and axes.
    pub name: String,
    /// The name of the family that it is of, as it is written (`{rate}-q{queue}`), if it is of one.
    pub family: Option<String>,
    /// The values of its axes, by their names: its own, then those of the cells that it extends.
    pub axes: Vec<(String, String)>,
    /// The files, cells and parts that it extends, in the order in which they are laid on each other.
    pub over: Vec<String>,
    /// All of it.
    pub scenario: Scenario,
    /// Where values come from, by dotted path, as far as it is said.
    pub provenance: BTreeMap<String, Provenance>,
    /// Dotted paths of the values that the file or the command line states; all others are defaults.
    pub stated: Vec<String>,
}

/// A scenario file, read but not yet made into cells.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    sheet: Sheet,
    beside: Beside,
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

impl ScenarioFile {
    /// Reads the file at `path`, and those that it extends.
    ///
    /// # Errors
    /// If one cannot be read or is no TOML, or if its cells, parts and axes are not what they should be.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let name = path.display().to_string();
        let text = read_bounded(path, "scenario", LONGEST_FILE)
            .map_err(|error| ScenarioError::new(format!("cannot read {name}: {error}")))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::read(&name, &text, Beside::Folder(folder))
    }

    /// Reads `text`, which messages call `name`. It is in no folder: it extends no other file, and has no traces.
    ///
    /// # Errors
    /// If it is no TOML, or if its cells, parts and axes are not what they should be.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::read(name, text, Beside::Nowhere)
    }

    /// The same, with what lies beside it, by the paths that the scenario writes: files that it extends, and traces.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_beside(
        name: &str,
        text: &str,
        files: BTreeMap<String, String>,
    ) -> Result<Self, ScenarioError> {
        Self::read(name, text, Beside::Texts(Arc::new(files)))
    }

    fn read(name: &str, text: &str, beside: Beside) -> Result<Self, ScenarioError> {
        let source = Arc::new(SourceText {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        let sheet = Sheet::read(&source, &beside)?;
        Ok(Self { sheet, beside })
    }

    /// Makes its axes and groups known to `families`.
    ///
    /// # Errors
    /// If a group is not what it should be.
    pub(crate) fn tell(&self, families: &mut Families) -> Result<(), ScenarioError> {
        families.add(&self.sheet)
    }

    /// Names of the cells in the order of the file.
    pub fn names(&self) -> Vec<&str> {
        self.sheet.names().collect()
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
        // A key that goes need not be in every cell, but in one.
        let mut applied = vec![false; settings.len()];
        let mut drafts = Vec::new();
        for instance in self.sheet.select(&adjust.only)? {
            let mut draft = self.sheet.draft(instance)?;
            for (setting, applied) in settings.iter().zip(&mut applied) {
                let set = setting.apply(draft.parts());
                *applied |= set.map_err(|error| draft.told(error))?;
            }
            drafts.push(draft);
        }
        let mut missed = settings.iter().zip(applied).filter(|(_, applied)| !applied);
        if let (Some((setting, _)), Some(draft)) = (missed.next(), drafts.first())
            && let Some(error) = setting.missed(&draft.tree)
        {
            return Err(error);
        }
        let mut traces = Traces::of(&self.beside);
        let cells = drafts.into_iter().map(|mut draft| {
            let cell = cell(&mut draft, adjust, &mut traces);
            cell.map_err(|error| draft.told(error))
        });
        cells.collect()
    }
}

fn cell(
    draft: &mut Draft<'_>,
    adjust: &Adjust,
    traces: &mut Traces<'_>,
) -> Result<Cell, ScenarioError> {
    draft.finish()?;
    let mut tree = std::mem::replace(&mut draft.tree, Node::empty(&Place::nowhere()));
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
        name: draft.instance.name.clone(),
        family: draft.family().map(str::to_owned),
        axes: draft.axes(),
        over: draft.over().to_vec(),
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
