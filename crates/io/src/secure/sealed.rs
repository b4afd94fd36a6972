//! The datagrams that wait to be decrypted.

use std::collections::VecDeque;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fairwire_proto::Received;

use crate::sync::{Mutex, MutexGuard};

/// Datagrams that were taken out of DCCP's receive queue, in that order, and are not decrypted yet.
#[derive(Default)]
pub(super) struct Sealed {
    /// No other lock is taken under this one.
    queue: Mutex<VecDeque<Received>>,
    /// How many were pushed and are not readable yet.
    pending: AtomicUsize,
    /// How many were pushed; it wraps around.
    pushed: AtomicUsize,
    /// Whether a task waits until they are, because it saw nothing behind them.
    is_awaited: AtomicBool,
}

impl Sealed {
    fn queue(&self) -> MutexGuard<'_, VecDeque<Received>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, raw: Received) {
        self.pending.fetch_add(1, Ordering::SeqCst);
        self.pushed.fetch_add(1, Ordering::Relaxed);
        self.queue().push_back(raw);
    }

    /// Returns how many were pushed; it wraps around.
    pub(super) fn pushed(&self) -> usize {
        self.pushed.load(Ordering::Relaxed)
    }

    /// Takes the oldest. [`note_readable`](Self::note_readable) follows when its data can be read.
    pub(super) fn pop(&self) -> Option<Received> {
        self.queue().pop_front()
    }

    /// Notes that the data of one can be read. Returns whether a task waits for that.
    pub(super) fn note_readable(&self) -> bool {
        self.pending.fetch_sub(1, Ordering::SeqCst);
        self.is_awaited.swap(false, Ordering::SeqCst)
    }

    /// Returns whether any is not readable yet. Then the caller is woken when it is.
    pub(super) fn wait_for_pending(&self) -> bool {
        // `note_readable` has the other order, so at least one of both sees what the other did.
        self.is_awaited.store(true, Ordering::SeqCst);
        self.pending.load(Ordering::SeqCst) > 0
    }
}
