//! The rule for the files of each crate: dependencies between files must not form a circle.
//!
//! A file that uses a name from another file is above it. If two files use names from each other, directly or through
//! more files, neither can be understood, tested or moved without the other. What both need must then move into a file
//! below them.
//!
//! - [`tree`]: the modules of a crate, and the definitions and aliases of each.
//! - [`resolve`]: finds the files that define what a path in the code names.
//! - [`circles`]: finds files that are above and below each other.
//!
//! An arrow leads from a file to the file that *defines* the name, whatever re-exports are between. A `pub use` is not
//! an arrow: it only re-exports a name. Methods are found by the compiler and not by a path, so their calls are not
//! arrows either: a struct may have methods in files above it. Tests are left out.

mod circles;
mod resolve;
mod tree;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use circles::Arrows;
use tree::Tree;

use crate::sources::{crate_folders, root};

/// The lower floors of `scenario`, lowest first: what applications send, and how it is carried. What a scenario says
/// stands on them. A floor may use names only from the floors below it.
const FLOORS_OF_SCENARIO: [&str; 3] = ["traffic", "quantity", "transport"];

/// No file of a crate is both above and below another one.
#[test]
fn files_take_names_in_one_direction() {
    let mut complaints = String::new();
    for folder in crate_folders() {
        let arrows = arrows_of(&folder);
        for circle in arrows.circles() {
            let name = folder.file_name().unwrap_or_default().display();
            let circle = arrows.describe(&circle);
            let _ = writeln!(complaints, "\ncrates/{name}: {circle}");
        }
    }
    assert!(
        complaints.is_empty(),
        "what two files need from each other moves into a file below both:{complaints}"
    );
}

/// Applications and transports do not know the scenarios that name them.
#[test]
fn floors_of_scenario_stand_on_those_below() {
    let folder = root().join("crates/scenario");
    assert_eq!(arrows_of(&folder).upwards(&FLOORS_OF_SCENARIO), "");
}

/// An arrow to a higher floor, or to a file on no floor, is reported with its names.
#[test]
fn arrows_upwards_are_told() {
    let arrows = arrows_between(&[
        ("lib.rs", "mod ground; mod roof; mod shed;"),
        (
            "ground.rs",
            "use crate::roof::tile::Tile; struct Stone(Tile);",
        ),
        ("roof.rs", "mod tile; struct Beam(crate::ground::Stone);"),
        ("roof/tile.rs", "pub struct Tile(crate::shed::Tool);"),
        ("shed.rs", "pub struct Tool;"),
    ]);
    assert_eq!(
        arrows.upwards(&["ground", "roof"]),
        "ground.rs -> roof/tile.rs: Tile\nroof/tile.rs -> shed.rs, which stands on no floor: Tool\n"
    );
}

/// Makes the arrows of a crate that is given here as text.
fn arrows_between(files: &[(&str, &str)]) -> Arrows {
    let read = |path: &Path| {
        let found = files.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| (*text).to_owned())
    };
    Arrows::of(&[Tree::read(Path::new("lib.rs"), &read)])
}

/// A child that uses a definition of its parent, and a parent that uses one of the child, form a circle.
#[test]
fn parent_and_child_may_form_a_circle() {
    let arrows = arrows_between(&[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "mod part; struct Whole(part::Part);"),
        ("a/part.rs", "pub struct Part; impl super::Whole {}"),
        ("b.rs", "use crate::a::Whole; fn f(_: Whole) {}"),
    ]);
    let circles = arrows.circles();
    assert_eq!(circles, [vec!["a.rs".to_owned(), "a/part.rs".to_owned()]]);
    assert_eq!(
        arrows.describe(&circles[0]),
        "2 files form a circle\n  a.rs -> a/part.rs: Part\n  a/part.rs -> a.rs: Whole"
    );
}

/// A name is followed through re-exports, aliases and globs to its definition; a re-export is not an arrow.
#[test]
fn names_are_followed_to_their_definition() {
    let arrows = arrows_between(&[
        ("lib.rs", "mod a; mod face; pub use face::Thing;"),
        (
            "face.rs",
            "mod thing; pub use thing::{self, Thing as Named, *};",
        ),
        (
            "face/thing.rs",
            "pub struct Thing; pub fn make() -> Thing { crate::a::ONE }",
        ),
        (
            "a.rs",
            "use crate::face; pub const ONE: u8 = 1; fn f() { let _ = face::Named; face::thing::make(); }",
        ),
    ]);
    assert_eq!(
        arrows.circles(),
        [vec!["a.rs".to_owned(), "face/thing.rs".to_owned()]]
    );
}

/// Test modules and definitions of other crates give no arrows. An inline module that uses its own file gives none
/// either.
#[test]
fn tests_and_other_crates_are_left_out() {
    let arrows = arrows_between(&[
        (
            "lib.rs",
            "mod a; mod b; mod inside { pub use super::ONE; } const ONE: u8 = 1;",
        ),
        (
            "a.rs",
            "use std::fmt; use crate::b::B; struct A(B, fmt::Error);",
        ),
        (
            "b.rs",
            "pub struct B; #[cfg(test)] mod tests { use crate::a::A; } #[test] fn t(_: crate::a::A) {}",
        ),
    ]);
    assert_eq!(arrows.circles(), Vec::<Vec<String>>::new());
}

/// Returns the arrows of a crate, of its library and its programs together.
fn arrows_of(folder: &Path) -> Arrows {
    let sources = folder.join("src");
    let read = |path: &Path| fs::read_to_string(sources.join(path)).ok();
    let roots = ["lib.rs", "main.rs"].map(Path::new);
    let trees: Vec<Tree> = roots
        .into_iter()
        .filter(|root| sources.join(root).is_file())
        .map(|root| Tree::read(root, &read))
        .collect();
    assert!(!trees.is_empty(), "{} has a root", folder.display());
    Arrows::of(&trees)
}
