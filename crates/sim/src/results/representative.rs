//! The flows that stand for all in a table or plot of several cells.

use super::CellResult;
use fairwire_scenario::Scenario;

/// A flow that is shown, and the number of flows with the same settings that it stands for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Representative {
    /// The flow's name.
    pub flow: String,
    /// The least and the greatest number of flows like it in a cell, itself included; `None` if all are shown.
    alike: Option<(usize, usize)>,
}

impl Representative {
    /// Returns the flows of `cells` to show: those that all cells have, `most` at most.
    ///
    /// If there are more, only the first of those that differ in name alone is taken.
    pub fn of(cells: &[CellResult], most: usize) -> Vec<Self> {
        let scenarios = || cells.iter().map(|cell| &cell.scenario);
        let Some(first) = scenarios().next() else {
            return Vec::new();
        };
        let names = first.enabled_flows().map(|(name, _)| name);
        let names = names.filter(|name| scenarios().all(|it| like(it, name).count() > 0));
        let mut names: Vec<&str> = names.collect();
        if names.len() > most {
            let mut chosen: Vec<&str> = Vec::new();
            for name in names {
                if chosen.len() == most {
                    break;
                }
                let stands_for =
                    |known: &&str| scenarios().all(|it| it.flows.get(known) == it.flows.get(name));
                if !chosen.iter().any(stands_for) {
                    chosen.push(name);
                }
            }
            names = chosen;
        }
        let counts = |name: &str| {
            let is_hidden = |it| like(it, name).any(|other| !names.contains(&other));
            let counts = || scenarios().map(|it| like(it, name).count());
            let range = counts().min().zip(counts().max());
            range.filter(|_| scenarios().any(is_hidden))
        };
        let representative = |name: &&str| Self {
            flow: (*name).to_owned(),
            alike: counts(name),
        };
        names.iter().map(representative).collect()
    }

    /// Returns how many flows it stands for, in words: `one of 5 alike`; `None` if it stands for itself.
    pub fn among(&self) -> Option<String> {
        let (least, most) = self.alike?;
        Some(if least == most {
            format!("one of {most} alike")
        } else {
            format!("one of {least} to {most} alike")
        })
    }
}

/// Returns the enabled flows of `scenario` with the settings of `flow`, itself included; none if it is not enabled.
fn like<'a>(scenario: &'a Scenario, flow: &str) -> impl Iterator<Item = &'a str> {
    let own = scenario.flows.get(flow).filter(|own| own.enabled);
    let all = scenario.enabled_flows();
    all.filter(move |(_, other)| Some(*other) == own)
        .map(|(name, _)| name)
}
