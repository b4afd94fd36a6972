//! A runner of tshark, isolated from the user's own settings and plugins.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The fields of one packet by name. A field that occurs several times has several values.
pub(crate) type Fields = BTreeMap<String, Vec<String>>;

/// The release to which the [`exceptions`](super::exceptions) apply.
const RELEASE: &str = "(Wireshark) 4.0.";

/// A tshark with its own home directory, which is removed on drop.
pub(crate) struct Tshark {
    home: PathBuf,
}

impl Tshark {
    /// Prepares tshark. Returns `None`, and prints why, if tshark of this release is not installed.
    pub(crate) fn start(test: &str) -> Option<Self> {
        let why = match Command::new("tshark").arg("--version").output() {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let first = text.lines().next().unwrap_or_default().to_owned();
                if first.contains(RELEASE) {
                    let unique = format!("fairwire-wireshark-{test}-{}", std::process::id());
                    let home = std::env::temp_dir().join(unique);
                    fs::create_dir_all(&home).expect("a folder");
                    return Some(Self { home });
                }
                format!("the exceptions are those of 4.0, and this is {first}")
            }
            Err(error) => format!("tshark does not run ({error})"),
        };
        let forbidden = std::env::var_os("FAIRWIRE_NO_SKIP").is_some_and(|set| set == "1");
        assert!(!forbidden, "tshark 4.0 is needed: {why}");
        let _ = writeln!(std::io::stderr(), "skipped: {why}");
        None
    }

    /// Returns the folder in which a user would install plugins.
    pub(crate) fn plugins(&self) -> PathBuf {
        self.home.join(".local/lib/wireshark/plugins")
    }

    /// Returns the output of tshark with these arguments.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new("tshark")
            .args(arguments)
            .env("HOME", &self.home)
            .env("XDG_CONFIG_HOME", self.home.join(".config"))
            .env_remove("WIRESHARK_CONFIG_DIR")
            .env_remove("WIRESHARK_PLUGIN_DIR")
            .env("TZ", "UTC")
            .output()
            .expect("it ran before");
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {complaint}");
        assert!(!complaint.contains("Lua"), "{arguments:?}: {complaint}");
        String::from_utf8(output.stdout).expect("tshark writes UTF-8")
    }

    /// Returns the fields named `names` of each packet of a capture.
    ///
    /// A field that a packet does not have is missing from its map.
    pub(crate) fn fields(&self, capture: &[u8], more: &[&str], names: &[&str]) -> Vec<Fields> {
        let path = self.home.join("capture.pcap");
        fs::write(&path, capture).expect("written");
        let path = path.to_str().expect("a plain path");
        let mut arguments = vec!["-r", path, "-T", "fields"];
        // Sequence numbers must be absolute, not relative.
        arguments.extend(["-o", "dccp.relative_sequence_numbers:FALSE"]);
        // Their texts would be mixed with those of the features.
        arguments.extend(["-o", "udp.calculate_timestamps:FALSE"]);
        arguments.extend(["-o", "ip.check_checksum:TRUE"]);
        arguments.extend(["-o", "udp.check_checksum:TRUE"]);
        arguments.extend(["-E", "occurrence=a", "-E", "aggregator=|"]);
        for name in names {
            arguments.extend(["-e", name]);
        }
        arguments.extend(more);
        let output = self.run(&arguments);
        output.lines().map(|line| split(line, names)).collect()
    }
}

impl Drop for Tshark {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.home);
    }
}

fn split(line: &str, names: &[&str]) -> Fields {
    let values: Vec<_> = line.split('\t').collect();
    assert_eq!(values.len(), names.len(), "{line}");
    let present = names.iter().zip(values).filter(|(_, v)| !v.is_empty());
    present
        .map(|(name, value)| {
            let values = value.split('|').map(str::to_owned).collect();
            ((*name).to_owned(), values)
        })
        .collect()
}

/// Returns the path of the dissector in this repository.
pub(crate) fn dissector() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wireshark/fairwire.lua")
}
