//! One client of the near side: the address of a program, and the connection that carries its datagrams.
//!
//! A session makes its connection when the first datagram comes. If the connection is lost, the next datagram begins
//! another one, after a pause if the attempts fail. It ends after silence, or when the peer closes it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::counters::{Counters, Reason};
use super::uplink::Uplink;

/// The pauses between attempts that fail: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// The most bytes of datagrams that wait for a connection: 64 that fit into packets of 1,500.
const WAITING_BYTES: usize = 96 << 10;

/// A client and where its datagrams go.
#[derive(Debug)]
pub(super) struct Session {
    pub client: SocketAddr,
    /// Whether the peer has ever sent something.
    pub answered: Arc<AtomicBool>,
    state: Mutex<State>,
    /// Wakes the session's task when a datagram asks for a connection.
    pub wanted: Notify,
}

#[derive(Debug)]
struct State {
    way: Way,
    /// When the last datagram passed, in either direction.
    last: Instant,
    /// The pause after the next failure.
    pause: Duration,
}

#[derive(Debug)]
enum Way {
    /// The connection is being made; these wait for it.
    Connecting(VecDeque<(Instant, Bytes)>),
    Open(Arc<Uplink>),
    /// There is none. From this time on, a datagram asks for one.
    Closed(Instant),
}

impl Session {
    /// Returns a session whose first datagram waits for a connection.
    pub(super) fn new(client: SocketAddr, now: Instant, first: Bytes) -> Self {
        Self {
            client,
            answered: Arc::default(),
            wanted: Notify::new(),
            state: Mutex::new(State {
                way: Way::Connecting(VecDeque::from([(now, first)])),
                last: now,
                pause: PAUSES.0,
            }),
        }
    }

    /// Takes a datagram of the client: sends it, keeps it until there is a connection, or counts why not.
    pub(super) fn offer(&self, now: Instant, datagram: Bytes, limit: usize, counters: &Counters) {
        let mut state = self.lock();
        state.last = now;
        match &mut state.way {
            Way::Open(uplink) => uplink.send(datagram, None),
            Way::Connecting(waiting)
                if waiting.len() < limit && bytes_of(waiting) + datagram.len() <= WAITING_BYTES =>
            {
                waiting.push_back((now, datagram));
            }
            Way::Connecting(_) => counters.drop_one(Reason::WaitingFull),
            Way::Closed(until) if now < *until => counters.drop_one(Reason::SessionLost),
            Way::Closed(_) => {
                state.way = Way::Connecting(VecDeque::from([(now, datagram)]));
                self.wanted.notify_one();
            }
        }
    }

    /// Sends what waited, and what comes from now on, into `uplink`. What waited for longer than `within` has expired.
    pub(super) fn opened(
        &self,
        now: Instant,
        uplink: &Arc<Uplink>,
        within: Option<Duration>,
        counters: &Counters,
    ) {
        let mut state = self.lock();
        let way = std::mem::replace(&mut state.way, Way::Open(uplink.clone()));
        let Way::Connecting(waiting) = way else {
            return;
        };
        for (at, datagram) in waiting {
            let left = within.map(|within| within.checked_sub(now.duration_since(at)));
            match left {
                Some(None) => counters.drop_one(Reason::Expired),
                // It has waited for a part of its time.
                Some(left) => uplink.send(datagram, left),
                None => uplink.send(datagram, None),
            }
        }
    }

    /// Notes that there is no connection any more, or none came about: what waited is lost. If `has_failed`, the next
    /// one has to wait for a pause, which grows.
    pub(super) fn closed(&self, now: Instant, has_failed: bool, counters: &Counters) {
        let mut state = self.lock();
        let until = if has_failed {
            let pause = state.pause;
            state.pause = (pause * 2).min(PAUSES.1);
            now + pause
        } else {
            state.pause = PAUSES.0;
            now
        };
        if let Way::Connecting(waiting) = std::mem::replace(&mut state.way, Way::Closed(until)) {
            counters.drop_many(Reason::SessionLost, waiting.len() as u64);
        }
    }

    /// Notes that a datagram of the peer passed.
    pub(super) fn touch(&self, now: Instant) {
        self.answered.store(true, Ordering::Relaxed);
        self.lock().last = now;
    }

    /// Returns when the session ends if nothing passes until then.
    pub(super) fn ends_at(&self, idle: Duration) -> Instant {
        self.lock().last + idle
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bytes_of(waiting: &VecDeque<(Instant, Bytes)>) -> usize {
    waiting.iter().map(|(_, datagram)| datagram.len()).sum()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use tokio::time::Instant;

    use super::super::counters::{Counters, Reason};
    use super::Session;

    /// Datagrams wait for the first connection up to the limit. After a failure those that come during the pause are
    /// counted, and the next one asks again. The pauses grow, and none follows a connection that had worked.
    #[test]
    fn what_has_no_connection_is_counted() {
        let counters = Counters::default();
        let datagram = Bytes::from_static(b"datagram");
        let mut now = Instant::now();
        let session = Session::new(([192, 0, 2, 1], 7).into(), now, datagram.clone());
        let dropped = |reason| counters.totals().dropped.of(reason);
        for _ in 0..3 {
            session.offer(now, datagram.clone(), 2, &counters);
        }
        assert_eq!(dropped(Reason::WaitingFull), 2);
        session.closed(now, true, &counters);
        assert_eq!(dropped(Reason::SessionLost), 2, "both that waited");
        for pause in [1, 2, 4] {
            session.offer(now, datagram.clone(), 2, &counters);
            now += Duration::from_secs(pause);
            let before = dropped(Reason::SessionLost);
            session.offer(now, datagram.clone(), 2, &counters);
            assert_eq!(dropped(Reason::SessionLost), before, "it waits");
            session.closed(now, true, &counters);
        }
        assert_eq!(dropped(Reason::SessionLost), 2 + 2 * 3);
        session.closed(now, false, &counters);
        session.offer(now, datagram, 2, &counters);
        assert_eq!(dropped(Reason::SessionLost), 8, "no pause");
        assert_eq!(
            session.ends_at(Duration::from_secs(5)),
            now + Duration::from_secs(5)
        );
    }
}
