//! Real-time traffic through Fairwire and through quinn's datagrams, over the same emulated links: how much arrives in
//! time? docs/which-control.md has the results and says how to read them.

mod camera;
mod connect;
mod contender;
mod dccp;
mod ends;
mod live;
mod outage;
mod parallel;
mod quic;
mod quic_socket;
mod settings;
mod table;
mod thin;
mod trial;
mod viewer;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use fairwire::Rate;
use fairwire::emulated::Link;
use fairwire::emulated::units::{self, Percent};

use crate::contender::CONTENDERS;
use crate::table::Table;
use crate::trial::Setup;

/// Sends real-time traffic through Fairwire and through quinn, over the same emulated links, and reports what arrives
/// in time.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    work: Option<Work>,
    /// Number of runs of each case, with the seeds 1, 2, 3, ... Without a command: of all of them
    #[arg(long, global = true, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
}

#[derive(Debug, Subcommand)]
enum Work {
    /// Few small datagrams at a fixed pace, over a grid of paces, sizes, round trips and losses
    Thin(Thin),
    /// Connections: how long until the first datagram
    Connect,
    /// Simulated video over links of many kinds
    Live(Live),
    /// A path that fails for a while
    Outage,
    /// Simulated video over one link
    Video(Video),
}

/// Thin flows.
#[derive(Debug, Args)]
struct Thin {
    /// Length of each run
    #[arg(long, default_value = "30s")]
    length: units::Duration,
    /// Run only the settings whose name contains this, and quinn
    #[arg(long, default_value = "")]
    only: String,
}

/// Live video.
#[derive(Debug, Args)]
struct Live {
    /// Length of each run
    #[arg(long, default_value = "30s")]
    length: units::Duration,
}

/// Video.
#[derive(Debug, Args)]
struct Video {
    /// Rate of the link, in bits of IP packets
    #[arg(long, default_value = "2Mbit/s")]
    rate: Rate,
    /// Delay of the link in each direction
    #[arg(long, default_value = "50ms")]
    delay: units::Duration,
    /// The longest wait in the queue of the link
    #[arg(long, default_value = "200ms")]
    queue: units::Duration,
    /// Share of packets that are lost, in each direction
    #[arg(long, default_value = "1%")]
    loss: Percent,
    /// When a frame is shown, counted from its capture; a frame that arrives later is late
    #[arg(long, default_value = "250ms")]
    playout: units::Duration,
    /// Length of each run
    #[arg(long, default_value = "60s")]
    length: units::Duration,
    /// Run only the contenders whose name contains this
    #[arg(long, default_value = "")]
    only: String,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let seeds = arguments.seeds;
    match arguments.work {
        None => everything(seeds),
        Some(Work::Thin(thin)) => print(thin::grid(&thin::Plan {
            length: thin.length.into(),
            seeds,
            only: thin.only,
        })),
        Some(Work::Connect) => print(connect::table(seeds)),
        Some(Work::Live(live)) => print(live::table(live.length.into(), seeds)),
        Some(Work::Outage) => print(outage::table(seeds)),
        Some(Work::Video(video)) => one_link(&video, seeds),
    }
}

/// Prints each table as soon as it is complete.
fn everything(seeds: u64) -> ExitCode {
    let plan = thin::Plan {
        length: LENGTH,
        seeds,
        only: String::new(),
    };
    let tables: [&dyn Fn() -> Result<String, String>; 4] = [
        &|| thin::grid(&plan),
        &|| live::table(LENGTH, seeds),
        &|| outage::table(seeds),
        // Rare losses of the handshake need more runs.
        &|| connect::table(seeds * 10),
    ];
    for table in tables {
        if print(table()) != ExitCode::SUCCESS {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn print(made: Result<String, String>) -> ExitCode {
    match made {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("realtime: {error}");
            ExitCode::FAILURE
        }
    }
}

fn one_link(arguments: &Video, seeds: u64) -> ExitCode {
    let link = Link::new(arguments.rate, arguments.delay.into())
        .queue(arguments.queue.into())
        .loss(arguments.loss.fraction());
    let setup = Setup {
        link,
        rate: arguments.rate,
        playout: arguments.playout.into(),
        length: arguments.length.into(),
    };
    println!(
        "{}, {} each way, a queue of {}, {} lost; frames are shown {} after their capture; {} runs of {} each",
        arguments.rate,
        arguments.delay,
        arguments.queue,
        arguments.loss,
        arguments.playout,
        seeds,
        arguments.length
    );
    let mut table = Table::new();
    for contender in CONTENDERS {
        if !contender.name.contains(&arguments.only) {
            continue;
        }
        let mut outcomes = Vec::new();
        for seed in 1..=seeds {
            match trial::run(&setup, *contender, seed) {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => {
                    eprintln!("realtime: {}, seed {seed}: {error}", contender.name);
                    return ExitCode::FAILURE;
                }
            }
        }
        table.row(contender.name, &outcomes);
    }
    print!("{table}");
    ExitCode::SUCCESS
}

/// The length of each run of thin flows and live video.
const LENGTH: Duration = Duration::from_secs(30);

/// The time between two frames: 25 frames a second.
const FRAME_INTERVAL: Duration = Duration::from_millis(40);
