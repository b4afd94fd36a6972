//! The task of an endpoint, or of one of its shards. Only this task receives.
//!
//! In each turn it sends what the congestion controllers permit, wakes the tasks that wait, and then sleeps until a
//! datagram arrives, a timer fires or the application changes something. It locks the state only while it calls the
//! protocol, never during a system call. While it sleeps, handles may send ([`crate::sending`]).

mod moving;

use std::io;
use std::sync::Arc;
use std::task::Waker;

use tokio::io::Ready;
use tokio::task::yield_now;

use fairwire_proto::{IcmpError, IcmpQuote, Meta, Path, Unreachable};
use fairwire_units::Instant;

use crate::divert::Divert;
use crate::handover::Siblings;
use crate::outbox::Outbox;
use crate::state::Shared;
use crate::timer::Timer;
use crate::transport::{Batch, Facts, Inbox, Transport, arrived_at};
use moving::Moving;

/// Datagrams received after which the application gets its turn. Without this the application's queues overflow on a
/// runtime with one thread.
const YIELD_AFTER: usize = 128;

/// Datagrams handled under one lock. The application's calls then need not wait for the entire inbox, which may hold
/// 2,048.
const MAX_PER_LOCK: usize = 128;

/// Batches sent in one turn, each of at most 64 packets. Many connections may have more to send.
const MAX_BATCHES: usize = 64;

/// The driver of one endpoint or shard.
#[derive(Debug)]
pub(crate) struct Driver<T: Transport> {
    shared: Arc<Shared>,
    siblings: Siblings,
    transport: T,
    timer: Timer,
    inbox: Inbox,
    wakes: Vec<Waker>,
    /// Takes what is not DCCP.
    divert: Option<Divert>,
    moving: Moving,
    /// Datagrams received since the application had its turn.
    received: usize,
    /// Whether the application gets its turn now, however few datagrams were received.
    must_yield: bool,
}

impl<T: Transport> Driver<T> {
    /// Makes the driver of shard `own` of an endpoint.
    pub(crate) fn new(
        shards: &Arc<[Arc<Shared>]>,
        own: usize,
        transport: T,
        divert: Option<Divert>,
    ) -> Self {
        let shared = Arc::clone(&shards[own]);
        Self {
            siblings: Siblings::new(Arc::clone(shards), own),
            timer: Timer::new(shared.clock),
            inbox: Inbox::new(shared.facts.message),
            shared,
            wakes: Vec::new(),
            divert,
            moving: Moving::default(),
            received: 0,
            must_yield: false,
            transport,
        }
    }

    /// Runs until no handle and no connection is left.
    pub(crate) async fn run(mut self) {
        while let Some((now, wake, has_mobile)) = self.flush() {
            self.moving.listen(&self.shared, has_mobile);
            let more = std::mem::take(&mut self.must_yield);
            if more || self.received >= YIELD_AFTER {
                self.received = 0;
                yield_now().await;
            }
            if !self.inbox.is_empty() {
                self.deliver();
                continue;
            }
            self.timer.set(now, wake);
            tokio::select! {
                biased; // Every turn serves the others; the order matters only here.
                // First, or a socket that is always ready would hide it. It pauses by itself.
                () = self.moving.changed(&self.shared) => drop(self.moving.look(&self.shared, None)),
                ready = self.transport.ready() => match ready {
                    Ok(ready) => self.on_ready(ready),
                    Err(_) => return, // The runtime shuts down.
                },
                () = self.shared.notify.notified() => self.received = 0,
                () = std::future::ready(()), if more => {}
                () = self.timer.fired() => {}
            }
        }
    }

    /// Sends everything that may leave now. Returns the time, when to wake, and whether a connection may have to go to
    /// another address of this host; or `None` at the end.
    fn flush(&mut self) -> Option<(Instant, Option<Instant>, bool)> {
        let shared = Arc::clone(&self.shared);
        let mut outbox = shared.outbox();
        let outbox = outbox.as_mut()?;
        // Done whatever woke us, so that a socket with a constant stream to read does not block sending.
        if let Some(until) = outbox.blocked {
            outbox.blocked = Some(until).filter(|&until| until > shared.clock.now());
        }
        let mut batches = 0;
        loop {
            self.send(outbox);
            let mut state = shared.lock();
            let now = shared.clock.now();
            state.changed = false;
            state.pushed = 0;
            let again = state.gather(now, outbox);
            let wake = Instant::earliest([state.proto.next_timeout(), outbox.blocked]);
            state.wakes_at = self.timer.fires_at(now, wake);
            batches += 1;
            let done = outbox.blocked.is_some() || (outbox.batch.is_empty() && !again);
            let stops = done || batches == MAX_BATCHES;
            let finished = state.is_finished();
            let has_mobile = state.proto.has_mobile();
            // Whoever gets a handle from now on gets it too late.
            state.driver_ended |= stops && finished;
            self.must_yield |= std::mem::take(&mut state.is_backlog_full);
            drop(state);
            outbox.wake();
            self.must_yield |= batches == MAX_BATCHES;
            if stops {
                return (!finished).then_some((now, wake, has_mobile));
            }
        }
    }

    /// Sends the gathered packets until the socket has no more room.
    fn send(&mut self, outbox: &mut Outbox) {
        while outbox.send(self.shared.clock).is_err() {
            self.send_again(outbox);
        }
    }

