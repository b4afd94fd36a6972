//! Finds the files that define what a path in the code names.

use std::collections::BTreeSet;
use std::path::Path;

use super::tree::{Meaning, ModuleId, Tree};

/// What a path names.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Place {
    /// A module.
    Module(ModuleId),
    /// An item that this module defines, with its name there.
    Item(ModuleId, String),
}

/// The longest chain of re-exports; more means a circle of aliases.
const DEEPEST: usize = 16;

impl Tree {
    /// Returns the files that define what `path`, in `module`, names, with the names. Definitions of other crates and
    /// local variables have none.
    pub(crate) fn defining(&self, module: ModuleId, path: &[String]) -> Vec<(&Path, String)> {
        self.follow(module, path, DEEPEST)
            .into_iter()
            .filter_map(|place| match place {
                Place::Item(module, name) => Some((self.modules[module].file.as_path(), name)),
                Place::Module(_) => None,
            })
            .collect()
    }

    /// Returns everything that a path may name: a name can mean a module and an item.
    fn follow(&self, module: ModuleId, path: &[String], deepest: usize) -> BTreeSet<Place> {
        let Some((first, rest)) = path.split_first() else {
            return BTreeSet::from([Place::Module(module)]);
        };
        if deepest == 0 {
            return BTreeSet::new();
        }
        let start = match first.as_str() {
            "crate" => Some(0),
            "self" => Some(module),
            "super" => self.modules[module].parent,
            _ => None,
        };
        if let Some(start) = start {
            return self.follow(start, rest, deepest);
        }
        let mut places = BTreeSet::new();
        for place in self.look_up(module, first, deepest) {
            match place {
                Place::Module(inner) => places.extend(self.follow(inner, rest, deepest)),
                // The rest of the path is a variant, or an associated item of the type.
                item @ Place::Item(..) => places.extend([item]),
            }
        }
        places
    }

    /// Returns what a name means in a module.
    fn look_up(&self, module: ModuleId, name: &str, deepest: usize) -> BTreeSet<Place> {
        let here = &self.modules[module];
        let mut places = BTreeSet::new();
        for meaning in here.names.get(name).into_iter().flatten() {
            match meaning {
                Meaning::Module(id) => places.extend([Place::Module(*id)]),
                Meaning::Defined => places.extend([Place::Item(module, name.to_owned())]),
                // `use other_crate;`
                Meaning::Alias(path) if path.len() == 1 && path[0] == name => {}
                Meaning::Alias(path) => places.extend(self.follow(module, path, deepest - 1)),
            }
        }
        if places.is_empty() {
            for glob in &here.globs {
                for place in self.follow(module, glob, deepest - 1) {
                    if let Place::Module(inner) = place
                        && inner != module
                    {
                        places.extend(self.look_up(inner, name, deepest - 1));
                    }
                }
            }
        }
        places
    }
}
