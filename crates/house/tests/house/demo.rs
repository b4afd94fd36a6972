//! `scripts/demo` prints less than a screen. A stand-in for the command gives it numbers, so nothing is simulated here.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::sources::root;

/// With all claims of the paper, the demo prints at most 23 lines of at most 100 columns: the table, the verdicts, the
/// transfer, and where the report is.
#[test]
fn the_demo_fits_on_a_screen() {
    let said = demo("screen", "received");
    let text = String::from_utf8(said.stdout).expect("text");
    assert!(said.status.success(), "{text}");
    assert!(text.lines().count() <= 23, "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    let row = |name: &str| {
        let line = text
            .lines()
            .find(|line| line.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no row {name} in\n{text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        row("CCID 3, as printed"),
        "CCID 3, as printed 30 26 21 21 16"
    );
    assert_eq!(row("CCID 4"), "CCID 4 94 ± 1 94 ± 2 94 ± 3 94 ± 4 94 ± 5");
    assert!(row("reproduced: ").ends_with("S1-C20 S1-C21"));
    // Claims that do not fit into the line of their verdict are no verdict: they are indented further.
    let claims = text.lines().filter(|line| line.contains("S1-C"));
    for line in claims {
        let is_first = line.contains(": S1-C");
        assert_eq!(!line.starts_with("   "), is_first, "{line}");
    }
    assert!(
        text.lines().any(|line| line.starts_with("      S1-C")),
        "{text}"
    );
    let transfer = "A file of 50 MB went through DCCP (CCID 2) on loopback and arrived whole: \
                    199 Mbit/s, 0/42663 lost";
    assert!(text.lines().any(|line| line == transfer), "{text}");
    assert!(text.trim_end().ends_with("report.html"), "{text}");
}

/// A transfer that loses a part of the file fails the demo.
#[test]
fn a_damaged_file_fails_the_demo() {
    let said = demo("damaged", "damaged");
    assert!(!said.status.success());
    let text = String::from_utf8(said.stdout).expect("text");
    assert!(!text.contains("arrived whole"), "{text}");
}

/// Runs the demo with a stand-in whose transfer ends in the way that `transfer` names.
fn demo(name: &str, transfer: &str) -> Output {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("demo-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("tables.csv"), tables()).expect("a file");
    fs::write(folder.join("verdicts.csv"), verdicts()).expect("a file");
    let fairwire = stand_in(&folder);
    let out = folder.join("out");
    Command::new(root().join("scripts/demo"))
        .args([&fairwire, &out])
        .env("FOLDER", &folder)
        .env("TRANSFER", transfer)
        .output()
        .expect("bash")
}

/// Returns the path of a program that takes the place of the command.
fn stand_in(folder: &Path) -> PathBuf {
    const PROGRAM: &str = r#"#!/usr/bin/env bash
set -eu
case "$1 $2" in
"paper voip")
    mkdir -p "${!#}"
    cp "$FOLDER/tables.csv" "$FOLDER/verdicts.csv" "${!#}"
    echo "Can DCCP Replace UDP in Changing Network Conditions?" ;;
"perf -s")
    echo "Server listening on port 7011"
    until [ -e "$FOLDER/received" ]; do sleep 0.1; done
    mv "$FOLDER/received" "${!#}" ;;
"perf -c")
    if [ "$TRANSFER" = damaged ]; then echo "half of it" >"$FOLDER/part"; else cp "${!#}" "$FOLDER/part"; fi
    mv "$FOLDER/part" "$FOLDER/received"
    echo "[  1]     0.00-2.05 sec    51.2 MB     199 Mbit/s  0.006 ms    0/42663 (0 %)  0   5.40 us   receiver" ;;
esac
"#;
    let path = folder.join("fairwire");
    fs::write(&path, PROGRAM).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    path
}

/// Numbers as those of the paper's tables, with rows and columns that the demo leaves out.
fn tables() -> String {
    let mut text = String::from(
        "paper,table,cell,label,flow,metric,unit,window,published,n,mean,half_width_95,difference,difference_unit\n",
    );
    let printed = ["29.79", "25.82", "20.68", "21.26", "15.89"];
    let windows = ["one", "two", "three", "four", "five"];
    for (tcps, (window, printed)) in (1..).zip(windows.into_iter().zip(printed)) {
        let cells = [
            ("newreno", "CCID 3", printed, "42.3"),
            ("newreno-rfc", "CCID 3, today's RFC", printed, "85.6"),
            ("newreno-ccid4", "CCID 4", "", "94.07"),
            ("newreno-udp", "UDP", "", "96.05"),
            ("sack", "SACK, CCID 3", "99", "99"),
        ];
        for (cell, label, printed, mean) in cells {
            for (metric, window) in [
                ("throughput_ratio", "idle"),
                ("throughput_ratio", window),
                ("delay_mean", window),
            ] {
                let _ = writeln!(
                    text,
                    "voip,period-{tcps},{cell},\"NewReno, {label}\",voip,{metric},%,{window},{printed},3,{mean},{tcps}.4,,"
                );
            }
        }
    }
    text
}

/// Twenty-eight claims with every kind of verdict.
fn verdicts() -> String {
    let mut text = String::from("paper,id,verdict,condition,says\n");
    let kinds = [
        ("not reproduced", 19),
        ("reproduced", 2),
        ("reproduced under a condition", 1),
        ("not specific", 3),
        ("the paper contradicts itself", 3),
    ];
    let all = kinds
        .into_iter()
        .flat_map(|(kind, count)| [kind].repeat(count));
    for (number, kind) in (1..).zip(all) {
        let _ = writeln!(text, "voip,S1-C{number},{kind},,\"A call, over UDP\"");
    }
    text
}
