//! How packets leave: by the driver, or by the handle that queued a datagram.
//!
//! A datagram on a quiet connection should not wait for another task. So unless the driver is about to look, the handle
//! takes the packets from the protocol and calls the system itself. Datagrams that follow soon are left to the driver:
//! it sends many in one call.

use fairwire_proto::ConnectionId;
use fairwire_units::{Duration, Instant};

use crate::outbox::Outbox;
use crate::state::{Shared, State};
use crate::timer;

/// For how long after a datagram the next ones of its connection are left to the driver. A turn of the driver in a bulk
/// flow takes less.
const QUIET: Duration = Duration::from_millis(1);

/// How often handles send between two turns of the driver. More is a loop over many connections, which costs less if the
/// driver does it.
const MOST: u8 = 8;

impl Shared {
    /// Notes that the application has queued a datagram. Returns whether the caller must [`push`](Self::push) it, once
    /// the state is no longer locked; otherwise the driver sends it.
    pub(crate) fn queued(&self, state: &mut State, now: Instant, id: ConnectionId) -> bool {
        if state.changed {
            return false; // The driver will look.
        }
        let connection = state.connections.get_mut(&id);
        let quiet = connection.is_some_and(|connection| now >= connection.busy_until);
        if !quiet || state.sending || state.pushed >= MOST {
            state.keep_busy(now, id);
            self.wake_driver(state);
            return false;
        }
        state.pushed += 1;
        true
    }

    /// Sends what may leave now, and wakes the driver if it has to do more.
    pub(crate) fn push(&self, id: ConnectionId) {
        // Who holds the outbox may have looked before the datagram was queued.
        let mut guard = self.outbox.try_lock().ok();
        let outbox = guard.as_deref_mut().and_then(Option::as_mut);
        let Some(outbox) = outbox.filter(|outbox| outbox.batch.is_empty()) else {
            return self.wake_driver(&mut self.lock());
        };
        let mut more = false;
        for is_sent in [false, true] {
            let mut state = self.lock();
            let now = self.clock.now();
            more |= state.gather(now, outbox);
            if is_sent {
                state.keep_busy(now, id);
                if more || !outbox.batch.is_empty() || state.is_due_earlier(now) {
                    self.wake_driver(&mut state);
                }
            }
            drop(state);
            if !is_sent {
                more |= outbox.send(self.clock).is_err();
            }
        }
        let wakes = std::mem::take(&mut outbox.wakes);
        drop(guard);
        for waker in wakes {
            waker.wake();
        }
    }
}

impl State {
    /// Adds packets that may leave now to the outbox, as many as it has room for, and takes the protocol's events. The
    /// caller wakes the outbox's tasks after it has released the lock. Returns whether a connection was aborted, so
    /// that there is more to send.
    pub(crate) fn gather(&mut self, now: Instant, outbox: &mut Outbox) -> bool {
        if self.proto.next_timeout().is_some_and(|at| at <= now) {
            self.proto.handle_timeout(now);
        }
        let mut dry = false;
        while outbox.has_room() && !dry {
            match self.proto.poll_transmit(now, &mut outbox.head) {
                Some(packet) => {
                    let head = outbox.head.as_slice();
                    outbox
                        .batch
                        .push(packet.path, packet.ecn, head, &packet.payload);
                }
                None => dry = true,
            }
        }
        let again = self.take_events(now, &mut outbox.wakes);
        self.sending = !dry || !outbox.batch.is_empty();
        self.wake_idlers(&mut outbox.wakes);
        again
    }

    /// Leaves to the driver what is queued on a connection soon.
    fn keep_busy(&mut self, now: Instant, id: ConnectionId) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.busy_until = now + QUIET;
        }
    }

    /// Returns whether a timer is due before the driver wakes by itself.
    fn is_due_earlier(&self, now: Instant) -> bool {
        let due = self.proto.next_timeout();
        timer::earliest(self.wakes_at, now, due) != self.wakes_at
    }
}
