//! The cost model: where the processor time of a datagram goes, by `perf` on both processes of a run.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::transport::Result;

/// The parts of the cost, with what their functions and libraries are called: the first part that fits has it.
const PARTS: [(&str, &[&str]); 10] = [
    (
        "kernel: copying",
        &[
            "_copy_from_iter",
            "_copy_to_iter",
            "copy_user",
            "rep_movs",
            "skb_copy",
        ],
    ),
    ("kernel: the rest", &["[k]"]),
    ("clock", &["[vdso]", "clock_gettime"]),
    (
        "memory: copying, zeroing",
        &["__memmove", "__memcpy", "__memset", "__memcmp"],
    ),
    (
        "memory: allocating",
        &[
            "malloc",
            "_int_free",
            "free",
            "calloc",
            "realloc",
            "unlink_chunk",
            "memalign",
            "tcache",
        ],
    ),
    (
        "cipher",
        &[
            "aws_lc", "aead_", "aes_", "EVP_", "CRYPTO_", "OPENSSL_", "gcm_", "ring::", "chacha",
        ],
    ),
    ("DTLS: the library", &["dimpl"]),
    ("DTLS: ours", &["fairwire_tls"]),
    (
        "protocol",
        &[
            "fairwire_proto",
            "fairwire_wire",
            "fairwire_cc",
            "fairwire_units",
            "quinn_proto",
            "noq_proto",
            "s2n_quic_transport",
            "s2n_quic_core",
            "rustls",
        ],
    ),
    (
        "sockets and runtime",
        &[
            "fairwire::",
            "tokio",
            "mio",
            "quinn",
            "noq",
            "s2n_quic",
            "libc.so",
        ],
    ),
];

/// A recording of one process.
pub struct Recording {
    perf: Child,
    file: PathBuf,
}

impl Recording {
    /// Records a process for a time.
    pub fn start(pid: u32, time: Duration) -> Result<Self> {
        let file = std::env::temp_dir().join(format!("race-{pid}.perf"));
        let perf = Command::new("perf")
            .args([
                "record",
                "-q",
                "-e",
                "cpu-clock",
                "-F",
                "1999",
                "-p",
                &pid.to_string(),
            ])
            .arg("-o")
            .arg(&file)
            .args(["--", "sleep", &time.as_secs_f64().to_string()])
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("perf: {error} (Debian: apt-get install linux-perf)"))?;
        Ok(Self { perf, file })
    }

    /// Returns the shares of the parts, and the share of all others.
    pub fn shares(mut self) -> Result<Vec<(&'static str, f64)>> {
        self.perf.wait()?;
        let report = Command::new("perf")
            .args([
                "report",
                "--no-children",
                "--sort",
                "dso,symbol",
                "--stdio",
                "-i",
            ])
            .arg(&self.file)
            .stderr(Stdio::null())
            .output()?;
        std::fs::remove_file(&self.file)?;
        Ok(parts(&String::from_utf8_lossy(&report.stdout)))
    }
}

/// Adds up the lines of a report.
fn parts(report: &str) -> Vec<(&'static str, f64)> {
    let mut parts: Vec<_> = PARTS.iter().map(|(name, _)| (*name, 0.0)).collect();
    parts.push(("the rest", 0.0));
    for line in report.lines() {
        let Some((share, function)) = line.trim_start().split_once('%') else {
            continue;
        };
        let Ok(share) = share.parse::<f64>() else {
            continue;
        };
        let fits = |(_, words): &(&str, &[&str])| words.iter().any(|word| function.contains(word));
        let place = PARTS.iter().position(fits).unwrap_or(PARTS.len());
        if let Some(part) = parts.get_mut(place) {
            part.1 += share;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::parts;

    /// The kernel's functions are never taken for ours, and what nobody knows is the rest.
    #[test]
    fn each_line_belongs_to_one_part() {
        let report = "# comment\n\n  10.50%  [kernel.kallsyms]  [k] _copy_from_iter  -  -\n   2.00%  \
            [kernel.kallsyms]  [k] kfree\n   4.00%  libc.so.6  [.] _int_free\n   1.50%  race  [.] unknown\n";
        let parts = parts(report);
        let share = |name| parts.iter().find(|part| part.0 == name).map(|part| part.1);
        assert_eq!(share("kernel: copying"), Some(10.5));
        assert_eq!(share("kernel: the rest"), Some(2.0));
        assert_eq!(share("memory: allocating"), Some(4.0));
        assert_eq!(share("the rest"), Some(1.5));
    }
}
