//! Inputs of `scenario`.

use fairwire_fuzz::scenario::BASES;

use super::Seeds;

/// A file with everything that a family can have.
const FAMILY: &str = r#"
title = "{shared.what} {tcp.label} {{n}}"
axes.queue = ["5 packets", "codel"]
[axes.tcp]
reno = { label = "Reno" }
cubic = { label = "CUBIC" }
[shared]
what = "a family"
[groups]
all = ["{tcp}-*"]
[run]
duration = "1 s"
[topology]
kind = "dumbbell"
access = { rate = "10 Mbit/s", delay = "1 ms" }
bottleneck = { rate = "1 Mbit/s", delay = "2 ms", queue = "{queue}" }
[flows."web{n}"]
count = 3
wire = "{n}00 B"
traffic = "greedy"
[parts.reno.flows."web{n}".tcp]
[parts.cubic.flows."web{n}".tcp]
law = "cubic"
[cells."{tcp}-{queue}"]
extends = "{tcp}"
flows.web3 = { start = "0.1 s" }
[cells.short]
axes.queue = "codel"
axes.tcp = ["reno"]
extends = ["reno-5packets", "cubic"]
measure.windows.replace = true
"#;

/// Valid files, and each kind of setting.
pub(super) fn seeds() -> Seeds {
    let mut all = Seeds::new();
    for (n, base) in BASES.iter().enumerate() {
        all.push((format!("seed-file-{n}"), [b"\0", base.as_bytes()].concat()));
    }
    let settings = [
        "flows.dccp.dccp.ccid=4",
        "run.duration=2 s\nrun.seeds=40",
        "topology.bottleneck.rate=1 Gbit/s\ntopology.bottleneck.delay=",
        "measure.windows.late={ from = \"1 s\" }",
        "flows.new={ wire = \"500 B\", traffic = \"greedy\", dccp = { ccid = 3 } }",
        "flows.dccp.wire=0 B",
        "topology.kind=chian",
    ];
    all.push((
        "seed-file-family".to_owned(),
        [b"\0", FAMILY.as_bytes()].concat(),
    ));
    for (n, setting) in settings.iter().enumerate() {
        all.push((
            format!("seed-set-{n}"),
            [b"\x01", setting.as_bytes()].concat(),
        ));
    }
    all
}
