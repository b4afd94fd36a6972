//! Tests of the command `fairwire` as people and scripts use it, and the helpers that they share.

mod explain;
mod means;
#[cfg(target_os = "linux")]
mod native;
mod out_directory;
mod own_law;
mod own_paper;
mod paper;
#[cfg(target_os = "linux")]
mod path_mtu;
#[cfg(target_os = "linux")]
mod perf;
mod run;
mod sweep;
#[cfg(target_os = "linux")]
mod two_hosts;

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output};

/// Returns the command, to be run at the root of the project.
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

/// Returns the text of a gzip file.
fn unzipped(path: &Path) -> String {
    let file = std::fs::File::open(path);
    let file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    let read = flate2::read::GzDecoder::new(file).read_to_string(&mut text);
    read.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text
}
