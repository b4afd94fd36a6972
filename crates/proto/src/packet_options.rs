//! The options of one packet, collected in one pass.
//!
//! The connection reads the options once, in order (RFC 4340, section 5.8), and acts at once on those of its own:
//! features, Timestamps, Init Cookies. The values of the others are kept here, as values and slices of the packet,
//! without a copy. The connection's Data Dropped processing and the two halves read them.

use fairwire_units::Duration;
use fairwire_wire::{
    AckEntries, AckEntry, DccpOption, DropBlock, DropBlocks, DropCounts, EntryState, LossIntervals,
    Options,
};

use crate::marks::Marks;

/// Unit of Elapsed Time (RFC 4340, section 13.2).
const ELAPSED_UNIT: Duration = Duration::from_micros(10);

/// The values of one packet's options. RFC 4340, 5.8: of an option that occurs several times the last one counts,
/// unless several form one list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketOptions<'a> {
    /// The number of packets without data just before this one.
    pub ndp_count: Option<u64>,
    /// How long the peer held the acknowledged packet.
    pub elapsed: Option<Duration>,
    /// Whether the peer sent Slow Receiver.
    pub is_slow: bool,
    /// CRC-32c of the payload.
    pub data_checksum: Option<u32>,
    /// What the peer's application says as it closes; read on a Close and a `CloseReq` only.
    pub close_code: Option<&'a [u8]>,
    /// What the peer agreed to say of its datagrams.
    pub marks: Marks,
    /// The Ack Vectors.
    pub vectors: Vectors<'a>,
    /// The Data Dropped options.
    pub drops: Series<'a, DropBlocks<'a>>,
    /// Receive Rate, bytes per second (RFC 4342, section 8.3).
    pub receive_rate: Option<u32>,
    /// Loss Event Rate as sent: its inverse, packets per loss interval (RFC 4342, section 8.5).
    pub loss_event_rate: Option<u32>,
    /// RTT Estimate in microseconds, if the peer agreed to send it (RFC 6323, section 3.3).
    pub rtt_estimate: Option<u32>,
    /// The Loss Intervals options.
    pub loss_intervals: Series<'a, SkippedIntervals<'a>>,
    /// The Dropped Packets options.
    pub drop_counts: Series<'a, DropCounts<'a>>,
}

impl<'a> PacketOptions<'a> {
    /// Stores the value of `option`; `behind` holds the bytes of the options area that follow it.
    #[inline]
    pub(crate) fn note(&mut self, option: &DccpOption<'a>, behind: &'a [u8]) {
        match *option {
            DccpOption::NdpCount(count) => self.ndp_count = Some(count),
            DccpOption::ElapsedTime(units) => {
                self.elapsed = Some(ELAPSED_UNIT * u64::from(units));
            }
            DccpOption::SlowReceiver => self.is_slow = true,
            DccpOption::DataChecksum(checksum) => self.data_checksum = Some(checksum),
            DccpOption::CloseCode(value) => self.close_code = Some(value),
            DccpOption::AckVector { nonce, entries } => {
                self.vectors.push(Vector { nonce, entries }, behind);
            }
            DccpOption::DataDropped(blocks) => self.drops.push(blocks, behind),
            DccpOption::ReceiveRate(rate) => self.receive_rate = Some(rate),
            DccpOption::LossEventRate(inverse) => self.loss_event_rate = Some(inverse),
            DccpOption::LossIntervals { skip, intervals } => {
                let intervals = SkippedIntervals { skip, intervals };
                self.loss_intervals.push(intervals, behind);
            }
            DccpOption::DroppedPackets(counts) => self.drop_counts.push(counts, behind),
            _ => {}
        }
    }

    /// Returns the blocks of all Data Dropped options; a later option continues the one before it (RFC 4340, section
    /// 11.7).
    pub(crate) fn drop_blocks(&self) -> impl Iterator<Item = DropBlock> + use<'a> {
        self.drops.iter().flat_map(DropBlocks::iter)
    }

    /// Returns the values of these options.
    #[cfg(test)]
    pub(crate) fn read(options: Options<'a>) -> Self {
        let mut said = Self::default();
        let mut options = options.iter();
        while let Some(raw) = options.next() {
            if let Ok(option) = raw.decode() {
                said.note(&option, options.remainder());
            }
        }
        said
    }
}

