//! `fairwire run` and `fairwire paper` as people and scripts meet them: one program, and what its parts share.

mod out_directory;
mod own_paper;
mod paper;
mod run;

use std::path::Path;
use std::process::{Command, Output};

/// The command, called at the root of the project.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairwire"));
    command
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    command
}

fn fairwire(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the command starts")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
