//! Checks the links of the documentation, and that the listings under `docs/api/` name every public item of the
//! libraries.
//!
//! A change of the public API changes a listing, so it cannot go unnoticed. To accept a change, run `UPDATE_DOCS=1
//! cargo test -p fairwire-house` and say in CHANGELOG.md what users have to do.
//!
//! The listings come from rustdoc's JSON, whose format depends on the version of Rust. If the compiler writes another
//! format, they are not compared, with a message; with `FAIRWIRE_NO_SKIP=1` the test fails instead.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use public_api::Builder;

use crate::sources::root;

/// The library crates that others build on: the package, and the name in code.
const LIBRARIES: [(&str, &str); 8] = [
    ("fairwire", "fairwire"),
    ("fairwire-units", "fairwire_units"),
    ("fairwire-wire", "fairwire_wire"),
    ("fairwire-cc", "fairwire_cc"),
    ("fairwire-proto", "fairwire_proto"),
    ("fairwire-tcp", "fairwire_tcp"),
    ("fairwire-net", "fairwire_net"),
    ("fairwire-tls", "fairwire_tls"),
];

/// The format that the crate `public-api` reads: that of rustdoc in Rust 1.93 to 1.95.
const FORMAT: u64 = 57;

/// What cargo said of the documentation, and the folder with its JSON.
static DOCUMENTED: LazyLock<(Output, PathBuf)> = LazyLock::new(document);

/// Every link in the documentation leads somewhere, also to private items and in their documentation.
#[test]
fn links_lead_somewhere() {
    let (output, _) = &*DOCUMENTED;
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// Every public item of the libraries is listed, and every listed item exists.
#[test]
fn the_public_api_is_the_one_listed() {
    let (_, json) = &*DOCUMENTED;
    if format(json) != FORMAT {
        assert!(
            std::env::var_os("FAIRWIRE_NO_SKIP").is_none(),
            "this Rust writes another rustdoc JSON than format {FORMAT}: update the crate public-api"
        );
        eprintln!("skipped: this Rust writes another rustdoc JSON than format {FORMAT}");
        return;
    }
    let update = std::env::var_os("UPDATE_DOCS").is_some();
    let mut complaints = String::new();
    for (package, name) in LIBRARIES {
        let file = json.join(format!("{name}.json"));
        let api = Builder::from_rustdoc_json(&file)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()
            .expect("a library has a public API");
        let mut found: Vec<String> = api.items().map(ToString::to_string).collect();
        let mut derived = derived_errors(&file);
        derived.retain(|item| !found.contains(item));
        found.extend(derived);
        let listing = root().join("docs/api").join(format!("{package}.txt"));
        if update {
            fs::create_dir_all(root().join("docs/api")).expect("docs can be written");
            fs::write(&listing, found.join("\n") + "\n").expect("docs can be written");
        }
        let listed = fs::read_to_string(&listing).unwrap_or_default();
        complaints += &differences(package, &listed, &found);
    }
    assert!(
        complaints.is_empty(),
        "the public API changed:{complaints}\n\nIf it should, accept it with UPDATE_DOCS=1 and tell users in CHANGELOG.md."
    );
}

/// Has `crates/house/rustdoc` read the documentation of every library.
///
/// They are what `cargo test` builds, so nothing is built again if the tests are.
fn document() -> (Output, PathBuf) {
    let json = Path::new(env!("CARGO_TARGET_TMPDIR")).join("api");
    let _ = fs::remove_dir_all(&json);
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["test", "--doc", "--workspace", "--no-fail-fast"])
        .args(["--features", "fairwire/emulated", "--locked", "--quiet"])
        .arg("--target-dir")
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join(".."))
        .env("RUSTDOC", root().join("crates/house/rustdoc"))
        .env("FAIRWIRE_API", &json)
        .env("FAIRWIRE_LIBRARIES", LIBRARIES.map(|it| it.1).join(" "))
        .output()
        .expect("cargo runs");
    (output, json)
}

/// Returns the implementations of `Error` and `From`, those that are derived as well, because users rely on them. Other
/// derived ones, such as those of `Clone` and `Debug`, would fill most of the listing.
fn derived_errors(json: &Path) -> BTreeSet<String> {
    let api = Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .expect("a library has a public API");
    let implements = ["impl core::error::Error for", "impl core::convert::From<"];
    api.items()
        .map(ToString::to_string)
        .filter(|item| implements.iter().any(|start| item.starts_with(start)))
        .collect()
}

/// Returns the version of the JSON format.
fn format(json: &Path) -> u64 {
    let text = fs::read_to_string(json.join("fairwire_units.json")).expect("rustdoc wrote it");
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    value["format_version"].as_u64().unwrap_or(0)
}

/// Lists the lines that are in only one of the two.
fn differences(package: &str, listed: &str, found: &[String]) -> String {
    let listed: BTreeSet<&str> = listed.lines().collect();
    let found: BTreeSet<&str> = found.iter().map(String::as_str).collect();
    let gone = listed
        .difference(&found)
        .map(|line| format!("\n  - {line}"));
    let new = found
        .difference(&listed)
        .map(|line| format!("\n  + {line}"));
    let all: String = gone.chain(new).collect();
    if all.is_empty() {
        return all;
    }
    format!("\n{package}{all}")
}
