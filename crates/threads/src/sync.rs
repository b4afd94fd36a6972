//! The lock and the signal at which a model decides which thread runs next.

use std::sync::{LockResult, PoisonError, TryLockResult};

use shuttle::thread;

pub(crate) use shuttle::sync::MutexGuard;

/// A lock; other threads may run before it is taken and after it is released.
#[derive(Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        self.0.lock()
    }

    pub(crate) fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        self.0.try_lock()
    }

    /// Returns whether a thread panicked while it held the lock.
    pub(crate) fn is_poisoned(&self) -> bool {
        self.0.lock().map_err(PoisonError::into_inner).is_err()
    }
}

/// Tokio's own signal, which works on any executor; other threads may run before each use of it.
#[derive(Debug)]
pub(crate) struct Notify(tokio::sync::Notify);

impl Notify {
    pub(crate) fn new() -> Self {
        Self(tokio::sync::Notify::new())
    }

    pub(crate) fn notify_one(&self) {
        thread::yield_now();
        self.0.notify_one();
    }

    pub(crate) async fn notified(&self) {
        thread::yield_now();
        self.0.notified().await;
    }
}
