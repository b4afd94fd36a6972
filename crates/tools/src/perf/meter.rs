//! Counters of a flow that runs, read at every interval and at the end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fairwire::tls::OVERHEAD;
use fairwire::{Connection, Stats};
use fairwire_measure::{Arrival, InterarrivalJitter, LossAccount};
use fairwire_units::Instant;

use super::cpu;
use super::link::Link;

/// The counters of a flow, shared by the task that transfers the data and the task that prints.
#[derive(Clone, Debug)]
pub(crate) struct Meter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// When the counters were made: the two sides have agreed on the flow.
    epoch: std::time::Instant,
    /// How long after that the test began, ns: the two sides have agreed on its last flow.
    start: AtomicU64,
    /// The connection that has more information; DCCP only.
    connection: Option<Connection>,
    /// The bytes that encryption adds to each message in the statistics of the connection.
    overhead: u64,
    /// The messages of the agreement, and their bytes, which do not count.
    before: (u64, u64),
    counts: Mutex<Counts>,
}

/// What was sent or received.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// The number of messages, each counted once.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Messages that a router marked (ECN).
    pub marked: u64,
    /// Missing, late and duplicate messages, at the receiver.
    pub account: LossAccount,
    /// The jitter of RFC 3550, at the receiver.
    pub jitter: InterarrivalJitter,
    /// When the last message was sent or received.
    pub last: Option<Instant>,
    /// What DCCP knows about the connection.
    pub stats: Option<Stats>,
    /// Messages, and their bytes, that are known to have left the send queue.
    left_queue: (u64, u64),
    /// Messages, and their bytes, that were sent between the data and do not count.
    control: (u64, u64),
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            datagrams: 0,
            bytes: 0,
            marked: 0,
            account: LossAccount::new(0),
            jitter: InterarrivalJitter::default(),
            last: None,
            stats: None,
            left_queue: (0, 0),
            control: (0, 0),
        }
    }
}

impl Meter {
    /// Makes counters at zero, for the messages that are given to `link` from now on.
    pub(crate) fn of(link: &Link) -> Self {
        let connection = match link {
            Link::Dccp(connection) => Some(connection.clone()),
            Link::Udp(_) | Link::Tcp(_) => None,
        };
        let is_encrypted = connection.as_ref().is_some_and(Connection::is_encrypted);
        let overhead = if is_encrypted { OVERHEAD as u64 } else { 0 };
        let stats = connection.as_ref().map(Connection::stats);
        let before = stats.map_or((0, 0), |stats| {
            let (sent, queued) = (sent(&stats, overhead), queued(&stats, overhead));
            (sent.0 + queued.0, sent.1 + queued.1)
        });
        Self::new(connection, overhead, before)
    }

    fn new(connection: Option<Connection>, overhead: u64, before: (u64, u64)) -> Self {
        Self(Arc::new(Shared {
            epoch: cpu::now(),
            start: AtomicU64::new(0),
            connection,
            overhead,
            before,
            counts: Mutex::default(),
        }))
    }

