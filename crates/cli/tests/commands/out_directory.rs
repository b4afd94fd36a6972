//! `--out` with a directory that is in use, that a killed run left behind, or that holds the user's own files.

use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use crate::own_paper::Mine;
use crate::{command, err, fairwire};

/// A directory for one test, which is removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let unique = format!("fairwire-out-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(unique))
    }

    fn path(&self) -> String {
        self.0.display().to_string()
    }

    fn has(&self, name: &str) -> bool {
        self.0.join(name).exists()
    }

    /// Returns the folders of runs that did not finish.
    fn unfinished(&self) -> impl Iterator<Item = PathBuf> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| path.to_string_lossy().contains("/unfinished-"))
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SHORT: [&str; 6] = [
    "run",
    "scenarios/dumbbell.toml",
    "--duration",
    "1s",
    "--seeds",
    "1",
];

fn short(place: &Scratch, more: &[&str]) -> Output {
    let directory = place.path();
    fairwire(&[&SHORT[..], &["--out", &directory], more].concat())
}

/// Starts a run that takes longer than any test, and waits until it writes to `--out`.
fn long(place: &Scratch) -> Child {
    let directory = place.path();
    let mut running = command(&["run", "scenarios/dumbbell.toml", "--duration", "20000s"])
        .args(["--out", &directory])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    while !place
        .unfinished()
        .any(|folder| folder.join("runs.csv").exists())
    {
        let ended = running.try_wait().expect("a child");
        assert_eq!(ended, None, "it ended before it wrote anything");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    running
}

/// A file in place of the directory is refused, and the error says that it is a file.
#[test]
fn a_file_is_no_directory() {
    let place = Scratch::new("file");
    std::fs::create_dir_all(&place.0).expect("a directory");
    let file = place.0.join("results.csv");
    std::fs::write(&file, "mine").expect("written");
    let path = file.display().to_string();
    for command in [&SHORT[..], &["paper", "long-delay", "--quick"]] {
        let refused = fairwire(&[command, &["--out", &path]].concat());
        assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
        let told = err(&refused);
        assert!(
            told.contains(&format!("{path} is a file, and --out takes a directory")),
            "{told}"
        );
    }
    assert_eq!(place.read("results.csv"), "mine");
}

/// A link that leads nowhere, and a file above the directory, are named.
#[cfg(unix)]
#[test]
fn what_is_in_the_place_of_a_directory_is_named() {
    let place = Scratch::new("obstacle");
    std::fs::create_dir_all(&place.0).expect("a directory");
    let (file, link) = (place.0.join("file"), place.0.join("link"));
    std::fs::write(&file, "mine").expect("written");
    std::os::unix::fs::symlink(place.0.join("nowhere"), &link).expect("a link");
    let (file, link) = (file.display(), link.display());
    for (option, path, text) in [
        (
            "--out",
            format!("{file}/more"),
            format!("{file} is a file, and --out takes"),
        ),
        (
            "--out",
            format!("{link}"),
            format!("{link} is a link to something that is not there, and --out"),
        ),
        (
            "--pcap",
            format!("{file}/x.pcap"),
            format!("cannot write {file}/x.pcap: Not a directory"),
        ),
    ] {
        let refused = fairwire(&[&SHORT[..], &[option, &path]].concat());
        assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
        assert!(err(&refused).contains(&text), "{}", err(&refused));
    }
}

/// A capture in the place of one of the files of the directory is refused before anything runs, whether it is there or
/// not; another name in the directory is fine.
#[test]
fn a_capture_is_no_file_of_the_results() {
    let place = Scratch::new("capture");
    for is_there in [false, true] {
        for name in [
            "results.csv",
            "report.html",
            "base.toml",
            "fairwire-out.json",
            ".fairwire.lock",
            "x/../runs.csv",
        ] {
            if name.contains("..") && !is_there {
                continue;
            }
            let refused = short(&place, &["--pcap", &format!("{}/{name}", place.path())]);
            assert_eq!(refused.status.code(), Some(2), "{name}: {}", err(&refused));
            let text = "is the place of a file of the results of --out: choose another name";
            assert!(err(&refused).contains(text), "{}", err(&refused));
            assert_eq!(place.0.exists(), is_there, "{name}");
        }
        std::fs::create_dir_all(place.0.join("x")).expect("a directory");
        let done = short(&place, &["--pcap", &format!("{}/x/one.pcap", place.path())]);
        assert!(done.status.success(), "{}", err(&done));
        assert!(place.has("x/one.pcap") && place.has("results.csv"));
    }
}

/// A second run into a directory is refused, and the error names the process that uses it. After that process was
/// killed, the directory is free, and nothing of the killed run stays.
#[test]
fn one_run_at_a_time_even_after_a_kill() {
    let place = Scratch::new("two");
    assert!(short(&place, &[]).status.success());
    let before = place.read("runs.csv");
    let mut running = long(&place);
    let pid = running.id();
    let refused = short(&place, &[]);
    assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
    let told = err(&refused);
    assert!(
        told.contains(&format!("is being written by process {pid}: fairwire run")),
        "{told}"
    );
    assert!(
        told.contains("wait until it ends, or choose another directory"),
        "{told}"
    );
    let refused = short(&place, &["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&refused.stdout).expect("JSON");
    assert_eq!(json["error"]["kind"], "failed");
    running.kill().expect("killed");
    running.wait().expect("ended");
    assert_eq!(
        place.read("runs.csv"),
        before,
        "the results of the run before"
    );
    let after = short(&place, &["--seed", "7"]);
    assert!(after.status.success(), "{}", err(&after));
    assert!(place.read("runs.csv").contains("base,7,"));
    assert_eq!(place.unfinished().count(), 0);
}

/// A user's own file is refused before a run begins, with its name and what to do.
#[test]
fn files_of_ones_own_are_left_alone() {
    let place = Scratch::new("mine");
    std::fs::create_dir_all(&place.0).expect("a directory");
    std::fs::write(place.0.join("report.txt"), "mine").expect("written");
    // This simulation would take days, so it must be refused before it starts.
    let directory = place.path();
    let refused = fairwire(&[
        "paper",
        "satellite",
        "--seeds",
        "10000",
        "--out",
        &directory,
    ]);
    assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
    let told = err(&refused);
    assert!(
        told.contains("report.txt was not written by an earlier run of fairwire"),
        "{told}"
    );
    assert!(
        told.contains("move it away, or choose another directory"),
        "{told}"
    );
    assert_eq!(place.read("report.txt"), "mine");
    assert!(
        short(&place, &[]).status.success(),
        "it does not write such a file"
    );
    assert_eq!(place.read("report.txt"), "mine");
}

/// An interrupted run does not replace complete results, and says where its own are.
#[cfg(unix)]
#[test]
fn an_interrupted_run_replaces_nothing_complete() {
    let place = Scratch::new("beside");
    assert!(short(&place, &[]).status.success());
    let before = place.read("runs.csv");
    let mut running = long(&place);
    let mut kill = std::process::Command::new("kill");
    let sent = kill.args(["-INT", &running.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
    assert_eq!(running.wait().expect("ended").code(), Some(1));
    assert_eq!(place.read("runs.csv"), before);
    let beside: Vec<PathBuf> = place.unfinished().collect();
    assert_eq!(beside.len(), 1);
    let mut told = String::new();
    let mut stderr = running.stderr.take().expect("a pipe");
    std::io::Read::read_to_string(&mut stderr, &mut told).expect("text");
    let folder = beside[0].display().to_string();
    assert!(told.contains(&folder), "{told}");
    assert!(told.contains("keeps the results"), "{told}");
}

/// A new run replaces the files of the previous one. Its own scenario must not be among them.
#[test]
fn the_run_before_is_replaced() {
    let place = Scratch::new("again");
    let directory = place.path();
    let mine = Mine::new("again");
    let paper = ["paper", "./mine", "--seeds", "1", "--out", &directory];
    let output = mine.fairwire(&paper);
    assert!(output.status.success(), "{}", err(&output));
    assert!(place.has("slow.toml") && place.has("report.txt"));
    assert!(short(&place, &[]).status.success());
    assert!(!place.has("slow.toml") && !place.has("report.txt"));
    assert!(place.has("base.toml") && place.has("results.json"));
    let resolved = place.0.join("base.toml").display().to_string();
    let refused = fairwire(&["run", &resolved, "--seeds", "1", "--out", &directory]);
    assert_eq!(refused.status.code(), Some(1), "{}", err(&refused));
    assert!(
        err(&refused).contains("is the scenario that is to run"),
        "{}",
        err(&refused)
    );
}

/// A file is written only into a directory that exists, for its path may be misspelt: captures and keys. The error says
/// how to make the directory. (`perf --save` has its own test.) A directory of results is made, with those above it.
#[test]
fn a_missing_directory_is_made_only_for_results() {
    let place = Scratch::new("missing");
    let missing = place.0.join("no/such");
    let file = missing.join("x").display().to_string();
    for command in [
        &[&SHORT[..], &["--pcap", &file]].concat()[..],
        &["keygen", "--out", &file],
    ] {
        let output = fairwire(command);
        assert_eq!(output.status.code(), Some(1), "{}", err(&output));
        let advice = format!("make it with 'mkdir -p {}'", missing.display());
        assert!(err(&output).contains(&advice), "{}", err(&output));
        assert!(!place.0.join("no").exists(), "{command:?}");
    }
    let directory = missing.display().to_string();
    let output = fairwire(&[&SHORT[..], &["--out", &directory]].concat());
    assert!(output.status.success(), "{}", err(&output));
    assert!(missing.join("results.json").exists());
}
