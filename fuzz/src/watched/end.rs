//! Memory, and the end: when nobody is there any more, nothing stays.

use fairwire_units::Duration;

use super::{BESIDE, HISTORIES, ROOM, TIME_WAIT, Watched};
use fairwire_held::thread;

/// How long it takes at most until nothing is left: keep-alive and idle timeout (45 s), `close` (10
/// s), a half-open connection (480 s) and TIMEWAIT (240 s, and a generation of 30 s), one after the other.
const LONGEST: Duration = Duration::from_secs(1_500);

/// Wake-ups at most until then: for each connection some dozen for retransmissions that back off, one for
/// each datagram that leaves paced (256) or expires, and one for each feedback.
const WAKE_UPS: u64 = 1_000;

impl Watched {
    /// The budget is kept, by the endpoint's count, and that count is true.
    pub(crate) fn check_memory(&self) {
        let stats = self.endpoint.endpoint_stats();
        let connections = self.known();
        let most = self.max_memory + connections * HISTORIES;
        assert!(
            stats.memory <= most,
            "{} bytes counted, {most} allowed",
            stats.memory
        );
        // Histories are counted anew after each 32 events.
        let tables = BESIDE + self.peak * ROOM + stats.time_wait * TIME_WAIT;
        let most = stats.memory + connections * HISTORIES + tables;
        let held = usize::try_from(self.held).unwrap_or(0);
        assert!(held <= most, "{held} bytes held, {most} counted");
    }

    /// Releases every connection that is closed.
    pub(crate) fn release(&mut self) {
        for id in std::mem::take(&mut self.closed) {
            self.apps.remove(&id);
            self.measured(|endpoint| endpoint.release(id));
        }
    }

    /// Nobody answers any more: lets time run on until nothing is left, and checks that it is so.
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
            // A connection without keep-alive may wait for ever, and a timer of TFRC go off meanwhile: after four of
            // its round trips, and a peer may have answered after days.
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
        let before = thread::held();
        drop(endpoint);
        assert_eq!(thread::held() - before + held, 0, "bytes that stay");
    }

    /// Nothing will ever happen by itself. That is right if only open connections are left whose
    /// application did without keep-alive: it closes them. False if there are none.
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
