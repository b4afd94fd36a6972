//! `fairwire schema`: the JSON Schema of scenario files, for editors.

use std::process::ExitCode;

use clap::Parser;
use fairwire_scenario as scenario;

use crate::print;

/// Print the JSON Schema of scenario files.
///
/// An editor that has the schema completes keys, shows their meaning and marks errors. For Taplo, the language server
/// behind most editors' TOML support, write the schema to a file and begin a scenario with `#:schema FILE`.
#[derive(Debug, Parser)]
pub(crate) struct Args {}

impl Args {
    /// Runs the command.
    #[expect(clippy::unused_self, reason = "each subcommand is run in the same way")]
    pub(crate) fn run(self) -> ExitCode {
        print::text(&format!("{:#}\n", scenario::file_schema()))
    }
}
