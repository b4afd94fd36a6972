//! `--out`: claims the directory of a run, and publishes its results.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use fairwire_sim::results::{OutputDirectory, Placement, obstacle};

use crate::print;

/// Claims `directory` for writing `files`, which are paths relative to it.
pub(crate) fn open(
    directory: &Path,
    files: BTreeSet<String>,
    scenario: Option<&Path>,
) -> io::Result<OutputDirectory> {
    if let Some(obstacle) = obstacle(directory) {
        let message = format!(
            "{obstacle}, and --out takes a directory: choose another directory, or move it away"
        );
        return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
    }
    let arguments = std::env::args_os().skip(1);
    let arguments: Vec<String> = arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let who = format!("fairwire {}", arguments.join(" "));
    OutputDirectory::open(directory, files, scenario, &who)
}

/// Publishes the written files and returns where they are. Prints a note if earlier results were kept.
pub(crate) fn publish(directory: OutputDirectory, partial: bool) -> io::Result<Placement> {
    let published = directory.publish(partial)?;
    if let Placement::Beside(path) = &published {
        let kept = path.parent().unwrap_or(path);
        print::note(&format!(
            "{} keeps the results of an earlier, complete run; the results of this run are in {}",
            kept.display(),
            path.display()
        ));
    }
    Ok(published)
}
