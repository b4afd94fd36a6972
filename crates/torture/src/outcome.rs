//! The outcome of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The longest time for a run. A run takes a few hundredths of a second, so one that exceeds this will never end.
pub(crate) const MAX_RUN_TIME: Duration = Duration::from_secs(60);

/// The failure of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// The violated invariant, or `panic` if the implementation panicked.
    pub invariant: String,
    /// What was observed, and what was expected.
    pub text: String,
    /// The time in nanoseconds of the network's clock.
    pub at_ns: u64,
    /// The number of the host.
    pub host: usize,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            invariant,
            text,
            at_ns,
            host,
        } = self;
        #[expect(clippy::cast_precision_loss, reason = "printed with six digits")]
        let at_s = *at_ns as f64 / 1e9;
        write!(f, "{invariant} (host {host}, {at_s:.6} s): {text}")
    }
}

/// Counts of what happened in a run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// Packets sent by endpoints.
    pub packets: u64,
    /// Datagrams read by applications.
    pub datagrams_read: u64,
    /// The end of the run, in nanoseconds of the network's clock.
    pub until: u64,
    /// Packets or hosts affected by each kind of fault.
    pub faults: BTreeMap<&'static str, u64>,
    /// Calls and other acts of applications, by name.
    pub acts: BTreeMap<&'static str, u64>,
    /// Events reported to applications, by name.
    pub events: BTreeMap<String, u64>,
    /// Steps in which connections were in each state.
    pub states: BTreeMap<&'static str, u64>,
    /// Steps in which connections had each CCID.
    pub ccids: BTreeMap<u8, u64>,
    /// Wraps of sequence numbers, by their number of bits.
    pub wraps: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Adds the counts of another run; the times are added too.
    pub fn add(&mut self, other: &Self) {
        fn join<K: Clone + Ord>(to: &mut BTreeMap<K, u64>, from: &BTreeMap<K, u64>) {
            for (name, count) in from {
                *to.entry(name.clone()).or_default() += count;
            }
        }
        self.packets += other.packets;
        self.datagrams_read += other.datagrams_read;
        self.until += other.until;
        join(&mut self.faults, &other.faults);
        join(&mut self.acts, &other.acts);
        join(&mut self.events, &other.events);
        join(&mut self.states, &other.states);
        join(&mut self.ccids, &other.ccids);
        join(&mut self.wraps, &other.wraps);
    }
}

/// The outcome of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outcome {
    /// The first failure, if there was one.
    pub failure: Option<Failure>,
    /// The digest of the log, which is equal for two runs of the same plan. It is zero after a panic.
    pub digest: u64,
    /// What happened.
    pub tally: Tally,
    /// The log, if it was requested.
    pub log: Vec<String>,
}

impl Outcome {
    /// Returns the outcome of a run that does not end.
    pub fn endless() -> Self {
        let text = format!("the run did not end within {} s", MAX_RUN_TIME.as_secs());
        Self::broken(ENDLESS, text)
    }

    /// Returns whether this is the outcome of a run that does not end.
    pub fn is_endless(&self) -> bool {
        self.failure
            .as_ref()
            .is_some_and(|f| f.invariant == ENDLESS)
    }

    /// Returns the outcome of a run that has no result except this failure.
    pub(crate) fn broken(invariant: &str, text: String) -> Self {
        Self {
            failure: Some(Failure {
                invariant: invariant.to_owned(),
                text,
                at_ns: 0,
                host: 0,
            }),
            digest: 0,
            tally: Tally::default(),
            log: Vec::new(),
        }
    }
}

/// The invariant that a run without an end violates.
const ENDLESS: &str = "the run ends";

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether the log is kept.
    pub trace: bool,
    /// An event, named as in the report, that counts as a failure. It serves to find and shrink a run in which that
    /// event happens.
    pub forbid: Option<String>,
}