/// One Ack Vector option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector<'a> {
    /// Its nonce echo.
    pub nonce: bool,
    /// Its entries, newest first.
    pub entries: AckEntries<'a>,
}

/// The Ack Vectors of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Vectors<'a> {
    all: Series<'a, Vector<'a>>,
    has_reserved: bool,
}

impl<'a> Vectors<'a> {
    fn push(&mut self, vector: Vector<'a>, behind: &'a [u8]) {
        self.all.push(vector, behind);
        let mut entries = vector.entries.iter();
        self.has_reserved |= entries.any(|entry| entry.state() == EntryState::Reserved);
    }

    /// Returns whether they can be trusted: there is at least one, and none has a reserved state (RFC 4340, section
    /// 11.4).
    pub(crate) fn is_sound(&self) -> bool {
        !self.all.is_empty() && !self.has_reserved
    }

    /// Returns the vectors in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Vector<'a>> + use<'a> {
        self.all.iter()
    }

    /// Returns the entries of all vectors; a later vector continues the one before it (RFC 4340, section 11.4).
    pub(crate) fn entries(&self) -> impl Iterator<Item = AckEntry> + use<'a> {
        self.iter().flat_map(|vector| vector.entries.iter())
    }
}

/// One Loss Intervals option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SkippedIntervals<'a> {
    /// Skip Length: packets up to the acknowledged one that are in no interval.
    pub skip: u8,
    /// Its intervals, newest first.
    pub intervals: LossIntervals<'a>,
}

/// All options of one kind in a packet.
///
/// Usually there is one, which is stored decoded. If there are more, the bytes from behind the first to the end of the
/// last are kept, and decoded when they are needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Series<'a, T> {
    first: Option<T>,
    behind: &'a [u8],
    /// How many bytes of `behind` reach to the end of the last one.
    len: usize,
}

impl<T> Default for Series<'_, T> {
    fn default() -> Self {
        Self {
            first: None,
            behind: &[],
            len: 0,
        }
    }
}

impl<'a, T: OfOption<'a>> Series<'a, T> {
    fn push(&mut self, one: T, behind: &'a [u8]) {
        if self.first.is_none() {
            self.first = Some(one);
            self.behind = behind;
        } else {
            self.len = self.behind.len().saturating_sub(behind.len());
        }
    }

    /// Returns whether the packet has none.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Returns all of them in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + use<'a, T> {
        let more = self.behind.get(..self.len).unwrap_or_default();
        let more = Options::new(more).iter();
        let more = more.filter_map(|raw| T::of(raw.decode().ok()?));
        self.first.into_iter().chain(more)
    }
}

/// A value that is decoded from one kind of option.
pub(crate) trait OfOption<'a>: Copy {
    /// Returns the value, or `None` if `option` is of another kind.
    fn of(option: DccpOption<'a>) -> Option<Self>;
}

impl<'a> OfOption<'a> for Vector<'a> {
    fn of(option: DccpOption<'a>) -> Option<Self> {
        match option {
            DccpOption::AckVector { nonce, entries } => Some(Self { nonce, entries }),
            _ => None,
        }
    }
}

impl<'a> OfOption<'a> for DropBlocks<'a> {
    fn of(option: DccpOption<'a>) -> Option<Self> {
        match option {
            DccpOption::DataDropped(blocks) => Some(blocks),
            _ => None,
        }
    }
}

impl<'a> OfOption<'a> for SkippedIntervals<'a> {
    fn of(option: DccpOption<'a>) -> Option<Self> {
        match option {
            DccpOption::LossIntervals { skip, intervals } => Some(Self { skip, intervals }),
            _ => None,
        }
    }
}

impl<'a> OfOption<'a> for DropCounts<'a> {
    fn of(option: DccpOption<'a>) -> Option<Self> {
        match option {
            DccpOption::DroppedPackets(counts) => Some(counts),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
