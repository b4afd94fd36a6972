//! Known bugs can still be put back (`scripts/torture-plants`).

use std::collections::BTreeSet;
use std::process::Command;

use crate::sources::{root, text_of};

const PATCH: &str = "crates/torture/plants/plants.patch";
const LIST: &str = "crates/torture/plants/plants.toml";

/// Returns what stands between `before` and the next quotation mark, everywhere in a text.
fn quoted<'a>(text: &'a str, before: &str) -> BTreeSet<&'a str> {
    let rest = text.split(before).skip(1);
    rest.filter_map(|rest| rest.split('"').next()).collect()
}

/// The patch fits the sources. Where it does not, `scripts/torture-plants --help` says how to make it fit.
#[test]
fn the_patch_applies() {
    let output = Command::new("git")
        .args(["apply", "--check", PATCH])
        .current_dir(root())
        .output()
        .expect("git");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{PATCH}: {said}");
}

/// Every bug that the patch plants is described, and the other way round.
#[test]
fn every_planted_bug_is_described() {
    let (patch, list) = (text_of(PATCH), text_of(LIST));
    let described = quoted(&list, "\nname = \"");
    assert_eq!(quoted(&patch, "planted(\""), described);
    assert!(described.len() >= 34, "{}", described.len());
}
