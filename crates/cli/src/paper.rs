//! `fairwire paper`: runs the built-in papers, or a paper in a directory, and reports on them.

mod digests;
mod running;

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use fairwire_measure::counted;
use fairwire_paper::{Bundle, Paper, PaperError, Reported};
use fairwire_papers::catalogue;
use fairwire_sim::campaign::{Memory, RunStore};
use fairwire_sim::results::{Form, Output, OutputDirectory, Results, SeriesChoice};
#[cfg(feature = "sweep")]
use fairwire_sweep::Store;

use crate::jobs::jobs;
#[cfg(feature = "sweep")]
use crate::origin::origin;
use crate::print::{self, FAILED, USAGE, fail};
use crate::{number, out, stop};
use running::{Finished, run};

/// The name that means every built-in paper.
const ALL: &str = "all";

/// Reproduce a paper, or all: its tables beside ours, and a verdict on each claim.
///
/// Without a name, lists the papers. The name 'all' runs every paper, on all processors. The report goes to standard
/// output. With --out the report goes into the directory, and a line for each claim to standard output. Progress goes
/// to the terminal. Exit status: 0 done, 1 failed or interrupted, 2 wrong usage.
#[derive(Debug, Parser)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Args {
    /// Name of the paper, 'all', or a directory that holds a paper, as ./mine (see papers/README.md).
    #[arg(value_name = "NAME|DIR")]
    name: Option<String>,
    /// Run three seeds instead of ten or more; every cell is still run.
    #[arg(long, conflicts_with = "seeds", requires = "name")]
    quick: bool,
    /// Number of seeds to run, 1 to 10000.
    #[arg(long, value_name = "N", value_parser = number::seeds)]
    #[arg(requires = "name")]
    seeds: Option<u32>,
    /// Number of runs at the same time [default: one for each processor]. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = number::jobs)]
    #[arg(requires = "name")]
    jobs: Option<u32>,
    /// Run only this table and the cells that it needs, without verdicts. May be repeated.
    #[arg(long, value_name = "TABLE", requires = "name")]
    table: Vec<String>,
    /// Write report.html, report.txt, and all numbers as CSV and JSON into this directory. Results of an earlier run
    /// there are replaced when this run ends; other files are kept.
    #[arg(long, value_name = "DIR", requires = "name")]
    out: Option<PathBuf>,
    /// Time series that --out writes into series.csv.gz. With 'all', results.json.gz also holds the series and every
    /// other number, and the files take nearly three times the space. `fairwire run DIR/CELL.toml --out DIR2` writes
    /// the series of one cell.
    #[arg(
        long,
        value_name = "WHICH",
        requires = "out",
        default_value = "figures"
    )]
    series: Series,
    /// A folder of finished runs, as of `fairwire sweep`: runs that it has are not done again, and new ones are added. It
    /// is made if there is none.
    #[cfg(feature = "sweep")]
    #[arg(long, value_name = "DIR", requires = "name")]
    #[arg(conflicts_with_all = ["check_digests", "update_digests"])]
    store: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long, requires = "name")]
    json: bool,
    /// Print CSV instead of text: one kind of numbers.
    #[arg(long, value_name = "WHAT", requires = "name", conflicts_with = "json")]
    csv: Option<Csv>,
    /// Run with --quick, or the first --seeds of it, and compare the results with the golden digests; print nothing
    /// else.
    #[arg(long, conflicts_with_all = ["out", "json", "csv", "table", "update_digests"])]
    #[arg(requires = "name")]
    check_digests: bool,
    /// Run with --quick and write its digests into the source tree; print nothing else.
    #[arg(long, conflicts_with_all = ["seeds", "out", "json", "csv", "table"])]
    #[arg(requires = "name")]
    update_digests: bool,
}

/// The time series that are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Series {
    /// No series.
    None,
    /// The series that the paper's figures show.
    Figures,
    /// Every series of the cells that record series.
    All,
}

impl Series {
    /// Returns the form in which the results of `paper` are written.
    fn form_of(self, paper: &Paper) -> Form {
        let series = match self {
            Self::None => SeriesChoice::None,
            Self::Figures => SeriesChoice::Only(paper.series_of_figures()),
            Self::All => SeriesChoice::All,
        };
        let form = Form {
            gzip: true,
            series,
            ..Form::default()
        };
        form.with_axes(&paper.cells)
    }
}

/// The kinds of numbers that can be printed as CSV.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Csv {
    /// Every number of every table.
    Tables,
    /// Every point of every figure.
    Figures,
    /// Every claim.
    Verdicts,
}

