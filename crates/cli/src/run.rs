//! `fairwire run`: a scenario file, its cells, their seeds.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use clap::Parser;
use fairwire_lab::campaign::{self, Campaign, CampaignError, Progress};
use fairwire_lab::digests::{self, DigestError};
use fairwire_lab::results::{CellResult, Form, Output, OutputDirectory, Results, table, to_json};
use fairwire_lab::scenario::{
    Adjust, Cell, Encapsulation, Scenario, ScenarioError, ScenarioFile, explain,
};
use fairwire_lab::sim::{Tap, check_links};
use fairwire_lab::units::Duration;

use crate::print::{self, FAILED, USAGE, fail, note};
use crate::{out, progress, stop};

/// Seeds with `--quick`.
const QUICK_SEEDS: u32 = 3;

/// Run a scenario file: every cell, every seed.
///
/// Tables go to standard output, with 95 % intervals over the seeds; progress goes to the terminal.
/// docs/scenario.md describes the files. Exit status: 0 done, 1 failed or interrupted, 2 the command
/// line or the scenario is wrong.
#[derive(Debug, Parser)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line, and they do not exclude each other"
)]
pub(crate) struct Args {
    /// The scenario file.
    scenario: PathBuf,
    /// Change a value in every cell, as in --set flows.dccp.start=5s, or take a key or a table away, as
    /// in --set topology.bottleneck.loss=; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Run these cells only: names, groups of the file, or patterns as in --only '96k-*'; may be repeated.
    #[arg(long, value_name = "CELL,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Simulate so long, as in 20s.
    #[arg(long, value_name = "TIME")]
    #[arg(allow_hyphen_values = true)] // To be refused with what would do.
    duration: Option<Duration>,
    /// Run exactly so many seeds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    #[arg(allow_hyphen_values = true)] // As above.
    seeds: Option<u32>,
    /// The first seed; the others follow it.
    #[arg(long, value_name = "S")]
    #[arg(allow_hyphen_values = true)] // As above.
    seed: Option<u64>,
    /// Three seeds.
    #[arg(long, conflicts_with = "seeds")]
    quick: bool,
    /// Write whole packets of the first seed as pcapng, each link an interface; one cell only.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Capture this link and its way back only, as in --tap bottleneck; may be repeated.
    #[arg(long, value_name = "LINK", requires = "pcap")]
    tap: Vec<String>,
    /// Say what would run, every value with its source and meaning, and run nothing.
    #[arg(long)]
    explain: bool,
    /// Write CSV, JSON and the resolved scenarios into this directory. What an earlier run wrote there is
    /// replaced once this one is at its end; other files are left alone.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print JSON instead of tables.
    #[arg(long, conflicts_with = "explain")]
    json: bool,
    /// Compare with the golden digests beside the file, and do nothing else.
    #[arg(long, conflicts_with_all = ["update_digests", "pcap", "out", "explain"])]
    #[arg(conflicts_with_all = ["set", "only", "duration", "seeds", "seed", "quick"])]
    check_digests: bool,
    /// Write the golden digests beside the file, and do nothing else.
    #[arg(long, conflicts_with_all = ["pcap", "out", "explain"])]
    #[arg(conflicts_with_all = ["set", "only", "duration", "seeds", "seed", "quick"])]
    update_digests: bool,
}

