//! Papers as data: their scenarios, published tables and claims, and the report of a run of them.
//!
//! 1. A [`Bundle`] holds the files of a paper; [`Paper::load`] reads it and checks every name in it.
//! 2. [`Paper::cells`] are run like any other cells ([`campaign`](fairwire_sim::campaign)).
//! 3. [`Paper::report`] compares measured with published numbers and judges each claim. The result is shown as text,
//!    CSV or JSON ([`Reported`]), or by another crate as a page.
//! 4. [`digests`] tells whether the runs have changed.
//!
//! Nothing here is specific to one paper: a new paper is a directory ([`Bundle::read`]).

mod bundle;
mod check;
mod claim;
mod defaults;
mod difference;
pub mod digests;
mod document;
mod error;
mod export;
mod figure;
mod files;
mod findings;
mod judge;
mod manifest;
mod metric_or_moment;
mod moment;
mod names;
mod part;
mod published;
mod quantity;
mod quick;
mod reported;
mod sweep;
#[cfg(test)]
pub(crate) mod synthetic;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod unit;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use bundle::{MANIFEST, not_toml};
use document::Document;
use fairwire_scenario::tree::Node;
use fairwire_scenario::{Adjust, Cell, Families, ScenarioError, ScenarioFile};
use fairwire_sim::results::{Subject, WHOLE};
use figure::{FigurePlan, WrittenFigure};
use manifest::{Manifest, TablePlan, WrittenTable};
use names::Names;
use quick::Quick;
use sweep::Sweep;

pub use bundle::Bundle;
pub use check::{Checked, Kind};
pub use claim::Claim;
pub use difference::{Difference, POINTS};
pub use error::PaperError;
pub use figure::{Figure, Form, Line, Mark, Point, Scale, XAxis, YAxis};
pub use files::REPORT_PAGE;
pub use findings::Report;
pub use judge::{Controlled, Isolated, Judged};
pub use manifest::{Ground, Overview, Unfounded};
pub use moment::Moment;
pub use part::Part;
pub use published::Published;
pub use quantity::Measured;
pub use reported::{Reported, Tally};
pub use table::without_repeats;
pub use table::{Block, Row, Table};
pub use text::{IDS, MOST_IN_LINE};
pub use unit::Unit;
pub use verdict::CLOSE;
pub use verdict::Verdict;

/// The number of seeds of a quick run.
pub const QUICK_SEEDS: u32 = 3;

/// A paper whose files have been read and checked.
#[derive(Clone, Debug)]
pub struct Paper {
    /// Its name on the command line.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its authors.
    pub authors: String,
    /// Its subject, in one line.
    pub line: String,
    /// How long its runs take, in words.
    pub runtime: String,
    /// What it asked and what our runs show, for the first page of the report.
    pub overview: Option<Overview>,
    /// What it does and proposes, for somebody who has not read it; may be empty.
    pub about: String,
    /// Its experiments, in the order of its scenario files.
    pub cells: Vec<Cell>,
    /// Its claims.
    pub claims: Vec<Claim>,
    tables: Vec<TablePlan>,
    figures: Vec<FigurePlan>,
    moments: BTreeMap<String, Moment>,
    windows: BTreeMap<String, String>,
    flows: BTreeMap<String, String>,
    sweep: Option<Sweep>,
    /// How these runs differ from the paper's, if they are shortened.
    shortened: Option<String>,
    quick: bool,
    /// Whether these are some of its tables only, without claims and figures.
    pub tables_only: bool,
    /// Whether it comes with Fairwire, so that what the report says about the choice of its tolerances is true.
    pub is_built_in: bool,
}

