//! The command `fairwire-torture`: runs seeds, replays one seed, shrinks failing plans.

mod options;

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser;
use fairwire_torture::plan::Plan;
use fairwire_torture::progress::Progress;
use fairwire_torture::run::{self, Outcome};
use fairwire_torture::{campaign, report, shrink};

use options::Options;

fn main() -> ExitCode {
    let options = Options::parse();
    match execute(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("fairwire-torture: {error}");
            ExitCode::from(2)
        }
    }
}

/// Executes the command. Returns true if nothing failed.
fn execute(options: &Options) -> Result<bool, String> {
    options.check()?;
    if let Some(path) = &options.plan {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let plan = Plan::from_text(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        return single(options, &plan);
    }
    if let Some(seed) = options.seed {
        let plan = Plan::draw(seed);
        if options.show {
            show(&plan.to_text());
            return Ok(true);
        }
        return single(options, &plan);
    }
    let jobs = options.jobs.unwrap_or_else(campaign::cores);
    if options.until_failure {
        let found =
            campaign::first_failure(options.first, options.seeds, jobs, &options.watching());
        let text = found.as_ref().map_or_else(
            || "no failure\n".to_owned(),
            |(seed, failure)| format!("seed {seed}: {failure}\n"),
        );
        show(&text);
        // Runs that never end are stopped with the process.
        return Ok(found.is_none());
    }
    let mut progress = Progress::new(options.seeds);
    let campaign = campaign::run_with_progress(
        options.first,
        options.seeds,
        jobs,
        &options.watching(),
        |seed, failure| progress.tell(seed, failure),
    );
    progress.end();
    let mut text = report::text(&campaign);
    let _ = writeln!(text, "\n{} failures", campaign.failures.len());
    for (seed, failure) in &campaign.failures {
        let _ = writeln!(text, "  seed {seed}: {failure}");
        let also = options.also();
        let _ = writeln!(text, "    {} --seed {seed} --trace{also}", program());
    }
    show(&text);
    if let Some((seed, _)) = campaign.failures.first() {
        shrunk(options, &Plan::draw(*seed))?;
    }
    Ok(campaign.failures.is_empty())
}

/// Runs one plan.
fn single(options: &Options, plan: &Plan) -> Result<bool, String> {
    let Outcome {
        failure,
        digest,
        tally,
        log,
    } = run::run_within_time(plan, &options.watching());
    show(&log.join("\n"));
    // A run that panicked or did not end has no result.
    if digest != 0 {
        show(&format!(
            "\nseed {}: {} packets, {} datagrams read, digest {digest:016x}\n",
            plan.seed, tally.packets, tally.datagrams_read
        ));
    }
    let Some(failure) = failure else {
        return Ok(true);
    };
    show(&format!("seed {} failed: {failure}\n", plan.seed));
    if options.plan.is_none() {
        shrunk(options, plan)?;
    }
    Ok(false)
}

/// Prints a text. It ignores a closed pipe, because the reader may stop before the end.
fn show(text: &str) {
    let printed = io::stdout().write_all(text.as_bytes());
    if let Err(error) = printed
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        eprintln!("fairwire-torture: cannot print: {error}");
    }
}

/// Returns the name with which this program was called.
fn program() -> String {
    std::env::args()
        .next()
        .unwrap_or_else(|| "fairwire-torture".into())
}

/// Shrinks a failing plan, then prints and saves it.
fn shrunk(options: &Options, plan: &Plan) -> Result<(), String> {
    if options.shrink == 0 {
        return Ok(());
    }
    let Some(shrunk) = shrink::shrink(plan, &options.watching(), options.shrink) else {
        return Err(format!("seed {} does not fail again", plan.seed));
    };
    let text = shrunk.plan.to_text();
    // Print the plan before reporting that it could not be saved.
    let path = options.save.display();
    let saved = fs::write(&options.save, &text);
    show(&format!(
        "\nShrunk in {} runs from {} parts to {}: {}\n{text}\n",
        shrunk.runs,
        plan.parts(),
        shrunk.plan.parts(),
        shrunk.failure
    ));
    saved.map_err(|e| format!("cannot write the shrunk plan to {path}: {e}"))?;
    let also = options.also();
    show(&format!("{} --plan {path} --trace{also}\n", program()));
    Ok(())
}
