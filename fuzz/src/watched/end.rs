//! Checks of memory, and of the end: when no connection is left, nothing is kept.

use fairwire_units::Duration;

use super::{FIXED_MEMORY, HISTORIES, ROOM, TIME_WAIT, Watched};
use fairwire_held::thread;

/// The longest time until nothing is left: keep-alive and idle timeout (45 s), `close` (10 s), a half-open connection
/// (480 s) and TIMEWAIT (240 s, and a generation of 30 s), one after the other.
const LONGEST: Duration = Duration::from_secs(1_500);

/// The most wake-ups until then. For each connection there are some dozen retransmissions with back-off, one wake-up
/// for each datagram that leaves paced (256) or expires, and one for each feedback.
const WAKE_UPS: u64 = 1_000;

impl Watched {
    /// Checks that the memory budget is kept by the endpoint's count, and that the count is true.
    pub(crate) fn check_memory(&self) {
        let stats = self.endpoint.endpoint_stats();
        let connections = self.known();
        let most = self.max_memory + connections * HISTORIES;
        assert!(
            stats.memory <= most,
            "{} bytes counted, {most} allowed",
            stats.memory
        );
        // Histories are counted again after every 32 events.
        let tables = FIXED_MEMORY + self.peak * ROOM + stats.time_wait * TIME_WAIT;
        let most = stats.memory + connections * HISTORIES + tables;
        let held = usize::try_from(self.held).unwrap_or(0);
        assert!(held <= most, "{held} bytes held, {most} counted");
    }

    /// Releases every closed connection.
    pub(crate) fn release(&mut self) {
        for id in std::mem::take(&mut self.closed) {
            self.apps.remove(&id);
            self.measured(|endpoint| endpoint.release(id));
        }
    }

    /// Lets time pass without any answer until nothing is left, and checks that this is so.
    pub(crate) fn finish(mut self) {
        let connections = self.endpoint.endpoint_stats().connections as u64;
        let most = WAKE_UPS * (connections + 1);
        let (begun, mut wake_ups) = (self.now, 0);
        self.releases = true;
        self.call(begun, |_| ());
        let mut closing = false;
        loop {
            self.out.clear();
            let next = self.next_timeout().map(|at| self.now.max(at));
            // A connection without keep-alive may wait for ever. A timer of TFRC may still expire, after four of its
            // round trips, and a peer may have answered after days.
            let waited = next.is_some_and(|at| at - begun > LONGEST / 2);
            let quiet = waited && !self.keeps_alive && !closing && !self.ids().is_empty();
            if let Some(at) = next.filter(|_| !quiet) {
                self.wake(at);
                wake_ups += 1;
                assert!(wake_ups <= most, "{wake_ups} wake-ups in silence");
                assert!(self.now - begun <= LONGEST, "something lasts for ever");
            } else if closing || !self.close_quiet() {
                break;
            } else {
                closing = true;
            }
        }
        let stats = self.endpoint.endpoint_stats();
        assert_eq!(
            (stats.connections, stats.half_open, stats.time_wait),
            (0, 0, 0)
        );
        assert_eq!(stats.memory, 0, "bytes of no connection");
        self.check_memory();
        let Self { endpoint, held, .. } = self;
        let before = thread::bytes();
        drop(endpoint);
        assert_eq!(thread::bytes() - before + held, 0, "bytes that stay");
    }

    /// Closes the connections that would otherwise stay for ever. Only open connections without keep-alive may be left
    /// then. Returns whether there were any.
    fn close_quiet(&mut self) -> bool {
        let open: Vec<_> = self.ids();
        for &id in &open {
            assert!(!self.keeps_alive, "{id:?} has no timer");
            assert!(self.is_open(id), "{id:?} is neither open nor ends");
            let now = self.now;
            self.call(now, |endpoint| endpoint.discard(now, id));
        }
        !open.is_empty()
    }
}