impl Paper {
    /// Reads `bundle` and applies `adjust` to its cells.
    ///
    /// # Errors
    /// The first error in any of its files, or in an adjusted cell.
    pub fn load(bundle: &Bundle, adjust: &Adjust) -> Result<Self, PaperError> {
        let file = bundle.path(MANIFEST);
        let refuse = |message: String| PaperError::file(&file, message);
        let text = bundle.text(MANIFEST).map_err(refuse)?;
        let mut document = Document::read(bundle.path(MANIFEST), text)?;
        let mut families = Families::default();
        let scenarios = read_scenarios(bundle, &mut document, &mut families)?;
        document.expand_families(&mut families)?;
        let mut mentioned = BTreeSet::new();
        document.texts(&mut mentioned);
        let shown = manifest::shown(&mut document)?;
        let manifest: Manifest = document.rest()?;
        if let Some(problem) = manifest.sweep.as_ref().and_then(Sweep::validate) {
            return Err(refuse(problem));
        }
        let sweep = manifest.sweep.map(|sweep| sweep.quick_form(adjust.quick));
        let sweep = sweep.map(|sweep| sweep.resolve(&scenarios)).transpose();
        let sweep = sweep.map_err(|message| document.refuse(&message))?;
        let shorter = manifest.quick.as_ref().filter(|_| adjust.quick);
        let mut cells = cells(&scenarios, adjust, shorter, sweep.as_ref())?;
        let mut seen = BTreeSet::new();
        if let Some(cell) = cells.iter().find(|cell| !seen.insert(&cell.name)) {
            return Err(refuse(format!("two scenarios have a cell '{}'", cell.name)));
        }
        let published = read_published(bundle, &document, &manifest.published)?;
        check_moments(&document, &manifest.moments)?;
        check_shown_names(&document, &cells, shorter.is_some())?;
        let names = Names {
            cells: &cells,
            moments: &manifest.moments,
            published: &published,
        };
        let tables = tables(shown.tables, &names)?;
        let figures = figures(shown.figures, shorter.is_some(), &names)?;
        let text = bundle.text(&manifest.claims);
        let text = text.map_err(|message| document.refuse(&message))?;
        let mut of_claims = Document::read(bundle.path(&manifest.claims), text)?;
        of_claims.expand_families(&mut families)?;
        of_claims.texts(&mut mentioned);
        names.check_published(&mentioned)?;
        let claims = claim::read(&mut of_claims, &names)?;
        let overview = manifest.overview.as_ref();
        if let Some(problem) = overview.and_then(|it| it.problem(&figures, &claims)) {
            return Err(document.refuse(&problem).into());
        }
        families.refuse_unused()?;
        let unperturbed = shown_unperturbed(&tables);
        for cell in &mut cells {
            cell.wants_unperturbed = unperturbed.contains(&cell.name);
        }
        Ok(Self {
            name: bundle.name().to_owned(),
            title: manifest.title,
            authors: manifest.authors,
            line: manifest.line,
            runtime: manifest.runtime,
            overview: manifest.overview,
            about: manifest.about,
            claims,
            tables,
            figures,
            windows: manifest.windows,
            flows: manifest.flows,
            moments: manifest.moments,
            sweep,
            shortened: shorter.map(|quick| quick.says.clone()),
            quick: adjust.quick,
            tables_only: false,
            is_built_in: bundle.is_built_in(),
            cells,
        })
    }

    /// Returns the adjustment of a run: `seeds` seeds, or [`QUICK_SEEDS`] in a quick run unless `seeds` is given.
    pub fn adjust(quick: bool, seeds: Option<u32>) -> Adjust {
        Adjust {
            seeds: seeds.or(quick.then_some(QUICK_SEEDS)),
            quick,
            ..Adjust::default()
        }
    }

    /// Returns the golden digests that come with `bundle`.
    ///
    /// # Errors
    /// If their file cannot be read.
    pub fn golden(bundle: &Bundle) -> Result<digests::Golden, PaperError> {
        let file = digests::FILE;
        let text = bundle.text(file);
        let text = text.map_err(|message| PaperError::file(&bundle.path(MANIFEST), message))?;
        digests::read(text).map_err(|error| not_toml(&bundle.path(file), text, &error))
    }

    /// Reduces the paper to some of its tables and the cells that they need.
    ///
    /// Claims and figures are removed, because they need other cells.
    ///
    /// # Errors
    /// If it has no table of such a name; the error lists all names.
    pub fn with_tables(mut self, wanted: &[String]) -> Result<Self, PaperError> {
        for name in wanted {
            if !self.tables.iter().any(|table| table.name == *name) {
                return Err(PaperError::UnknownTable {
                    paper: self.name,
                    name: name.clone(),
                    known: self.tables.into_iter().map(|table| table.name).collect(),
                });
            }
        }
        self.tables.retain(|table| wanted.contains(&table.name));
        let rows = self
            .tables
            .iter()
            .flat_map(|table| &table.blocks)
            .flat_map(|block| &block.rows);
        let needed: Vec<&str> = rows.flat_map(|row| row.quantity.cells()).collect();
        self.cells
            .retain(|cell| needed.contains(&cell.name.as_str()));
        self.claims.clear();
        self.figures.clear();
        self.tables_only = true;
        Ok(self)
    }

    /// Returns the cells whose runs decide whether the statements of the overview stand, without those of a sweep.
    pub fn cells_of_overview(&self) -> BTreeSet<&str> {
        let grounds = self.overview.iter().flat_map(|it| &it.rests_on);
        let ids: BTreeSet<&String> = grounds.flat_map(|ground| ground.verdicts.keys()).collect();
        let claims = self.claims.iter().filter(|claim| ids.contains(&claim.id));
        let cells = claims.flat_map(|claim| [claim.cells(), claim.cells_of_controls()]);
        cells.flatten().collect()
    }

    /// Returns whether it is the quick form, with fewer seeds and possibly shorter runs.
    pub fn is_quick(&self) -> bool {
        self.quick
    }