    /// Counts time from now on. No message has been counted yet.
    pub(crate) fn start(&self) {
        let now = cpu::since(self.0.epoch).as_nanos();
        self.0.start.store(now, Ordering::Relaxed);
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Counts> {
        let counts = self.0.counts.lock();
        counts.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current counters, with the current statistics of the protocol.
    pub(crate) fn read(&self) -> Counts {
        let mut counts = self.lock();
        // In this order: every counted message is or was in the queue, so none is counted as sent too early.
        counts.stats = self.0.connection.as_ref().map(Connection::stats);
        counts.update_left_queue(self.0.before, self.0.overhead);
        counts.clone()
    }

    /// Returns the time since the test began.
    pub(crate) fn now(&self) -> Instant {
        let start = self.0.start.load(Ordering::Relaxed);
        let now = cpu::since(self.0.epoch).as_nanos();
        Instant::from_nanos(now.saturating_sub(start))
    }

    /// Returns when the last message was sent or received.
    pub(crate) fn last_moved(&self) -> Option<std::time::Instant> {
        let last = self.lock().last?;
        let after = last.saturating_since(Instant::START);
        let start = Duration::from_nanos(self.0.start.load(Ordering::Relaxed));
        self.0.epoch.checked_add(start + Duration::from(after))
    }
}

/// Returns the messages that the protocol sent, and their bytes without `overhead` for each.
fn sent(stats: &Stats, overhead: u64) -> (u64, u64) {
    plain(stats.data_sent, stats.bytes_sent, overhead)
}

/// Returns the messages that wait in the send queue, and their bytes without `overhead` for each.
fn queued(stats: &Stats, overhead: u64) -> (u64, u64) {
    plain(
        stats.queued_packets as u64,
        stats.queued_bytes as u64,
        overhead,
    )
}

fn plain(messages: u64, bytes: u64, overhead: u64) -> (u64, u64) {
    (messages, bytes.saturating_sub(messages * overhead))
}

impl Counts {
    /// Counts a message that was sent, or that waits in DCCP's send queue.
    pub(crate) fn sent(&mut self, now: Instant, bytes: usize) {
        self.datagrams += 1;
        self.bytes += bytes as u64;
        self.moved(now);
    }

    /// Records a message that is no data and is sent between the data.
    pub(crate) fn sent_control(&mut self, bytes: usize) {
        self.control.0 += 1;
        self.control.1 += bytes as u64;
    }

    /// Counts message `number`, which arrived. Returns whether it is the first copy.
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

    /// Updates the messages that have left, from the protocol's statistics: not those that wait in DCCP's send queue,
    /// nor those that it gave up. `before` are the messages, and their bytes, that the protocol sent before these, and
    /// `overhead` the bytes that encryption adds to each.
    fn update_left_queue(&mut self, before: (u64, u64), overhead: u64) {
        let (mut datagrams, mut bytes) = (self.datagrams, self.bytes);
        if let Some(stats) = &self.stats {
            let (sent, queued) = (sent(stats, overhead), queued(stats, overhead));
            datagrams = datagrams.saturating_sub(queued.0);
            bytes = bytes.saturating_sub(queued.1);
            datagrams = datagrams.min(sent.0.saturating_sub(before.0 + self.control.0));
            bytes = bytes.min(sent.1.saturating_sub(before.1 + self.control.1));
        }
        // Control messages wait in the same queue, and so does a message that is about to be counted. So the queue may
        // grow a little although no message came back.
        self.left_queue = (
            self.left_queue.0.max(datagrams),
            self.left_queue.1.max(bytes),
        );
    }

    /// Returns the messages, and their bytes, that have left, as of the last [`read`](Meter::read); it never decreases.
    pub(crate) fn left_queue(&self) -> (u64, u64) {
        self.left_queue
    }

    /// Records that a message was sent or received.
    pub(crate) fn moved(&mut self, now: Instant) {
        self.last = Some(now);
    }

    /// Records that the sender sent for `seconds`, as it says: at most until `now`.
    pub(crate) fn lasted(&mut self, seconds: f64, now: Instant) {
        let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO);
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let end = Instant::from_nanos(nanos).min(now);
        self.last = self.last.max(Some(end));
    }

    /// Returns the seconds from the beginning of the test to the last message, or to the end of sending.
    ///
    /// Both ends begin so: a receiver that began with its first message would leave out the time in which the path lost
    /// everything.
    pub(crate) fn seconds(&self) -> f64 {
        self.last.map_or(0.0, |last| {
            last.saturating_since(Instant::START).as_secs_f64()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fairwire::Stats;
    use fairwire_units::Instant;

    use super::super::report::SenderReport;
    use super::{Counts, Meter, cpu};

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

    /// A control message that waits behind the data, or a datagram that is not yet counted, does not reduce what has
    /// left. Otherwise the next line would count it twice.
    #[test]
    fn what_has_left_stays_so() {
        let mut counts = handed_over(10);
        counts.stats = Some(stats(2, 8));
        counts.update_left_queue((0, 0), 0);
        assert_eq!(counts.left_queue(), (8, 800));
        counts.stats = Some(stats(4, 8));
        counts.update_left_queue((0, 0), 0);
        assert_eq!(counts.left_queue(), (8, 800));
        counts.stats = Some(stats(0, 10));
        counts.update_left_queue((0, 0), 0);
        assert_eq!(counts.left_queue(), (10, 1_000));
    }

    /// Encrypted messages count with the bytes that they have without encryption.
    #[test]
    fn encryption_does_not_count() {
        let mut counts = handed_over(10);
        let mut encrypted = stats(2, 8);
        encrypted.queued_bytes += 2 * 22;
        encrypted.bytes_sent += 8 * 22;
        counts.stats = Some(encrypted);
        counts.update_left_queue((0, 0), 22);
        assert_eq!(counts.left_queue(), (8, 800));
    }

    /// Messages that still wait when a flow ends, or that were given up with the connection, are not sent in the
    /// summary either.
    #[test]
    fn a_summary_tells_what_has_left() {
        for (queued, sent) in [(256, 44), (0, 44)] {
            let mut counts = handed_over(300);
            counts.stats = Some(stats(queued, sent));
            counts.update_left_queue((0, 0), 0);
            let mut report = SenderReport::of(&counts, None);
            report.keep_sent(&counts);
            assert_eq!((report.datagrams, report.bytes), (44, 4_400));
        }
    }

    /// The messages of the agreement do not stand for data that never left. The time begins with the agreement, although
    /// the first message moved later.
    #[test]
    fn only_data_counts_from_the_agreement_on() {
        let mut counts = handed_over(10);
        counts.stats = Some(stats(0, 9));
        counts.update_left_queue((2, 200), 0);
        assert_eq!(counts.left_queue(), (7, 700));
        // Another message that is no data left, and one of the ten still waits.
        counts.sent_control(100);
        counts.stats = Some(stats(0, 11));
        counts.update_left_queue((2, 200), 0);
        assert_eq!(counts.left_queue(), (8, 800));
        let mut counts = Counts::default();
        assert_eq!(counts.seconds(), 0.0, "nothing moved");
        counts.sent(Instant::from_nanos(3_000_000_000), 100);
        assert_eq!(counts.seconds(), 3.0);
        // The sender sent for longer. What it says is not believed beyond the present.
        let now = Instant::from_nanos(6_000_000_000);
        for (said, seconds) in [
            (2.0, 3.0),
            (-1.0, 3.0),
            (f64::NAN, 3.0),
            (5.0, 5.0),
            (1e300, 5.0),
            (7.0, 6.0),
        ] {
            counts.lasted(said, now);
            assert_eq!(counts.seconds(), seconds, "{said}");
        }
    }

    /// A flow that waits for others has its time from the beginning of the test.
    #[test]
    fn the_wait_for_other_flows_does_not_count() {
        let wait = fairwire_units::Duration::from_millis(2);
        let made = cpu::now();
        let meter = Meter::new(None, 0, (0, 0));
        while meter.now().saturating_since(Instant::START) < wait {
            std::hint::spin_loop();
        }
        meter.start();
        let now = meter.now();
        let gone = cpu::since(made).saturating_since(Instant::START);
        assert!(now.saturating_since(Instant::START) + wait <= gone);
        meter.lock().moved(now);
        let moved = meter.last_moved().expect("moved");
        assert!(moved >= made + Duration::from(wait) && moved <= made + Duration::from(gone));
    }

    /// Over UDP and TCP no message waits in a queue.
    #[test]
    fn without_a_queue_all_has_left() {
        let mut counts = handed_over(3);
        counts.stats = None;
        counts.update_left_queue((0, 0), 0);
        assert_eq!(counts.left_queue(), (3, 300));
    }
}