impl Args {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        if self.check_digests || self.update_digests {
            return self.digests();
        }
        let cells = match self.cells() {
            Ok(cells) => cells,
            Err(error) => return print::refuse(self.json, USAGE, &error),
        };
        if self.explain {
            return print::text(&explanation(&cells, !self.only.is_empty()));
        }
        if self.pcap.is_some() && cells.len() > 1 {
            let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
            let message = format!(
                "--pcap takes one cell: add --only, one of {}",
                names.join(", ")
            );
            return print::refuse(self.json, USAGE, &message);
        }
        if let Some(cell) = cells.first()
            && let Err(error) = check_links(&cell.scenario, &self.tap)
        {
            return print::refuse(self.json, USAGE, &error);
        }
        self.campaign(&cells)
    }

    fn cells(&self) -> Result<Vec<Cell>, ScenarioError> {
        let adjust = Adjust {
            set: self.set.clone(),
            only: self.only.clone(),
            duration: self.duration,
            seeds: if self.quick {
                Some(QUICK_SEEDS)
            } else {
                self.seeds
            },
            seed: self.seed,
            ..Adjust::default()
        };
        ScenarioFile::load(&self.scenario)?.cells(&adjust)
    }

    fn campaign(&self, cells: &[Cell]) -> ExitCode {
        // Before anything is made that an interrupt would leave behind.
        let stop = stop::on_interrupt();
        let mut output = match self.output(cells) {
            Ok(output) => output,
            Err(error) => return print::refuse(self.json, FAILED, &error),
        };
        let capture = match self.pcap.as_deref().map(create).transpose() {
            Ok(out) => out.map(|out| Tap {
                out,
                links: self.tap.clone(),
            }),
            Err(error) => return print::refuse(self.json, FAILED, &error),
        };
        let bar = progress::bar();
        let progress = |progress: Progress<'_>| progress::show(&bar, progress);
        let campaign = Campaign {
            name: self.scenario.display().to_string(),
            threads: campaign::threads(),
            stop: &stop,
            progress: &progress,
            capture,
        };
        // What cannot be printed is still written, and the other way round; what can be neither is
        // not worth computing.
        let (mut unprinted, mut unwritten) = (None, None);
        let mut on_cell = |cell: &CellResult| {
            if !self.json && unprinted.is_none() {
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
        let outcome = campaign::run_cells(cells, campaign, &mut on_cell);
        bar.finish_and_clear();
        match outcome {
            Ok(mut results) => {
                results.partial |= unwritten.is_some();
                // A directory that could not take a cell gets no list of all of them either.
                let output = output.filter(|_| unwritten.is_none());
                let failures: Vec<io::Error> = unprinted.into_iter().chain(unwritten).collect();
                self.finish(&results, output, &failures)
            }
            Err(error @ (CampaignError::Run(_) | CampaignError::Output(_))) => {
                print::refuse(self.json, FAILED, &error)
            }
        }
    }

    /// Where the results are written to, if anywhere.
    fn output(&self, cells: &[Cell]) -> io::Result<Option<(OutputDirectory, Output)>> {
        let Some(directory) = &self.out else {
            return Ok(None);
        };
        let form = Form::default();
        let directory = out::claim(directory, form.files(cells), Some(&self.scenario))?;
        let output = Output::create(&directory.place(None), form)?;
        Ok(Some((directory, output)))
    }

    /// A cell for people.
    fn report(&self, cell: &CellResult) -> String {
        let seeds = match cell.runs.len() {
            1 => "1 seed".to_owned(),
            n => format!("{n} seeds"),
        };
        let partial = if cell.partial { ", interrupted" } else { "" };
        let mut text = format!(
            "{} / {} ({seeds}{partial})\n",
            cell.scenario.title, cell.name
        );
        text.push_str(&table(cell));
        let mut notes: Vec<&str> = Vec::new();
        for run in cell.runs.iter().chain(&cell.unperturbed) {
            for told in &run.notes {
                if !notes.contains(&told.as_str()) {
                    notes.push(told);
                }
            }
        }
        for told in notes {
            let _ = writeln!(text, "  note: {told}");
        }
        if let (Some(path), Some(run)) = (&self.pcap, cell.runs.first())
            && let Some(captured) = &run.captured
        {
            let in_udp = if in_udp(&cell.scenario) && captured.packets("dccp") > 0 {
                " in UDP (Wireshark needs the dissector of wireshark/ to look inside)"
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

    /// The end: JSON is printed whatever else failed, and each failure is told.
    fn finish(
        &self,
        results: &Results,
        output: Option<(OutputDirectory, Output)>,
        failures: &[io::Error],
    ) -> ExitCode {
        let mut failures: Vec<String> = failures.iter().map(ToString::to_string).collect();
        let written = output.map(|(directory, output)| {
            output.finish(results)?;
            out::publish(directory, results.partial)
        });
        failures.extend(written.and_then(Result::err).map(|error| error.to_string()));
        if self.json {
            let text = serde_json::to_string_pretty(&to_json(results)).unwrap_or_default();
            let printed = print::try_text(&format!("{text}\n"));
            failures.extend(printed.err().map(|error| error.to_string()));
        }
        let runs = results.cells.iter().flat_map(|cell| &cell.runs);
        for reason in runs.filter_map(|run| run.capture_failure.as_ref()) {
            let path = self.pcap.as_deref().unwrap_or(Path::new(""));
            failures.push(format!("cannot write {}: {reason}", path.display()));
        }
        if failures.is_empty() && results.partial {
            failures.push("interrupted: these results are partial".to_owned());
        }
        print::end(&failures)
    }

    fn digests(&self) -> ExitCode {
        let moved = if self.update_digests {
            digests::update(&self.scenario)
        } else {
            digests::check(&self.scenario)
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
            return print::text("all digests hold\n");
        }
        if self.update_digests {
            return print::text(&format!("{} digests written\n", moved.len()));
        }
        fail(
            FAILED,
            &"digests moved; if that is meant, --update-digests writes them",
        )
    }
}

/// Is any DCCP in UDP?
fn in_udp(scenario: &Scenario) -> bool {
    let mut dccp = scenario
        .enabled_flows()
        .filter_map(|(_, flow)| flow.dccp.as_ref());
    dccp.any(|dccp| dccp.encapsulation == Encapsulation::Udp)
}

fn create(path: &Path) -> io::Result<Box<dyn io::Write + Send>> {
    let file = File::create(path).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("cannot write {}: {error}", path.display()),
        )
    })?;
    Ok(Box::new(BufWriter::with_capacity(1 << 16, file)))
}

/// What would run. Of a family only its axes are told, unless its cells were asked for by name.
fn explanation(cells: &[Cell], by_name: bool) -> String {
    let mut text = String::new();
    let mut families: Vec<&str> = Vec::new();
    for cell in cells {
        match &cell.family {
            Some(family) if !by_name => {
                if !families.contains(&family.as_str()) {
                    families.push(family);
                    text.push_str(&of_family(cells, family));
                }
            }
            _ => text.push_str(&of_cell(cell)),
        }
    }
    text
}

/// A family: how many cells, along which axes.
fn of_family(cells: &[Cell], family: &str) -> String {
    let all = cells
        .iter()
        .filter(|cell| cell.family.as_deref() == Some(family));
    let all: Vec<&Cell> = all.collect();
    let mut text = format!("[{family}] {} cells\n", all.len());
    let axes = all.iter().flat_map(|cell| &cell.axes);
    let mut known: Vec<(&str, Vec<&str>)> = Vec::new();
    for (axis, value) in axes {
        let at = known.iter().position(|(name, _)| name == axis);
        let at = at.unwrap_or_else(|| {
            known.push((axis, Vec::new()));
            known.len() - 1
        });
        if !known[at].1.contains(&value.as_str()) {
            known[at].1.push(value);
        }
    }
    for (axis, values) in known {
        let _ = writeln!(text, "  {axis} = {}", values.join(", "));
    }
    let names: Vec<&str> = all.iter().map(|cell| cell.name.as_str()).collect();
    let _ = writeln!(text, "  cells: {}", names.join(", "));
    if let Some(first) = names.first() {
        let _ = writeln!(text, "  --only {first} explains one of them\n");
    }
    text
}

fn of_cell(cell: &Cell) -> String {
    let mut text = format!("[{}] {}\n", cell.name, cell.scenario.title);
    if let Some(family) = &cell.family {
        let axes = cell.axes.iter();
        let axes = axes.map(|(axis, value)| format!("{axis} = {value}"));
        let axes: Vec<String> = axes.collect();
        let _ = writeln!(text, "  of {family}: {}", axes.join(", "));
    }
    if !cell.over.is_empty() {
        let _ = writeln!(text, "  extends {}", cell.over.join(", "));
    }
    // What the file states is shown even where it does nothing; a default that does nothing is no news.
    let lines = explain(cell);
    for line in lines.iter().filter(|it| it.has_effect || it.is_stated()) {
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(text, "  {}\n", cell.plan());
    text
}
