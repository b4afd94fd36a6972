//! The selection of cells by name, group or pattern.

use std::collections::BTreeSet;

use fairwire_units::registry::nearest;

use super::pattern::matches;
use super::sheet::Sheet;
use super::template::Instance;
use crate::place::ScenarioError;
use crate::shorten::{QUOTED, shorten};

impl Sheet {
    /// Returns the names of its own cells, in the order of the file.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.own.iter().map(|instance| instance.name.as_str())
    }

    /// Returns the cells that `only` names, in the order of the file; all of them if `only` is empty.
    pub(crate) fn select(&self, only: &[String]) -> Result<Vec<&Instance>, ScenarioError> {
        let mut wanted = vec![only.is_empty(); self.own.len()];
        for word in only {
            let mut names = BTreeSet::new();
            let mut patterns = vec![];
            if let Some(group) = self.groups.iter().find(|group| group.name == *word) {
                for pattern in group.patterns(&self.axes) {
                    let (pattern, _) = pattern?;
                    if pattern.contains('*') {
                        patterns.push(pattern);
                    } else {
                        names.insert(pattern);
                    }
                }
            } else if word.contains('*') && self.names().all(|name| name != word) {
                patterns.push(word.clone());
            } else {
                names.insert(word.clone());
            }
            let mut is_any = false;
            for (name, wanted) in self.names().zip(&mut wanted) {
                if names.contains(name) || patterns.iter().any(|pattern| matches(pattern, name)) {
                    *wanted = true;
                    is_any = true;
                }
            }
            if !is_any {
                return Err(self.none(word));
            }
        }
        let all = self.own.iter().zip(wanted);
        let all = all.filter(|(_, wanted)| *wanted);
        Ok(all.map(|(instance, _)| &**instance).collect())
    }

    /// Returns the error for a `word` that names no cell.
    fn none(&self, word: &str) -> ScenarioError {
        let groups = self.groups.iter().map(|group| group.name.as_str());
        let known = self.names().chain(groups);
        let hint = nearest(word, known.clone())
            .map(|one| format!("did you mean '{one}'? "))
            .unwrap_or_default();
        let known: Vec<&str> = known.take(100).collect();
        let message = format!(
            "there is no cell '{}': {hint}write one of {}",
            shorten(word, QUOTED),
            shorten(&known.join(", "), 4 * QUOTED)
        );
        ScenarioError::new(message)
    }
}
