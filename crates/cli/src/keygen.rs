//! `fairwire keygen`: makes an identity for encrypted connections.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use fairwire_tools::identity;

use crate::print;

/// Make a key pair and a self-signed certificate for encrypted connections.
///
/// Writes ID.key, which only you may read, and ID.crt, and prints the certificate's fingerprint. Give the fingerprint to
/// the people who connect (`fairwire perf -c HOST --dtls-pin FINGERPRINT`), over a way that you trust. Nothing is
/// overwritten.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Name of the files, without .key and .crt.
    #[arg(long, value_name = "ID")]
    out: PathBuf,
    /// Host name or address in the certificate; may be given several times. Peers that pin the fingerprint ignore it.
    #[arg(long = "name", value_name = "NAME", default_value = "fairwire")]
    names: Vec<String>,
    /// Days that the certificate is valid, 1 to 36500.
    #[arg(long, default_value_t = 3_650, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
}

impl Args {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        match identity::generate(&self.out, &self.names, identity::valid_for(self.days)) {
            Ok(fingerprint) => print::text(&format!("{fingerprint}\n")),
            Err(error) => print::fail(print::FAILED, &error),
        }
    }
}
