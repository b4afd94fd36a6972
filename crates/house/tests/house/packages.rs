//! What is published: each crate has what its page needs, and needs nothing that is not published. `make package` packs
//! and builds them.

use std::fs;
use std::path::PathBuf;

use toml::{Table, Value};

use crate::sources::{crate_folders, root, text_of};

/// The manifests of all crates with their folders.
fn manifests() -> Vec<(PathBuf, Table)> {
    let read = |folder: PathBuf| {
        let text = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let table = text.parse().expect("a manifest is TOML");
        (folder, table)
    };
    crate_folders().into_iter().map(read).collect()
}

fn name_of(manifest: &Table) -> &str {
    manifest["package"]["name"].as_str().expect("a name")
}

fn is_published(manifest: &Table) -> bool {
    manifest["package"].get("publish") != Some(&Value::Boolean(false))
}

/// A published crate depends on no other crate of ours than published ones.
#[test]
fn published_crates_need_only_published_ones() {
    let all = manifests();
    let published: Vec<&str> = all
        .iter()
        .filter(|(_, manifest)| is_published(manifest))
        .map(|(_, manifest)| name_of(manifest))
        .collect();
    assert!(published.contains(&"fairwire"), "the library is published");
    for (_, manifest) in all.iter().filter(|(_, manifest)| is_published(manifest)) {
        let own = |(name, _): &(&String, &Value)| name.starts_with("fairwire");
        let used = manifest.get("dependencies").and_then(Value::as_table);
        for (used, _) in used.into_iter().flatten().filter(own) {
            assert!(
                published.contains(&used.as_str()),
                "{} is published and needs {used}, which is not",
                name_of(manifest)
            );
        }
    }
}

/// A development dependency of ours that is not published has no version, so that packing leaves it out.
#[test]
fn what_is_not_published_has_no_version() {
    let workspace: Table = text_of("Cargo.toml").parse().expect("a manifest is TOML");
    let versions = workspace["workspace"]["dependencies"]
        .as_table()
        .expect("a table");
    let all = manifests();
    for (_, manifest) in all.iter().filter(|(_, manifest)| is_published(manifest)) {
        let used = manifest.get("dev-dependencies").and_then(Value::as_table);
        for (used, _) in used.into_iter().flatten() {
            let other = all.iter().find(|(_, other)| name_of(other) == used);
            if other.is_some_and(|(_, other)| !is_published(other)) {
                assert!(
                    versions[used].get("version").is_none(),
                    "{used} is not published and has a version in the workspace, so {} cannot be packed",
                    name_of(manifest)
                );
            }
        }
    }
}

/// A published crate carries its licences, a readme and a description, and neither tests nor their captures. Its page
/// at docs.rs shows its features, except those for development.
#[test]
fn packages_have_what_their_pages_need() {
    for (folder, manifest) in manifests() {
        let (name, package) = (name_of(&manifest), &manifest["package"]);
        if !is_published(&manifest) {
            continue;
        }
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let carried = fs::read(folder.join(licence))
                .unwrap_or_else(|error| panic!("{name} has no {licence}: {error}"));
            let original = fs::read(root().join(licence)).expect("the repository has licences");
            assert!(carried == original, "{name} has another {licence}");
        }
        for key in ["description", "readme", "license", "repository"] {
            assert!(package.get(key).is_some(), "{name} has no {key}");
        }
        let excluded = package.get("exclude").map(Value::to_string);
        for tests in ["tests", "benches"] {
            let is_out = excluded.as_ref().is_some_and(|out| out.contains(tests));
            assert!(
                is_out || !folder.join(tests).exists(),
                "{name} publishes its {tests}"
            );
        }
        let features = manifest.get("features").and_then(Value::as_table);
        let shown = package
            .get("metadata")
            .and_then(|metadata| metadata.get("docs")?.get("rs"))
            .map(Value::to_string)
            .unwrap_or_default();
        for (feature, _) in features.into_iter().flatten() {
            let is_hidden = ["default", "dtls", "fuzz", "inspect", "seeded"];
            assert!(
                is_hidden.contains(&feature.as_str()) || shown.contains(feature.as_str()),
                "docs.rs would not show the feature {feature} of {name}"
            );
        }
    }
}
