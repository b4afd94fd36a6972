//! Scenario files: a base, the cells laid over it, and the changes of the command line.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fairwire_measure::counted;
use serde::Deserialize;

use super::Scenario;
use super::argument::WrittenDuration;
use super::argument_axis::{ArgumentAxis, CommandLineAxes};
use super::bdp;
use super::check;
use super::check::checker::name_problem;
use super::choices::{choices, count};
use super::complete;
use super::family::{BASE, Draft, Families, LONGEST_FILE, MOST_CELLS, Sheet, joined};
use super::files::{Files, read_bounded};
use super::place::{IMPLIED, Place, ScenarioError, SourceText};
use super::read::Reader;
use super::schema;
use super::setting::Setting;
use super::shortened;
use super::traces::Traces;
use super::tree::{Node, Provenance, Value};

/// The name of the built-in dumbbell, which needs no file.
pub const DUMBBELL: &str = "dumbbell";

/// The changes of the command line.
#[derive(Clone, Debug, Default)]
pub struct Adjust {
    /// `path.to.key=value` for every cell. `path.to.key=` removes the key or table.
    pub set: Vec<String>,
    /// `NAME=VALUE,VALUE`: values for an axis of the file, or for the dotted path of a key. Each cell is then made with
    /// each value.
    pub axes: Vec<String>,
    /// The cells to make: names, groups, or patterns with `*`. All cells if empty.
    pub only: Vec<String>,
    /// Replaces the duration.
    pub duration: Option<WrittenDuration>,
    /// Replaces both the least and the greatest number of seeds.
    pub seeds: Option<u32>,
    /// Replaces the first seed.
    pub seed: Option<u64>,
    /// Whether a paper runs in its quick form, which may be shorter.
    pub quick: bool,
}

/// One experiment of a file, ready to run.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The name; `base` in a file without cells and axes.
    pub name: String,
    /// The name of its family as it is written (`{rate}-q{queue}`), if it belongs to one.
    pub family: Option<String>,
    /// The values of its axes, by the names of the axes: its own, then those of the cells that it extends.
    pub axes: Vec<(String, String)>,
    /// The files, cells and parts that it extends, in the order in which they are laid.
    pub extends: Vec<String>,
    /// The complete scenario.
    pub scenario: Scenario,
    /// The stated sources of values, by dotted path.
    pub provenance: BTreeMap<String, Provenance>,
    /// The dotted paths of the values that the file or the command line states. All others are defaults.
    pub stated: Vec<String>,
    /// Notes for the reader that the values do not show.
    pub notes: Vec<String>,
    /// How computed values were computed, in words, by dotted path: `1 bdp: 10 Mbit/s x 12 ms / 1500 B`.
    pub computed: BTreeMap<String, String>,
    /// Whether the unperturbed run is run, where there can be one.
    pub wants_unperturbed: bool,
}

/// A scenario file that has been read. [`ScenarioFile::cells`] makes its cells.
#[derive(Clone, Debug)]
pub struct ScenarioFile {
    source: Arc<SourceText>,
    sheet: Sheet,
    beside: Files,
    /// Whether cells are named after the axes of the command line alone.
    is_short: bool,
    /// Notes on the file, which each of its cells has.
    notes: Vec<String>,
}

/// A cell in the making, and the values of the dotted paths that are axes of the command line.
struct Made<'a> {
    draft: Draft<'a>,
    point: Vec<(&'a ArgumentAxis, usize)>,
}

impl Cell {
    /// Returns whether one run is unperturbed: random starts are all that is random, and somebody wants to see the run
    /// without them.
    pub fn has_unperturbed_run(&self) -> bool {
        self.wants_unperturbed && self.scenario.is_perturbed_only()
    }

    /// Returns how many runs there will be, and why, in one sentence.
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
            let seeds = counted(seeds.into(), "seed");
            return format!("{seeds} from {} on: {random}", run.seed);
        }
        format!(
            "{seeds} to {most} seeds from {} on, depending on the spread: {random}",
            run.seed
        )
    }
}

