//! Reading Ack Vectors: the options of one packet as stretches of packets in one state.

use fairwire_units::Duration;
use fairwire_wire::{AckEntry, EntryState, Seq};

use crate::packet_options::{PacketOptions, Vector, Vectors};

/// Consecutive packets in one state, from `high` down to `low`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Stretch {
    pub(super) state: EntryState,
    pub(super) high: Seq,
    pub(super) low: Seq,
}

/// The feedback of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<'a> {
    vectors: &'a Vectors<'a>,
    ackno: Seq,
    /// How long the peer held the acknowledged packet.
    pub(super) elapsed: Option<Duration>,
}

impl<'a> Report<'a> {
    /// Returns the report in `options` about `ackno` and older packets. `None` if there is no vector, or if one has
    /// reserved states and therefore cannot be trusted (RFC 4340, section 11.4).
    pub(crate) fn of(options: &'a PacketOptions<'a>, ackno: Seq) -> Option<Self> {
        options.vectors.is_sound().then_some(Self {
            vectors: &options.vectors,
            ackno,
            elapsed: options.elapsed,
        })
    }

    /// Returns whether the report says that packet `seq` has arrived.
    pub(crate) fn has_arrived(self, seq: Seq) -> bool {
        self.stretches()
            .find(|stretch| !seq.is_before(stretch.low))
            .is_some_and(|stretch| {
                let arrived = matches!(stretch.state, EntryState::Received | EntryState::Marked);
                arrived && !seq.is_after(stretch.high)
            })
    }

    /// Returns its vectors, each with its newest packet.
    pub(super) fn vectors(self) -> impl Iterator<Item = (Seq, Vector<'a>)> + use<'a> {
        let mut high = self.ackno;
        self.vectors.iter().map(move |vector| {
            let newest = high;
            high = high.sub(vector.entries.packets());
            (newest, vector)
        })
    }

    /// Returns the stretches, newest first. A later vector continues where the one before it ends (RFC 4340, section
    /// 11.4).
    pub(super) fn stretches(self) -> impl Iterator<Item = Stretch> + use<'a> {
        let mut entries = self.vectors.entries().peekable();
        let mut high = self.ackno;
        std::iter::from_fn(move || {
            let first: AckEntry = entries.next()?;
            let state = first.state();
            let mut packets = u64::from(first.run());
            while let Some(more) = entries.next_if(|entry| entry.state() == state) {
                packets += u64::from(more.run());
            }
            let stretch = Stretch {
                state,
                high,
                low: high.sub(packets - 1),
            };
            high = high.sub(packets);
            Some(stretch)
        })
    }
}
