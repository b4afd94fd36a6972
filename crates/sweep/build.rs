//! Computes the hash of the sources that compute results. A run's key has it, so that a store never takes a run of
//! other code for its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The crates between a scenario and its results.
const CRATES: [&str; 8] = [
    "units", "wire", "cc", "proto", "tcp", "net", "measure", "lab",
];

/// The libraries that shape results: random numbers, mathematical functions, and the hash of what is on the wires.
const LIBRARIES: [&str; 6] = [
    "libm",
    "ppv-lite86",
    "rand_chacha",
    "rand_core",
    "siphasher",
    "xxhash-rust",
];

/// The parts of `lab` that only show results.
const SHOWS: [&str; 2] = ["lab/src/paper", "lab/src/report"];

fn main() -> io::Result<()> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut hash = Sha256::new();
    for name in CRATES {
        let folder = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        sources(&folder, &mut files)?;
        files.sort();
        for file in files {
            let path = file.strip_prefix(&crates).unwrap_or(&file);
            let path = path.to_string_lossy().replace('\\', "/");
            if SHOWS.iter().any(|part| path.starts_with(part)) || is_test(&path) {
                continue;
            }
            let text = fs::read(&file)?;
            hash.update((path.len() as u64).to_le_bytes());
            hash.update(path.as_bytes());
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(&text);
        }
    }
    let lock = crates.join("..").join("Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    for package in fs::read_to_string(lock)?.split("[[package]]") {
        let name = package
            .lines()
            .find_map(|line| line.strip_prefix("name = "));
        if LIBRARIES
            .iter()
            .any(|it| name == Some(&format!("\"{it}\"")))
        {
            // Its version and its checksum are in it.
            hash.update(package.as_bytes());
        }
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize()[..8]);
    println!(
        "cargo::rustc-env=FAIRWIRE_SOURCES={:016x}",
        u64::from_be_bytes(first)
    );
    Ok(())
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
