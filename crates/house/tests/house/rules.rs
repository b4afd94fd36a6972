//! Rules that the compiler does not check: which crate may use which, and how long a file may be.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::sources::{crate_folders, files_below, root};

/// The crates and the crates that each may use (ARCHITECTURE.md).
const ARROWS: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("wire", &[]),
    ("tls", &["units", "proto"]),
    ("cc", &["units"]),
    ("net", &["units"]),
    ("measure", &["units"]),
    ("proto", &["units", "wire", "cc"]),
    ("tcp", &["units", "cc"]),
    (
        "scenario",
        // `tls` with the feature `dtls` only.
        &[
            "units", "wire", "cc", "proto", "net", "tcp", "tls", "measure",
        ],
    ),
    ("sim", &["units", "net", "measure", "scenario"]),
    ("paper", &["units", "cc", "measure", "scenario", "sim"]),
    ("papers", &["paper"]),
    ("report", &["units", "measure", "scenario", "sim", "paper"]),
    // `net` with the feature `emulated` only.
    ("io", &["units", "wire", "proto", "tls", "net"]),
    ("tools", &["units", "io", "measure"]),
    ("sweep", &["units", "measure", "scenario", "sim"]),
    ("cli", CLI),
    ("py", PY),
    // For development only: no crate uses it.
    ("torture", &["units", "wire", "cc", "proto", "net"]),
    // For tests and benchmarks, as a dev-dependency, which this rule does not restrict.
    ("held", &[]),
    // Models of the threads of `io`; it compiles the sources of `io`.
    ("threads", &["units", "wire", "proto", "tls"]),
    // Tests of the repository.
    ("house", &[]),
];

const CLI: &[&str] = &[
    "units", "measure", "scenario", "sim", "paper", "papers", "report", "sweep", "tools",
];
const PY: &[&str] = &[
    "units", "measure", "scenario", "sim", "paper", "papers", "report", "sweep", "io", "cli",
];

/// Every crate is listed, and uses only crates that it may use.
#[test]
fn crates_use_only_what_they_may() {
    let allowed: BTreeMap<&str, BTreeSet<&str>> = ARROWS
        .iter()
        .map(|(name, uses)| (*name, uses.iter().copied().collect()))
        .collect();
    let mut seen = BTreeSet::new();
    for folder in crate_folders() {
        let name = folder
            .file_name()
            .and_then(|n| n.to_str())
            .expect("crate folders have plain names")
            .to_owned();
        let uses = allowed
            .get(name.as_str())
            .unwrap_or_else(|| panic!("crates/{name} has no place in the house"));
        for used in dependencies(&folder.join("Cargo.toml")) {
            assert!(
                uses.contains(used.as_str()),
                "crates/{name} must not use crates/{used}"
            );
        }
        seen.insert(name);
    }
    assert_eq!(seen.len(), ARROWS.len(), "every crate of the house exists");
}

/// A source file has at most 600 lines.
#[test]
fn files_stay_small() {
    let mut long = Vec::new();
    for folder in crate_folders() {
        for file in files_below(&folder, "rs") {
            let lines = fs::read_to_string(&file)
                .expect("source files are readable")
                .lines()
                .count();
            if lines > 600 {
                long.push(format!("{} has {lines} lines", file.display()));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// The five papers together have at most 7,050 hand-written lines of at most 120 columns. Repeated cells belong into a
/// family.
#[test]
fn papers_are_short() {
    let mut lines = 0;
    for paper in fs::read_dir(root().join("papers")).expect("papers") {
        let folder = paper.expect("an entry").path();
        let Ok(files) = fs::read_dir(&folder) else {
            continue;
        };
        for file in files {
            let file = file.expect("an entry").path();
            let is_toml = file.extension().is_some_and(|end| end == "toml");
            if !is_toml || file.ends_with("digests.toml") {
                continue;
            }
            let text = fs::read_to_string(&file).expect("a text");
            for (number, line) in (1..).zip(text.lines()) {
                let width = line.chars().count();
                assert!(
                    width <= 120,
                    "{}:{number} has {width} columns",
                    file.display()
                );
                assert_eq!(
                    line.trim_end(),
                    line,
                    "{}:{number} ends with a space",
                    file.display()
                );
            }
            lines += text.lines().count();
        }
    }
    assert!(lines <= 7_050, "{lines} lines");
}

/// Returns the folders of the workspace's crates in `[dependencies]`; dev-dependencies are not restricted.
fn dependencies(manifest: &Path) -> Vec<String> {
    let text = fs::read_to_string(manifest).expect("every crate has a manifest");
    let manifest: toml::Table = text.parse().expect("a manifest is TOML");
    let Some(table) = manifest.get("dependencies").and_then(|d| d.as_table()) else {
        return Vec::new();
    };
    table
        .keys()
        .filter_map(|name| match name.as_str() {
            "fairwire" => Some("io".to_owned()),
            name => name.strip_prefix("fairwire-").map(str::to_owned),
        })
        .collect()
}
