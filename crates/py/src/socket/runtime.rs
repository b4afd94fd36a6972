//! The thread that runs all endpoints of a process, and what belongs to it.

use std::future::pending;
use std::io;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::OnceLock;
use std::thread;

use pyo3::prelude::*;
use tokio::runtime::{Builder, Handle};

use crate::errors::InternalError;
use crate::socket::errors::{BindError, ForkedError};

/// The runtime, once it runs.
static RUNNING: OnceLock<Runtime> = OnceLock::new();

#[derive(Debug)]
struct Runtime {
    handle: Handle,
    /// The process that has the thread: after a fork, the child has not.
    process: u32,
}

/// Returns the runtime, and starts its thread if it does not run yet.
///
/// The first call in a process comes from `connect` or `listen`, which hold the interpreter's lock. So two threads do
/// not start it at the same time, and Python does not fork meanwhile.
///
/// # Errors
/// `ForkedError` in a child of the process that has the thread; `BindError` if the thread cannot be started.
fn runtime() -> PyResult<&'static Handle> {
    if RUNNING.get().is_none() {
        let handle = start().map_err(|error| {
            BindError::new_err(format!(
                "cannot start the thread that runs the sockets: {error}"
            ))
        })?;
        let process = process::id();
        RUNNING.get_or_init(|| Runtime { handle, process });
    }
    match RUNNING.get() {
        Some(running) if running.process == process::id() => Ok(&running.handle),
        _ => Err(ForkedError::new_err(
            "this process is a fork of one that had sockets of Fairwire, whose thread it does not have: start the \
             process with 'spawn' or 'forkserver' (multiprocessing), or use sockets only after the fork",
        )),
    }
}

/// Starts the thread, which runs until the program ends.
fn start() -> io::Result<Handle> {
    let mut builder = Builder::new_current_thread();
    // The threads that look up host names.
    builder
        .enable_all()
        .max_blocking_threads(4)
        .thread_name("fairwire-dns");
    let runtime = builder.build()?;
    let handle = runtime.handle().clone();
    let run = move || runtime.block_on(pending::<()>());
    thread::Builder::new()
        .name("fairwire-sockets".to_owned())
        .spawn(run)?;
    Ok(handle)
}

/// Calls something of the sockets in the context of the runtime.
///
/// # Errors
/// `ForkedError` after a fork; [`InternalError`] instead of a panic.
pub(crate) fn within<T>(call: impl FnOnce() -> T) -> PyResult<T> {
    let _entered = runtime()?.enter();
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        InternalError::new_err(text.unwrap_or("a call of a socket panicked").to_owned())
    })
}

/// Something that shares locks with the thread of the runtime.
///
/// After a fork nobody may touch it, not even to drop it: the thread may have held a lock at that moment, and the child
/// has no thread that would release it.
#[derive(Debug)]
pub(crate) struct Owned<T>(Option<T>);

impl<T> Owned<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// Calls something with the value, in the context of the runtime.
    ///
    /// # Errors
    /// As for [`within`].
    pub(crate) fn with<R>(&self, call: impl FnOnce(&T) -> R) -> PyResult<R> {
        let value = self
            .0
            .as_ref()
            .expect("it is taken only when it is dropped");
        within(|| call(value))
    }

    /// Like [`with`](Self::with), with the value to change.
    pub(crate) fn with_mut<R>(&mut self, call: impl FnOnce(&mut T) -> R) -> PyResult<R> {
        let value = self
            .0
            .as_mut()
            .expect("it is taken only when it is dropped");
        within(|| call(value))
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        let value = self.0.take();
        let is_own = RUNNING
            .get()
            .is_some_and(|running| running.process == process::id());
        if is_own {
            // A panic here would reach the interpreter.
            let _ = within(|| drop(value));
        } else {
            mem::forget(value);
        }
    }
}
