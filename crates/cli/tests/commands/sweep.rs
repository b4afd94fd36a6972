//! `fairwire sweep` and `fairwire store` as people use them.

use std::path::PathBuf;

use crate::{err, fairwire, out};

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("fairwire-sweep-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("a directory");
    path
}

/// Sweeps a dumbbell with these queues.
fn sweep(store: &str, queues: &str, more: &[&str]) -> std::process::Output {
    let axis = format!("topology.bottleneck.queue={queues}");
    let file = "scenarios/dumbbell.toml";
    let arguments = [
        "sweep",
        file,
        "--store",
        store,
        "--axes",
        &axis,
        "--duration",
        "1s",
    ];
    fairwire(&[&arguments, more].concat())
}

/// A sweep prints the table of `run`; a second one does only what is missing; `store` lists both, and a store that is
/// merged into another one loses nothing.
#[test]
fn a_second_sweep_does_what_is_missing() {
    let (one, two) = (scratch("one"), scratch("two"));
    let (one, two) = (one.display().to_string(), two.display().to_string());
    // From five cells on, `run --out` prints one table of all.
    let queues = "5 packets,10 packets,15 packets,20 packets,25 packets";
    let first = sweep(&one, queues, &["--seeds", "3"]);
    assert!(first.status.success(), "{}", err(&first));
    assert_eq!(err(&first), format!("{one}: 0 runs found, 15 runs done\n"));
    let axis = format!("topology.bottleneck.queue={queues}");
    let options = ["--axes", &axis, "--duration", "1s", "--seeds", "3"];
    let run = fairwire(
        &[
            &[
                "run",
                "scenarios/dumbbell.toml",
                "--out",
                &format!("{two}/out"),
            ],
            &options[..],
        ]
        .concat(),
    );
    assert!(run.status.success());
    for line in out(&first).lines().filter(|line| line.contains("queue")) {
        assert!(out(&run).contains(line), "{line}\n{}", out(&run));
    }
    let again = sweep(&one, &format!("{queues},30 packets"), &["--seeds", "3"]);
    assert_eq!(err(&again), format!("{one}: 15 runs found, 3 runs done\n"));
    let other = format!("{two}/store");
    sweep(&other, "30 packets,50 packets", &["--seeds", "3"]);
    let merged = fairwire(&["store", &one, "--merge", &other, "--prune-stale"]);
    assert!(merged.status.success(), "{}", err(&merged));
    let text = out(&merged);
    assert!(text.contains("3 new runs\nremoved 0 runs\n"), "{text}");
    assert!(text.contains(": 21 runs of these sources ("), "{text}");
    assert_eq!(text.matches("\n  sweep ").count(), 3, "{text}");
    assert_eq!(text.matches("seeds: 1 to 3)").count(), 3, "{text}");
}

/// `--within` runs as many seeds as the intervals need; JSON says how many.
#[test]
fn seeds_follow_the_interval() {
    let store = scratch("within");
    let options = ["--within", "30%", "--most", "40", "--json"];
    let output = sweep(&store.display().to_string(), "50 packets", &options);
    assert!(output.status.success(), "{}", err(&output));
    let json: serde_json::Value = serde_json::from_str(&out(&output)).expect("JSON");
    let runs = json["cells"][0]["runs"].as_array().expect("runs").len();
    assert!((5..=40).contains(&runs), "{runs}");
}

/// What cannot be a store, and wrong numbers, are refused with a reason and the right status.
#[test]
fn wrong_use_is_told() {
    let folder = scratch("wrong");
    std::fs::write(folder.join("mine.txt"), "mine").expect("a file");
    let folder = folder.display().to_string();
    let refused = sweep(&folder, "5 packets", &[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        err(&refused).contains("has files, but is not a store"),
        "{}",
        err(&refused)
    );
    for (more, text) in [
        (["--within", "0%"], "write a percentage above 0"),
        (["--seeds", "0"], "from 1 to 10000"),
    ] {
        let refused = sweep(&folder, "5 packets", &more);
        assert_eq!(refused.status.code(), Some(2), "{more:?}");
        assert!(err(&refused).contains(text), "{}", err(&refused));
    }
    let refused = fairwire(&["store", &format!("{folder}/nowhere")]);
    assert_eq!(refused.status.code(), Some(1));
    let text = "there is no store in ";
    assert!(err(&refused).contains(text), "{}", err(&refused));
}

/// A damaged store names the file and the way out, and the repaired one does the lost runs again.
#[test]
fn a_damaged_store_is_repaired() {
    let store = scratch("damaged");
    let folder = store.display().to_string();
    let done = sweep(&folder, "50 packets", &[]);
    assert!(done.status.success(), "{}", err(&done));
    let path = store.join("store.db");
    let mut bytes = std::fs::read(&path).expect("a store");
    // Numbers of a series: what is damaged is damaged wherever it is.
    let at = bytes.len() - 1_000;
    bytes[at..].iter_mut().for_each(|byte| *byte ^= 1);
    std::fs::write(&path, bytes).expect("it is written");
    let refused = fairwire(&["store", &folder, "--verify"]);
    assert_eq!(refused.status.code(), Some(1));
    for text in ["store.db is damaged: ", "--repair"] {
        assert!(err(&refused).contains(text), "{}", err(&refused));
    }
    let repaired = fairwire(&["store", &folder, "--repair"]);
    assert!(repaired.status.success(), "{}", err(&repaired));
    for text in [
        "set aside ",
        "store.db.damaged\n",
        "1 damaged file set aside",
    ] {
        assert!(out(&repaired).contains(text), "{}", out(&repaired));
    }
    let again = sweep(&folder, "50 packets", &[]);
    assert!(again.status.success(), "{}", err(&again));
    assert_eq!(out(&again), out(&done));
}

/// A sweep is forgotten by its identifier, and then its runs can be pruned; tables are written as Parquet.
#[test]
fn a_store_is_looked_after() {
    let store = scratch("upkeep");
    let folder = store.display().to_string();
    for queues in ["5 packets", "6 packets"] {
        let done = sweep(&folder, queues, &[]);
        assert!(done.status.success(), "{}", err(&done));
    }
    let shown = out(&fairwire(&["store", &folder, "--verify"]));
    assert!(shown.starts_with("nothing is damaged\n"), "{shown}");
    let id = shown
        .split("\n  sweep ")
        .nth(1)
        .and_then(|it| it.split(' ').next());
    let id = id.expect("an identifier");
    let text = out(&fairwire(&[
        "store",
        &folder,
        "--forget",
        id,
        "--prune-unlisted",
    ]));
    assert!(
        text.starts_with(&format!("forgot sweep {id}\nremoved ")),
        "{text}"
    );
    assert_eq!(text.matches("\n  sweep ").count(), 1, "{text}");
    let refused = fairwire(&["store", &folder, "--forget", id]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        err(&refused).contains("the store lists no sweep"),
        "{}",
        err(&refused)
    );
    let export = store.join("export");
    let written = fairwire(&["store", &folder, "--export", &export.display().to_string()]);
    assert!(written.status.success(), "{}", err(&written));
    assert_eq!(out(&written).matches("written: ").count(), 5);
    assert!(export.join("values.parquet").exists());
}
