//! Packets in flight, and the watch over the run.

use std::net::SocketAddr;

use bytes::Bytes;
use fairwire_net::{Handle, Release};
use fairwire_proto::IcmpError;

use super::watch::Watch;
use crate::seen::Origin;

/// The content of a simulated packet.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) origin: Origin,
    /// Whether the UDP checksum is valid. Native packets carry their own checksum.
    pub(super) intact: bool,
    pub(super) dont_fragment: bool,
    pub(super) content: Content,
}

/// A DCCP packet or an ICMP error.
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
        /// The destination of the quoted packet, as its sender knows it.
        about: SocketAddr,
    },
}

/// All packets in flight.
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
    /// Releases a packet that the network dropped. Only full queues drop packets.
    fn release(&mut self, handle: Handle) {
        self.take(handle);
        self.watch.fault("full queue");
    }
}
