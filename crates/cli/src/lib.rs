//! The command `fairwire`: parses arguments, calls the libraries, prints. It computes nothing.
//!
//! Each subcommand has one file, with its `Args` and a `run` that returns the exit status: 0 done, 1 failed or
//! interrupted, 2 wrong usage (of the command line or in a scenario file). Results go to standard output, everything
//! else to standard error.

mod cells;
mod jobs;
mod keygen;
mod link;
mod number;
#[cfg(feature = "sweep")]
mod origin;
mod out;
mod paper;
mod perf;
mod print;
mod progress;
mod relay;
mod run;
mod schema;
mod stop;
#[cfg(feature = "sweep")]
mod store;
#[cfg(feature = "sweep")]
mod sweep;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use fairwire_units::registry::nearest;

/// DCCP in user space, with a simulator and a lab that reproduces papers.
#[derive(Debug, Parser)]
#[command(name = "fairwire", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Paper(Box<paper::Args>),
    Run(Box<run::Args>),
    #[cfg(feature = "sweep")]
    Sweep(Box<sweep::Args>),
    #[cfg(feature = "sweep")]
    Store(store::Args),
    Schema(schema::Args),
    Perf(Box<perf::Args>),
    Link(Box<link::Args>),
    Relay(Box<relay::Args>),
    Keygen(keygen::Args),
}

/// The examples that help shows, and that `fairwire` alone prints.
const EXAMPLES: &str = "\
Examples:
  fairwire paper                              list the built-in papers
  fairwire paper long-delay --quick           run one paper: its tables beside ours, a verdict on each claim
  fairwire run scenarios/dumbbell.toml        one TCP and one DCCP flow on a dumbbell
  fairwire perf -s                            wait for a measurement, on one host
  fairwire perf -c HOST -t 5                  measure the path to it, on another
  fairwire link \"lte loss 2%\" 5000 --to 127.0.0.1:6000    a bad network between two UDP programs
  fairwire relay --help                       carry the datagrams of any UDP program through DCCP";

/// Runs the command with these arguments, the first of which is its name. Returns the exit status.
pub fn command(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return refuse(&with_nearest(error, &arguments), &arguments),
    };
    match cli.command {
        Some(Command::Paper(args)) => args.run(),
        Some(Command::Run(args)) => args.run(),
        #[cfg(feature = "sweep")]
        Some(Command::Sweep(args)) => args.run(),
        #[cfg(feature = "sweep")]
        Some(Command::Store(args)) => args.run(),
        Some(Command::Schema(args)) => args.run(),
        Some(Command::Perf(args)) => args.run(),
        Some(Command::Link(args)) => args.run(),
        Some(Command::Relay(args)) => args.run(),
        Some(Command::Keygen(args)) => args.run(),
        None => print::text(&format!(
            "fairwire {}: DCCP in user space, with a simulator and a lab that reproduces papers.\n\n{EXAMPLES}\n\n\
             fairwire --help and fairwire COMMAND --help tell more.\n",
            env!("CARGO_PKG_VERSION")
        )),
    }
}

/// Returns the number of an exit status, which [`ExitCode`] does not tell.
pub fn number_of(status: ExitCode) -> u8 {
    let mut numbers = 0..u8::MAX;
    let found = numbers.find(|number| ExitCode::from(*number) == status);
    found.unwrap_or(u8::MAX)
}

/// Adds to an error about an unknown option the most similar option, where clap suggests none. Clap requires more
/// similarity than `--ouput` has to `--out`.
fn with_nearest(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument || error.get(ContextKind::SuggestedArg).is_some()
    {
        return error;
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let Some(word) = unknown.strip_prefix("--") else {
        return error;
    };
    let cli = Cli::command();
    let mut arguments = arguments.iter().skip(1);
    let Some(command) = arguments.find_map(|name| cli.find_subcommand(name)) else {
        return error;
    };
    let options = command.get_arguments().filter_map(clap::Arg::get_long);
    let options: Vec<&str> = options.collect();
    // An option with a few other letters, or else one with the same beginning.
    let nearest = nearest(word, options.iter().copied()).or_else(|| {
        let shared = |option: &&str| {
            let pairs = option.chars().zip(word.chars());
            pairs.take_while(|(one, other)| one == other).count()
        };
        let best = options.iter().copied().max_by_key(shared)?;
        (shared(&best) >= 2).then_some(best)
    });
    if let Some(option) = nearest {
        let option = ContextValue::String(format!("--{option}"));
        error.insert(ContextKind::SuggestedArg, option);
    }
    error
}

/// Prints clap's error, as JSON if the command line asks for JSON. Help and version are not errors.
fn refuse(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    if error.use_stderr() && wants_json {
        let text = error.render().to_string();
        let message = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        // If even this cannot be printed, the exit status is all that is left.
        let _ = print::text(&print::error_json(print::USAGE, message));
    } else {
        let _ = error.print();
    }
    if error.use_stderr() {
        ExitCode::from(print::USAGE)
    } else {
        ExitCode::SUCCESS
    }
}
