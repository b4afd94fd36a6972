//! `fairwire paper`: the papers that are built in, and what running them says.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use fairwire_lab::campaign::{self, Campaign, CampaignError, Progress};
use fairwire_lab::paper::{Bundle, Paper, PaperError, catalogue, digests};
use fairwire_lab::results::{CellResult, Output, Results};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::print::{self, FAILED, USAGE, fail, note};
use crate::stop;

/// Rerun a paper: its tables beside ours, and a verdict on each of its claims.
///
/// Without a name it lists the papers. The report goes to standard output, progress to the terminal.
/// Exit status: 0 done, 1 failed or interrupted, 2 wrong usage.
#[derive(Debug, Parser)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Args {
    /// The paper.
    name: Option<String>,
    /// Three seeds instead of ten or more; every cell is run.
    #[arg(long, conflicts_with = "seeds", requires = "name")]
    quick: bool,
    /// Run exactly so many seeds.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    #[arg(requires = "name")]
    seeds: Option<u32>,
    /// Write tables, verdicts and all results as CSV and JSON into this directory, cell by cell.
    #[arg(long, value_name = "DIR", requires = "name")]
    out: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long, requires = "name")]
    json: bool,
    /// Compare the quick run with the golden digests, and do nothing else.
    #[arg(long, conflicts_with_all = ["seeds", "out", "json", "update_digests"])]
    #[arg(requires = "name")]
    check_digests: bool,
    /// Write the quick run's digests into the source tree, and do nothing else.
    #[arg(long, conflicts_with_all = ["seeds", "out", "json"])]
    #[arg(requires = "name")]
    update_digests: bool,
}

impl Args {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let Some(name) = &self.name else {
            return list();
        };
        let digests = self.check_digests || self.update_digests;
        let adjust = Paper::adjust(self.quick || digests, self.seeds);
        let loaded =
            Bundle::find(name).and_then(|bundle| Ok((bundle, Paper::load(bundle, &adjust)?)));
        let (bundle, paper) = match loaded {
            Ok(loaded) => loaded,
            Err(error @ PaperError::Unknown { .. }) => {
                return print::refuse(self.json, USAGE, &error);
            }
            Err(error) => return print::refuse(self.json, FAILED, &error),
        };
        if self.check_digests {
            return check(bundle, &paper);
        }
        if self.update_digests {
            return update(&paper);
        }
        self.report(&paper)
    }

    fn report(&self, paper: &Paper) -> ExitCode {
        let create_output = |path| Output::create(path, None);
        let mut output = match self.out.as_deref().map(create_output).transpose() {
            Ok(output) => output,
            Err(error) => return print::refuse(self.json, FAILED, &error),
        };
        let stop = stop::on_interrupt();
        let (results, failure) = match run(paper, &stop, output.as_mut()) {
            Ok(outcome) => outcome,
            Err(error) => return print::refuse(self.json, FAILED, &error),
        };
        let report = paper.report(&results);
        let shown = if self.json {
            let text = serde_json::to_string_pretty(&paper.json(&report)).unwrap_or_default();
            print::text(&format!("{text}\n"))
        } else {
            print::text(&paper.text(&report))
        };
        if let Some(error) = failure {
            let folder = self.out.as_deref().unwrap_or(Path::new("."));
            let message = format!(
                "{error} (under {}); what was finished is there and shown, and it is partial",
                folder.display()
            );
            return fail(FAILED, &message);
        }
        if let Some(output) = &mut output {
            let written = output
                .finish(&results)
                .and_then(|()| paper.write(&report, output));
            if let Err(error) = written {
                return fail(FAILED, &error);
            }
        }
        if report.partial {
            return fail(FAILED, &"interrupted: these results are partial");
        }
        shown
    }
}

