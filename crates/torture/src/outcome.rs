//! What comes of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A run takes some hundredths of a second of processor time. One that has not ended after so long never will.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What a run found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// The invariant that does not hold; `panic` if the product panicked.
    pub invariant: String,
    /// What was seen, and what should have been.
    pub text: String,
    /// When, nanoseconds of the network's time.
    pub at_ns: u64,
    /// At which host.
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

/// What happened in a run, by kind.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// Packets that endpoints sent.
    pub packets: u64,
    /// Datagrams that applications read.
    pub datagrams_read: u64,
    /// Until when it ran, nanoseconds of the network's time.
    pub until: u64,
    /// Packets, or hosts, that each kind of fault touched.
    pub faults: BTreeMap<&'static str, u64>,
    /// What applications did.
    pub acts: BTreeMap<&'static str, u64>,
    /// What applications learnt.
    pub events: BTreeMap<String, u64>,
    /// Steps at which connections were in each state.
    pub states: BTreeMap<&'static str, u64>,
    /// Steps at which connections had each CCID.
    pub ccids: BTreeMap<u8, u64>,
    /// Wraps that sequence numbers crossed, by the bits of the circle.
    pub wraps: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Adds what happened in another run; the time adds up as well.
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

/// What came of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outcome {
    /// The first thing that went wrong, if something did.
    pub failure: Option<Failure>,
    /// The digest of its log: two runs of one plan have the same. Zero after a panic.
    pub digest: u64,
    /// What happened.
    pub tally: Tally,
    /// The log, if it was asked for.
    pub log: Vec<String>,
}

impl Outcome {
    /// What comes of a run that is not heard of again.
    pub(crate) fn endless() -> Self {
        let text = format!("it did not within {} s", PATIENCE.as_secs());
        Self::broken(ENDLESS, text)
    }

    /// Is it what comes of a run that is not heard of again?
    pub fn is_endless(&self) -> bool {
        self.failure
            .as_ref()
            .is_some_and(|f| f.invariant == ENDLESS)
    }

    /// What comes of a run that leaves nothing behind.
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

/// The invariant that an endless run breaks.
const ENDLESS: &str = "the run ends";

/// How a run is watched.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Is the log kept?
    pub trace: bool,
    /// An event, as the report names it, that counts as a failure: to find and shrink a run in which
    /// something happens.
    pub forbid: Option<String>,
}
