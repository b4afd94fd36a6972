//! Scenario files: a base, cells laid over it, and what the command line lays over both.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fairwire_units::Duration;
use serde::Deserialize;

use super::Scenario;
use super::bdp;
use super::beside::{Beside, read_bounded};
use super::check;
use super::check::checker::name_problem;
use super::choices::{choices, count};
use super::complete;
use super::crossed::{Crossed, Told};
use super::family::{BASE, Draft, Families, LONGEST_FILE, MOST_CELLS, Sheet, joined};
use super::place::{FOLLOWS, Place, ScenarioError, SourceText};
use super::read::Reader;
use super::schema;
use super::setting::Setting;
use super::shortened;
use super::traces::Traces;
use super::tree::{Node, Provenance};

/// What the dumbbell is called that needs no file.
pub const DUMBBELL: &str = "dumbbell";

/// What the command line changes.
#[derive(Clone, Debug, Default)]
pub struct Adjust {
    /// `path.to.key=value` for every cell; `path.to.key=` takes the key or table away.
    pub set: Vec<String>,
    /// `NAME=VALUE,VALUE`: axes of the file with these values, or dotted paths of keys, of which each cell is made with each
    /// value.
    pub axes: Vec<String>,
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
    /// What a reader should know of it that its values do not say.
    pub notes: Vec<String>,
    /// How values were computed that are written otherwise, in words, by dotted path: `1 bdp: 10 Mbit/s x 12 ms / 1500 B`.
    pub computed: BTreeMap<String, String>,
    /// Whether the unperturbed run is run, where there can be one.
    pub wants_unperturbed: bool,
}

/// A scenario file, read but not yet made into cells.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    source: Arc<SourceText>,
    sheet: Sheet,
    beside: Beside,
    /// Are its cells named after the axes that the command line names, and no others?
    is_short: bool,
}

/// A cell on its way, and the values of the dotted paths that the command line crosses it with.
struct Made<'a> {
    draft: Draft<'a>,
    point: Vec<(&'a Crossed, usize)>,
}

impl Cell {
    /// Returns whether one run is unperturbed: random starts are all that is random, and somebody wants to see the run
    /// without them.
    pub fn has_unperturbed_run(&self) -> bool {
        self.wants_unperturbed && self.scenario.is_perturbed_only()
    }

