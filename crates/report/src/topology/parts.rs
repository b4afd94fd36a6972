//! Descriptions of the links and flows of a network.

use super::words::{join_words, summarize};
use fairwire_scenario::{Flow, Link, Side};

/// The description of a link.
pub(super) struct LinkText {
    pub(super) name: String,
    /// The rate, as `2 Mbit/s`, or the number of different rates.
    pub(super) rate: String,
    pub(super) delay: String,
    pub(super) queue: String,
    /// The rate and delay of the reverse direction if they differ; empty if not.
    pub(super) back: String,
}

/// The description of a flow, or of several flows with equal settings.
#[derive(PartialEq)]
pub(super) struct FlowText {
    names: Vec<String>,
    pub(super) protocol: &'static str,
    pub(super) from_left: bool,
    /// The sender and the receiver, if the flows name them.
    pub(super) ends: Option<(String, String)>,
}

impl FlowText {
    /// Returns the flows of a scenario, under the names that `shown` gives them; flows that differ in name only are combined.
    pub(super) fn all<'a>(
        shown: &dyn Fn(&str) -> String,
        flows: impl Iterator<Item = (&'a str, &'a Flow)>,
    ) -> Vec<Self> {
        let mut groups: Vec<(&Flow, Self)> = Vec::new();
        for (name, flow) in flows {
            match groups.iter_mut().find(|(known, _)| *known == flow) {
                Some((_, group)) => group.names.push(shown(name)),
                None => groups.push((flow, Self::of(shown(name), flow))),
            }
        }
        groups.into_iter().map(|(_, group)| group).collect()
    }

    fn of(name: String, flow: &Flow) -> Self {
        Self {
            names: vec![name],
            protocol: flow.transport().label(),
            from_left: flow.from == Side::Left,
            ends: flow.sender.clone().zip(flow.receiver.clone()),
        }
    }

    /// Returns the number of flows.
    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    /// Returns their names, for use in a sentence.
    pub(super) fn names(&self) -> String {
        join_words(&self.names)
    }

    /// Returns the name of the host that sends or receives them: `first and 2 alike`.
    pub(super) fn title(&self) -> String {
        match self.names.as_slice() {
            [first, more @ ..] if !more.is_empty() => format!("{first} and {} alike", more.len()),
            _ => self.names(),
        }
    }

    /// Returns the direction of their data.
    pub(super) fn way(&self) -> String {
        match (&self.ends, self.from_left) {
            (Some((sender, receiver)), _) => format!("{sender} to {receiver}"),
            (None, true) => "left to right".to_owned(),
            (None, false) => "right to left".to_owned(),
        }
    }
}

impl LinkText {
    pub(super) fn of(name: &str, links: &[&Link]) -> Self {
        let backs: Vec<&Link> = links.iter().map(|link| link.reversed()).collect();
        let rate = summarize(links.iter().map(|link| link.rate_words()), "rates");
        let delay = summarize(links.iter().map(|link| link.delay.to_string()), "delays");
        let queue = summarize(links.iter().map(|link| link.queue_words()), "sizes");
        let differs = links
            .iter()
            .zip(&backs)
            .any(|(link, back)| !link.is_as_fast_as(back) || link.delay != back.delay);
        let back = if differs {
            let rate = summarize(backs.iter().map(|link| link.rate_words()), "rates");
            let delay = summarize(backs.iter().map(|link| link.delay.to_string()), "delays");
            format!("back {rate}, {delay}")
        } else {
            String::new()
        };
        Self {
            name: name.to_owned(),
            rate,
            delay,
            queue: format!("queue {queue}"),
            back,
        }
    }

    pub(super) fn sentence(&self) -> String {
        let back = if self.back.is_empty() { "" } else { ", " };
        let Self {
            name,
            rate,
            delay,
            queue,
            ..
        } = self;
        format!("{name}: {rate}, {delay}, {queue}{back}{}.", self.back)
    }

    /// Returns name, rate and delay, then the queue and the reverse direction.
    pub(super) fn lines(&self) -> Vec<&str> {
        let lines = [&self.name, &self.rate, &self.delay, &self.queue, &self.back];
        let lines = lines.into_iter().map(String::as_str);
        lines.filter(|line| !line.is_empty()).collect()
    }
}
