//! `fairwire run`: runs the cells of a scenario file, each with its seeds.

mod capture;
mod explain;
mod means;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::Parser;
use fairwire_measure::counted;
use fairwire_report::{PAGE, write_experiment};
use fairwire_scenario::{
    Cell, DUMBBELL, Encapsulation, Scenario, ScenarioError, ScenarioFile, notes,
};
use fairwire_sim::campaign::{self, Campaign, Progress};
use fairwire_sim::digests::{self, DigestError};
use fairwire_sim::results::{
    CellResult, Form, Output, OutputDirectory, Results, is_of_results, overview, table, to_json,
};
use fairwire_sim::{Tap, check_links};

use self::explain::{explanation, note_lines};
use self::means::MeanArgs;
use crate::cells::CellArgs;
use crate::jobs::jobs;
use crate::print::{self, FAILED, USAGE, fail, note};
use crate::{number, out, progress, stop};

/// The number of cells from which `--out` leaves the table of each cell to the files.
const MANY_CELLS: usize = 5;
/// The most notes of runs that are printed with one table of all cells.
const MOST_NOTES: usize = 6;

/// What to write if the command line names nothing to run.
const NOTHING_TO_RUN: &str = "name a scenario FILE, as in 'fairwire run scenarios/dumbbell.toml', or vary the built-in dumbbell without one, \
     as in 'fairwire run --axes ccid=2,3' ('fairwire run --help' lists its axes)";

/// The number of seeds with `--quick`.
const QUICK_SEEDS: u32 = 3;

/// Run a scenario file: every cell, with every seed. With --axes and no file, run a dumbbell with DCCP and TCP flows.
///
/// Tables go to standard output, with 95 % confidence intervals over the seeds; progress goes to the terminal.
/// docs/scenario.md describes the files. Exit status: 0 done, 1 failed or interrupted, 2 wrong usage or a wrong
/// scenario.
#[derive(Debug, Parser)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line, and they do not exclude each other"
)]
pub(crate) struct Args {
    /// Scenario file to run. Without it the axes are ccid, law, queue, rate, delay, loss and tcps, as in --axes ccid=2,3.
    #[arg(value_name = "FILE")]
    scenario: Option<PathBuf>,
    #[command(flatten)]
    cells: CellArgs,
    /// Run three seeds.
    #[arg(long, conflicts_with = "seeds")]
    quick: bool,
    /// Write the whole packets of the first seed's run as pcapng, with one interface per link; for one cell only.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Capture only this link: --tap bottleneck in both directions, --tap bottleneck/back in that one. May be repeated.
    #[arg(long, value_name = "LINK", requires = "pcap")]
    tap: Vec<String>,
    /// Number of runs at the same time [default: one for each processor]. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = number::jobs)]
    #[arg(allow_hyphen_values = true)] // As above.
    jobs: Option<u32>,
    /// Print what would run, with the source and meaning of every value, and run nothing.
    #[arg(long)]
    explain: bool,
    /// Write a page with plots, CSV, JSON and the resolved scenarios into this directory. Results of an earlier run
    /// there are replaced when this run ends; other files are kept.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON instead of tables.
    #[arg(long, conflicts_with = "explain")]
    json: bool,
    #[command(flatten)]
    means: MeanArgs,
    /// Compare the digests of the runs with the golden digests beside the file; print nothing else.
    #[arg(long, conflicts_with_all = ["update_digests", "pcap", "out", "explain"])]
    #[arg(requires = "scenario", conflicts_with_all = ["set", "axes", "only", "duration", "seeds", "seed", "quick"])]
    check_digests: bool,
    /// Write the golden digests beside the file; print nothing else.
    #[arg(long, conflicts_with_all = ["pcap", "out", "explain"])]
    #[arg(requires = "scenario", conflicts_with_all = ["set", "axes", "only", "duration", "seeds", "seed", "quick"])]
    update_digests: bool,
}

