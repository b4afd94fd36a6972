//! Packets that wait for the transport.
//!
//! The driver and the handles of an endpoint share them. Whoever sends holds their lock during the system call, so
//! packets leave in the order in which the protocol made them. It is taken before the lock of the state.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::task::Waker;

use fairwire_units::{Duration, Instant};
use fairwire_wire::HeadBuf;

use crate::clock::Clock;
use crate::transport::{Batch, Outlet};

/// The wait until the next attempt when the socket has no room. It is far less than the time that its buffer takes to
/// drain.
const RETRY: Duration = Duration::from_micros(200);

/// The next packets of an endpoint or shard, and what sends them.
pub(crate) struct Outbox {
    pub outlet: Arc<dyn Outlet>,
    pub batch: Batch,
    /// Where the protocol writes the header of the next packet.
    pub head: HeadBuf,
    /// Tasks to wake once the state is no longer locked.
    pub wakes: Vec<Waker>,
    /// When to send `batch` again, if the socket had no room for it.
    pub blocked: Option<Instant>,
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox")
            .field("outlet", &self.outlet)
            .finish_non_exhaustive()
    }
}

impl Outbox {
    pub(crate) fn new(outlet: Arc<dyn Outlet>) -> Self {
        Self {
            batch: Batch::new(outlet.max_segments()),
            outlet,
            head: HeadBuf::new(),
            wakes: Vec::new(),
            blocked: None,
        }
    }

    /// Returns whether another packet can be added.
    pub(crate) fn has_room(&self) -> bool {
        self.blocked.is_none() && self.batch.has_room()
    }

    /// Sends the packets until the socket has no more room.
    ///
    /// # Errors
    /// As for [`send_next`](Self::send_next).
    pub(crate) fn send(&mut self, clock: Clock) -> io::Result<()> {
        while self.blocked.is_none() && !self.batch.is_empty() {
            self.send_next(clock)?;
        }
        Ok(())
    }

    /// Sends the packets of one system call, unless the socket has no room.
    ///
    /// # Errors
    /// See [`Outlet::send`]. The packets stay here.
    pub(crate) fn send_next(&mut self, clock: Clock) -> io::Result<()> {
        match self.outlet.send(&self.batch) {
            Ok(()) => self.batch.advance(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.blocked = Some(clock.now() + RETRY);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Wakes the tasks. For the driver: a handle first releases the outbox, because a waker may run code of the application.
    pub(crate) fn wake(&mut self) {
        for waker in self.wakes.drain(..) {
            waker.wake();
        }
    }
}
