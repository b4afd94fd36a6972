//! Packets on their way, and who watches.

use std::net::SocketAddr;

use bytes::Bytes;
use fairwire_net::{Handle, Release};
use fairwire_proto::IcmpError;

use super::watch::Watch;
use crate::seen::Origin;

/// What a packet of the simulator carries.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) origin: Origin,
    /// Does the UDP checksum hold? Native packets bring their own.
    pub(super) intact: bool,
    pub(super) dont_fragment: bool,
    pub(super) content: Content,
}

/// What is in it.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Dccp {
        head: Vec<u8>,
        payload: Bytes,
    },
    Icmp {
        error: IcmpError,
        quote: Vec<u8>,
        genuine: bool,
        /// Where the quoted packet went, as its sender sees it.
        about: SocketAddr,
    },
}

/// All packets on their way.
#[derive(Debug)]
pub(super) struct Store {
    slots: Vec<Option<Parcel>>,
    free: Vec<u32>,
    pub(super) watch: Watch,
}

impl Store {
    pub(super) fn new(watch: Watch) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            watch,
        }
    }

    pub(super) fn put(&mut self, parcel: Parcel) -> Handle {
        if let Some(index) = self.free.pop() {
            self.slots[index as usize] = Some(parcel);
            return Handle(index);
        }
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets on their way");
        self.slots.push(Some(parcel));
        Handle(index)
    }

    pub(super) fn take(&mut self, handle: Handle) -> Parcel {
        self.free.push(handle.0);
        self.slots[handle.0 as usize]
            .take()
            .expect("a handle is taken once")
    }
}

impl Release for Store {
    /// Only full queues drop packets below the agents.
    fn release(&mut self, handle: Handle) {
        self.take(handle);
        self.watch.fault("full queue");
    }
}