impl Args {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let Some(name) = &self.name else {
            return list();
        };
        if !self.table.is_empty()
            && let Some(kind @ (Csv::Verdicts | Csv::Figures)) = self.csv
        {
            let kind = if kind == Csv::Verdicts {
                "verdicts"
            } else {
                "figures"
            };
            let message = format!(
                "--table runs only the cells of tables, so there are no {kind}: leave out --table or --csv {kind}"
            );
            return print::refuse(self.json, USAGE, &message);
        }
        let papers = match self.load(name) {
            Ok(papers) => papers,
            Err(error) => {
                // The user cannot correct a built-in paper.
                let own = paper_directory(name).is_some();
                let status = if own || error.is_usage() {
                    USAGE
                } else {
                    FAILED
                };
                return print::refuse(self.json, status, &error);
            }
        };
        if self.check_digests {
            return digests::check(&papers, jobs(self.jobs), self.seeds);
        }
        if self.update_digests {
            return digests::update(&papers, jobs(self.jobs));
        }
        if name == ALL && !self.table.is_empty() {
            let message = "--table works with one paper: write its name instead of 'all'";
            return print::refuse(self.json, USAGE, &message);
        }
        let papers: Vec<Paper> = papers.into_iter().map(|(_, paper)| paper).collect();
        #[cfg(feature = "sweep")]
        if let Some(folder) = &self.store {
            return self.stored(&papers, name == ALL, folder);
        }
        self.report(&papers, name == ALL, &mut Memory::default()).0
    }

    /// Reports on papers whose runs are in a store.
    #[cfg(feature = "sweep")]
    fn stored(&self, papers: &[Paper], all: bool, folder: &Path) -> ExitCode {
        let mut store = match Store::open(folder, origin()) {
            Ok(store) => store,
            Err(error) => return print::refuse(self.json, FAILED, &error),
        };
        let (status, counts) = self.report(papers, all, &mut store);
        if let Some((found, done)) = counts {
            let (found, done) = (counted(found, "run"), counted(done, "run"));
            print::note(&format!("{}: {found} found, {done} done", folder.display()));
        }
        match store.close() {
            Ok(()) => status,
            Err(error) => fail(FAILED, &error),
        }
    }

    /// Loads the paper with this name, or all papers.
    fn load(&self, name: &str) -> Result<Vec<(Bundle, Paper)>, PaperError> {
        let quick = self.quick || self.check_digests || self.update_digests;
        let adjust = Paper::adjust(quick, self.seeds);
        if name == ALL {
            let load = |bundle: &Bundle| Ok((bundle.clone(), Paper::load(bundle, &adjust)?));
            return catalogue().iter().map(load).collect();
        }
        let bundle = match paper_directory(name) {
            Some(directory) => Bundle::read(directory)?,
            None => fairwire_papers::find(name)?.clone(),
        };
        let mut paper = Paper::load(&bundle, &adjust)?;
        if !self.table.is_empty() {
            paper = paper.with_tables(&self.table)?;
        }
        Ok(vec![(bundle, paper)])
    }

    /// Claims the output directory. Each paper's files go into it, or with all papers into one folder each.
    fn outputs(
        &self,
        papers: &[Paper],
        all: bool,
    ) -> io::Result<Option<(OutputDirectory, Vec<Output>)>> {
        let Some(directory) = &self.out else {
            return Ok(None);
        };
        let own = self.name.as_deref().and_then(paper_directory);
        if let Some(own) = own.filter(|own| is_same(own, directory)) {
            let message = format!(
                "{} is the paper itself: choose another directory for its results",
                own.display()
            );
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        let directory = out::open(directory, Reported::files(papers, all), None)?;
        let outputs = papers.iter().map(|paper| {
            let place = directory.place(folder(paper, all));
            Output::create(&place, self.series.form_of(paper))
        });
        let outputs = outputs.collect::<io::Result<_>>()?;
        Ok(Some((directory, outputs)))
    }

    /// Runs what the store does not have, and reports. Returns how many runs it had and how many were done, if it came
    /// to that.
    fn report<S: RunStore>(
        &self,
        papers: &[Paper],
        all: bool,
        store: &mut S,
    ) -> (ExitCode, Option<(u64, u64)>) {
        // Before anything is created that an interrupt would leave behind.
        let stop = stop::on_interrupt();
        let (directory, outputs) = match self.outputs(papers, all) {
            Ok(outputs) => outputs.unzip(),
            Err(error) => return (print::refuse(self.json, FAILED, &error), None),
        };
        let mut outputs = outputs.unwrap_or_default();
        let Finished {
            results,
            unwritten,
            failure,
            found,
            done,
        } = run(papers, (&stop, jobs(self.jobs)), store, &mut outputs);
        let reported: Vec<Reported<'_>> = papers
            .iter()
            .zip(&results)
            .map(|(paper, results)| Reported {
                paper,
                report: paper.report(results),
            })
            .collect();
        let written = directory.map(|directory| {
            if let Some(error) = unwritten {
                let place = directory.place(None);
                return Err(format!(
                    "{error}; the finished results are shown and are in {}; they are partial",
                    place.display()
                ));
            }
            let results = results.iter().zip(outputs);
            write(&reported, results, directory, all).map_err(|error| error.to_string())
        });
        // Everything is printed if it is not in a file.
        let brief = matches!(written, Some(Ok(_)));
        let shown = print::try_text(&self.text(&reported, all, brief));
        let mut failures: Vec<String> = Vec::new();
        failures.extend(shown.err().map(|error| error.to_string()));
        failures.extend(
            failure.map(|error| format!("{error}; the results finished before it are shown")),
        );
        match written {
            Some(Ok(at)) => {
                let (page, text) = (at.join("report.html"), at.join("report.txt"));
                let (page, text) = (page.display(), text.display());
                print::note(&format!("written: {page}, as text {text}"));
            }
            Some(Err(error)) => failures.push(error),
            None => {}
        }
        if failures.is_empty() && Reported::is_partial(&reported) {
            failures.push("interrupted: these results are partial".to_owned());
        }
        (print::end(&failures), Some((found, done)))
    }

    /// Returns the text to print: the whole report, or only the verdicts if `brief`.
    fn text(&self, papers: &[Reported<'_>], all: bool, brief: bool) -> String {
        if let Some(csv) = self.csv {
            let bytes = match csv {
                Csv::Tables => Reported::tables_csv(papers),
                Csv::Figures => Reported::figures_csv(papers),
                Csv::Verdicts => Reported::verdicts_csv(papers),
            };
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        if self.json {
            let json = match papers {
                [one] if !all => one.json(),
                _ => Reported::all_json(papers),
            };
            let text = serde_json::to_string_pretty(&json).unwrap_or_default();
            return format!("{text}\n");
        }
        if brief {
            Reported::brief(papers, all)
        } else {
            Reported::text(papers, all)
        }
    }
}

/// Writes the reports and publishes them with the results. Returns the directory where they are.
fn write<'a>(
    reported: &[Reported<'_>],
    results: impl Iterator<Item = (&'a Results, Output)>,
    directory: OutputDirectory,
    all: bool,
) -> io::Result<PathBuf> {
    for (one, (results, output)) in reported.iter().zip(results) {
        output.finish(results)?;
        fairwire_report::write(one, &directory.place(folder(one.paper, all)))?;
    }
    if all {
        fairwire_report::write_all(reported, &directory.place(None))?;
    }
    let published = out::publish(directory, Reported::is_partial(reported))?;
    Ok(published.directory().to_owned())
}

/// Returns the folder for the files of `paper`; `None` if they go into the directory itself.
fn folder(paper: &Paper, all: bool) -> Option<&str> {
    all.then_some(paper.name.as_str())
}

/// Returns whether both paths are the same existing directory.
fn is_same(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().ok();
    whole(one).is_some_and(|one| whole(other) == Some(one))
}

/// Returns the directory that `name` means, if it is not the name of a paper: a path, or a directory that holds a
/// paper.
fn paper_directory(name: &str) -> Option<&Path> {
    let path = Path::new(name);
    let is_path = name.contains(std::path::is_separator) || [".", ".."].contains(&name);
    let is_known = name == ALL || fairwire_papers::find(name).is_ok();
    (is_path || (!is_known && Bundle::is_in(path))).then_some(path)
}

fn list() -> ExitCode {
    let mut text = String::new();
    for bundle in catalogue() {
        match Paper::load(bundle, &Paper::adjust(false, None)) {
            Ok(paper) => {
                let _ = writeln!(text, "{}\n  {}\n  {}", paper.name, paper.title, paper.line);
                let cells = counted(paper.cells.len() as u64, "cell");
                let claims = counted(paper.claims.len() as u64, "claim");
                let _ = writeln!(text, "  {cells}, {claims}; {}", paper.runtime);
            }
            Err(error) => return fail(FAILED, &error),
        }
    }
    text.push_str(
        "\nfairwire paper NAME runs one paper, fairwire paper all runs all papers; --quick uses three seeds, \
         --out DIR writes report.html.\nfairwire paper ./DIR runs a paper of your own: its files are in DIR, and \
         papers/README.md says what is in them.\n",
    );
    print::text(&text)
}
