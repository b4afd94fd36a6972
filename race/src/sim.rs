//! The simulators: the processor time of a whole program that simulates TCPs over a dumbbell, for each data packet that
//! arrives.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::ValueEnum;
use fairwire_scenario::{Adjust, Metric, ScenarioFile, WHOLE};
use fairwire_sim::{RunOptions, results::Subject};
use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

use crate::board::cpu_ns;
use crate::metrics::{Values, values};
use crate::peers::Peer;
use crate::transport::Result;

const DAYTONE: &str = "../target/race/python/bin/daytone";
/// Where its configuration says that it writes.
const DAYTONE_SINKS: &str = "../target/race/daytone/sinks.csv";
/// The folder of the scenarios, from `race`.
const SCENARIOS: &str = "sim";

/// What is simulated.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize, ValueEnum)]
pub enum Network {
    /// One NewReno at 10 Mbit/s.
    Newreno1,
    /// Ten CUBIC at 100 Mbit/s.
    Cubic10,
    /// A hundred CUBIC at 1 Gbit/s.
    Cubic100,
    /// Ten CUBIC over links without delay, as daytone has them.
    Equal10,
}

impl Network {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Newreno1 => "newreno-1",
            Self::Cubic10 => "cubic-10",
            Self::Cubic100 => "cubic-100",
            Self::Equal10 => "equal-10",
        }
    }

    pub const fn peers(self) -> &'static [Peer] {
        match self {
            Self::Equal10 => &[Peer::Simulator, Peer::Daytone],
            _ => &[Peer::Simulator, Peer::Ns2],
        }
    }

    /// Returns what `dumbbell.tcl` takes: flows, Mbit/s, packets of the queue, law and seconds, as the scenario says.
    const fn for_ns2(self) -> [&'static str; 5] {
        match self {
            Self::Newreno1 => ["1", "10", "50", "newreno", "100"],
            Self::Cubic10 => ["10", "100", "500", "cubic", "10"],
            Self::Cubic100 | Self::Equal10 => ["100", "1000", "5000", "cubic", "4"],
        }
    }

    /// Runs a simulator once.
    pub fn run(self, peer: Peer) -> Result<Values> {
        let before = cpu_ns(&getrusage(UsageWho::RUSAGE_CHILDREN)?);
        let packets = match peer {
            Peer::Ns2 => {
                let script = Path::new(SCENARIOS).join("dumbbell.tcl");
                let words = self.for_ns2().map(OsStr::new);
                let said = output(Command::new("ns").arg(script).args(words))?;
                said.lines().find_map(|line| line.parse().ok())
            }
            Peer::Daytone => {
                let scenario = Path::new(SCENARIOS).join("daytone.toml");
                output(Command::new(DAYTONE).arg(scenario))?;
                Some(arrived(&std::fs::read_to_string(DAYTONE_SINKS)?))
            }
            _ => {
                let name = self.name();
                let this = std::env::current_exe()?;
                output(Command::new(this).args(["--simulate", name]))?
                    .trim()
                    .parse()
                    .ok()
            }
        };
        let packets: f64 = packets.ok_or("the simulator printed no number of packets")?;
        let cpu = (cpu_ns(&getrusage(UsageWho::RUSAGE_CHILDREN)?) - before) as f64;
        Ok(values([
            ("ns/packet", cpu / packets),
            ("cpu ms", cpu / 1e6),
            ("packets", packets),
        ]))
    }
}

/// Runs a program to its end and returns what it printed.
fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_os_string();
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}: {said}", program.display(), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the packets of all sinks of daytone.
fn arrived(csv: &str) -> f64 {
    let rows = csv.lines().skip(1);
    let packets = rows.filter_map(|row| row.split(',').nth(4)?.parse::<f64>().ok());
    packets.sum()
}

/// Simulates with Fairwire, and prints the number of data packets that arrived.
pub fn simulate(network: &str) -> Result<()> {
    let path = Path::new(SCENARIOS).join(network).with_extension("toml");
    let cells = ScenarioFile::load(&path)?.cells(&Adjust::default())?;
    let scenario = &cells.first().ok_or("the scenario has no cell")?.scenario;
    let run = fairwire_sim::run(scenario, (scenario.run.seed, true), RunOptions::default())?;
    let whole = run.values.iter().filter(|value| {
        let is_flow = matches!(value.subject, Subject::Flow(_));
        is_flow && value.window == WHOLE && value.metric == Metric::Throughput
    });
    let bits = whole.map(|value| value.value).sum::<f64>() * run.simulated.as_secs_f64();
    let size = if network == Network::Equal10.name() {
        512.0
    } else {
        1_000.0
    };
    println!("{:.0}", bits / 8.0 / size);
    Ok(())
}
