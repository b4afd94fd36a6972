//! Computes the hash of the sources that compute results. A run's key has it, so that a store never takes a run of
//! other code for its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, LexError, TokenStream, TokenTree};
use sha2::{Digest, Sha256};

/// The crates between a scenario and its results.
const CRATES: [&str; 9] = [
    "units", "wire", "cc", "proto", "tcp", "net", "measure", "scenario", "sim",
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

fn main() -> io::Result<()> {
    // When it runs and not when it is compiled: a build folder may be moved.
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .ok_or_else(|| io::Error::other("cargo runs this"))?;
    let crates = Path::new(&own).join("..");
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
            if is_test(&path) || is_plan(&path) {
                continue;
            }
            let text = fs::read_to_string(&file)?;
            let text = match file.extension() {
                Some(end) if end == "rs" => code(&text)
                    .map_err(|error| io::Error::other(format!("{}: {error}", file.display())))?,
                _ => text,
            };
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

/// Returns the tokens of a source without comments, those of the documentation among them.
fn code(text: &str) -> Result<String, LexError> {
    Ok(without_docs(text.parse()?).to_string())
}

fn without_docs(tokens: TokenStream) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    for token in tokens {
        let TokenTree::Group(group) = token else {
            kept.push(token);
            continue;
        };
        let is_doc = group.delimiter() == Delimiter::Bracket
            && matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc");
        let is_punctuation = |token: Option<&TokenTree>, of: char| matches!(token, Some(TokenTree::Punct(punctuation)) if punctuation.as_char() == of);
        let is_inner = is_punctuation(kept.last(), '!');
        let before = kept.len().checked_sub(if is_inner { 2 } else { 1 });
        if is_doc && is_punctuation(before.and_then(|place| kept.get(place)), '#') {
            kept.truncate(before.unwrap_or_default());
            continue;
        }
        let inside = without_docs(group.stream());
        kept.push(Group::new(group.delimiter(), inside).into());
    }
    kept.into_iter().collect()
}

/// Returns whether a source says which runs are done, and not what comes of them.
fn is_plan(path: &str) -> bool {
    path.starts_with("sim/src/campaign/") && path != "sim/src/campaign/key.rs"
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
