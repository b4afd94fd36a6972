//! `fairwire sweep` and `fairwire store` as people use them.

use std::path::PathBuf;

#[cfg(target_os = "linux")]
use crate::command;
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

/// Nothing that a scenario or a store of somebody else says reaches the terminal as a control character.
#[test]
fn titles_do_not_control_the_terminal() {
    let folder = scratch("title");
    let store = folder.join("store").display().to_string();
    let file = folder.join("scenario.toml").display().to_string();
    let text = std::fs::read_to_string("../../scenarios/dumbbell.toml").expect("a scenario");
    let title = text.lines().find(|line| line.starts_with("title = "));
    let text = text.replace(title.expect("a title"), r#"title = "a\u001b]0;b\u0007""#);
    std::fs::write(&file, text).expect("written");
    let once = ["--seeds", "1", "--duration", "1s"];
    for arguments in [
        &["run", &file][..],
        &["sweep", &file, "--store", &store],
        &["store", &store],
    ] {
        let more = if arguments[0] == "store" {
            &[][..]
        } else {
            &once
        };
        let told = fairwire(&[arguments, more].concat());
        assert!(told.status.success(), "{}", err(&told));
        let all = out(&told) + &err(&told);
        assert!(
            !all.contains(|c: char| c.is_control() && c != '\n'),
            "{all:?}"
        );
        assert!(all.contains(r"a\u{1b}]0;b\u{7}"), "{all}");
    }
    let _ = std::fs::remove_dir_all(folder);
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
    // The same sweep with other seeds, listed in both.
    sweep(&other, &format!("{queues},30 packets"), &["--seeds", "1"]);
    let merged = fairwire(&["store", &one, "--merge", &format!("{other}/store.db")]);
    let text = out(&merged);
    assert_eq!(text.matches("\n  sweep ").count(), 3, "{text}");
    assert!(text.contains("seeds: 1 to 3 and 1)"), "{text}");
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
    let shown = out(&fairwire(&["store", &store.display().to_string()]));
    let text = "seeds: at least 5, at most 40, as many as it takes until the 95 % interval of the throughput of every flow \
                is within 30 % of its mean)";
    assert!(shown.contains(text), "{shown}");
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
        (["--within", "5%%"], "write a percentage above 0"),
        (
            ["--within=5%", "--most=3"],
            "write a whole number from 5 to 10000",
        ),
        (
            ["--within=5%", "--seed=18446744073709551000"],
            "seed 18446744073709551000 leaves no room for 1000 seeds: write at most 18446744073709550615",
        ),
    ] {
        let refused = sweep(&folder, "5 packets", &more);
        assert_eq!(refused.status.code(), Some(2), "{more:?}");
        assert!(err(&refused).contains(text), "{}", err(&refused));
    }
    let refused = fairwire(&["store", &format!("{folder}/nowhere")]);
    assert_eq!(refused.status.code(), Some(1));
    let text = "there is no store in ";
    assert!(err(&refused).contains(text), "{}", err(&refused));
    let file = format!("{folder}/mine.txt");
    for refused in [sweep(&file, "5 packets", &[]), fairwire(&["store", &file])] {
        assert_eq!(refused.status.code(), Some(1));
        let text = format!("{file} is a file, and a store is a folder");
        assert!(err(&refused).contains(&text), "{}", err(&refused));
    }
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
        "kept ",
        "kept 1 listed sweep, which is all\n",
        "1 damaged file set aside",
    ] {
        assert!(out(&repaired).contains(text), "{}", out(&repaired));
    }
    let again = sweep(&folder, "50 packets", &[]);
    assert!(again.status.success(), "{}", err(&again));
    assert_eq!(out(&again), out(&done));
    // The table of a single cell has a title, as that of `run`.
    let title = " / queue50packets (";
    assert!(
        out(&done)
            .lines()
            .next()
            .is_some_and(|it| it.contains(title)),
        "{}",
        out(&done)
    );
    // Of a file that is cut, the list may be lost.
    let bytes = std::fs::read(&path).expect("a store");
    std::fs::write(&path, &bytes[..bytes.len() / 10]).expect("it is written");
    let repaired = out(&fairwire(&["store", &folder, "--repair"]));
    assert!(
        repaired.contains("the list of sweeps is not whole: "),
        "{repaired}"
    );
    let refused = fairwire(&["store", &folder, "--prune-unlisted"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        err(&refused).contains("store.db.list-lost"),
        "{}",
        err(&refused)
    );
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

/// Nothing is done if a store or an identifier does not exist, or if no sweep would be left for a pruning.
///
/// If a later step fails, those that were done are printed.
#[test]
fn what_was_done_before_an_error_is_told() {
    let (store, other) = (scratch("steps"), scratch("steps-other"));
    let (store, other) = (store.display().to_string(), other.display().to_string());
    for (folder, queue) in [(&store, "5 packets"), (&other, "6 packets")] {
        let done = sweep(folder, queue, &[]);
        assert!(done.status.success(), "{}", err(&done));
    }
    let show = || out(&fairwire(&["store", &store]));
    let before = show();
    let id = before.split("\n  sweep ").nth(1);
    let id = id.and_then(|it| it.split(' ').next());
    let id = id.expect("an identifier");
    let cases: [(&[&str], &str); 3] = [
        (
            &["--forget", id, "--prune-unlisted"],
            "no sweep would be left",
        ),
        (
            &["--merge", &other, "--merge", "nonesuch"],
            "no store in nonesuch",
        ),
        (&["--forget", id, "--forget", "x"], "lists no sweep x"),
    ];
    for (options, told) in cases {
        let refused = fairwire(&[&["store", &store], options].concat());
        assert_eq!(refused.status.code(), Some(1));
        assert!(err(&refused).contains(told), "{}", err(&refused));
        assert_eq!((out(&refused), show()), (String::new(), before.clone()));
    }
    let export = format!("{store}/store.db/no");
    let options = ["--merge", &other, "--forget", id, "--export", &export];
    let failed = fairwire(&[&["store", &store], &options[..]].concat());
    assert_eq!(failed.status.code(), Some(1));
    let text = out(&failed);
    let done = format!("merged {other}: ");
    assert!(text.starts_with(&done), "{text}");
    assert!(text.ends_with(&format!("\nforgot sweep {id}\n")), "{text}");
    assert!(!show().contains(id));
}

/// An export that fails, here because no file may be so long, leaves nothing behind and says what the system says.
#[cfg(target_os = "linux")]
#[test]
fn a_failed_export_leaves_no_files() {
    let store = scratch("export");
    let folder = store.display().to_string();
    let done = sweep(&folder, "5 packets", &["--seeds", "3"]);
    assert!(done.status.success(), "{}", err(&done));
    let export = store.join("new/export");
    let limited = std::process::Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_fairwire"))
        .args(["store", &folder, "--export", &export.display().to_string()])
        .output()
        .expect("a shell");
    assert_eq!(limited.status.code(), Some(1), "{}", err(&limited));
    let text = err(&limited);
    assert!(text.contains(".parquet: File too large"), "{text}");
    assert!(!store.join("new").exists());
    // Where one of the files is there, none is written.
    std::fs::create_dir_all(&export).expect("a folder");
    std::fs::write(export.join("series.parquet"), "mine").expect("a file");
    let refused = fairwire(&["store", &folder, "--export", &export.display().to_string()]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        err(&refused).contains("series.parquet is there already"),
        "{}",
        err(&refused)
    );
    assert_eq!(std::fs::read_dir(&export).expect("a folder").count(), 1);
}

/// A folder that cannot be looked into is not called empty, and a log that would have to be taken in first is named where
/// nothing can be written.
#[cfg(target_os = "linux")]
#[test]
fn what_may_not_be_read_is_told() {
    use std::fs::{Permissions, metadata, set_permissions};
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;

    let store = scratch("rights");
    let folder = store.display().to_string();
    let options = ["sweep", "scenarios/dumbbell.toml", "--store", &folder];
    let mut sweep = command(&[&options[..], &["--seeds", "1000"]].concat());
    let mut sweep = sweep
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("a sweep");
    let log = store.join("store.db-wal");
    // It has some 4,000 runs to do, and the log is there before the first one ends.
    while !metadata(&log).is_ok_and(|it| it.len() > 100_000) {
        assert!(
            sweep.try_wait().expect("a status").is_none(),
            "it has ended"
        );
        std::thread::yield_now();
    }
    sweep.kill().expect("it is killed");
    sweep.wait().expect("a status");
    let _ = std::fs::remove_file(store.join("store.db-shm"));
    let is_root = metadata(&store).expect("a folder").uid() == 0;
    let shown = || {
        let mut shown = command(&["store", &folder]);
        if is_root {
            // Root may read and write everything.
            shown.uid(65_534).gid(65_534);
        }
        shown.output().ok().map(|output| err(&output))
    };
    let rights = |mode| set_permissions(&store, Permissions::from_mode(mode)).expect("rights");
    for (mode, text) in [
        (0o555, "a sweep was killed there and left store.db-wal"),
        (0o000, "store.db: Permission denied"),
    ] {
        rights(mode);
        let shown = shown();
        rights(0o755);
        // Another user may not be able to start the command at all.
        if let Some(shown) = shown {
            assert!(shown.contains(text), "{mode:o}: {shown}");
        }
    }
    // Whoever may write takes it in.
    let shown = fairwire(&["store", &folder]);
    assert!(shown.status.success(), "{}", err(&shown));
}
