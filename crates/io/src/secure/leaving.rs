//! What is encrypted when it leaves: datagrams that others may overtake, and the announcement of the end after them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use fairwire_proto::{Deferred, MakePayload};

use super::resends::Frame;
use super::{OVERHEAD, Secure};
use crate::state::{Control, Farewell};

/// The size of the record that announces the end, bytes: an alert has two (RFC 9147, section 4; RFC 8446, section 6).
const END: usize = 2 + OVERHEAD;

/// A datagram that is encrypted when it leaves. A peer's protection against replays refuses a record that more than 63
/// later ones have overtaken (RFC 9147, 4.5.1), so records get their numbers in the order of leaving.
pub(crate) struct Later {
    secure: Arc<Secure>,
    data: Bytes,
    /// Set if it may be sent again.
    frame: Option<Frame>,
}

impl Later {
    pub(crate) fn new(secure: &Arc<Secure>, data: Bytes, frame: Option<Frame>) -> Self {
        Self {
            secure: Arc::clone(secure),
            data,
            frame,
        }
    }
}

impl MakePayload for Later {
    fn make(&self) -> Option<Bytes> {
        let mut inside = self.secure.lock();
        if inside.failure.is_some() {
            return None;
        }
        let before = inside.next_timeout();
        let (sealed, wishes) = match &self.frame {
            Some(frame) => inside.seal(&frame.around(&self.data)),
            None => inside.seal(&self.data),
        };
        // The endpoint's lock is held now, so the session's task says it.
        if inside.unsaid.add(wishes) || inside.next_timeout() != before {
            self.secure.changed.notify_one();
        }
        sealed
    }
}

impl Farewell for Secure {
    /// Announces the end to the peer (`close_notify`) and takes no more data. Returns the datagrams that say so.
    ///
    /// Data that is encrypted when it leaves may still wait. Then the session ends only when all of it has left.
    fn announce_end(self: Arc<Self>) -> Vec<Control> {
        let mut inside = self.lock();
        if inside.is_closing || inside.failure.is_some() {
            return Vec::new();
        }
        inside.is_closing = true;
        if self.seals_late.load(Ordering::Relaxed) {
            drop(inside);
            return vec![Control::Last {
                data: Deferred::new(END, Arc::new(CloseNotify(self))),
                len: END,
            }];
        }
        let said = inside.say_end();
        said.into_iter().map(Control::Ready).collect()
    }
}

/// The announcement of the end, which leaves last.
struct CloseNotify(Arc<Secure>);

impl MakePayload for CloseNotify {
    fn make(&self) -> Option<Bytes> {
        self.0.lock().say_end().pop()
    }
}
