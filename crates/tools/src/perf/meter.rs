//! Counting one flow while it runs; what it says is read at every interval and at the end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairwire::{Connection, Stats};
use fairwire_measure::{Arrival, InterarrivalJitter, LossAccount};
use fairwire_units::Instant;

use super::cpu;
use super::link::Link;

/// A flow's counters, shared by the task that moves the flow and the one that prints.
#[derive(Clone, Debug)]
pub(crate) struct Meter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Time zero of the counters.
    epoch: std::time::Instant,
    /// Tells what the protocol knows; nothing but DCCP does.
    connection: Option<Connection>,
    counts: Mutex<Counts>,
}

/// What was sent or received.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// Messages, each counted once.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages that a router had marked.
    pub marked: u64,
    /// Received: what is missing, late or doubled.
    pub account: LossAccount,
    /// Received: RFC 3550's jitter.
    pub jitter: InterarrivalJitter,
    /// When the first and the last message moved.
    pub span: Option<(Instant, Instant)>,
    /// What the protocol knows.
    pub stats: Option<Stats>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            datagrams: 0,
            bytes: 0,
            marked: 0,
            account: LossAccount::new(0),
            jitter: InterarrivalJitter::default(),
            span: None,
            stats: None,
        }
    }
}

impl Meter {
    /// Counters at zero, from now on, of what moves over `link`.
    pub(crate) fn of(link: &Link) -> Self {
        let connection = match link {
            Link::Dccp(connection) => Some(connection.clone()),
            Link::Udp(_) | Link::Tcp(_) => None,
        };
        Self(Arc::new(Shared {
            epoch: cpu::now(),
            connection,
            counts: Mutex::default(),
        }))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Counts> {
        let counts = self.0.counts.lock();
        counts.unwrap_or_else(PoisonError::into_inner)
    }

    /// The counters now, with what the protocol knows now.
    pub(crate) fn read(&self) -> Counts {
        let stats = self.0.connection.as_ref().map(Connection::stats);
        let mut counts = self.lock();
        counts.stats = stats;
        counts.clone()
    }

    /// Time since the counters began.
    pub(crate) fn now(&self) -> Instant {
        cpu::since(self.0.epoch)
    }

    /// When the last message moved.
    pub(crate) fn last_moved(&self) -> Option<std::time::Instant> {
        let (_, last) = self.lock().span?;
        let after = last.saturating_since(Instant::START);
        self.0.epoch.checked_add(after.into())
    }
}

impl Counts {
    /// A message was handed over: it left, or waits in DCCP's send queue.
    pub(crate) fn sent(&mut self, now: Instant, bytes: usize) {
        self.datagrams += 1;
        self.bytes += bytes as u64;
        self.moved(now);
    }

    /// Message `number` arrived; says whether it is the first copy.
    pub(crate) fn received(
        &mut self,
        now: Instant,
        number: u64,
        sent: Instant,
        bytes: usize,
        marked: bool,
    ) -> bool {
        self.moved(now);
        let first = match self.account.arrived(number) {
            Arrival::New { .. } | Arrival::Late { .. } => true,
            Arrival::Duplicate | Arrival::TooLate => false,
        };
        if first {
            self.datagrams += 1;
            self.bytes += bytes as u64;
            self.marked += u64::from(marked);
            self.jitter.packet(sent, now);
        }
        first
    }

    /// Messages, and their bytes, that have left: what waits in DCCP's send queue has not.
    pub(crate) fn left(&self) -> (u64, u64) {
        let queued = self.stats.map_or((0, 0), |stats| {
            (stats.queued_packets as u64, stats.queued_bytes as u64)
        });
        (
            self.datagrams.saturating_sub(queued.0),
            self.bytes.saturating_sub(queued.1),
        )
    }

    /// A message moved.
    pub(crate) fn moved(&mut self, now: Instant) {
        let first = self.span.map_or(now, |(first, _)| first);
        self.span = Some((first, now));
    }

    /// Seconds from the first message to the last.
    pub(crate) fn seconds(&self) -> f64 {
        self.span.map_or(0.0, |(first, last)| {
            last.saturating_since(first).as_secs_f64()
        })
    }
}
