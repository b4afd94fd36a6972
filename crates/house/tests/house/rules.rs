//! Rules that the compiler does not check: which crate may use which, and how long files and functions may be.

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
    ("link", &["units", "net"]),
    ("cli", CLI),
    ("py", PY),
    // For development only: no crate uses it.
    ("torture", &["units", "wire", "cc", "proto", "net", "tls"]),
    // For tests and benchmarks, as a dev-dependency, which this rule does not restrict.
    ("held", &[]),
    ("kit", &["units", "wire", "proto"]),
    // Models of the threads of `io`; it compiles the sources of `io`.
    ("threads", &["units", "wire", "proto", "tls"]),
    // Tests of the repository.
    ("house", &[]),
];

const CLI: &[&str] = &[
    "units", "measure", "scenario", "sim", "paper", "papers", "report", "sweep", "tools", "link",
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

/// Functions that are longer and still have to be split.
const LONG: [(&str, &str); 1] = [("crates/scenario/src/file.rs", "cells")];

/// A function of the sources has at most 70 lines of code. Tests may be longer: some are lists of cases.
#[test]
fn functions_stay_short() {
    let mut long = Vec::new();
    for folder in crate_folders() {
        for file in files_below(&folder.join("src"), "rs") {
            let is_test = file
                .iter()
                .any(|part| part == "tests" || part == "tests.rs");
            if is_test {
                continue;
            }
            let text = fs::read_to_string(&file).expect("source files are readable");
            for (name, lines) in functions(&text) {
                let is_known = LONG
                    .iter()
                    .any(|known| file.ends_with(known.0) && name == known.1);
                if lines > 70 && !is_known {
                    long.push(format!("{}: {name} has {lines} lines", file.display()));
                }
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

/// Lines of code are those between the first and the last line of a body, without blank lines and comments.
#[test]
fn lines_of_functions_are_counted() {
    let text = "fn one() {}\ntrait T {\n    fn two(\n        &self,\n    );\n\n    fn three(&self) {\n        \
        // Why.\n\n        {\n            a();\n        }\n    }\n}\n\
        pub(crate) const fn four(\n    a: u8,\n) -> u8 {\n    a\n}\n#[cfg(test)]\nmod tests {\n    fn five() {\n\
        a();\n    }\n}\n";
    let counted = functions(text);
    assert_eq!(counted, [("three", 3), ("four", 1)]);
}

/// Returns the functions of a formatted source, up to its tests, with the lines of code in their bodies. A body on the
/// line of its name is left out.
fn functions(source: &str) -> Vec<(&str, usize)> {
    let source = source
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or_default();
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let Some(name) = declared_function(line) else {
            continue;
        };
        let margin = &line[..line.len() - line.trim_start().len()];
        let is_at_margin = |line: &&&str| {
            line.strip_prefix(margin)
                .is_some_and(|rest| rest.starts_with(|c: char| !c.is_whitespace()))
        };
        // The first line at the margin that ends with a bracket begins the body; a semicolon ends a declaration.
        let mut from_name = lines[first..].iter();
        let begin =
            from_name.position(|line| is_at_margin(&line) && line.ends_with(['{', ';', '}']));
        let Some(begin) = begin.map(|at| first + at) else {
            continue;
        };
        if !lines[begin].ends_with('{') {
            continue;
        }
        let body = lines[begin + 1..].iter();
        let body = body.take_while(|line| !is_at_margin(line));
        let is_code = |line: &&&str| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with("//")
        };
        found.push((name, body.filter(is_code).count()));
    }
    found
}

/// Returns the name of the function that a line begins to declare.
fn declared_function(line: &str) -> Option<&str> {
    let mut words = line.trim_start();
    loop {
        let (word, rest) = words.split_once(' ')?;
        if word == "fn" {
            return rest.split(['(', '<']).next();
        }
        let is_qualifier =
            word.starts_with("pub") || ["const", "async", "unsafe", "default"].contains(&word);
        if !is_qualifier {
            return None;
        }
        words = rest;
    }
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
