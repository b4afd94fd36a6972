//! Where threads meet: the lock and the signal that handles and driver share.
//!
//! Under names of this crate, because the models of `crates/threads` compile the same sources with a lock
//! and a signal that let threads take turns in every order.

pub(crate) use std::sync::{Mutex, MutexGuard};

pub(crate) use tokio::sync::Notify;
