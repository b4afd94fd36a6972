//! The drawings of networks.

use std::collections::BTreeMap;

use fairwire_report::experiment_page;
use fairwire_scenario::{Adjust, ScenarioFile};
use fairwire_sim::results::{CellResult, Results};

/// Returns the page of the cells of a scenario, without runs.
fn page(text: &str, set: &[&str]) -> String {
    let adjust = Adjust {
        set: set.iter().map(ToString::to_string).collect(),
        ..Adjust::default()
    };
    let cells = ScenarioFile::parse("test.toml", text).and_then(|file| file.cells(&adjust));
    let cells = cells.unwrap_or_else(|error| panic!("{error}")).into_iter();
    let cells = cells.map(|cell| CellResult {
        name: cell.name,
        axes: cell.axes,
        scenario: cell.scenario,
        provenance: cell.provenance,
        runs: Vec::new(),
        unperturbed: None,
        partial: false,
    });
    experiment_page(&Results {
        name: "test".to_owned(),
        version: "0",
        cells: cells.collect(),
        ..Results::default()
    })
}

/// Stations stand at their first access point and have every hand-off with its time.
///
/// A host that neither sends nor receives is not shown.
#[test]
fn stations_and_where_they_go() {
    let text = include_str!("../../../../scenarios/wlan.toml");
    let alone = page(text, &[]);
    let alt = "A network with radios: AP hall (channel 1, left, with walker, sitter); AP garden (channel 6, left); \
               host right (receives, right); frames in the air: adaptive; a hand-off takes 200 ms; \
               cables to access points: 100 Mbit/s, 100 \u{b5}s. \
               Walker hands off to garden at 20 s, to hall at 40 s. (Dashed: its later access points.)";
    assert!(alone.contains(alt), "{alone}");
    // What differs between cells is listed.
    let other =
        format!("{text}\n[cells.same]\n[cells.longer.topology.wlan]\nhandoffs = [{OUTAGE}]\n");
    let differs = page(&other, &[]);
    for part in [
        "<code>wlan.<wbr>handoffs</code> differs between runs: ",
        "walker to garden at 20 s (outage 300 ms), to hall at 40 s",
    ] {
        assert!(differs.contains(part), "{part}: {differs}");
    }
}

const OUTAGE: &str = r#"
  { station = "walker", at = "20 s", to = "garden", outage = "300 ms" },
  { station = "walker", at = "40 s", to = "hall" },
"#;

/// Columns are distances from the first node; another component of the graph begins at the left again.
#[test]
fn nodes_stand_in_columns() {
    let links = ["a-b", "b-c", "b-d", "e-f"].map(|link| {
        let (one, other) = link.split_once('-').expect("two ends");
        format!("links.{one}{other} = {{ between = [\"{one}\", \"{other}\"], rate = \"1 Mbit/s\", delay = \"1 ms\" }}\n")
    });
    let flow = "[flows.f]\nsender = \"a\"\nreceiver = \"c\"\nwire = \"500 B\"\ntraffic = \"greedy\"\ntcp = {}\n";
    let text = format!(
        "title = \"nodes\"\nrun.duration = \"1 s\"\n[topology]\nkind = \"graph\"\n{}{flow}",
        links.concat()
    );
    let page = page(&text, &[]);
    let number = |text: &str, key: &str| -> f64 {
        let (_, text) = text.split_once(key).expect(key);
        let (text, _) = text.split_once('"').expect("its end");
        text.parse().expect("a number")
    };
    // The first six circles are those of the wide drawing.
    let circles = page.split("<circle class=\"router\" ").skip(1).take(6);
    let mut columns: BTreeMap<u64, Vec<(f64, &str)>> = BTreeMap::new();
    for circle in circles {
        let (x, y) = (number(circle, "cx=\""), number(circle, "cy=\""));
        let (_, name) = circle.split_once("<title>").expect("a name");
        columns
            .entry(x.to_bits())
            .or_default()
            .push((y, &name[..1]));
    }
    let columns: Vec<String> = columns
        .into_values()
        .map(|mut column| {
            column.sort_by(|one, other| one.0.total_cmp(&other.0));
            column.into_iter().map(|(_, name)| name).collect()
        })
        .collect();
    assert_eq!(columns, ["ae", "bf", "cd"]);
}

/// Every node is labelled, and every link has its rate, its delay and its queue in the legend.
#[test]
fn nodes_and_links_are_named() {
    let text = include_str!("../../../../scenarios/parking-lot.toml");
    let page = page(text, &["topology.links.first.queue=codel"]);
    let drawings: Vec<&str> = page.split("<svg").skip(1).take(2).collect();
    assert_eq!(drawings.len(), 2, "a wide one and a narrow one");
    for drawing in drawings {
        for text in [
            "<title>a</title>",
            "<title>d</title>",
            "1 first:",
            "10 Mbit/s",
            "10 ms",
            "(codel)",
        ] {
            assert!(drawing.contains(text), "{text}: {drawing}");
        }
    }
}