/// Runs all cells. An output that fails stops the run and is given back beside what was finished.
fn run(
    paper: &Paper,
    stop: &Arc<AtomicBool>,
    mut output: Option<&mut Output>,
) -> Result<(Results, Option<io::Error>), CampaignError> {
    let bar = ProgressBar::with_draw_target(
        Some(paper.planned().as_millis()),
        ProgressDrawTarget::stderr(),
    );
    let style = ProgressStyle::with_template("{msg:24} {wide_bar} {percent:>3} %  {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    let progress = |progress: Progress<'_>| match progress {
        Progress::Cell(name) => bar.set_message(name.to_owned()),
        Progress::Simulated(time) => bar.inc(time.as_millis()),
        Progress::Planned(_) => {}
    };
    let campaign = Campaign {
        name: paper.name.clone(),
        threads: campaign::threads(),
        stop,
        progress: &progress,
        capture: None,
    };
    let mut failure = None;
    let mut on_cell = |cell: &CellResult| {
        if let Some(Err(error)) = output.as_mut().map(|output| output.cell(cell)) {
            failure = Some(error);
            stop.store(true, Ordering::Relaxed);
        }
        Ok(())
    };
    let results = campaign::run_cells(&paper.cells, campaign, &mut on_cell);
    bar.finish_and_clear();
    Ok((results?, failure))
}

fn list() -> ExitCode {
    let mut text = String::new();
    for bundle in catalogue() {
        match Paper::load(bundle, &Paper::adjust(false, None)) {
            Ok(paper) => {
                let _ = writeln!(text, "{}\n  {}\n  {}", paper.name, paper.title, paper.line);
                let (cells, claims) = (paper.cells.len(), paper.claims.len());
                let _ = writeln!(text, "  {cells} cells, {claims} claims; {}", paper.runtime);
            }
            Err(error) => return fail(FAILED, &error),
        }
    }
    text.push_str("\nfairwire paper NAME runs one; --quick does it with three seeds.\n");
    print::text(&text)
}

fn golden_run(paper: &Paper) -> Result<digests::Golden, ExitCode> {
    match run(paper, &stop::on_interrupt(), None) {
        Ok((results, _)) if results.partial => {
            Err(fail(FAILED, &"interrupted: nothing was compared"))
        }
        Ok((results, _)) => Ok(digests::digests(&results)),
        Err(error) => Err(fail(FAILED, &error)),
    }
}

fn check(bundle: &Bundle, paper: &Paper) -> ExitCode {
    let golden = match Paper::golden(bundle) {
        Ok(golden) => golden,
        Err(error) => return fail(FAILED, &error),
    };
    let now = match golden_run(paper) {
        Ok(now) => now,
        Err(status) => return status,
    };
    let moved = digests::compare(&golden, &now);
    if moved.is_empty() {
        let runs: usize = golden.values().map(std::collections::BTreeMap::len).sum();
        return print::text(&format!("all {runs} digests of {} hold\n", paper.name));
    }
    for one in &moved {
        let or_nothing =
            |digest: &Option<String>| digest.clone().unwrap_or_else(|| "nothing".into());
        let (was, is) = (or_nothing(&one.golden), or_nothing(&one.now));
        note(&format!("{}, {}: was {was}, is {is}", one.cell, one.run));
    }
    let message = format!(
        "{} digests moved; if that is meant, --update-digests writes them",
        moved.len()
    );
    fail(FAILED, &message)
}

fn update(paper: &Paper) -> ExitCode {
    let Some(file) = digests::file_in_source_tree(&paper.name) else {
        let message = format!(
            "there is no papers/{}/{} here or above: --update-digests writes into the source tree",
            paper.name,
            digests::FILE
        );
        return fail(FAILED, &message);
    };
    let now = match golden_run(paper) {
        Ok(now) => now,
        Err(status) => return status,
    };
    if let Err(error) = std::fs::write(&file, digests::write(&now)) {
        return fail(FAILED, &format!("cannot write {}: {error}", file.display()));
    }
    print::text(&format!(
        "{} written; build again to embed it\n",
        file.display()
    ))
}
