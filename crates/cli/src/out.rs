//! `--out`: claims the directory of a run, and publishes its results.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use fairwire_lab::results::{OutputDirectory, Published};

use crate::print;

/// Claims `directory` for writing `files`, which are paths relative to it.
pub(crate) fn claim(
    directory: &Path,
    files: BTreeSet<String>,
    scenario: Option<&Path>,
) -> io::Result<OutputDirectory> {
    if directory.metadata().is_ok_and(|it| !it.is_dir()) {
        let message = format!(
            "{} is a file, and --out takes a directory: name another place, or move the file away",
            directory.display()
        );
        return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
    }
    let arguments = std::env::args_os().skip(1);
    let arguments: Vec<String> = arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let who = format!("fairwire {}", arguments.join(" "));
    OutputDirectory::claim(directory, files, scenario, &who)
}

/// Publishes the written files and returns where they are. Prints a note if earlier results were kept.
pub(crate) fn publish(directory: OutputDirectory, partial: bool) -> io::Result<Published> {
    let published = directory.publish(partial)?;
    if let Published::Beside(path) = &published {
        let kept = path.parent().unwrap_or(path);
        print::note(&format!(
            "{} keeps the results of a run that came to its end; those of this one are in {}",
            kept.display(),
            path.display()
        ));
    }
    Ok(published)
}
