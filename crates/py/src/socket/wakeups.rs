//! Telling an event loop which of its operations can go on.

use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// The operations of one event loop that were woken.
///
/// The loop watches a file descriptor, as it watches sockets. So waking it needs neither the interpreter's lock, for
/// which the thread of the sockets would have to wait, nor a Python object. All that is woken until the loop looks
/// takes one byte in the descriptor.
#[pyclass(frozen, module = "fairwire._fairwire")]
pub(crate) struct Wakeups {
    reader: UnixStream,
    woken: Arc<Woken>,
}

struct Woken {
    writer: UnixStream,
    tokens: Mutex<Tokens>,
}

#[derive(Default)]
struct Tokens {
    woken: Vec<u64>,
    next: u64,
}

impl Woken {
    fn add(&self, token: u64) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = tokens.woken.is_empty();
        tokens.woken.push(token);
        drop(tokens);
        if is_first {
            // It has room: the loop reads the byte of the last time before it takes the tokens.
            let _ = (&self.writer).write(&[0]);
        }
    }
}

#[pymethods]
impl Wakeups {
    #[new]
    fn new() -> PyResult<Self> {
        let pair = || -> io::Result<_> {
            let (reader, writer) = UnixStream::pair()?;
            reader.set_nonblocking(true)?;
            writer.set_nonblocking(true)?;
            Ok((reader, writer))
        };
        let (reader, writer) = pair().map_err(PyOSError::new_err)?;
        let woken = Arc::new(Woken {
            writer,
            tokens: Mutex::default(),
        });
        Ok(Self { reader, woken })
    }

    /// The descriptor that is readable when something was woken.
    fn fileno(&self) -> i32 {
        self.reader.as_raw_fd()
    }

    /// Returns the tokens of the operations that were woken since the last call.
    fn take(&self) -> Vec<u64> {
        let mut bytes = [0; 64];
        while matches!((&self.reader).read(&mut bytes), Ok(read) if read == bytes.len()) {}
        let mut tokens = self
            .woken
            .tokens
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut tokens.woken)
    }
}

impl Wakeups {
    /// Returns an alarm for a new operation.
    pub(crate) fn alarm(&self) -> Arc<Alarm> {
        let mut tokens = self
            .woken
            .tokens
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tokens.next += 1;
        Arc::new(Alarm {
            token: tokens.next,
            has_rung: AtomicBool::new(false),
            woken: Arc::clone(&self.woken),
        })
    }
}

/// Wakes one operation of an event loop.
pub(crate) struct Alarm {
    pub(crate) token: u64,
    has_rung: AtomicBool,
    woken: Arc<Woken>,
}

impl Alarm {
    /// Returns the waker to poll with; it wakes once.
    pub(crate) fn set(self: &Arc<Self>) -> Waker {
        self.has_rung.store(false, Ordering::Release);
        Waker::from(Arc::clone(self))
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.has_rung.swap(true, Ordering::AcqRel) {
            self.woken.add(self.token);
        }
    }
}
