//! The command `fairwire`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fairwire_cli::command(std::env::args_os())
}
