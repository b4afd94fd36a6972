//! The JSON Schema that `fairwire schema` prints, tested with an independent validator.

use std::path::{Path, PathBuf};

use fairwire_scenario::{Adjust, ScenarioFile, file_schema};
use jsonschema::Validator;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn validator() -> Validator {
    jsonschema::validator_for(&file_schema()).expect("a schema")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json(text: &str) -> Value {
    toml::from_str(text).expect("TOML")
}

/// Returns the scenario files of the repository: those of `scenarios/` and those of each paper that have a topology.
fn files() -> Vec<PathBuf> {
    let mut folders = vec![root().join("scenarios")];
    let papers = std::fs::read_dir(root().join("papers")).expect("papers");
    folders.extend(papers.map(|entry| entry.expect("an entry").path()));
    let mut files = Vec::new();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|it| it == "toml")
                && json(&read(&path)).get("topology").is_some()
            {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Each scenario of the repository and its papers is valid under the schema.
#[test]
fn the_schema_accepts_what_there_is() {
    let validator = validator();
    let files = files();
    assert!(files.len() >= 18, "{files:?}");
    for path in files {
        let wrong: Vec<String> = validator
            .iter_errors(&json(&read(&path)))
            .map(|error| format!("{}: {error}", error.instance_path))
            .collect();
        assert!(wrong.is_empty(), "{}: {wrong:#?}", path.display());
    }
}

/// Axes, placeholders, families of flows and removed flows are valid under the schema, and Fairwire reads them.
#[test]
fn the_schema_knows_families() {
    let validator = validator();
    let docs = read(&root().join("docs/scenario/families.md"));
    let example = docs
        .split("```")
        .nth(1)
        .and_then(|block| block.strip_prefix("toml"));
    let example = format!("{}{CELLS}", example.expect("an example"));
    let wrong: Vec<String> = validator
        .iter_errors(&json(&example))
        .map(|error| format!("{}: {error}", error.instance_path))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let file = ScenarioFile::parse("good.toml", &example);
    let cells = file.and_then(|file| file.cells(&Adjust::default()));
    assert_eq!(cells.unwrap_or_else(|error| panic!("{error}")).len(), 3);
    for (from, to) in [
        ("count = \"{tcps}\"", "count = -1"),
        ("axes.tcps = [1, 5, 20]", "axes.tcps = []"),
        ("axes.queue = [\"codel\"]", "axis.queue = [\"codel\"]"),
        ("remove = true", "remove = 1"),
    ] {
        assert!(example.contains(from), "{from}");
        let bad = example.replacen(from, to, 1);
        assert!(!validator.is_valid(&json(&bad)), "{to}");
        let file = ScenarioFile::parse("bad.toml", &bad);
        assert!(
            file.and_then(|file| file.cells(&Adjust::default()))
                .is_err(),
            "{to}"
        );
    }
}

const CELLS: &str = r#"
slow.topology.bottleneck.rate = { value = "1 Mbit/s", source = "assumed" }
[shared]
small = "500 B"
[groups]
few = ["{tcps}"]
[cells."{tcps}"]
axes.queue = ["codel"]
axes.test = "ccid3"
extends = "slow"
flows."tcp{n}".wire = "{shared.small}"
measure.windows.replace = true
flows.test.remove = true
"#;

/// The schema and Fairwire both refuse a misspelt key, a number without its unit, an unknown alternative and a missing
/// key.
#[test]
fn the_schema_refuses_what_is_broken() {
    let validator = validator();
    for (file, from, to) in BROKEN {
        let good = read(&root().join("scenarios").join(file));
        assert!(validator.is_valid(&json(&good)), "{file}");
        assert!(good.contains(from), "{from}");
        let bad = good.replacen(from, to, 1);
        assert!(!validator.is_valid(&json(&bad)), "{to}");
        let read =
            ScenarioFile::parse("bad.toml", &bad).and_then(|file| file.cells(&Adjust::default()));
        assert!(read.is_err(), "{to}");
    }
}

const BROKEN: &[(&str, &str, &str)] = &[
    ("dumbbell.toml", "duration =", "duratoin ="),
    (
        "dumbbell.toml",
        "kind = \"dumbbell\"",
        "kind = \"dumb-bell\"",
    ),
    ("dumbbell.toml", "delay = \"1 ms\"", "delay = 1"),
    ("dumbbell.toml", "title =", "paper ="),
    // A table must have exactly one of these keys.
    ("dumbbell.toml", "tcp = {}", "tcp = {}\nudp = {}"),
    ("dumbbell.toml", "tcp = {}", ""),
    ("dumbbell.toml", "rate = \"10 Mbit/s\"", ""),
    // A link of a graph, in the base and in a cell.
    (
        "parking-lot.toml",
        "queue = \"50 packets\" }",
        "qeue = \"50 packets\" }",
    ),
    (
        "parking-lot.toml",
        "links.first.queue = \"codel\"",
        "links.first.qeue = \"codel\"",
    ),
    (
        "parking-lot.toml",
        "between = [\"a\", \"b\"]",
        "between = [\"a\"]",
    ),
];
