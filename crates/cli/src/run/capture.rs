//! The file of `--pcap`.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use fairwire_sim::whole_packets;
use fairwire_tools::no_directory;

/// Returns whether a capture at `path` would overwrite the scenario at `scenario`.
pub(super) fn overwrites(path: &Path, scenario: &Path) -> bool {
    match (path.canonicalize(), scenario.canonicalize()) {
        (Ok(path), Ok(scenario)) => path == scenario,
        _ => false,
    }
}

/// Creates the file at `path` for writing. Its directory must exist.
pub(super) fn create(path: &Path) -> io::Result<Box<dyn Write + Send>> {
    let file = File::create(path).map_err(|error| {
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        let why = match above.filter(|above| !above.exists()) {
            Some(above) => no_directory(above),
            None => error.to_string(),
        };
        let text = format!("cannot write {}: {why}", path.display());
        io::Error::new(error.kind(), text)
    })?;
    Ok(Box::new(BufWriter::with_capacity(1 << 16, file)))
}

/// Cuts the incomplete capture at `path` after its last whole packet. Returns what is left of it, in words.
pub(super) fn cut(path: &Path) -> &'static str {
    match try_cut(path) {
        Ok(true) => "the capture is incomplete and ends after a whole packet",
        Ok(false) => "the capture is incomplete",
        Err(_) => "the capture is incomplete, and its last packet may be cut off",
    }
}

/// Cuts the capture, unless it is not in a file, but in a pipe or a device.
fn try_cut(path: &Path) -> io::Result<bool> {
    if !path.metadata()?.is_file() {
        return Ok(false);
    }
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    file.set_len(whole_packets(&file)?)?;
    Ok(true)
}
