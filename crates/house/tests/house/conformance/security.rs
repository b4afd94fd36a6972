//! Checks that each bound in the tables of `docs/security.md` names tests that exist.

use std::fmt::Write as _;
use std::fs;

use super::is_test;
use super::table::names;
use crate::sources::{files_below, root, text_of};

/// Every row of the tables of costs and states ends with tests that exist in the code.
#[test]
fn every_bound_has_its_test() {
    let text = text_of("docs/security.md");
    let sources: Vec<String> = files_below(&root().join("crates"), "rs")
        .iter()
        .map(|file| fs::read_to_string(file).expect("a source file"))
        .collect();
    let mut wrong = String::new();
    let mut bounds = 0;
    let mut has_tests = false;
    for (line, text) in (1..).zip(text.lines()) {
        let Some(inner) = text.strip_prefix('|').and_then(|t| t.strip_suffix('|')) else {
            has_tests = false;
            continue;
        };
        let last = inner.rsplit('|').next().unwrap_or_default().trim();
        if !has_tests || last.starts_with("---") {
            has_tests |= last == "test";
            continue;
        }
        bounds += 1;
        for name in names(last) {
            if !sources.iter().any(|source| is_test(Some(source), &name)) {
                let _ = writeln!(wrong, "line {line}: there is no test {name}");
            }
        }
    }
    assert!(bounds > 20, "{bounds} rows");
    assert!(wrong.is_empty(), "{wrong}");
}
