//! What packets carry: a slab of slots that are used again and again.

use fairwire_net::{FlowId, Handle, Release};
use fairwire_proto::Payload;
use fairwire_tcp::TcpSegment;
use fairwire_units::Instant;

use super::flow_meter::FlowMeter;

/// What kind of packet a slot holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Content {
    /// Nothing: the slot is free.
    Free,
    /// A DCCP packet: its head is in the slot, its path in the store's `paths`.
    Dccp {
        /// Is it in UDP?
        in_udp: bool,
    },
    /// A TCP segment.
    Tcp(TcpSegment),
    /// A plain datagram.
    Udp,
}

/// One packet's contents.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) content: Content,
    /// The DCCP head, really encoded; keeps its memory when the slot is used again.
    pub(crate) head: Vec<u8>,
    /// What follows the headers.
    pub(crate) payload: Payload,
    /// When it left its sender.
    pub(crate) sent_at: Instant,
    /// Does it carry the application's data?
    pub(crate) is_data: bool,
}

/// The slots of a run, and the meters that agents write to.
#[derive(Debug, Default)]
pub(crate) struct Store {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// By flow number.
    pub(crate) meters: Vec<FlowMeter>,
    /// What a reader of the results should know, such as a connection that ended early.
    pub(crate) notes: Vec<String>,
}

impl Store {
    /// An empty store with a meter for each flow number.
    pub(crate) fn new(meters: Vec<FlowMeter>) -> Self {
        Self {
            meters,
            ..Self::default()
        }
    }

    /// Takes a free slot and fills it; its head is empty.
    pub(crate) fn put(
        &mut self,
        content: Content,
        payload: Payload,
        sent_at: Instant,
        is_data: bool,
    ) -> Handle {
        if let Some(index) = self.free.pop() {
            let slot = &mut self.slots[index as usize];
            slot.content = content;
            slot.head.clear();
            slot.payload = payload;
            slot.sent_at = sent_at;
            slot.is_data = is_data;
            return Handle(index);
        }
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets on their way");
        self.slots.push(Slot {
            content,
            head: Vec::new(),
            payload,
            sent_at,
            is_data,
        });
        Handle(index)
    }

    /// The slot of `handle`.
    pub(crate) fn slot(&self, handle: Handle) -> &Slot {
        &self.slots[handle.0 as usize]
    }

    /// The slot of `handle`, to write its head.
    pub(crate) fn slot_mut(&mut self, handle: Handle) -> &mut Slot {
        &mut self.slots[handle.0 as usize]
    }

    /// The meter of `flow`.
    pub(crate) fn meter(&mut self, flow: FlowId) -> &mut FlowMeter {
        &mut self.meters[flow.0 as usize]
    }
}

impl Release for Store {
    fn release(&mut self, handle: Handle) {
        let slot = &mut self.slots[handle.0 as usize];
        debug_assert!(slot.content != Content::Free, "a handle is released once");
        slot.content = Content::Free;
        slot.payload = Payload::EMPTY;
        self.free.push(handle.0);
    }
}

#[cfg(test)]
mod tests {
    use fairwire_net::Release;
    use fairwire_proto::Payload;
    use fairwire_units::Instant;

    use super::{Content, Store};

    /// A released slot is used again with its memory, and forgets what was in it.
    #[test]
    fn slots_are_used_again() {
        let mut store = Store::default();
        let put = |store: &mut Store| store.put(Content::Udp, Payload::EMPTY, Instant::START, true);
        let first = put(&mut store);
        store.slot_mut(first).head.extend_from_slice(&[1; 40]);
        let room = store.slot(first).head.capacity();
        let second = put(&mut store);
        assert_ne!(first, second);
        store.release(first);
        assert_eq!(put(&mut store), first);
        assert!(store.slot(first).head.is_empty());
        assert_eq!(store.slot(first).head.capacity(), room);
    }
}
