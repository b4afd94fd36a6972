//! The notes on phase effects, on unequal ECN, on packets above an MTU, and on what a file does not use.

use std::path::Path;

use fairwire_scenario::{Adjust, ScenarioFile, notes};

use super::super::{cells, with_set};

const SHARED: &str = r#"
title = "two TCPs"
run.duration = "10 s"
topology.kind = "dumbbell"
topology.access = { rate = "100 Mbit/s", delay = "1 ms" }
topology.bottleneck = { rate = "10 Mbit/s", delay = "10 ms", queue = "20 packets" }
flows.one = { wire = "1500 B", traffic = "greedy", tcp = {} }
flows.two = { wire = "1500 B", traffic = "greedy", tcp = {} }
[cells.plain]
[cells.again]
"#;

fn told(text: &str, options: &[&str]) -> Vec<String> {
    notes(&cells(text, &with_set(options)))
}

/// Flows without random delays that share a DropTail queue get one note for all cells, with the time that the
/// bottleneck takes for a packet. Any randomness in their timing, or a queue of another kind, removes the note. It
/// names only the cells that it concerns.
#[test]
fn flows_in_step_are_told() {
    let plain = told(SHARED, &[]);
    assert_eq!(plain.len(), 1, "{plain:?}");
    assert!(
        plain[0].contains("the DropTail queue of 'bottleneck'"),
        "{plain:?}"
    );
    assert!(plain[0].contains("jitter of 1.2ms or more"), "{plain:?}");
    assert!(!plain[0].contains("(in "), "{plain:?}");
    for set in [
        "flows.one.jitter=1 ms",
        "topology.bottleneck.queue=codel",
        "flows.two.enabled=false",
        "flows.two.from=right",
        "topology.access.delay_variation={ deviation = \"1 ms\" }",
        "topology.bottleneck.loss=1 %",
        "flows.two.traffic={ kind = \"video\", rate = \"1 Mbit/s\" }",
    ] {
        assert_eq!(told(SHARED, &[set]), [""; 0], "{set}");
    }
    let one = format!("{SHARED}topology.bottleneck.queue = \"codel\"\n");
    assert!(told(&one, &[])[0].ends_with("(in plain)"));
    let slower = format!("{SHARED}topology.bottleneck.rate = \"5 Mbit/s\"\n");
    let both = told(&slower, &[]);
    assert_eq!(both.len(), 1, "{both:?}");
    assert!(both[0].contains("jitter of 2.4ms or more"), "{both:?}");
    assert_eq!(
        told(SHARED, &["flows.one.jitter=0 s"]).len(),
        1,
        "no time is no jitter"
    );
}

/// Flows with and without ECN that share a queue that marks get a note that says what to set. Equal flows do not, nor do
/// flows at a queue that only drops.
#[test]
fn unequal_ecn_is_told() {
    let marking = "topology.bottleneck.queue=fq-codel";
    let told = |set: &[&str]| told(SHARED, set);
    let unequal = told(&[marking, "flows.two.tcp.ecn=true"]);
    assert_eq!(unequal.len(), 1, "{unequal:?}");
    for part in [
        "the queue of 'bottleneck' marks packets of flows with ECN (two)",
        "drops those of flows without (one)",
        "set flows.one.tcp.ecn = true, or flows.two.tcp.ecn = false",
    ] {
        assert!(unequal[0].contains(part), "{part}: {unequal:?}");
    }
    let equal = [marking, "flows.one.tcp.ecn=true", "flows.two.tcp.ecn=true"];
    assert_eq!(told(&equal), [""; 0]);
    assert_eq!(told(&[marking]), [""; 0]);
    let dropping = "topology.bottleneck.queue=codel";
    assert_eq!(told(&[dropping, "flows.two.tcp.ecn=true"]), [""; 0]);
    // What the note advises can be set, and then there is no note.
    let dccp = |keys: &str| {
        format!("flows.two={{ wire = \"1500 B\", traffic = \"greedy\", dccp = {{ {keys} }} }}")
    };
    for (set, advice) in [
        (
            dccp("ccid = 3"),
            "flows.one.tcp.ecn = true, or flows.two.dccp.ecn = false",
        ),
        (
            dccp("ccid = 2, ecn_nonce = true"),
            "flows.one.tcp.ecn = true",
        ),
        (
            dccp("ccid = 2, ccid2.law = \"dctcp\""),
            "flows.one.tcp.ecn = true",
        ),
        (
            "flows.two.tcp.law=dctcp".to_owned(),
            "flows.one.tcp.ecn = true",
        ),
    ] {
        let unequal = told(&[marking, &set]);
        let (_, advised) = unequal[0]
            .split_once("to compare them, set ")
            .expect("advice");
        assert_eq!(advised, advice, "{set}");
        for one in advised.split(", or ") {
            let one = one.replace(" = ", "=");
            assert_eq!(told(&[marking, &set, &one]), [""; 0], "{set} {one}");
        }
    }
}

