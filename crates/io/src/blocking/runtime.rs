//! The thread that runs the drivers of all blocking endpoints.

use std::future::{Future, pending};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};

use crate::error::BindError;

/// The runtime of the thread, once it runs.
static RUNNING: Mutex<Option<Handle>> = Mutex::new(None);

/// Where blocking calls wait.
#[derive(Clone, Debug)]
pub(super) struct Runtime(Handle);

impl Runtime {
    /// Returns the runtime, and starts its thread if it does not run yet.
    pub(super) fn get() -> Result<Self, BindError> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = &*running {
            return Ok(Self(handle.clone()));
        }
        let handle = start().map_err(|source| BindError::NoThread { source })?;
        *running = Some(handle.clone());
        Ok(Self(handle))
    }

    /// Blocks until a future of this crate is ready. It needs only timers and tasks of the runtime, so the calling
    /// thread polls it, even one that belongs to another runtime.
    pub(super) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        let _entered = self.0.enter();
        pollster::block_on(future)
    }

    /// Blocks until the future is ready, for at most `limit`.
    pub(super) fn wait_for<T>(
        &self,
        limit: Duration,
        future: impl Future<Output = T>,
    ) -> Option<T> {
        self.wait(async { tokio::time::timeout(limit, future).await.ok() })
    }

    /// Calls something that needs a runtime but does not wait.
    pub(super) fn within<T>(&self, call: impl FnOnce() -> T) -> T {
        let _entered = self.0.enter();
        call()
    }
}

/// Starts the thread, which runs until the program ends.
fn start() -> io::Result<Handle> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let run = move || runtime.block_on(pending::<()>());
    thread::Builder::new()
        .name("fairwire".to_owned())
        .spawn(run)?;
    Ok(handle)
}
