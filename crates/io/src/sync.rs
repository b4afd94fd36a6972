//! The lock and the signal that handles and driver share.
//!
//! They have names in this crate because the models in `crates/threads` compile the same sources with their own lock
//! and signal. Those let threads run in every order.

pub(crate) use std::sync::{Mutex, MutexGuard};

pub(crate) use tokio::sync::Notify;
