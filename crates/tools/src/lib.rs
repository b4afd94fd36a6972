//! Tools for real networks.
//!
//! [`perf`] measures a path like iperf3, over DCCP, UDP or TCP, and transfers files without retransmission.
//! [`relay`] carries any UDP program's datagrams through DCCP. [`identity`] makes and reads the keys and certificates for DTLS. [`signals`] are those that ask a command to stop.

pub mod identity;
pub mod perf;
pub mod relay;
pub mod signals;

use std::path::Path;

/// Returns the error text about a missing directory. The tools make the directories that they are given to write to, but
/// none around a file: its path may be misspelt.
pub fn no_directory(path: &Path) -> String {
    let path = path.display();
    format!("there is no directory {path}: make it with 'mkdir -p {path}'")
}
