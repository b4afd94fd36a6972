//! Dependencies between the files of a crate, called arrows, and the circles that they form.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::tree::Tree;

/// For each file, the files whose names it uses, and these names.
#[derive(Debug, Default)]
pub(crate) struct Arrows(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

impl Arrows {
    pub(crate) fn of(trees: &[Tree]) -> Self {
        let mut arrows = Self::default();
        for tree in trees {
            for (id, module) in tree.modules.iter().enumerate() {
                for path in &module.uses {
                    for (file, name) in tree.defining(id, path) {
                        if file != module.file {
                            arrows.add(&module.file, file, name);
                        }
                    }
                }
            }
        }
        arrows
    }

    fn add(&mut self, from: &std::path::Path, to: &std::path::Path, name: String) {
        let [from, to] = [from, to].map(|file| file.to_string_lossy().into_owned());
        self.0
            .entry(from)
            .or_default()
            .entry(to)
            .or_default()
            .insert(name);
    }

    /// Returns the groups of files in which each file depends on all others of its group.
    pub(crate) fn circles(&self) -> Vec<Vec<String>> {
        let below: BTreeMap<&str, BTreeSet<&str>> = self
            .0
            .keys()
            .map(|file| (file.as_str(), self.below(file)))
            .collect();
        let mut circles = BTreeSet::new();
        for (file, theirs) in &below {
            let circle: Vec<String> = theirs
                .iter()
                .filter(|other| below.get(*other).is_some_and(|b| b.contains(file)))
                .map(|other| (*other).to_owned())
                .collect();
            if !circle.is_empty() {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    /// Returns the files that `file` depends on, directly or not; also itself, if it is in a circle.
    fn below(&self, file: &str) -> BTreeSet<&str> {
        let mut below = BTreeSet::new();
        let mut open = vec![file];
        while let Some(file) = open.pop() {
            for next in self.0.get(file).into_iter().flat_map(BTreeMap::keys) {
                if below.insert(next.as_str()) {
                    open.push(next);
                }
            }
        }
        below
    }

    /// Lists the arrows that lead from a floor to a higher one or to a file on no floor, one per line. `floors` are
    /// modules of the root, lowest first.
    pub(crate) fn upwards(&self, floors: &[&str]) -> String {
        let floor = |file: &str| {
            let module = file.split(['/', '.']).next();
            floors.iter().position(|floor| module == Some(floor))
        };
        let mut text = String::new();
        for (from, below) in &self.0 {
            for (to, names) in below {
                let why = match (floor(from), floor(to)) {
                    (Some(from), Some(to)) if from >= to => continue,
                    (None, _) => continue,
                    (Some(_), Some(_)) => "",
                    (Some(_), None) => ", which stands on no floor",
                };
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let _ = writeln!(text, "{from} -> {to}{why}: {}", names.join(", "));
            }
        }
        text
    }

    /// Describes the arrows that form a circle, with their names.
    pub(crate) fn describe(&self, circle: &[String]) -> String {
        let mut text = format!("{} files form a circle", circle.len());
        for from in circle {
            for (to, names) in self.0.get(from).into_iter().flatten() {
                if circle.contains(to) {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    let _ = write!(text, "\n  {from} -> {to}: {}", names.join(", "));
                }
            }
        }
        text
    }
}
