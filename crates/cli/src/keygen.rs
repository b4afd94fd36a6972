//! `fairwire keygen`: makes an identity for encrypted connections, or shows the fingerprint of one.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgGroup, Parser};
use fairwire_tools::identity;

use crate::print;

/// Make a key pair and a self-signed certificate for encrypted connections.
///
/// Writes ID.key, which only you may read, and ID.crt, and prints the certificate's fingerprint. Give the fingerprint to
/// the people who connect (`fairwire perf -c HOST --dtls-pin FINGERPRINT`), over a way that you trust. Nothing is
/// overwritten.
#[derive(Debug, Parser)]
#[command(group = ArgGroup::new("what").required(true).args(["out", "show"]))]
pub(crate) struct Args {
    /// Name of the files, without .key and .crt.
    #[arg(long, value_name = "ID")]
    out: Option<PathBuf>,
    /// Make nothing: print the fingerprint of the identity in ID.key and ID.crt.
    #[arg(long, value_name = "ID", conflicts_with_all = ["names", "days"])]
    show: Option<PathBuf>,
    /// Host name or address in the certificate; may be given several times. '*.example.org' stands for every name with
    /// one label before 'example.org'. Peers that pin the fingerprint ignore names.
    #[arg(long = "name", value_name = "NAME", default_value = "fairwire")]
    names: Vec<String>,
    /// Days that the certificate is valid, 1 to 36500.
    #[arg(long, default_value_t = 3_650, value_parser = clap::value_parser!(u32).range(1..=36_500))]
    days: u32,
}

impl Args {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let fingerprint = match (&self.out, &self.show) {
            (Some(id), _) => identity::generate(id, &self.names, identity::valid_for(self.days)),
            (None, Some(id)) => identity::load(id).map(|identity| identity.fingerprint()),
            (None, None) => return ExitCode::from(print::USAGE), // The parser requires one of them.
        };
        let fingerprint = match fingerprint {
            Ok(fingerprint) => fingerprint,
            Err(error) => return print::fail(print::FAILED, &error),
        };
        if let Some(id) = &self.out {
            let (key, certificate) = identity::files(id);
            print::note(&format!(
                "wrote {} (secret) and {}; the fingerprint of the certificate:",
                key.display(),
                certificate.display()
            ));
        }
        print::text(&format!("{fingerprint}\n"))
    }
}
