//! Races Fairwire against what others use for the same work, on the same machine at the same time.
//!
//! Each run has two processes of this program, one processor each: the server receives, the client connects and sends.
//! The parent asks both for their counters, waits, and asks again, so that handshake and slow start do not count. Runs
//! of all peers take turns. docs/performance.md has the method and the last table.

#![expect(
    clippy::disallowed_methods,
    reason = "a race reads the clock and waits; nothing that it computes is to be the same twice"
)]

mod board;
mod goals;
mod metrics;
mod peers;
mod process;
mod profile;
mod role;
mod sim;
mod socket;
mod table;
mod tls;
mod transport;
mod works;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde::Serialize;

use crate::metrics::{Plan, Values};
use crate::peers::Peer;
use crate::table::{Runs, table};
use crate::transport::Result;
use crate::works::{WORKS, Work};

/// Runs Fairwire and other libraries on the same work in turns, and prints medians, spreads and ratios.
#[derive(Debug, Parser)]
struct Arguments {
    /// What to run: bulk, paced-50, paced-200, game, path, handshake, crowd, sim-newreno-1, sim-cubic-10,
    /// sim-cubic-100, sim-equal-10 [default: all]
    works: Vec<String>,
    /// Runs of each peer
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Length of what is measured in each run, after one second of warm-up
    #[arg(long, default_value_t = 3.0, value_parser = seconds)]
    seconds: f64,
    /// Only these peers
    #[arg(long, value_delimiter = ',', value_enum)]
    peers: Vec<Peer>,
    /// The processors of the sender and of the receiver
    #[arg(long, default_value = "0,1", value_parser = cores)]
    cores: [usize; 2],
    /// Idle connections beside the active one, in the work crowd
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=15_000))]
    crowd: u32,
    /// Record both processes with perf, and print where the time goes (for flows)
    #[arg(long)]
    profile: bool,
    /// Write each run's values to this file
    #[arg(long)]
    json: Option<PathBuf>,
    /// What a process of a run is to do
    #[arg(long, hide = true)]
    role: Option<String>,
    /// What to simulate
    #[arg(long, hide = true)]
    simulate: Option<String>,
}

fn seconds(text: &str) -> std::result::Result<f64, String> {
    let seconds = text.parse::<f64>().map_err(|error| error.to_string())?;
    if (0.1..=600.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("expected 0.1 to 600 seconds".to_owned())
    }
}

fn cores(text: &str) -> std::result::Result<[usize; 2], String> {
    let cores = text.split(',').map(|core| core.trim().parse().ok());
    let cores: Option<Vec<usize>> = cores.collect();
    let cores = cores.and_then(|cores| <[usize; 2]>::try_from(cores).ok());
    cores.ok_or_else(|| "expected two processors, such as 0,1".to_owned())
}

/// A run, for `--json`.
#[derive(Serialize)]
struct Record {
    work: String,
    peer: String,
    run: u32,
    values: Option<Values>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match (&arguments.role, &arguments.simulate) {
        (Some(role), _) => play(role),
        (_, Some(network)) => sim::simulate(network),
        _ => race(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("race: {error}");
            ExitCode::FAILURE
        }
    }
}

fn play(role: &str) -> Result<()> {
    role::play(serde_json::from_str(role)?)
}

fn race(arguments: &Arguments) -> Result<()> {
    let works = chosen(&arguments.works)?;
    println!("{}", machine());
    println!(
        "{} runs of {} s each, in turns; client on processor {}, server on {}",
        arguments.runs, arguments.seconds, arguments.cores[0], arguments.cores[1]
    );
    let mut records = Vec::new();
    for work in works {
        let runs = run_all(work, arguments, &mut records);
        print!("{}", table(work, &runs));
    }
    if let Some(path) = &arguments.json {
        std::fs::write(path, serde_json::to_vec_pretty(&records)?)?;
    }
    match records.iter().filter(|run| run.values.is_none()).count() {
        0 => Ok(()),
        failed => Err(format!("{failed} runs failed").into()),
    }
}

fn chosen(names: &[String]) -> Result<Vec<Work>> {
    if names.is_empty() {
        return Ok(WORKS.to_vec());
    }
    let find = |name: &String| {
        let found = WORKS.into_iter().find(|work| work.name() == *name);
        found.ok_or_else(|| {
            let known = WORKS.map(Work::name).join(", ");
            format!("no work is called {name:?}; expected one of {known}").into()
        })
    };
    names.iter().map(find).collect()
}

/// Runs all peers in turns.
fn run_all(work: Work, arguments: &Arguments, records: &mut Vec<Record>) -> Runs {
    let is_chosen = |peer: &Peer| arguments.peers.is_empty() || arguments.peers.contains(peer);
    let peers: Vec<_> = work.peers().iter().copied().filter(is_chosen).collect();
    let plan = Plan {
        time: Duration::from_secs_f64(arguments.seconds),
        cores: arguments.cores,
        crowd: arguments.crowd as usize,
        profile: arguments.profile,
    };
    let mut runs = Runs::new();
    for run in 1..=arguments.runs {
        for peer in &peers {
            let values = work.run(*peer, &plan);
            if let Err(error) = &values {
                eprintln!("race: {}, {}: {error}", work.name(), peer.name());
            }
            let values = values.ok();
            runs.entry(*peer).or_default().push(values.clone());
            records.push(Record {
                work: work.name(),
                peer: peer.name(),
                run,
                values,
            });
        }
    }
    runs
}

/// Returns the names of the processor and of the kernel.
fn machine() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpus = read("/proc/cpuinfo");
    let model = cpus
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let model = model.map_or("unknown processor", |model| {
        model.trim_start_matches([' ', '\t', ':'])
    });
    let kernel = read("/proc/sys/kernel/osrelease");
    format!(
        "{model}, {} processors, Linux {}",
        num_cpus(),
        kernel.trim()
    )
}

fn num_cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