impl Args {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        if let Some(file) = self.scenario.as_deref()
            && (self.check_digests || self.update_digests)
        {
            return self.digests(file);
        }
        if self.scenario.is_none() && !self.cells.has_axes() {
            return print::refuse(self.json, USAGE, &NOTHING_TO_RUN);
        }
        let cells = match self.cells() {
            Ok(cells) => cells,
            Err(error) => return print::refuse(self.json, USAGE, &error),
        };
        if self.explain {
            return print::text(&explanation(&cells, self.cells.is_part()));
        }
        if let Some(path) = &self.pcap
            && let Some(problem) = self.pcap_problem(path, &cells)
        {
            return print::refuse(self.json, USAGE, &problem);
        }
        if let Some(cell) = cells.first()
            && let Err(error) = check_links(&cell.scenario, &self.tap)
        {
            return print::refuse(self.json, USAGE, &error);
        }
        if let Err(error) = self.means.check(&cells) {
            return print::refuse(self.json, USAGE, &error);
        }
        self.campaign(&cells)
    }

    fn cells(&self) -> Result<Vec<Cell>, ScenarioError> {
        let mut adjust = self.cells.adjust();
        if self.quick {
            adjust.seeds = Some(QUICK_SEEDS);
        }
        let file = match &self.scenario {
            Some(path) => ScenarioFile::load(path),
            None => ScenarioFile::dumbbell(),
        };
        file?.cells(&adjust)
    }

    /// Returns the name of the results.
    fn name(&self) -> String {
        let path = self.scenario.as_ref();
        path.map_or(DUMBBELL.to_owned(), |path| path.display().to_string())
    }

    /// Returns what forbids a capture at `path`.
    fn pcap_problem(&self, path: &Path, cells: &[Cell]) -> Option<String> {
        let shown = path.display();
        if cells.len() > 1 {
            let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
            let names = names.join(", ");
            return Some(format!("--pcap takes one cell: add --only, one of {names}"));
        }
        if path == Path::new("-") {
            return Some(
                "--pcap writes to a file or a named pipe: standard output is for the tables"
                    .to_owned(),
            );
        }
        let scenario = self.scenario.as_ref();
        if scenario.is_some_and(|scenario| capture::overwrites(path, scenario)) {
            return Some(format!("--pcap {shown} would overwrite the scenario"));
        }
        let out = self.out.as_ref();
        let is_of_results = out.is_some_and(|out| is_of_results(path, out, &files_of(cells)));
        is_of_results.then(|| {
            format!(
                "--pcap {shown} is the place of a file of the results of --out: choose another name, or another directory"
            )
        })
    }

    fn campaign(&self, cells: &[Cell]) -> ExitCode {
        // Before anything is created that an interrupt would leave behind.
        let stop = stop::on_interrupt();
        let mut output = match self.output(cells) {
            Ok(output) => output,
            Err(error) => return print::refuse(self.json, FAILED, &error),
        };
        let capture = match self.pcap.as_deref().map(capture::create).transpose() {
            Ok(out) => out.map(|out| Tap {
                out,
                links: self.tap.clone(),
            }),
            Err(error) => return print::refuse(self.json, FAILED, &error),
        };
        let bar = progress::bar();
        let progress = |progress: Progress<'_>| bar.show(progress);
        let campaign = Campaign {
            threads: jobs(self.jobs),
            stop: &stop,
            progress: &progress,
            capture,
        };
        // Results that cannot be printed are still written, and vice versa. If neither works, the run stops.
        let (mut unprinted, mut unwritten) = (None, None);
        let is_brief =
            !self.json && !self.means.is_asked() && self.out.is_some() && cells.len() >= MANY_CELLS;
        let mut held = String::new();
        let mut on_cell = |cell: &CellResult| {
            if is_brief {
                held += &self.report(cell);
            }
            if !self.json && !self.means.is_asked() && !is_brief && unprinted.is_none() {
                unprinted = bar.suspend(|| print::try_text(&self.report(cell))).err();
            }
            if let Some((_, output)) = &mut output
                && unwritten.is_none()
            {
                unwritten = output.cell(cell).err();
            }
            if unwritten.is_some() || (unprinted.is_some() && self.out.is_none()) {
                stop.store(true, Ordering::Relaxed);
            }
            Ok(())
        };
        let outcome = campaign::run_cells(&self.name(), cells, campaign, &mut on_cell);
        bar.clear();
        match outcome {
            Ok(mut results) => {
                results.partial |= unwritten.is_some();
                results.notes = notes(cells);
                // After a directory failed to take a cell, it gets no list of all cells either.
                let output = output.filter(|_| unwritten.is_none());
                let failures: Vec<io::Error> = unprinted.into_iter().chain(unwritten).collect();
                self.finish(&results, output, is_brief, &failures)
            }
            Err(error) => {
                // The finished cells are nowhere else.
                let _ = print::try_text(&held);
                print::refuse(self.json, FAILED, &error)
            }
        }
    }

    /// Claims the output directory, if there is one.
    fn output(&self, cells: &[Cell]) -> io::Result<Option<(OutputDirectory, Output)>> {
        let Some(directory) = &self.out else {
            return Ok(None);
        };
        let form = Form::default().with_axes(cells);
        let directory = out::open(directory, files_of(cells), self.scenario.as_deref())?;
        let output = Output::create(&directory.place(None), form)?;
        Ok(Some((directory, output)))
    }

    /// Returns the text about one cell.
    fn report(&self, cell: &CellResult) -> String {
        let seeds = counted(cell.runs.len() as u64, "seed");
        let partial = if cell.partial { ", interrupted" } else { "" };
        let mut text = format!(
            "{} / {} ({seeds}{partial})\n",
            cell.scenario.title, cell.name
        );
        text.push_str(&table(cell));
        for note in cell.notes() {
            let _ = writeln!(text, "  note: {note}");
        }
        if let (Some(path), Some(run)) = (&self.pcap, cell.runs.first())
            && let Some(captured) = &run.captured
        {
            let in_udp = if in_udp(&cell.scenario) && captured.packets("dccp") > 0 {
                " in UDP (to decode them, Wireshark needs the dissector in wireshark/)"
            } else {
                ""
            };
            let _ = writeln!(
                text,
                "  {}: {} DCCP packets{in_udp}, {} TCP segments, {} UDP datagrams sent on the links \
                 captured, seed {}",
                path.display(),
                captured.packets("dccp"),
                captured.packets("tcp"),
                captured.packets("udp"),
                run.seed,
            );
        }
        text.push('\n');
        text
    }

    /// Writes and prints the rest. JSON is printed whatever else failed, and each failure is reported. With `is_brief`
    /// nothing about the cells was printed yet: one table of all cells is, or all tables if they are not in files.
    fn finish(
        &self,
        results: &Results,
        output: Option<(OutputDirectory, Output)>,
        is_brief: bool,
        failures: &[io::Error],
    ) -> ExitCode {
        let mut failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
        let written = output.map(|(directory, output)| {
            output.finish(results)?;
            write_experiment(&directory.place(None), results)?;
            out::publish(directory, results.partial)
        });
        let written = written.and_then(|written| match written {
            Ok(published) => Some(published),
            Err(error) => {
                failures.push(error.to_string());
                None
            }
        });
        let (answer, unanswered) = match self.means.text(results, self.json) {
            Some(Ok(means)) => (Some(means), None),
            Some(Err(error)) => (None, Some(error)),
            None => (None, None),
        };
        let text = if let Some(means) = answer {
            means
        } else if self.json {
            print::json(&to_json(results))
        } else if unanswered.is_some() {
            results.cells.iter().map(|cell| self.report(cell)).collect()
        } else {
            let tables = match (is_brief, &written) {
                (false, _) => String::new(),
                (true, Some(_)) => brief(&results.cells),
                (true, None) => results.cells.iter().map(|cell| self.report(cell)).collect(),
            };
            tables + &note_lines(&results.notes)
        };
        failures.extend(unanswered);
        let printed = print::try_text(&text);
        failures.extend(printed.err().map(|error| error.to_string()));
        if let Some(published) = written {
            let page = published.directory().join(PAGE);
            let what = if is_brief && results.partial {
                "with plots and the tables of the finished cells"
            } else if is_brief {
                "with plots and the tables of every cell"
            } else {
                "with plots"
            };
            note(&format!(
                "written: {}, {what}; beside it the numbers as CSV and JSON",
                page.display()
            ));
        }
        self.tell_of_one_cell(&results.cells);
        let runs = results.cells.iter().flat_map(|cell| &cell.runs);
        for reason in runs.filter_map(|run| run.capture_failure.as_ref()) {
            let path = self.pcap.as_deref().unwrap_or(Path::new(""));
            failures.push(format!(
                "cannot write {}: {reason}; {}",
                path.display(),
                capture::cut(path)
            ));
        }
        if failures.is_empty() && results.partial {
            let mut interrupted = "interrupted: these results are partial".to_owned();
            let mut runs = results.cells.iter().flat_map(|cell| &cell.runs);
            if let Some(path) = self.pcap.as_deref()
                && !runs.any(|run| run.captured.is_some())
            {
                let _ = write!(interrupted, "; {}: {}", path.display(), capture::cut(path));
            }
            failures.push(interrupted);
        }
        print::end(&failures)
    }

    /// Prints how to run one cell, or cells with other values, if several ran because none was chosen.
    fn tell_of_one_cell(&self, cells: &[CellResult]) {
        let [first, _, ..] = cells else {
            return;
        };
        if self.json || self.cells.is_part() {
            return;
        }
        let axes: Vec<&str> = first.axes.iter().map(|(axis, _)| axis.as_str()).collect();
        let values = first.axes.first().map(|(axis, value)| {
            let axes = axes.join(", ");
            format!("; values of an axis ({axes}) with --axes, as in --axes '{axis}={value}'")
        });
        let (name, values) = (&first.name, values.unwrap_or_default());
        note(&format!(
            "one cell alone runs with --only, as in --only {name}{values}"
        ));
    }

    fn digests(&self, file: &Path) -> ExitCode {
        let moved = if self.update_digests {
            digests::update(file)
        } else {
            digests::check(file)
        };
        let moved = match moved {
            Ok(moved) => moved,
            Err(error @ (DigestError::Scenario(_) | DigestError::IsPaper(_))) => {
                return print::refuse(self.json, USAGE, &error);
            }
            Err(error) => return print::refuse(self.json, FAILED, &error),
        };
        for cell in &moved {
            let before = cell
                .golden
                .as_ref()
                .map_or("nothing", |golden| &golden.first_seed);
            note(&format!(
                "{}: was {before}, is {}",
                cell.cell, cell.now.first_seed
            ));
        }
        if moved.is_empty() {
            return print::text("all digests match\n");
        }
        if self.update_digests {
            let digests = counted(moved.len() as u64, "digest");
            return print::text(&format!("{digests} written\n"));
        }
        fail(
            FAILED,
            &"digests changed; if this is intended, write them with --update-digests",
        )
    }
}

/// Returns the names of the files of an output directory.
fn files_of(cells: &[Cell]) -> BTreeSet<String> {
    let mut files = Form::default().files(cells);
    files.insert(PAGE.to_owned());
    files
}

/// Returns one table of all cells, and the notes of their runs.
fn brief(cells: &[CellResult]) -> String {
    let mut text = overview(cells);
    let mut notes: Vec<&str> = Vec::new();
    for note in cells.iter().flat_map(CellResult::notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    for note in notes.iter().take(MOST_NOTES) {
        let _ = writeln!(text, "  note: {note}");
    }
    if let Some(more) = notes.len().checked_sub(MOST_NOTES).filter(|more| *more > 0) {
        let notes = counted(more as u64, "more note");
        let _ = writeln!(text, "  and {notes} in {PAGE}");
    }
    text.push('\n');
    text
}

/// Returns whether any flow carries DCCP in UDP.
fn in_udp(scenario: &Scenario) -> bool {
    let mut dccp = scenario
        .enabled_flows()
        .filter_map(|(_, flow)| flow.dccp.as_ref());
    dccp.any(|dccp| dccp.encapsulation == Encapsulation::Udp)
}
