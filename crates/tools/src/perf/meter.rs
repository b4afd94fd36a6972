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
    /// Messages, and their bytes, of which it was seen that they had left.
    gone: (u64, u64),
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
            gone: (0, 0),
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
        let mut counts = self.lock();
        // In this order: what is counted is in the queue or was there, so nothing is taken to have left before it has.
        counts.stats = self.0.connection.as_ref().map(Connection::stats);
        counts.look();
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

    /// Takes from what the protocol knows what of the messages has left: neither what waits in DCCP's send
    /// queue nor what it gave up.
    fn look(&mut self) {
        let (mut datagrams, mut bytes) = (self.datagrams, self.bytes);
        if let Some(stats) = &self.stats {
            datagrams = datagrams.saturating_sub(stats.queued_packets as u64);
            bytes = bytes.saturating_sub(stats.queued_bytes as u64);
            datagrams = datagrams.min(stats.data_sent);
            bytes = bytes.min(stats.bytes_sent);
        }
        // Words between the two sides wait in the same queue, and so does what is about to be counted: a
        // little more may wait than before though nothing came back.
        self.gone = (self.gone.0.max(datagrams), self.gone.1.max(bytes));
    }

    /// Messages, and their bytes, that have left, as far as was [read](Meter::read); it never falls.
    pub(crate) fn left(&self) -> (u64, u64) {
        self.gone
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

#[cfg(test)]
mod tests {
    use fairwire::Stats;
    use fairwire_units::Instant;

    use super::super::report::SenderReport;
    use super::Counts;

    fn stats(queued: usize, sent: u64) -> Stats {
        let mut stats = Stats::default();
        (stats.queued_packets, stats.queued_bytes) = (queued, queued * 100);
        (stats.data_sent, stats.bytes_sent) = (sent, sent * 100);
        stats
    }

    fn handed_over(messages: u32) -> Counts {
        let mut counts = Counts::default();
        for _ in 0..messages {
            counts.sent(Instant::START, 100);
        }
        counts
    }

    /// A word that waits behind the data, or a datagram that is not counted yet, takes nothing back that has
    /// left: the line after would count it twice.
    #[test]
    fn what_has_left_stays_so() {
        let mut counts = handed_over(10);
        counts.stats = Some(stats(2, 8));
        counts.look();
        assert_eq!(counts.left(), (8, 800));
        counts.stats = Some(stats(4, 8));
        counts.look();
        assert_eq!(counts.left(), (8, 800));
        counts.stats = Some(stats(0, 10));
        counts.look();
        assert_eq!(counts.left(), (10, 1_000));
    }

    /// What waits when a flow ends, or was given up with its connection, is not sent in the summary either.
    #[test]
    fn a_summary_tells_what_has_left() {
        for (queued, sent) in [(256, 44), (0, 44)] {
            let mut counts = handed_over(300);
            counts.stats = Some(stats(queued, sent));
            counts.look();
            let mut report = SenderReport::of(&counts, None);
            report.settle(&counts);
            assert_eq!((report.datagrams, report.bytes), (44, 4_400));
        }
    }

    /// Over UDP and TCP there is nothing to wait in.
    #[test]
    fn without_a_queue_all_has_left() {
        let mut counts = handed_over(3);
        counts.stats = None;
        counts.look();
        assert_eq!(counts.left(), (3, 300));
    }
}