impl ScenarioFile {
    /// Reads the file at `path` and the files that it extends.
    ///
    /// # Errors
    /// If a file cannot be read or is not TOML, or if its cells, parts and axes are malformed.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let name = path.display().to_string();
        let text = read_bounded(path, "scenario", LONGEST_FILE)
            .map_err(|error| ScenarioError::new(format!("cannot read {name}: {error}")))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Self::alone(&name, &text, Files::Folder(folder))
    }

    /// Reads `text`, which messages call `name`. It is in no folder, so it can extend no file and use no trace.
    ///
    /// # Errors
    /// If it is not TOML, or if its cells, parts and axes are malformed.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::alone(name, text, Files::Nowhere)
    }

    /// Reads `text` with the files beside it: those that it extends and its traces, by the paths that it writes. They
    /// may use its axes and parts, so there are no notes on those that it does not use.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn parse_beside(
        name: &str,
        text: &str,
        files: BTreeMap<String, String>,
    ) -> Result<Self, ScenarioError> {
        Self::read(name, text, Files::Texts(Arc::new(files)))
    }

    /// Returns the built-in dumbbell, which is run if no file is given: a DCCP flow beside TCP flows. Its axes are the
    /// settings that are most often varied.
    ///
    /// # Errors
    /// None in practice, because the file is part of the program.
    pub fn dumbbell() -> Result<Self, ScenarioError> {
        let text = include_str!("dumbbell.toml");
        Ok(Self {
            is_short: true,
            ..Self::read(DUMBBELL, text, Files::Nowhere)?
        })
    }

    /// Reads a file that no other file uses.
    fn alone(name: &str, text: &str, beside: Files) -> Result<Self, ScenarioError> {
        let file = Self::read(name, text, beside)?;
        let notes = file.sheet.notes(&file.source);
        Ok(Self { notes, ..file })
    }

    fn read(name: &str, text: &str, beside: Files) -> Result<Self, ScenarioError> {
        let source = Arc::new(SourceText {
            name: name.to_owned(),
            text: text.to_owned(),
        });
        let sheet = Sheet::read(&source, &beside, CommandLineAxes::default())?;
        Ok(Self {
            source,
            sheet,
            beside,
            is_short: false,
            notes: Vec::new(),
        })
    }

    /// Adds its axes and groups to `families`.
    ///
    /// # Errors
    /// If a group is malformed.
    pub fn add_to(&self, families: &mut Families) -> Result<(), ScenarioError> {
        families.add(&self.sheet)
    }

    /// Returns the names of the cells in the order of the file.
    pub fn names(&self) -> Vec<&str> {
        self.sheet.names().collect()
    }

    /// Returns the cells, adjusted and checked.
    ///
    /// # Errors
    /// The first error in any of them, or an `only` that names no cell.
    pub fn cells(&self, adjust: &Adjust) -> Result<Vec<Cell>, ScenarioError> {
        let settings = adjust.set.iter().map(|setting| Setting::parse(setting));
        let settings = settings
            .chain((adjust.duration.iter()).map(|time| Ok(Setting::duration(time))))
            .collect::<Result<Vec<_>, _>>()?;
        let argument_axes = argument_axes(&adjust.axes)?;
        let command_line = CommandLineAxes {
            axes: &argument_axes,
            is_short: self.is_short,
        };
        let read;
        let sheet = if argument_axes.is_empty() && !self.is_short {
            &self.sheet
        } else {
            read = Sheet::read(&self.source, &self.beside, command_line)?;
            &read
        };
        let instances = sheet.select(&adjust.only)?;
        let paths: Vec<&ArgumentAxis> = argument_axes
            .iter()
            .filter(|axis| !sheet.has_axis(&axis.name))
            .collect();
        let counts: Vec<usize> = paths.iter().map(|axis| axis.values.len()).collect();
        if count(counts.iter().copied()) > MOST_CELLS / instances.len().max(1) {
            let message = format!("these axes make more than {MOST_CELLS} cells");
            return Err(ScenarioError::new(message));
        }
        for setting in &settings {
            if let Some(axis) = paths.iter().find(|axis| setting.is_of(axis)) {
                let message = "this key has a value for all cells and is an axis too: give it once";
                return Err(ScenarioError::at(message, &axis.place));
            }
        }
        for (place, axis) in paths.iter().enumerate() {
            let (keys, mut others) = (axis.keys(), paths[..place].iter());
            if let Some(other) = others.find(|it| !keys.is_disjoint(&it.keys())) {
                let message = format!("the axis '{}' gives the same key a value", other.name);
                return Err(ScenarioError::at(message, &axis.place));
            }
        }
        let points: Vec<Vec<usize>> = choices(counts).collect();
        // A key that is removed must be in at least one cell, not in all.
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
                    *applied |= set.map_err(|error| made.in_cell(error))?;
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
        let is_without = |axis: &&ArgumentAxis| {
            let has = |made: &Made<'_>| made.axes().iter().any(|(name, _)| *name == axis.name);
            !drafts.iter().any(has)
        };
        if let Some(axis) = argument_axes.iter().find(is_without) {
            let message = "no cell that is to run has this axis";
            return Err(ScenarioError::at(message, &axis.place));
        }
        let mut traces = Traces::of(&self.beside);
        let cells = drafts.into_iter().map(|mut made| {
            let mut cell =
                cell(&mut made, adjust, &mut traces).map_err(|error| made.in_cell(error))?;
            // What is set may use the axes.
            if !adjust.set.iter().any(|set| set.contains('{')) {
                cell.notes.extend(self.notes.iter().cloned());
            }
            Ok(cell)
        });
        let cells: Vec<Cell> = cells.collect::<Result<_, _>>()?;
        unique(&cells)?;
        Ok(cells)
    }
}

