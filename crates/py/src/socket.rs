//! DCCP sockets: what the Python modules `fairwire.aio` and `fairwire.net` are made of.
//!
//! One thread of this module runs all endpoints of the process ([`runtime`]). It never takes the interpreter's lock, so
//! a busy program does not delay acknowledgements. A call that may have to wait makes an [`operation`], which is polled
//! on the thread that waits for it: by an event loop, which [`wakeups`] tells what can go on, or by a blocked thread.
//! An operation that is cancelled is dropped there, with nothing on its way between threads.

pub(crate) mod config;
pub(crate) mod connection;
pub(crate) mod datagram;
pub(crate) mod errors;
pub(crate) mod listener;
pub(crate) mod operation;
pub(crate) mod runtime;
pub(crate) mod security;
pub(crate) mod stats;
pub(crate) mod wakeups;