    /// How many runs there will be, and why, in a sentence.
    pub fn plan(&self) -> String {
        let run = &self.scenario.run;
        if !self.scenario.is_random() {
            return "nothing is random: one run".to_owned();
        }
        let random = if self.has_unperturbed_run() {
            "random starts, and the run without them"
        } else if self.scenario.is_perturbed_only() {
            "random starts"
        } else {
            "random links, sources or hosts"
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

    /// The dumbbell that is run where there is no file: a DCCP flow beside TCPs, with axes for what is mostly wanted
    /// otherwise.
    ///
    /// # Errors
    /// None that a program can meet: the file is part of it.
    pub fn dumbbell() -> Result<Self, ScenarioError> {
        let text = include_str!("dumbbell.toml");
        Ok(Self {
            is_short: true,
            ..Self::read(DUMBBELL, text, Beside::Nowhere)?
        })
    }

    fn read(name: &str, text: &str, beside: Beside) -> Result<Self, ScenarioError> {
        let source = Arc::new(SourceText {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        let sheet = Sheet::read(&source, &beside, Told::default())?;
        Ok(Self {
            source,
            sheet,
            beside,
            is_short: false,
        })
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
        let crossed = crossed(&adjust.axes)?;
        let told = Told {
            axes: &crossed,
            is_short: self.is_short,
        };
        let read;
        let sheet = if crossed.is_empty() && !self.is_short {
            &self.sheet
        } else {
            read = Sheet::read(&self.source, &self.beside, told)?;
            &read
        };
        let instances = sheet.select(&adjust.only)?;
        let paths: Vec<&Crossed> = crossed
            .iter()
            .filter(|axis| !sheet.has_axis(&axis.name))
            .collect();
        let counts: Vec<usize> = paths.iter().map(|axis| axis.values.len()).collect();
        if count(counts.iter().copied()) > MOST_CELLS / instances.len().max(1) {
            let message = format!("these axes make more than {MOST_CELLS} cells");
            return Err(ScenarioError::new(message));
        }
        let points: Vec<Vec<usize>> = choices(counts).collect();
        // A key that goes need not be in every cell, but in one.
        let mut applied = vec![false; settings.len()];
        let mut drafts = Vec::new();
        for instance in instances {
            for point in &points {
                let point = paths.iter().copied().zip(point.iter().copied());
                let mut made = Made {
                    draft: sheet.draft(instance)?,
                    point: point.collect(),
                };
                for (setting, applied) in settings.iter().zip(&mut applied) {
                    let set = setting.apply(made.draft.parts());
                    *applied |= set.map_err(|error| made.told(error))?;
                }
                made.cross()?;
                drafts.push(made);
            }
        }
        let mut missed = settings.iter().zip(applied).filter(|(_, applied)| !applied);
        if let (Some((setting, _)), Some(made)) = (missed.next(), drafts.first())
            && let Some(error) = setting.missed(&made.draft.tree)
        {
            return Err(error);
        }
        let is_without = |axis: &&Crossed| {
            let has = |made: &Made<'_>| made.axes().iter().any(|(name, _)| *name == axis.name);
            !drafts.iter().any(has)
        };
        if let Some(axis) = crossed.iter().find(is_without) {
            let message = "no cell that is to run has this axis";
            return Err(ScenarioError::at(message, &axis.place));
        }
        let mut traces = Traces::of(&self.beside);
        let cells = drafts.into_iter().map(|mut made| {
            let cell = cell(&mut made, adjust, &mut traces);
            cell.map_err(|error| made.told(error))
        });
        cells.collect()
    }
}

/// The axes of the command line, each of which is there once.
fn crossed(axes: &[String]) -> Result<Vec<Crossed>, ScenarioError> {
    let mut all: Vec<Crossed> = Vec::with_capacity(axes.len());
    for axis in axes {
        let axis = Crossed::parse(axis)?;
        if all.iter().any(|known| known.name == axis.name) {
            let message = "this axis was given before: write all its values in one --axes";
            return Err(ScenarioError::at(message, &axis.place));
        }
        all.push(axis);
    }
    Ok(all)
}

impl Made<'_> {
    /// Lays the values of its point over it.
    fn cross(&mut self) -> Result<(), ScenarioError> {
        for (axis, value) in &self.point {
            let setting = Setting::of_axis(axis, *value);
            let set = setting.apply(self.draft.parts());
            set.map_err(|error| self.draft.told(error))?;
        }
        Ok(())
    }

    /// The values of its axes, by their names: those of the file, then paths.
    fn axes(&self) -> Vec<(String, String)> {
        let paths = self.point.iter();
        let paths =
            paths.map(|(axis, value)| (axis.name.clone(), axis.values[*value].text.clone()));
        self.draft.axes().into_iter().chain(paths).collect()
    }

    /// Its name, and that of its family as it is written.
    fn names(&self) -> Result<(String, Option<String>), ScenarioError> {
        let plain = &self.draft.instance.name;
        let family = self.draft.family().map(str::to_owned);
        if self.point.is_empty() {
            return Ok((plain.clone(), family));
        }
        let of = |name: &str, more: String| {
            if name == BASE {
                more
            } else {
                format!("{name}-{more}")
            }
        };
        let words = self.point.iter();
        let words = words.map(|(axis, value)| (axis.key(), axis.values[*value].text.clone()));
        let name = of(plain, joined(words));
        if let Some(message) = name_problem(&name) {
            return Err(ScenarioError::new(format!("'{name}': {message}")));
        }
        let holes = self
            .point
            .iter()
            .map(|(axis, _)| format!("{{{}}}", axis.name));
        let holes: Vec<String> = holes.collect();
        let family = of(family.as_deref().unwrap_or(plain), holes.join("-"));
        Ok((name, Some(family)))
    }

    /// `error` with the cell that it is in, where that is one of several.
    fn told(&self, error: ScenarioError) -> ScenarioError {
        self.draft.told(error)
    }
}

fn cell(
    made: &mut Made<'_>,
    adjust: &Adjust,
    traces: &mut Traces<'_>,
) -> Result<Cell, ScenarioError> {
    let (name, family) = made.names()?;
    let axes = made.axes();
    let draft = &mut made.draft;
    draft.finish()?;
    let mut tree = std::mem::replace(&mut draft.tree, Node::empty(&Place::nowhere()));
    complete::complete(&mut tree);
    let mut whole = complete::ways_back(&tree)?;
    let products = bdp::take(&mut whole)?;
    let mut scenario = typed(&whole)?;
    let mut computed = bdp::Computed::new();
    if !products.is_empty() {
        computed = bdp::put(&mut whole, &scenario, &products)?;
        scenario = typed(&whole)?;
    }
    traces.fill(&scenario.topology, &tree)?;
    let mut notes = Vec::new();
    if draft.is_base_overridden(&tree, &["run", "duration"]) {
        notes.extend(shortened::fit(&mut scenario, &mut tree));
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
        name,
        family,
        axes,
        over: draft.over().to_vec(),
        scenario,
        provenance,
        stated,
        notes,
        computed,
        wants_unperturbed: true,
    })
}

/// The scenario of `tree`, if that keeps to the format.
fn typed(tree: &Node) -> Result<Scenario, ScenarioError> {
    schema::check(tree, &schema::form())?;
    Scenario::deserialize(Reader(tree)).map_err(ScenarioError::unforeseen)
}
