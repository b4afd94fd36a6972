//! The watch over a run: the log and its digest, the counts, and the oracle's failure.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fairwire_proto::ConnectionId;
use fairwire_units::Instant;
use xxhash_rust::xxh3::Xxh3;

use crate::describe;
use crate::events;
use crate::oracle::Oracle;
use crate::outcome::{Failure, Options, Tally};
use crate::seen::{PacketNo, Seen};
use crate::world::layout::sequence_number;

/// The most packets of a run. A few thousand are usual.
const MOST_PACKETS: u64 = 150_000;

/// The most steps of one endpoint call in loops whose length a packet determines.
///
/// An honest packet takes a few hundred. The fuzz targets have the same limit.
const MOST_STEPS: u64 = 20_000;

/// Calls the implementation with a limit of [`MOST_STEPS`].
pub(super) fn bounded<T>(call: impl FnOnce() -> T) -> T {
    fairwire_proto::within_steps(MOST_STEPS, call).0
}

/// The watch over a run.
pub(crate) struct Watch {
    oracle: Oracle,
    digest: Xxh3,
    line: String,
    lines: Option<Vec<String>>,
    pub(crate) tally: Tally,
    pub(crate) failure: Option<Failure>,
    datagrams: u64,
    seed: u64,
    /// The latest number that each connection sent, and whether it was short.
    latest: BTreeMap<(usize, ConnectionId), (u64, bool)>,
    forbidden: Option<String>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch")
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}

impl Watch {
    /// Creates a watch over a run of the plan of `seed`.
    pub(crate) fn new(seed: u64, options: &Options) -> Self {
        Self {
            oracle: Oracle::new(),
            digest: Xxh3::new(),
            line: String::new(),
            lines: options.trace.then(Vec::new),
            latest: BTreeMap::new(),
            forbidden: options.forbid.clone(),
            tally: Tally::default(),
            failure: None,
            datagrams: 0,
            seed,
        }
    }

    /// Returns whether the run has failed.
    pub(crate) fn is_over(&self) -> bool {
        self.failure.is_some()
    }

    /// Logs and counts an observation, and passes it to the oracle.
    pub(crate) fn see(&mut self, now: Instant, host: usize, seen: &Seen<'_>) {
        if self.is_over() {
            return;
        }
        self.tally.until = self.tally.until.max(now.as_nanos());
        let name = self.count(host, seen);
        self.line.clear();
        if describe::describe(&mut self.line, seen) {
            self.write(now, host);
        }
        if let (Some(name), Some(forbidden)) = (name, &self.forbidden)
            && name == *forbidden
        {
            self.fail(now, host, "forbidden", name);
        }
        if let Err(violation) = self.oracle.see(now, host, seen) {
            self.fail(now, host, violation.invariant, violation.text);
        }
    }

    /// Logs something that the oracle does not see, such as a fault.
    pub(crate) fn note(&mut self, now: Instant, host: usize, args: std::fmt::Arguments<'_>) {
        if self.is_over() {
            return;
        }
        self.line.clear();
        let _ = self.line.write_fmt(args);
        self.write(now, host);
    }

    /// Counts a packet or a host that a fault has affected.
    pub(crate) fn fault(&mut self, name: &'static str) {
        if !self.is_over() {
            *self.tally.faults.entry(name).or_default() += 1;
        }
    }

    /// Returns the number of the next packet that is sent.
    pub(crate) fn next_packet(&mut self, now: Instant, host: usize) -> PacketNo {
        self.tally.packets += 1;
        if self.tally.packets > MOST_PACKETS {
            let text = format!("more than {MOST_PACKETS} packets");
            self.fail(now, host, "bounded work", text);
        }
        PacketNo(self.tally.packets)
    }

    /// Returns the data of the next datagram: a tag, then bytes that no other datagram has.
    pub(crate) fn datagram(&mut self, size: usize) -> Vec<u8> {
        self.datagrams += 1;
        let mut data = Vec::with_capacity(size + 8);
        data.extend_from_slice(&self.datagrams.to_be_bytes());
        let mut word = self.seed ^ self.datagrams << 32 | 1;
        while data.len() < size {
            // Xorshift suffices to distinguish data.
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            data.extend_from_slice(&word.to_be_bytes());
        }
        data.truncate(size);
        data
    }

    /// Returns the digest of the log.
    pub(crate) fn digest(&self) -> u64 {
        self.digest.digest()
    }

    /// Returns the log, if it was kept.
    pub(crate) fn take_lines(&mut self) -> Vec<String> {
        self.lines.take().unwrap_or_default()
    }

    fn fail(&mut self, now: Instant, host: usize, invariant: &str, text: String) {
        self.line.clear();
        let _ = write!(self.line, "VIOLATED {invariant}: {text}");
        self.write(now, host);
        self.failure = Some(Failure {
            invariant: invariant.to_owned(),
            text,
            at_ns: now.as_nanos(),
            host,
        });
    }

    fn write(&mut self, now: Instant, host: usize) {
        let mut place = [0; 9];
        place[..8].copy_from_slice(&now.as_nanos().to_le_bytes());
        place[8] = u8::try_from(host).unwrap_or(u8::MAX);
        self.digest.update(&place);
        self.digest.update(self.line.as_bytes());
        if let Some(lines) = &mut self.lines {
            lines.push(format!("{:>14.6} h{host} {}", now.as_secs_f64(), self.line));
        }
    }

    /// Counts an observation. Returns the name if it is an event.
    fn count(&mut self, host: usize, seen: &Seen<'_>) -> Option<String> {
        let tally = &mut self.tally;
        match seen {
            Seen::Event { event, .. } => {
                let name = events::name(event);
                *tally.events.entry(name.clone()).or_default() += 1;
                return Some(name);
            }
            Seen::State {
                stats, inspection, ..
            } => {
                *tally.states.entry(inspection.state).or_default() += 1;
                for ccid in [stats.send_ccid, stats.receive_ccid].into_iter().flatten() {
                    *tally.ccids.entry(ccid.number()).or_default() += 1;
                }
            }
            Seen::Started { .. } => self.latest.retain(|&(of, _), _| of != host),
            Seen::Sent { head, transmit, .. } => {
                if let Some(id) = transmit.connection {
                    self.count_wraps((host, id), head);
                }
            }
            _ => {}
        }
        None
    }

    /// Counts the wraps of a connection's own sequence numbers.
    fn count_wraps(&mut self, of: (usize, ConnectionId), head: &[u8]) {
        const TURN: u64 = 1 << 24;
        let Some((number, is_short)) = sequence_number(head) else {
            return;
        };
        let Some((before, was_short)) = self.latest.insert(of, (number, is_short)) else {
            return;
        };
        let low = (before % TURN, number % TURN);
        let mut wrapped = |name| *self.tally.wraps.entry(name).or_default() += 1;
        // Numbers advance by far less than half of either circle.
        if low.1 < low.0 && low.0 - low.1 > TURN / 2 {
            wrapped(if is_short {
                "24 bits, short"
            } else {
                "24 bits"
            });
        }
        let is_long = !is_short && !was_short;
        if is_long && number < before && before - number > 1 << 47 {
            wrapped("48 bits");
        }
    }
}
