//! The documents describe the format as it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use fairwire_scenario::{Adjust, Metric, ScenarioFile, documented, explain};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The pages of the format, by their paths below `docs`. With `UPDATE_DOCS=1` their tables are written anew before any
/// test reads them.
static PAGES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let folder = std::fs::read_dir(root().join("docs/scenario")).expect("a folder");
    let names = folder.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| format!("scenario/{}", name.to_str().expect("ASCII")));
    let pages: BTreeMap<_, _> = std::iter::once("scenario.md".to_owned())
        .chain(names)
        .map(|name| (name.clone(), read(&format!("docs/{name}"))))
        .collect();
    if std::env::var_os("UPDATE_DOCS").is_none() {
        return pages;
    }
    let wanted = documented(&pages).expect("known types between markers");
    for (name, text) in &wanted {
        let path = root().join("docs").join(name);
        std::fs::write(path, text).expect("the pages can be written");
    }
    wanted
});

/// The tables of keys in docs/scenario match the types that are read. `UPDATE_DOCS=1` rewrites them.
#[test]
fn tables_of_keys_are_in_step() {
    let wanted = documented(&PAGES).expect("known types between markers");
    for (name, text) in PAGES.iter() {
        for (line, wanted) in text.lines().zip(wanted[name].lines()) {
            assert_eq!(
                line, wanted,
                "{name}: UPDATE_DOCS=1 cargo test -p fairwire-scenario mends it"
            );
        }
        assert_eq!(*text, wanted[name], "{name}");
    }
}

/// A row of a table has at most 220 characters, and another line 120, so that both can be read in an editor.
#[test]
fn lines_are_short() {
    for (name, text) in PAGES.iter() {
        let mut is_code = false;
        for line in text.lines() {
            is_code ^= line.starts_with("```");
            let most = if line.starts_with('|') { 220 } else { 120 };
            assert!(is_code || line.chars().count() <= most, "{name}: {line}");
        }
    }
}

/// The tables and lists of keys are for readers of scenarios, who may not know Rust: they have no names of Rust, and a
/// law that is a default is shown by its name.
#[test]
fn keys_are_described_without_rust() {
    for (name, text) in PAGES.iter() {
        let tables = text.split("<!-- keys: ").skip(1);
        for table in tables.filter_map(|table| table.split("<!-- end of keys").next()) {
            for words in ["::", "`None`", "`Some", "config."] {
                assert!(!table.contains(words), "{name} has {words} in\n{table}");
            }
        }
        let mut laws = text.lines().filter(|line| line.starts_with("| `law` | ["));
        assert!(
            laws.all(|line| line.contains("| `\"newreno\"` |")),
            "{name}"
        );
    }
}

/// docs/results.md lists every metric with its unit and meaning.
#[test]
fn every_metric_is_described() {
    let text = read("docs/results.md");
    for metric in Metric::ALL {
        let row = format!("| `{metric}` | {} | {} |", metric.unit(), metric.meaning());
        assert!(text.contains(&row), "docs/results.md lacks the row\n{row}");
    }
}

/// The family in docs/scenario/families.md is `scenarios/crowds.toml`, has fewer than thirty lines, and gives the cells that the
/// text states.
#[test]
fn the_family_runs() {
    let example = PAGES["scenario/families.md"].split("```").nth(1);
    let example = example.and_then(|block| block.strip_prefix("toml"));
    let example = example.expect("an example").trim_start();
    assert_eq!(example, read("scenarios/crowds.toml"));
    assert!(example.lines().count() < 30);
    let cells = ScenarioFile::parse("the example", example)
        .and_then(|file| file.cells(&Adjust::default()))
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(cells.len(), 18);
    assert_eq!(cells[0].name, "queue20packets-tcps1-ccid3");
    assert_eq!(cells[17].name, "codel-tcps20-cubic");
    assert_eq!(cells[17].scenario.flows.iter().count(), 21);
}

/// The pages name every key of a scenario that uses all tables, and the first example can be read.
#[test]
fn every_key_is_described() {
    let text: String = PAGES.values().map(String::as_str).collect();
    let example = PAGES["scenario.md"]
        .split("```")
        .nth(1)
        .and_then(|block| block.strip_prefix("toml"));
    let file = ScenarioFile::parse("the example", example.expect("an example"))
        .unwrap_or_else(|error| panic!("{error}"));
    let set = [
        "flows.dccp.dccp.queue.age=1s",
        "topology.bottleneck.loss=1 %",
        "topology.bottleneck.framing=8 B",
        "measure.series=1s",
        "measure.metrics=[\"loss\"]",
        "flows.tcp.stop=50s",
        "flows.tcp.total=1 MB",
        "flows.tcp.tcp.window=20 packets",
        "flows.dccp.dccp.back_ccid=3",
        "about=all keys",
    ];
    let adjust = Adjust {
        set: set.map(str::to_owned).to_vec(),
        ..Adjust::default()
    };
    let cells = file
        .cells(&adjust)
        .unwrap_or_else(|error| panic!("{error}"));
    let wlan = ScenarioFile::parse("wlan.toml", &read("scenarios/wlan.toml"))
        .and_then(|file| file.cells(&Adjust::default()))
        .unwrap_or_else(|error| panic!("{error}"));
    for line in cells.iter().take(1).chain(&wlan).flat_map(explain) {
        let key = line.path.rsplit('.').next().expect("a key");
        let named = [
            format!("`{key}`"),
            format!(".{key}`"),
            format!("queue.{key}`"),
            format!("`{key} ="),
        ];
        assert!(
            named.iter().any(|name| text.contains(name)),
            "docs/scenario lacks {}",
            line.path
        );
    }
}
