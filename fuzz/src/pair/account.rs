//! The account of what one application has sent and read.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use fairwire_proto::ConnectionId;

use crate::application::Ledger;
use crate::watched::Read;

/// The account of one side.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// The datagrams given to `send`, and how often each was.
    pub(super) sent: BTreeMap<Vec<u8>, usize>,
    /// The datagrams read and not yet checked.
    pub(super) unchecked: Vec<Read>,
    /// How often each datagram was read, by incarnation of the endpoint and by connection.
    read: BTreeMap<(u8, ConnectionId, Vec<u8>), usize>,
    numbers: BTreeSet<(u8, ConnectionId, u64)>,
    /// The number of sequence numbers that were read more than once.
    again: usize,
    life: u8,
}

impl Ledger for Account {
    fn sent(&mut self, _: ConnectionId, payload: &Bytes) {
        *self.sent.entry(payload.to_vec()).or_default() += 1;
    }

    fn read(&mut self, read: &Read) {
        self.unchecked.push(read.clone());
    }
}

impl Account {
    /// Begins a new account because the endpoint was replaced.
    pub(super) fn restart(&mut self) {
        self.life += 1;
    }

    /// Checks what was read against what the other side `sent`. Up to `forged` packets may have been taken for others,
    /// and each may have the sequence number of a later packet.
    pub(super) fn check(&mut self, sent: &BTreeMap<Vec<u8>, usize>, forged: usize) {
        for read in std::mem::take(&mut self.unchecked) {
            let number = (self.life, read.id, read.seq.get());
            self.again += usize::from(!self.numbers.insert(number));
            assert!(self.again <= forged, "{:?} delivered twice", read.seq);
            if forged > 0 {
                continue;
            }
            let times = sent.get(&read.payload).copied().unwrap_or(0);
            assert!(times > 0, "{} bytes that nobody sent", read.payload.len());
            let read = self
                .read
                .entry((self.life, read.id, read.payload))
                .or_default();
            *read += 1;
            assert!(*read <= times, "delivered {read} times, sent {times} times");
        }
    }
}
