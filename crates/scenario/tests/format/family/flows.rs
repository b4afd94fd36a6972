//! Families of flows.

use fairwire_scenario::{Adjust, Cell};

use super::super::{cells, refusal, with_set};
use super::{names, text};

/// Three flows by number, and two by values of the author's choice.
const FAMILY: &str = r#"
[flows."web{n}"]
count = 3
wire = "1500 B"
traffic = "greedy"
start = "{n}.5 s"
tcp.window = "{n}0 packets"
[flows.between]
wire = "900 B"
traffic = "greedy"
tcp = {}
[flows."to-{who}"]
for.who.a = { size = 500 }
for.who.b = { size = 600 }
wire = "{who.size} B"
traffic = "greedy"
tcp = {}
"#;

const WRITTEN_OUT: &str = r#"
flows.web1 = { wire = "1500 B", traffic = "greedy", start = "1.5 s", tcp.window = "10 packets" }
flows.web2 = { wire = "1500 B", traffic = "greedy", start = "2.5 s", tcp.window = "20 packets" }
flows.web3 = { wire = "1500 B", traffic = "greedy", start = "3.5 s", tcp.window = "30 packets" }
flows.between = { wire = "900 B", traffic = "greedy", tcp = {} }
flows.to-a = { wire = "500 B", traffic = "greedy", tcp = {} }
flows.to-b = { wire = "600 B", traffic = "greedy", tcp = {} }
"#;

fn flows(cell: &Cell) -> Vec<&str> {
    cell.scenario.flows.iter().map(|(name, _)| name).collect()
}

/// A family is the same scenario as its members written out, so it sends the same bytes.
#[test]
fn a_family_is_its_members() {
    let family = cells(&text("", FAMILY), &Adjust::default());
    let alone = cells(&text("", WRITTEN_OUT), &Adjust::default());
    assert_eq!(family[0].scenario, alone[0].scenario);
    let order = ["one", "web1", "web2", "web3", "between", "to-a", "to-b"];
    assert_eq!(flows(&family[0]), order);
}

/// A cell can override a whole family by its name, and one member by its own name. An axis can be the count, even zero.
#[test]
fn families_and_members_are_overridden() {
    let head = "axes.webs = [0, 2]";
    let tail = format!(
        "{FAMILY}\n[cells.\"{{webs}}\"]\nflows.\"web{{n}}\".count = \"{{webs}}\"\n\
         [cells.late]\nflows.\"web{{n}}\".start = \"7 s\"\nflows.web2.start = \"8 s\"\nflows.web3.enabled = false"
    );
    let file = text(head, &tail);
    let all = cells(&file, &Adjust::default());
    assert_eq!(names(&all), ["0", "2", "late"]);
    assert_eq!(flows(&all[0]), ["one", "between", "to-a", "to-b"]);
    assert_eq!(
        flows(&all[1]),
        ["one", "web1", "web2", "between", "to-a", "to-b"]
    );
    let of = |cell: &Cell, name: &str| cell.scenario.flows.get(name).cloned().expect("there");
    let starts = ["web1", "web2", "web3"].map(|name| of(&all[2], name).start.as_millis());
    assert_eq!(starts, [7_000, 8_000, 7_000]);
    assert!(of(&all[2], "web2").enabled && !of(&all[2], "web3").enabled);
    let adjust = Adjust {
        only: vec!["late".into()],
        ..with_set(&["flows.web1.start=9s", "flows.web{n}.wire=700 B"])
    };
    let one = of(&cells(&file, &adjust)[0], "web1");
    assert_eq!((one.start.as_millis(), one.wire_bytes()), (9_000, 700));
}

/// Where a number belongs, an axis may give it in any form: as an integer, as a float, in quotes, or as a key of a table,
/// whose keys are texts. A number in quotes is still refused where no axis gives it.
#[test]
fn an_axis_gives_numbers_in_any_form() {
    let tail = r#"
[flows."web{n}"]
count = "{number}"
wire = "1500 B"
traffic = "greedy"
tcp = {}
[flows.video]
wire = "1500 B"
traffic = { kind = "video", rate = "1 Mbit/s", group = "{number}", frames_per_second = "{number}" }
dccp.ccid = "{number}"
[cells."{number}"]
run.seeds = "{number}"
"#;
    for axis in [
        "axes.number = [2, 3]",
        "axes.number = [2.0, 3.0]",
        "axes.number = [\"2\", \"3\"]",
        "axes.number.2 = {}\naxes.number.3 = {}",
    ] {
        let both = cells(&text(axis, tail), &Adjust::default());
        for (cell, number) in both.iter().zip([2, 3]) {
            let webs = flows(cell)
                .iter()
                .filter(|it| it.starts_with("web"))
                .count();
            assert_eq!(webs, number, "{axis}");
            let seeds = usize::try_from(cell.scenario.run.seeds).expect("a small number");
            assert_eq!(seeds, number, "{axis}");
            let flow = cell.scenario.flows.get("video").expect("there");
            let ccid = flow.dccp.as_ref().expect("over DCCP").ccid;
            assert_eq!(format!("{ccid:?}"), number.to_string(), "{axis}");
        }
    }
    for key in ["count", "ccid", "group", "frames_per_second"] {
        let quoted = tail.replace(
            &format!("{key} = \"{{number}}\""),
            &format!("{key} = \"3\""),
        );
        assert_ne!(quoted, tail, "{key}");
        let refused = refusal(&text("axes.number = [2, 3]", &quoted));
        assert!(refused.contains("number"), "{key}: {refused}");
    }
}
