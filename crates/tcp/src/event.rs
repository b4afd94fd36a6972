//! Events of a sender, for traces and tests.

use std::collections::VecDeque;

use fairwire_units::{Duration, Instant};

/// An event of a sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// The handshake is complete.
    Established,
    /// A data segment left.
    Sent {
        /// The number of its first byte.
        seq: u64,
        /// The length of its payload, bytes.
        len: u32,
        /// Whether it is a retransmission.
        retransmission: bool,
    },
    /// An acknowledgement of new data arrived.
    Acked {
        /// The acknowledgement number.
        ack: u64,
    },
    /// A duplicate acknowledgement arrived.
    DuplicateAck {
        /// The number of duplicates in a row.
        count: u32,
    },
    /// Duplicate acknowledgements began a recovery.
    RecoveryBegan {
        /// The recovery ends when this number is acknowledged.
        recover: u64,
    },
    /// An acknowledgement within a recovery covered new data, but did not reach the end of the recovery.
    PartialAck {
        /// The acknowledgement number.
        ack: u64,
    },
    /// The recovery has ended.
    RecoveryEnded,
    /// The retransmission timer expired.
    TimedOut {
        /// The new timeout.
        rto: Duration,
    },
    /// The newest timeout was spurious (RFC 5682): nothing was lost, and the window was restored.
    TimeoutWasSpurious,
}

/// An event with its time and the state after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traced {
    /// When it happened.
    pub at: Instant,
    /// What happened.
    pub event: Event,
    /// The congestion window after it, packets.
    pub cwnd_packets: Option<f64>,
    /// The segments outstanding after it.
    pub outstanding: u32,
}

/// The number of events kept for a reader; older ones are dropped.
const KEPT: usize = 4_096;

/// A bounded queue of events, or nothing if tracing is off.
#[derive(Debug)]
pub(crate) struct Trace(Option<VecDeque<Traced>>);

impl Trace {
    pub(crate) fn new(on: bool) -> Self {
        Self(on.then(VecDeque::new))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    pub(crate) fn push(&mut self, traced: Traced) {
        if let Some(queue) = &mut self.0 {
            if queue.len() == KEPT {
                queue.pop_front();
            }
            queue.push_back(traced);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Traced> {
        self.0.as_mut()?.pop_front()
    }
}
