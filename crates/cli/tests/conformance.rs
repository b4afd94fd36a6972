//! `docs/conformance.md` and the code say the same: the table is well formed, and everything it
//! names is there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const HEADER: [&str; 7] = [
    "RFC",
    "Section",
    "Level",
    "Requirement",
    "Where",
    "Test",
    "Status",
];
const LEVELS: [&str; 5] = ["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY"];
/// Rows that may lean on one test: more, and nobody sees what a failure means.
const ROWS_PER_TEST: usize = 5;
/// What an item may be declared as; `pub` and the like stand before it.
const KINDS: [&str; 6] = ["fn", "struct", "enum", "const", "type", "trait"];

struct Row {
    line: usize,
    rfc: String,
    section: String,
    level: String,
    requirement: String,
    places: Vec<String>,
    tests: Vec<String>,
    status: String,
}

/// Every row has its seven columns, each in its form.
#[test]
fn rows_are_well_formed() {
    let mut wrong = String::new();
    for row in rows() {
        for problem in problems(&row) {
            let _ = writeln!(wrong, "line {}: {problem}", row.line);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Every item that a row names is declared in the file that the row names.
#[test]
fn items_exist() {
    let mut files = Files::default();
    let mut missing = String::new();
    for row in rows() {
        for place in &row.places {
            let found = place
                .split_once("::")
                .is_some_and(|(file, item)| declares(files.read(file), item));
            if !found {
                let _ = writeln!(missing, "line {}: there is no {place}", row.line);
            }
        }
    }
    assert!(missing.is_empty(), "{missing}");
}

/// Every test that a row names is a test in the file that the row names, and no test carries more
/// rows than one can keep apart.
#[test]
fn tests_exist() {
    let mut files = Files::default();
    let mut wrong = String::new();
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows() {
        for test in row.tests {
            let found = test
                .split_once("::")
                .is_some_and(|(file, name)| is_test(files.read(file), name));
            if !found {
                let _ = writeln!(wrong, "line {}: there is no test {test}", row.line);
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

/// The rules of the forms refuse what is not in them.
#[test]
fn forms_are_told_apart() {
    let source = "impl A {\n    pub(crate) const fn begin(&self) {}\n}\npub enum B {\n    First,\n}\n\
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
    for status in ["Met", "partly", "not yet: ", "partly:why", ""] {
        assert!(status_problem(status).is_some(), "{status}");
    }
}

fn problems(row: &Row) -> Vec<String> {
    let mut problems = Vec::new();
    if row.rfc.parse::<u16>().is_err() {
        problems.push(format!("'{}' is no RFC's number", row.rfc));
    }
    if row.section.is_empty() || row.requirement.is_empty() {
        problems.push("section and requirement are not empty".to_owned());
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

fn status_problem(status: &str) -> Option<String> {
    let explained = ["partly: ", "not yet: "]
        .iter()
        .any(|word| status.strip_prefix(word).is_some_and(|why| !why.is_empty()));
    (status != "met" && !explained).then(|| format!("'{status}' is no status"))
}

/// Is `item` declared in `source`, as a variant too?
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
            // What stands before a declaration, `const fn` among it.
            let before = word.starts_with("pub") || ["const", "async", "unsafe"].contains(&word);
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

/// Is there a function `name` with a test attribute just above it?
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

/// The rows of all tables, in order.
fn rows() -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let text = fs::read_to_string(path).expect("docs/conformance.md is there");
    let mut rows = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let Some(inner) = text.strip_prefix('|').and_then(|t| t.strip_suffix('|')) else {
            assert!(!text.contains('|'), "line {line}: half a row");
            continue;
        };
        let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
        let rule = cells
            .iter()
            .all(|cell| cell.chars().all(|c| c == '-') && cell.len() > 2);
        if rule || cells == HEADER {
            continue;
        }
        let [rfc, section, level, requirement, places, tests, status] = cells[..] else {
            panic!("line {line}: {} columns, not {}", cells.len(), HEADER.len());
        };
        rows.push(Row {
            line,
            rfc: rfc.to_owned(),
            section: section.to_owned(),
            level: level.to_owned(),
            requirement: requirement.to_owned(),
            places: names(places),
            tests: names(tests),
            status: status.to_owned(),
        });
    }
    assert!(rows.len() > 100, "the table was read");
    rows
}

/// The names in a cell; `-` is none.
fn names(cell: &str) -> Vec<String> {
    if cell == "-" {
        return Vec::new();
    }
    cell.split(", ")
        .map(|name| name.trim_matches('`').to_owned())
        .collect()
}

/// Source files, each read once.
#[derive(Default)]
struct Files(BTreeMap<String, Option<String>>);

impl Files {
    fn read(&mut self, file: &str) -> Option<&str> {
        let read = || {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            fs::read_to_string(root.join(file)).ok()
        };
        self.0
            .entry(file.to_owned())
            .or_insert_with(read)
            .as_deref()
    }
}
