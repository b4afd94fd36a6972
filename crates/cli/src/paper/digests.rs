//! `fairwire paper NAME --check-digests` and `--update-digests`.

use std::fmt::Write as _;
use std::process::ExitCode;

use fairwire_measure::counted;
use fairwire_paper::{Bundle, Paper, digests};
use fairwire_sim::campaign::Memory;
use fairwire_sim::results::Results;

use super::running::{Finished, run};
use crate::print::{self, FAILED, fail, note};
use crate::stop;

/// A paper with the bundle that it was read from.
type Loaded = (Bundle, Paper);

/// Runs each paper with its quick seeds and returns the results.
fn golden_run(papers: &[Loaded], jobs: usize) -> Result<Vec<Results>, ExitCode> {
    let papers: Vec<Paper> = papers.iter().map(|(_, paper)| paper.clone()).collect();
    let Finished {
        results, failure, ..
    } = run(
        &papers,
        (&stop::on_interrupt(), jobs),
        &mut Memory::default(),
        &mut [],
    );
    if let Some(error) = failure {
        return Err(fail(FAILED, &error));
    }
    if results.iter().any(|results| results.partial) {
        return Err(fail(FAILED, &"interrupted: nothing was compared"));
    }
    Ok(results)
}

/// Compares the digests with the golden ones, or only those of the first `seeds` seeds.
pub(super) fn check(papers: &[Loaded], jobs: usize, seeds: Option<u32>) -> ExitCode {
    let mut golden = Vec::new();
    for (bundle, _) in papers {
        match Paper::golden(bundle) {
            Ok(digests) => golden.push(match seeds {
                Some(seeds) => digests::of_first(&digests, seeds),
                None => digests,
            }),
            Err(error) => return fail(FAILED, &error),
        }
    }
    let results = match golden_run(papers, jobs) {
        Ok(results) => results,
        Err(status) => return status,
    };
    let mut all = 0;
    for (((_, paper), golden), results) in papers.iter().zip(&golden).zip(&results) {
        let moved = digests::compare(golden, &digests::digests(results));
        for one in &moved {
            let or_nothing =
                |digest: &Option<String>| digest.clone().unwrap_or_else(|| "nothing".into());
            let (was, is) = (or_nothing(&one.golden), or_nothing(&one.now));
            note(&format!(
                "{}: {}, {}: was {was}, is {is}",
                paper.name, one.cell, one.run
            ));
        }
        all += moved.len();
        if moved.is_empty() {
            let runs: usize = golden.values().map(std::collections::BTreeMap::len).sum();
            let shown = print::try_text(&format!("all {runs} digests of {} match\n", paper.name));
            if let Err(error) = shown {
                return fail(FAILED, &error);
            }
        }
    }
    if all == 0 {
        return ExitCode::SUCCESS;
    }
    let message = format!(
        "{} changed; if this is intended, write them with --update-digests",
        counted(all as u64, "digest")
    );
    fail(FAILED, &message)
}

/// Writes the digests into the source tree.
pub(super) fn update(papers: &[Loaded], jobs: usize) -> ExitCode {
    let mut files = Vec::new();
    for (bundle, paper) in papers {
        if let Some(directory) = bundle.directory() {
            files.push(directory.join(digests::FILE));
            continue;
        }
        let Some(file) = digests::file_in_source_tree(&paper.name) else {
            let message = format!(
                "no papers/{}/{} in this directory or its parents: run --update-digests in the source tree",
                paper.name,
                digests::FILE
            );
            return fail(FAILED, &message);
        };
        files.push(file);
    }
    let results = match golden_run(papers, jobs) {
        Ok(results) => results,
        Err(status) => return status,
    };
    let mut text = String::new();
    for (file, results) in files.iter().zip(&results) {
        let golden = digests::digests(results);
        if let Err(error) = std::fs::write(file, digests::write(&golden)) {
            return fail(FAILED, &format!("cannot write {}: {error}", file.display()));
        }
        let _ = writeln!(text, "{} written", file.display());
    }
    if papers
        .iter()
        .any(|(bundle, _)| bundle.directory().is_none())
    {
        text.push_str("build again to embed them\n");
    }
    print::text(&text)
}