    /// Returns the name of `flow` in a table.
    pub fn flow_name(&self, flow: &str) -> String {
        self.flows
            .get(flow)
            .cloned()
            .unwrap_or_else(|| flow.to_owned())
    }

    /// Returns the name of `window` in a table.
    pub fn window_heading<'a>(&'a self, window: &'a str) -> &'a str {
        self.windows.get(window).map_or(window, String::as_str)
    }
}

/// Reads the scenario files of a paper, and adds their axes and groups to `families`.
fn read_scenarios(
    bundle: &Bundle,
    document: &mut Document,
    families: &mut Families,
) -> Result<Vec<ScenarioFile>, PaperError> {
    let mut scenarios = Vec::new();
    for (scenario, place) in document.take_texts("scenarios")? {
        let text = bundle.text(&scenario);
        let text = text.map_err(|message| ScenarioError::at(message, &place))?;
        let path = bundle.path(&scenario);
        let scenario = ScenarioFile::parse_beside(&path, text, bundle.beside())?;
        scenario.add_to(families)?;
        scenarios.push(scenario);
    }
    Ok(scenarios)
}

/// Returns the cells of the scenario files, in their quick form if there is one, and those of a sweep.
fn cells(
    scenarios: &[ScenarioFile],
    adjust: &Adjust,
    quick: Option<&Quick>,
    sweep: Option<&Sweep>,
) -> Result<Vec<Cell>, PaperError> {
    let shorter = quick.map(|quick| quick.adjust(adjust));
    let mut cells = Vec::new();
    for file in scenarios {
        cells.extend(file.cells(shorter.as_ref().unwrap_or(adjust))?);
        if let Some(sweep) = sweep {
            cells.extend(sweep.cells(file, adjust)?);
        }
    }
    Ok(cells)
}

/// Reads the files of published numbers.
fn read_published(
    bundle: &Bundle,
    document: &Document,
    files: &[String],
) -> Result<BTreeMap<String, Vec<Published>>, PaperError> {
    let mut published = BTreeMap::new();
    for file in files {
        let text = bundle.text(file);
        let text = text.map_err(|message| document.refuse(&message))?;
        let rows = published::read(&bundle.path(file), text)?;
        published.insert(file.clone(), rows);
    }
    Ok(published)
}

/// Resolves the names in the tables of a paper.
fn tables(
    written: Vec<(Node, WrittenTable)>,
    names: &Names<'_>,
) -> Result<Vec<TablePlan>, ScenarioError> {
    let resolve = |(node, table): (Node, WrittenTable)| {
        let plan = table.resolve(names);
        plan.map_err(|message| document::refuse(&node, &message))
    };
    written.into_iter().map(resolve).collect()
}

/// Resolves the names in the figures of a paper, in their quick form if `quick` is set.
fn figures(
    written: Vec<(Node, WrittenFigure)>,
    quick: bool,
    names: &Names<'_>,
) -> Result<Vec<FigurePlan>, ScenarioError> {
    let resolve = |(node, figure): (Node, WrittenFigure)| {
        let plan = figure.quick_form(quick).resolve(names);
        plan.map_err(|message| document::refuse(&node, &message))
    };
    written.into_iter().map(resolve).collect()
}

fn check_moments(
    document: &Document,
    moments: &BTreeMap<String, Moment>,
) -> Result<(), ScenarioError> {
    for (name, moment) in moments {
        if let Some(problem) = moment.validate() {
            return Err(document.refuse(&format!("moment {name}: {problem}")));
        }
    }
    Ok(())
}

/// Checks that the windows and flows that readers see by other names exist in some of the `cells`. Shorter runs may lack
/// windows.
fn check_shown_names(
    document: &Document,
    cells: &[Cell],
    is_shorter: bool,
) -> Result<(), ScenarioError> {
    let flows = cells.iter().flat_map(|cell| cell.scenario.flows.iter());
    let all = Subject::All.to_string();
    let flows: BTreeSet<&str> = flows.map(|(name, _)| name).chain([&*all]).collect();
    document.check_keys("flows", flows.iter().copied(), |name| {
        name.strip_suffix("/back").unwrap_or(name)
    })?;
    if is_shorter {
        return Ok(());
    }
    let windows = cells
        .iter()
        .flat_map(|cell| cell.scenario.measure.windows.iter());
    let windows: BTreeSet<&str> = windows.map(|(name, _)| name).chain([WHOLE]).collect();
    document.check_keys("windows", windows.iter().copied(), |name| name)
}

/// Returns the names of the cells whose unperturbed run stands in one of `tables`.
fn shown_unperturbed(tables: &[TablePlan]) -> BTreeSet<String> {
    let blocks = tables.iter().flat_map(|table| &table.blocks);
    let rows = blocks
        .filter(|block| block.unperturbed)
        .flat_map(|block| &block.rows);
    let cells = rows.flat_map(|row| row.quantity.cells());
    cells.map(str::to_owned).collect()
}
