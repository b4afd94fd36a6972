//! Shrinking: parts of a failing plan are removed as long as it violates the same invariant.

use crate::plan::Plan;
use crate::plan::fault::{Incident, TimedIncident};
use crate::plan::script::Act;
use crate::run::{self, Failure, Options};

/// A failing plan after shrinking.
#[derive(Clone, Debug)]
pub struct Shrunk {
    /// The smaller plan.
    pub plan: Plan,
    /// Its failure.
    pub failure: Failure,
    /// The number of runs.
    pub runs: u32,
    gives_up: bool,
    options: Options,
}

/// Shrinks a plan with at most `runs` runs. Returns `None` if it does not fail.
///
/// A run that does not end takes too long to try another one after it, so such a plan is not shrunk.
pub fn shrink(plan: &Plan, options: &Options, runs: u32) -> Option<Shrunk> {
    let options = Options {
        trace: false,
        ..options.clone()
    };
    let outcome = run::run_within_time(plan, &options);
    let gives_up = outcome.is_endless();
    let failure = outcome.failure?;
    let mut shrunk = Shrunk {
        plan: plan.clone(),
        failure,
        runs: 1,
        gives_up,
        options,
    };
    loop {
        let before = shrunk.plan.clone();
        for part in PARTS {
            shrunk.take_away(*part, runs);
        }
        for change in CHANGES {
            let mut plan = shrunk.plan.clone();
            change(&mut plan);
            shrunk.accept(plan, runs);
        }
        if shrunk.plan == before || shrunk.is_over(runs) {
            return Some(shrunk);
        }
    }
}

/// A list in the plan: its length, and the removal of a range.
#[derive(Clone, Copy)]
struct Part {
    len: fn(&Plan) -> usize,
    remove: fn(&mut Plan, std::ops::Range<usize>),
}

/// The lists, in the order in which removal saves most.
const PARTS: &[Part] = &[
    Part {
        len: |plan| plan.connections.len(),
        remove: |plan, range| {
            for of in plan.connections.drain(range) {
                plan.script.retain(|entry| entry.connection != of.id);
                plan.moments.retain(|moment| !floods(moment, of.id));
            }
        },
    },
    Part {
        len: |plan| plan.faults.len(),
        remove: |plan, range| drop(plan.faults.drain(range)),
    },
    Part {
        len: |plan| plan.moments.len(),
        remove: |plan, range| drop(plan.moments.drain(range)),
    },
    Part {
        len: |plan| plan.script.len(),
        remove: |plan, range| drop(plan.script.drain(range)),
    },
    Part {
        len: |plan| settings(plan).map(Vec::len).sum(),
        remove: remove_settings,
    },
    Part {
        len: |plan| plan.hosts.iter().map(|host| host.endpoint.len()).sum(),
        remove: |plan, range| {
            let mut from = 0;
            for host in &mut plan.hosts {
                cut(&mut host.endpoint, &mut from, &range);
            }
        },
    },
];

/// Returns whether the moment needs the connection with this id.
fn floods(moment: &TimedIncident, id: u16) -> bool {
    matches!(moment.what, Incident::Flood { connection, .. } if connection == id)
}

/// Returns the plans that lack one element of the plan's lists each.
pub fn without_one(plan: &Plan) -> impl Iterator<Item = Plan> {
    let places = PARTS
        .iter()
        .flat_map(|part| (0..(part.len)(plan)).map(move |at| (part, at)));
    places.map(|(part, at)| {
        let mut plan = plan.clone();
        (part.remove)(&mut plan, at..at + 1);
        plan
    })
}

fn settings(plan: &Plan) -> impl Iterator<Item = &Vec<String>> {
    let connections = plan.connections.iter();
    connections.flat_map(|of| [&of.client_settings, &of.server_settings])
}

fn remove_settings(plan: &mut Plan, range: std::ops::Range<usize>) {
    let mut from = 0;
    for of in &mut plan.connections {
        cut(&mut of.client_settings, &mut from, &range);
        cut(&mut of.server_settings, &mut from, &range);
    }
}

/// Removes the elements in `range` from `list`, whose first element has the number `from` in a sequence of lists.
fn cut<T>(list: &mut Vec<T>, from: &mut usize, range: &std::ops::Range<usize>) {
    list.retain(|_| {
        *from += 1;
        !range.contains(&(*from - 1))
    });
}

/// Changes that simplify a plan in one step.
const CHANGES: &[fn(&mut Plan)] = &[
    |plan| plan.udp = false,
    |plan| plan.ipv6 = false,
    |plan| {
        for host in &mut plan.hosts {
            host.clock_ppm = 0;
        }
    },
    |plan| {
        for host in &mut plan.hosts {
            host.queue_packets = 1_000;
        }
    },
    |plan| {
        for host in &mut plan.hosts {
            (host.rate_kbit_per_s, host.delay_us) = (10_000, 10_000);
        }
    },
    |plan| {
        for of in &mut plan.connections {
            (of.client_first, of.server_first, of.room) = (None, None, None);
        }
    },
    |plan| {
        for of in &mut plan.connections {
            of.dtls = false;
        }
    },
    halve_sends,
    halve_sends,
    halve_sends,
    |plan| {
        for fault in &mut plan.faults {
            let middle = u64::midpoint(fault.from_ms, fault.until_ms);
            fault.until_ms = middle;
        }
    },
    |plan| {
        for fault in &mut plan.faults {
            let middle = u64::midpoint(fault.from_ms, fault.until_ms);
            fault.from_ms = middle;
        }
    },
];

fn halve_sends(plan: &mut Plan) {
    for entry in &mut plan.script {
        if let Act::Burst { count, .. } | Act::Stream { count, .. } = &mut entry.act {
            *count = count.div_ceil(2);
        }
    }
}

impl Shrunk {
    /// Returns whether shrinking must stop.
    fn is_over(&self, runs: u32) -> bool {
        self.runs >= runs || self.gives_up
    }

    /// Removes parts of one list by delta debugging: halves, then quarters, down to single elements.
    fn take_away(&mut self, part: Part, runs: u32) {
        let mut chunk = (part.len)(&self.plan).div_ceil(2);
        while chunk > 0 {
            let mut at = 0;
            while at < (part.len)(&self.plan) {
                let len = (part.len)(&self.plan);
                let mut plan = self.plan.clone();
                (part.remove)(&mut plan, at..(at + chunk).min(len));
                if !self.accept(plan, runs) {
                    at += chunk;
                }
                if self.is_over(runs) {
                    return;
                }
            }
            chunk /= 2;
        }
    }

    /// Accepts `plan` if it violates the same invariant.
    fn accept(&mut self, plan: Plan, runs: u32) -> bool {
        if self.is_over(runs) || plan == self.plan {
            return false;
        }
        self.runs += 1;
        let outcome = run::run_within_time(&plan, &self.options);
        self.gives_up |= outcome.is_endless();
        match outcome.failure {
            Some(failure) if failure.invariant == self.failure.invariant => {
                self.plan = plan;
                self.failure = failure;
                true
            }
            _ => false,
        }
    }
}