    /// Handles a failed send call. The call may only have reported an ICMP error about an earlier datagram.
    fn send_again(&mut self, outbox: &mut Outbox) {
        self.drain_errors();
        if let Err(error) = outbox.send_next(self.shared.clock) {
            if self.moving.on_refused(&self.shared, outbox, &error) {
                outbox.batch.set_max_segments(outbox.outlet.max_segments());
                return; // They leave from another address.
            }
            // Send one by one, in case the system cannot split batches after all.
            let Outbox { outlet, batch, .. } = outbox;
            batch.set_max_segments(outlet.max_segments());
            let cut = batch.segment_size().is_some();
            if !cut || outlet.send_singly(batch) == 0 {
                self.report_failure(&error, batch);
            }
            batch.advance(); // A packet that cannot leave is lost, like any lost datagram.
        }
    }

    /// Tells the protocol the system's error about a packet that it refused to send.
    fn report_failure(&self, error: &io::Error, batch: &Batch) {
        let path = batch.path();
        let unreachable = |why| IcmpError::Unreachable { why };
        let icmp = match error.kind() {
            // These are all soft errors: the system may mean an earlier datagram to another peer. A port or protocol
            // error always concerns an earlier datagram, and comes through the error queue.
            io::ErrorKind::NetworkUnreachable => unreachable(Unreachable::Network),
            io::ErrorKind::HostUnreachable => unreachable(Unreachable::Host),
            io::ErrorKind::PermissionDenied => unreachable(Unreachable::NotPermitted),
            _ if quinn_udp::is_msg_size_err(error) => {
                let route = self.shared.system.route(path.local, path.remote).ok();
                let Some(mtu) = route.and_then(|route| route.mtu) else {
                    return;
                };
                IcmpError::TooBig { mtu }
            }
            _ => return,
        };
        let quote = IcmpQuote {
            error: icmp,
            head: batch.first(),
        };
        let now = self.shared.clock.now();
        self.shared.lock().proto.handle_icmp(now, path, quote);
    }

    /// Handles the readiness that ended the wait.
    fn on_ready(&mut self, ready: Ready) {
        if ready.is_error() {
            self.drain_errors();
        }
        if !ready.is_readable() && !ready.is_read_closed() {
            return;
        }
        match self.transport.receive(&mut self.inbox) {
            Ok(()) => self.deliver(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Most likely this reports an ICMP error; the next call will succeed.
            Err(_) => self.drain_errors(),
        }
    }

    /// Passes received datagrams to the protocol, as many as one lock may cover.
    fn deliver(&mut self) {
        let Facts {
            local: bound,
            encapsulation,
            ..
        } = self.shared.facts;
        let mut state = self.shared.lock();
        let now = self.shared.clock.now();
        let received = self.inbox.drain(bound, MAX_PER_LOCK, |arrived| {
            let takes = |divert: &Divert| divert.takes(arrived.bytes, arrived.remote);
            if self.divert.as_ref().is_some_and(takes) {
                return;
            }
            let Some(arrived) = self.transport.unwrap(arrived) else {
                return;
            };
            let meta = Meta {
                path: Path {
                    encapsulation,
                    local: arrived.local,
                    remote: arrived.remote,
                },
                ecn: arrived.ecn,
            };
            if self.siblings.keep(meta, arrived.bytes) {
                return;
            }
            // In one piece: the protocol finds where the header ends.
            state
                .proto
                .handle_datagram(now, meta, arrived.bytes, arrived.payload());
        });
        // Readers on other threads begin while this one writes acknowledgements. The Resets of connections that are
        // aborted here leave with those.
        state.take_events(now, &mut self.wakes);
        // What answers these datagrams leaves with the flush that follows; until then nothing is idle.
        state.sending = true;
        drop(state);
        self.received += received;
        for waker in self.wakes.drain(..) {
            waker.wake();
        }
        self.siblings.hand_over();
    }

    /// Resets the remaining connections and sends what can be sent at once.
    ///
    /// The peers then know that this program ended, even if it did not close its connections or panicked.
    fn abort_all(&mut self) {
        let mut state = self.shared.lock();
        state.driver_ended = true;
        let now = self.shared.clock.now();
        let open: Vec<_> = state.connections.keys().copied().collect();
        for id in open {
            state.proto.abort(now, id);
        }
        drop(state);
        let _ = self.flush();
    }

    /// Passes ICMP errors to the protocol.
    fn drain_errors(&self) {
        let Facts {
            local: bound,
            encapsulation,
            ..
        } = self.shared.facts;
        self.transport.drain_errors(|found| {
            let path = Path {
                encapsulation,
                local: arrived_at(bound, found.local),
                remote: found.remote,
            };
            let quote = IcmpQuote {
                error: found.error,
                head: found.quote,
            };
            self.siblings.report(path, quote);
        });
    }
}

impl<T: Transport> Drop for Driver<T> {
    /// Runs when the runtime shuts down or when the endpoint is finished.
    fn drop(&mut self) {
        if self.shared.is_sound() {
            self.abort_all();
        }
        self.shared.outbox().take();
        self.shared.lock().shut_down(&mut self.wakes);
        for waker in self.wakes.drain(..) {
            waker.wake();
        }
    }
}
