//! The contents of packets: a slab of slots that are reused.

use std::any::{Any, TypeId};

use fairwire_net::{FlowId, Handle, Release};
use fairwire_proto::Payload;
use fairwire_units::Instant;

use super::content::Content;
use super::flow_meter::FlowMeter;

/// The contents of one packet.
#[derive(Debug)]
pub struct Slot {
    content: Box<dyn Content>,
    /// The index of its list of free slots. There is one list per type of content, so that the box can be reused.
    list: usize,
    is_free: bool,
    /// The encoded header, if the transport encodes one. Its buffer is reused with the slot.
    pub head: Vec<u8>,
    /// The payload.
    pub payload: Payload,
    /// The time at which it left its sender.
    pub sent_at: Instant,
    /// Whether it carries data of the application.
    pub is_data: bool,
}

impl Slot {
    /// Returns its contents as its transport sees them.
    pub fn content(&self) -> &dyn Content {
        &*self.content
    }

    /// Returns its contents if they are of this type.
    pub fn content_of<C: Content>(&self) -> Option<&C> {
        let content: &dyn Any = &*self.content;
        content.downcast_ref()
    }

    fn fill<C: Content>(&mut self, content: C) {
        let held: &mut dyn Any = &mut *self.content;
        match held.downcast_mut::<C>() {
            Some(held) => *held = content,
            None => self.content = Box::new(content),
        }
    }
}

/// The slots of a run, and the meters that agents write to.
#[derive(Debug, Default)]
pub struct Store {
    slots: Vec<Slot>,
    /// The free slots, by the type of their content.
    free: Vec<(TypeId, Vec<u32>)>,
    /// The meters by flow number.
    pub meters: Vec<FlowMeter>,
    /// Notes for readers of the results, such as a connection that ended early.
    pub notes: Vec<String>,
}

impl Store {
    /// Returns an empty store with a meter for each flow number.
    pub fn new(meters: Vec<FlowMeter>) -> Self {
        Self {
            meters,
            ..Self::default()
        }
    }

    /// Takes a free slot and fills it. Its header is empty.
    ///
    /// # Panics
    /// With 2^32 packets in flight.
    pub fn put<C: Content>(
        &mut self,
        content: C,
        payload: Payload,
        sent_at: Instant,
        is_data: bool,
    ) -> Handle {
        let list = self.list_of(TypeId::of::<C>());
        if let Some(index) = self.free[list].1.pop() {
            let slot = &mut self.slots[index as usize];
            slot.fill(content);
            slot.is_free = false;
            slot.head.clear();
            slot.payload = payload;
            slot.sent_at = sent_at;
            slot.is_data = is_data;
            return Handle(index);
        }
        let index = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets on their way");
        self.slots.push(Slot {
            content: Box::new(content),
            list,
            is_free: false,
            head: Vec::new(),
            payload,
            sent_at,
            is_data,
        });
        Handle(index)
    }

    /// Returns the index of the list of free slots whose content has this type.
    fn list_of(&mut self, content: TypeId) -> usize {
        let known = self.free.iter().position(|(of, _)| *of == content);
        known.unwrap_or_else(|| {
            self.free.push((content, Vec::new()));
            self.free.len() - 1
        })
    }

    /// Adds a note unless it exists already.
    pub fn note_once(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns the slot of `handle`.
    pub fn slot(&self, handle: Handle) -> &Slot {
        &self.slots[handle.0 as usize]
    }

    /// Returns the slot of `handle` for writing.
    pub fn slot_mut(&mut self, handle: Handle) -> &mut Slot {
        &mut self.slots[handle.0 as usize]
    }

    /// Returns the meter of `flow`.
    pub fn meter(&mut self, flow: FlowId) -> &mut FlowMeter {
        let number = flow.0 as usize;
        // Conversations of a flow have numbers beyond the flow's, in steps of the count of meters.
        let count = self.meters.len();
        let meter = if number < count {
            number
        } else {
            number % count
        };
        &mut self.meters[meter]
    }
}

impl Release for Store {
    fn release(&mut self, handle: Handle) {
        let slot = &mut self.slots[handle.0 as usize];
        debug_assert!(!slot.is_free, "a handle is released once");
        slot.is_free = true;
        slot.payload = Payload::EMPTY;
        self.free[slot.list].1.push(handle.0);
    }
}