/// Returns an error if two cells have the same name, because results are told apart by it.
fn unique(cells: &[Cell]) -> Result<(), ScenarioError> {
    let mut known: BTreeMap<&str, &Cell> = BTreeMap::new();
    for cell in cells {
        if let Some(other) = known.insert(&cell.name, cell) {
            let values = other.axes.iter().zip(&cell.axes);
            let values = values.filter(|(one, other)| one != other);
            let differ =
                values.map(|((name, one), (_, other))| format!("{name} = {one} and {other}"));
            let differ: Vec<String> = differ.collect();
            return Err(ScenarioError::new(format!(
                "two cells have the name '{}', with {}: a name leaves out some signs, so give values that differ in \
                 letters or digits",
                cell.name,
                differ.join(", ")
            )));
        }
    }
    Ok(())
}

/// Parses the axes of the command line, each of which may be given once.
fn argument_axes(axes: &[String]) -> Result<Vec<ArgumentAxis>, ScenarioError> {
    let mut all: Vec<ArgumentAxis> = Vec::with_capacity(axes.len());
    for axis in axes {
        let axis = ArgumentAxis::parse(axis)?;
        if all.iter().any(|known| known.name == axis.name) {
            let message = "this axis was given before: give all its values at once";
            return Err(ScenarioError::at(message, &axis.place));
        }
        all.push(axis);
    }
    Ok(all)
}

impl Made<'_> {
    /// Lays the values of its point over the draft.
    fn cross(&mut self) -> Result<(), ScenarioError> {
        for (axis, value) in &self.point {
            let setting = Setting::of_axis(axis, *value);
            let set = setting.apply(self.draft.parts());
            set.map_err(|error| self.draft.in_cell(error))?;
        }
        Ok(())
    }

    /// Returns the values of its axes, by the names of the axes: those of the file, then paths.
    fn axes(&self) -> Vec<(String, String)> {
        let paths = self.point.iter();
        let paths =
            paths.map(|(axis, value)| (axis.name.clone(), axis.values[*value].text.clone()));
        self.draft.axes().into_iter().chain(paths).collect()
    }

    /// Returns its name, and that of its family as it is written.
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

    /// Adds the cell to `error`, if the cell has axes.
    fn in_cell(&self, error: ScenarioError) -> ScenarioError {
        self.draft.in_cell(error)
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
    let mut scenario = typed(&whole).map_err(|error| draft.name_new_flow(error, &whole))?;
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
        let most = tree.below(&["run", "max_seeds"]).map(|node| &node.value);
        if let Some(&Value::Integer(most)) = most
            && most < i64::from(seeds)
        {
            notes.push(format!(
                "{seeds} seeds run, although the file states max_seeds = {most}"
            ));
        }
        scenario.run.seeds = seeds;
        scenario.run.max_seeds = seeds;
    }
    if let Some(seed) = adjust.seed {
        let seeds = u64::from(scenario.run.max_seeds);
        if seed.checked_add(seeds).is_none() {
            let most = u64::MAX - seeds;
            let seeds = counted(seeds, "seed");
            let message = format!("seed {seed} leaves no room for {seeds}: write at most {most}");
            return Err(ScenarioError::new(message));
        }
        scenario.run.seed = seed;
    }
    check::check(&scenario, &tree)?;
    let mut provenance = BTreeMap::new();
    let mut stated = Vec::new();
    tree.leaves("", &mut |path, node| {
        if node.place.source.name == IMPLIED {
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
        extends: draft.extends().to_vec(),
        scenario,
        provenance,
        stated,
        notes,
        computed,
        wants_unperturbed: true,
    })
}

/// Checks `tree` against the format and returns its scenario.
fn typed(tree: &Node) -> Result<Scenario, ScenarioError> {
    let form = schema::form();
    schema::check(tree, &form)?;
    Scenario::deserialize(Reader(tree)).map_err(ScenarioError::into_bug)
}
