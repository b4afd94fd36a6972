//! `fairwire link`: a bad network on demand, between UDP programs.

use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use fairwire_link::{Options, PRESETS, Relay, RelayError, Report, Words, ask, change_at, time_of};

use crate::{print, stop};

/// Carry UDP datagrams over an emulated link: a bad network on demand, without root and without a kernel module.
///
/// Programs send to LISTEN instead of the other side, and the link sends on to --to. Each client is kept apart, and what
/// comes back reaches it alone. The queue, the losses and the delays are those of the simulator, in real time: with the
/// same seed, datagrams that come at the same times meet the same fate.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true, after_help = after_help(), subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// What the link does, in netem's words or by a preset's name.
    #[arg(value_name = "LINK", required = true)]
    words: Option<String>,
    /// Address and port at which clients send; a port alone is one of this host.
    #[arg(value_name = "LISTEN", required = true)]
    listen: Option<String>,
    /// Address and port to which their datagrams go.
    #[arg(long, value_name = "ADDRESS", required = true)]
    to: Option<String>,
    /// Name by which the link is changed while it runs [default: the port of LISTEN].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Change the link at a time after the start, for example "10s rate 500kbit"; may be given several times.
    #[arg(long, value_name = "CHANGE")]
    at: Vec<String>,
    /// Seed of losses, delays and copies.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// End after this time, for example 30s.
    #[arg(short, long, value_name = "TIME", value_parser = seconds)]
    time: Option<Duration>,
    /// Time between two lines; 0s prints the summary alone.
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = seconds)]
    interval: Duration,
    /// Forget a client that was silent for so long.
    #[arg(long, value_name = "TIME", default_value = "5min", value_parser = seconds)]
    idle: Duration,
    /// Print JSON, one object a line: one for each interval, and one at the end.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Change a link that runs: `fairwire link set 5000 rate 500kbit`. What is not named stays as it is.
    Set {
        /// Name of the link.
        name: String,
        /// The words that change.
        #[arg(required = true, trailing_var_arg = true)]
        words: Vec<String>,
    },
    /// Print what a link that runs has done, as JSON.
    Show {
        /// Name of the link.
        name: String,
    },
    /// List the presets, with what they mean and where their numbers come from.
    Presets,
}

fn seconds(text: &str) -> Result<Duration, String> {
    time_of("the time", text).map_err(|error| error.to_string())
}

fn after_help() -> String {
    let presets: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    format!(
        "\
Words of LINK (what follows 'back' is for the way back alone):
  rate 2mbit              the rate, in tc's units; overhead 14 adds bytes to each packet
  trace FILE              instead of a rate: mahimahi's times at which packets leave
  delay 100ms [5ms [distribution uniform|normal|pareto]]
  loss 1% | loss gemodel 1% 10% [100% [0%]] | loss none; with ecn, marks in place of losses
  limit 50 | queue 64kb | queue 200ms     the most that waits [default: limit 1000]
  droptail | codel | fq_codel             who is dropped when packets wait
  duplicate 1%  corrupt 1%  reorder 25% [gap 5]  mtu 1400  down  up
Presets: {}

Examples:
  fairwire link \"rate 2mbit delay 100ms 5ms loss 1% limit 50\" 127.0.0.1:5000 --to 127.0.0.1:6000
  fairwire link \"lte loss 2%\" 5000 --to server.example:6000 --at \"10s down\" --at \"13s up\"
  fairwire link set 5000 rate 500kbit",
        presets.join(", ")
    )
}

impl Args {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        match &self.command {
            Some(Command::Set { name, words }) => {
                answer(ask(name, &format!("set {}", words.join(" "))))
            }
            Some(Command::Show { name }) => answer(ask(name, "show")),
            Some(Command::Presets) => print::text(&presets()),
            None => self.carry(),
        }
    }

    fn carry(self) -> ExitCode {
        let json = self.json;
        let interval = self.interval;
        let options = match self.options() {
            Ok(options) => options,
            Err(problem) => return print::refuse(json, print::USAGE, &problem),
        };
        let mut relay = match Relay::bind(options) {
            Ok(relay) => relay,
            Err(error @ (RelayError::Words(_) | RelayError::Loop(_))) => {
                return print::refuse(json, print::USAGE, &error);
            }
            Err(error) => return print::refuse(json, print::FAILED, &error),
        };
        let stopper = relay.stopper();
        stop::call_on_interrupt(move || stopper.stop());
        print::note(&format!("listening at {}", relay.local_addr()));
        let mut before: Option<Report> = None;
        let run = relay.run(interval, |report| {
            let line = if json {
                report.json().to_string()
            } else {
                report.line(before.as_ref())
            };
            // Nobody reads: the summary will tell.
            let _ = print::try_text(&format!("{line}\n"));
            before = Some(report.clone());
        });
        match run {
            Ok(report) if json => print::text(&format!("{}\n", report.json())),
            Ok(report) => print::text(&report.summary()),
            Err(error) => print::refuse(json, print::FAILED, &error),
        }
    }

    fn options(self) -> Result<Options, String> {
        let words: Words = self
            .words
            .unwrap_or_default()
            .parse()
            .map_err(|error: fairwire_link::WordsError| error.to_string())?;
        let changes = self.at.iter().map(|text| change_at(text));
        let changes: Result<Vec<_>, _> = changes.collect();
        let listen = address("LISTEN", &self.listen.unwrap_or_default(), None)?;
        Ok(Options {
            words,
            listen,
            to: address("--to", &self.to.unwrap_or_default(), Some(listen))?,
            seed: self.seed,
            idle: self.idle,
            changes: changes.map_err(|error| error.to_string())?,
            time: self.time,
            name: self.name,
        })
    }
}

/// Reads the address at which a link listens, where a port alone is one of this host; or the one to which it sends from
/// there, for which a name's address of the same kind is taken if it has one.
fn address(what: &str, text: &str, from: Option<SocketAddr>) -> Result<SocketAddr, String> {
    if let (Ok(port), None) = (text.parse::<u16>(), from) {
        return Ok(([127, 0, 0, 1], port).into());
    }
    let found = text.to_socket_addrs().map_err(|error| {
        format!("{what}: '{text}' is no address ({error}): write it as 127.0.0.1:5000")
    })?;
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(|addr| from.is_some_and(|from| from.is_ipv4() != addr.is_ipv4()));
    let usable = found
        .into_iter()
        .find(|addr| from.is_none() || addr.port() != 0);
    usable.ok_or_else(|| format!("{what}: {text} has no address with a port to send to"))
}

/// Prints what a link that runs has answered.
fn answer(answer: Result<String, String>) -> ExitCode {
    match answer {
        Ok(text) if text == "ok" => ExitCode::SUCCESS,
        Ok(text) if text.starts_with('{') => print::text(&format!("{text}\n")),
        Ok(problem) => print::fail(print::USAGE, &problem),
        Err(problem) => print::fail(print::FAILED, &problem),
    }
}

fn presets() -> String {
    let lines = PRESETS.iter().map(|preset| {
        format!(
            "{:<14}{}\n{:<14}{}\n",
            preset.name, preset.words, "", preset.source
        )
    });
    lines.collect()
}