/// Flows whose full packets do not fit through a link get a note, each link once. Smaller packets need none, nor do those
/// of a flow that probes.
#[test]
fn packets_above_an_mtu_are_told() {
    let told = |set: &[&str]| {
        let codel = "topology.bottleneck.queue=codel";
        told(
            SHARED,
            &[&[codel, "topology.bottleneck.mtu=1400 B"], set].concat(),
        )
    };
    let dccp = "flows.two={ wire = \"1500 B\", traffic = \"greedy\", dccp = { ccid = 3 } }";
    let of = |flows: &str| {
        format!(
            "the link 'bottleneck' drops packets of more than 1400 B, and so all full data packets of these flows ({flows}, \
             with headers): make the packets smaller, or the link's mtu larger"
        )
    };
    assert_eq!(told(&[]), [of("one: 1500 B; two: 1500 B")]);
    let small = "flows.one.wire=1400 B";
    let two = of("two: 1500 B");
    assert_eq!(told(&[small]), std::slice::from_ref(&two));
    let advised = format!("{two}, or set flows.two.dccp.probe_path_mtu = true");
    assert_eq!(told(&[small, dccp]), [advised]);
    let probing = "flows.two.dccp.probe_path_mtu=true";
    assert_eq!(told(&[small, dccp, probing]), [""; 0]);
    assert_eq!(
        told(&[
            small,
            "topology.bottleneck.back.mtu=1500 B",
            "flows.two.from=right"
        ]),
        [""; 0]
    );
}

/// A file may leave an axis or a part to the files that extend it, so it runs, with a note. Comments and braces that are
/// text use nothing.
#[test]
fn what_a_file_does_not_use_is_told() {
    let codel = "topology.bottleneck.queue=codel";
    let axis =
        "nothing in this file or in those that it extends uses {rate}, the value of an axis, so";
    let beside =
        format!("{axis} it has no effect: write it into the name of a cell or into a value");
    let part = "nothing in this file extends the part 'slow', so its keys are not checked and have no effect";
    for (cells, more, notes) in [
        (
            true,
            "axes.rate = [1, 2] # {rate}\nabout = \"{{rate}}\"\n",
            &[&*beside][..],
        ),
        (
            true,
            "axes.rate = [1, 2]\ncells.\"q{rate}\".about = \"a\"\n",
            &[],
        ),
        (
            true,
            "axes.rate = [1, 2]\ncells.three.axes.rate = [3]\n",
            &[],
        ),
        (true, "parts.slow.run = { duratoin = \"1 s\" }\n", &[part]),
        (
            true,
            "cells.x.extends = \"slow\"\nparts.slow.run = { duration = \"1 s\" }\n",
            &[],
        ),
        (
            false,
            "axes.rate = [1, 2]\n",
            &[&format!(
                "{axis} cells that differ only in it are equal: write it into a value"
            )],
        ),
        (false, "axes.rate = [1, 2]\nabout = \"rate {rate}\"\n", &[]),
        (
            false,
            "axes.rate = [1, 2]\nabout = \"rate {rate}\"\nextends = \"s{rate}\"\nparts.s1 = {}\nparts.s2 = {}\n",
            &[],
        ),
    ] {
        let (base, plain) = SHARED.split_once("[cells").expect("cells");
        let plain = if cells {
            format!("[cells{plain}")
        } else {
            String::new()
        };
        assert_eq!(
            told(&format!("{more}{base}{plain}"), &[codel]),
            notes,
            "{more}"
        );
    }
}

/// No scenario of the repository needs the note on phase effects.
#[test]
fn our_scenarios_have_jitter() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        let is_scenario = path.extension().is_some_and(|end| end == "toml");
        let is_list = path.file_name().is_some_and(|name| name == "digests.toml");
        if !is_scenario || is_list {
            continue;
        }
        let cells = ScenarioFile::load(&path).and_then(|file| file.cells(&Adjust::default()));
        let cells = cells.unwrap_or_else(|error| panic!("{error}"));
        let mut notes = notes(&cells).into_iter();
        let in_step = notes.find(|note| note.contains("phase effects"));
        assert_eq!(in_step, None, "{}", path.display());
    }
}
