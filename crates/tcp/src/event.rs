//! What happened in a sender, for traces and tests.

use std::collections::VecDeque;

use fairwire_units::{Duration, Instant};

/// One thing that happened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Event {
    /// The handshake is over.
    Established,
    /// A data segment left.
    Sent {
        /// Its first byte's number.
        seq: u64,
        /// Its payload, bytes.
        len: u32,
        /// Had it been sent before?
        again: bool,
    },
    /// An acknowledgement moved forward.
    Acked {
        /// To this number.
        ack: u64,
    },
    /// An acknowledgement said the same again.
    DuplicateAck {
        /// How often in a row.
        count: u32,
    },
    /// Duplicate acknowledgements began a recovery.
    RecoveryBegan {
        /// The recovery ends when this number is acknowledged.
        recover: u64,
    },
    /// An acknowledgement within the recovery moved forward, but not to its end.
    PartialAck {
        /// To this number.
        ack: u64,
    },
    /// The recovery is over.
    RecoveryEnded,
    /// The retransmission timer expired.
    TimedOut {
        /// The next timeout.
        rto: Duration,
    },
}

/// An event with its time and the state after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traced {
    /// When it happened.
    pub at: Instant,
    /// What happened.
    pub event: Event,
    /// Congestion window after it, packets.
    pub cwnd_packets: Option<f64>,
    /// Segments outstanding after it.
    pub outstanding: u32,
}

/// How many events wait for a reader; older ones are forgotten.
const KEPT: usize = 4_096;

/// A bounded queue of events, or nothing at all when tracing is off.
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
