//! Checks that `docs/conformance.csv` and the code agree.
//!
//! The list must be well formed, and everything that it names must exist. [`counts`] finds a row for each requirement
//! word of the RFCs. [`citations`] finds a row for each citation in the code, and a citation for each row. [`page`]
//! renders it. [`adversarial`] checks `docs/adversarial.md` in the same way, and [`security`] checks `docs/security.md`.

mod adversarial;
mod citations;
mod counts;
mod page;
mod security;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use table::{Files, Row, rows};

const LEVELS: [&str; 5] = ["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY"];
/// The largest number of rows that may name the same test: with more, a failure would not show its cause.
const ROWS_PER_TEST: usize = 5;
/// The keywords of a declaration; `pub` and the like may come before them.
const KINDS: [&str; 6] = ["fn", "struct", "enum", "const", "type", "trait"];

/// Every row has valid columns, no two rows are the same, and they stand in the order of the RFCs.
#[test]
fn rows_are_well_formed() {
    let mut wrong = String::new();
    let mut seen = BTreeSet::new();
    let mut last = None;
    for (line, row) in rows() {
        let of = [
            row.written_sections(),
            row.level.clone(),
            row.requirement.clone(),
        ];
        if !seen.insert((row.rfc, of)) {
            let _ = writeln!(wrong, "line {line}: there is another such row");
        }
        for problem in problems(&row) {
            let _ = writeln!(wrong, "line {line}: {problem}");
        }
        let place = Some((row.rfc, row.sections().next().map(order)));
        if place < last {
            let _ = writeln!(wrong, "line {line}: the row belongs further up");
        }
        last = place;
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Every item that a row names is declared in the file that the row names.
#[test]
fn items_exist() {
    let mut files = Files::default();
    let mut missing = String::new();
    for (line, row) in rows() {
        for place in &row.places {
            let found = place
                .split_once("::")
                .is_some_and(|(file, item)| declares(files.read(file), item));
            if !found {
                let _ = writeln!(missing, "line {line}: there is no {place}");
            }
        }
    }
    assert!(missing.is_empty(), "{missing}");
}

/// Every test that a row names is a test in the file that the row names, and no test has too many rows.
#[test]
fn tests_exist() {
    let mut files = Files::default();
    let mut wrong = String::new();
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for (line, row) in rows() {
        for test in row.tests {
            let found = test
                .split_once("::")
                .is_some_and(|(file, name)| is_test(files.read(file), name));
            if !found {
                let _ = writeln!(wrong, "line {line}: there is no test {test}");
            }
            *uses.entry(test).or_default() += 1;
        }
    }
    for (test, count) in uses {
        if count > ROWS_PER_TEST {
            let _ = writeln!(wrong, "{count} rows lean on {test}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Names and sections that do not have the right form are refused.
#[test]
fn forms_are_told_apart() {
    let source = "impl A {\n    pub(in crate::a) const fn begin(&self) {}\n}\npub enum B {\n    First,\n}\n\
        /// Holds.\n#[test]\nfn begins() {}\nfn helper() {}\n";
    for item in ["begin", "B", "First", "helper"] {
        assert!(declares(Some(source), item), "{item}");
    }
    for item in ["beg", "A", "Holds", "self", ""] {
        assert!(!declares(Some(source), item), "{item}");
    }
    assert!(!declares(None, "begin"), "no such file");
    assert!(is_test(Some(source), "begins"));
    assert!(!is_test(Some(source), "helper"));
    assert!(!is_test(Some(source), "begin"));
    assert_eq!(status_problem("met"), None);
    assert_eq!(status_problem("partly: no test"), None);
    assert_eq!(status_problem("not ours: on routers"), None);
    for section in ["4", "7.5.4", "A", "A.2"] {
        assert!(is_section(section), "{section}");
    }
    for section in ["", "all", "7.", ".5", "7.a", "AB", "7 5"] {
        assert!(!is_section(section), "{section}");
    }
    assert!(order("7.5") < order("7.10") && order("7") < order("7.1"));
    assert!(order("20.1") < order("A") && order("A.2") < order("B"));
    for status in ["Met", "partly", "not yet: ", "partly:why", ""] {
        assert!(status_problem(status).is_some(), "{status}");
    }
}

fn problems(row: &Row) -> Vec<String> {
    let mut problems = Vec::new();
    for section in row.sections() {
        if !is_section(section) {
            problems.push(format!("'{section}' is no section, as 7.5.4 or A.2 is"));
        }
    }
    if [&row.requirement, &row.status]
        .iter()
        .any(|cell| cell.contains('|'))
    {
        problems.push("a table of the page cannot hold '|'".to_owned());
    }
    if row.requirement.is_empty() {
        problems.push("the requirement is not empty".to_owned());
    }
    if !LEVELS.contains(&row.level.as_str()) {
        problems.push(format!("'{}' is no level", row.level));
    }
    problems.extend(status_problem(&row.status));
    if row.status == "met" && (row.places.is_empty() || row.tests.is_empty()) {
        problems.push("what is met names where and its test".to_owned());
    }
    for name in row.places.iter().chain(&row.tests) {
        if !(name.starts_with("crates/") && name.contains(".rs::")) {
            problems.push(format!("'{name}' is not crates/....rs::name"));
        }
    }
    problems
}

/// Returns whether this is a section number: numbers with points between them. The first part of an appendix is a
/// letter.
fn is_section(section: &str) -> bool {
    let mut parts = section.split('.');
    let number = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let letter = |part: &str| part.len() == 1 && part.chars().all(|c| c.is_ascii_uppercase());
    parts
        .next()
        .is_some_and(|first| number(first) || letter(first))
        && parts.all(number)
}

/// Returns a key that sorts sections as an RFC does: by number, appendices last.
fn order(section: &str) -> Vec<(Option<char>, u32)> {
    let part = |part: &str| match part.parse() {
        Ok(number) => (None, number),
        Err(_) => (part.chars().next(), 0),
    };
    section.split('.').map(part).collect()
}

fn status_problem(status: &str) -> Option<String> {
    let explained = ["partly: ", "not yet: ", "not ours: "]
        .iter()
        .any(|word| status.strip_prefix(word).is_some_and(|why| !why.is_empty()));
    (status != "met" && !explained).then(|| format!("'{status}' is no status"))
}

/// Returns whether `item` is declared in `source`; a variant counts too.
fn declares(source: Option<&str>, item: &str) -> bool {
    let is_name = |name: &str| {
        name.strip_prefix(item)
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let declared = |line: &str| {
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            if KINDS.contains(&word) && words.clone().next().is_some_and(is_name) {
                return true;
            }
            // Words that may come before a declaration, as in `const fn` and `pub(in crate::a)`.
            let is_pub = word.starts_with("pub") || word.ends_with(')');
            let before = is_pub || ["const", "async", "unsafe"].contains(&word);
            if !before {
                return false;
            }
        }
        false
    };
    let variant = |line: &str| {
        let rest = line.trim().strip_prefix(item);
        let capital = item.starts_with(char::is_uppercase);
        capital && rest.is_some_and(|rest| rest.starts_with([',', '(']) || rest == " {")
    };
    !item.is_empty()
        && source.is_some_and(|source| source.lines().any(|line| declared(line) || variant(line)))
}

/// Returns whether a function `name` has a test attribute just above it.
fn is_test(source: Option<&str>, name: &str) -> bool {
    let mut marked = false;
    for line in source.unwrap_or_default().lines().map(str::trim) {
        if line == "#[test]" || line.starts_with("#[tokio::test") {
            marked = true;
        } else if let Some(rest) = line
            .trim_start_matches("async ")
            .strip_prefix("fn ")
            .and_then(|rest| rest.strip_prefix(name))
            && rest.starts_with('(')
        {
            return marked;
        } else if !line.starts_with('#') {
            marked = false;
        }
    }
    false
}
