//! The documents describe the format as it is.

use std::path::Path;
use std::sync::LazyLock;

use fairwire_scenario::{Adjust, Metric, ScenarioFile, documented, explain};

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of docs/scenario.md. With `UPDATE_DOCS=1` its tables are written anew before any test reads them.
static SCENARIO: LazyLock<String> = LazyLock::new(|| {
    let text = read("docs/scenario.md");
    if std::env::var_os("UPDATE_DOCS").is_none() {
        return text;
    }
    let wanted = documented(&text).expect("known types between markers");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario.md");
    std::fs::write(path, &wanted).expect("docs/scenario.md can be written");
    wanted
});

/// The tables of keys in docs/scenario.md match the types that are read. `UPDATE_DOCS=1` rewrites them.
#[test]
fn tables_of_keys_are_in_step() {
    let text = &*SCENARIO;
    let wanted = documented(text).expect("known types between markers");
    for (line, wanted) in text.lines().zip(wanted.lines()) {
        assert_eq!(
            line, wanted,
            "UPDATE_DOCS=1 cargo test -p fairwire-scenario mends it"
        );
    }
    assert_eq!(*text, wanted);
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

/// The family in docs/scenario.md is `scenarios/crowds.toml`, has fewer than thirty lines, and gives the cells that the
/// text states.
#[test]
fn the_family_runs() {
    let text = &*SCENARIO;
    let (_, family) = text.split_once("## Families").expect("a section");
    let example = family.split("```").nth(1);
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

/// docs/scenario.md names every key of a scenario that uses all tables, and its first example can be read.
#[test]
fn every_key_is_described() {
    let text = &*SCENARIO;
    let example = text
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
            "docs/scenario.md lacks {}",
            line.path
        );
    }
}
