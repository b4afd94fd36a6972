//! What the options of one packet say, collected in one walk over them.
//!
//! The connection walks the options once, in order (RFC 4340, section 5.8), and acts on those that are
//! its own as it meets them: features, Timestamps, Init Cookies. What the others say is kept here as
//! values and slices of the packet, without a copy, for those who read it: the connection's reports of
//! dropped data, and the two halves.

use fairwire_units::Duration;
use fairwire_wire::{
    AckCell, AckCells, CellState, DccpOption, DropBlock, DropBlocks, DropCounts, LossIntervals,
    Options,
};

/// Units of Elapsed Time (RFC 4340, section 13.2).
const ELAPSED_UNIT: Duration = Duration::from_micros(10);

/// What the options of one packet say. RFC 4340, 5.8: of an option that comes several times the last one
/// counts, unless several make one list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketOptions<'a> {
    /// How many packets without data came just before this one.
    pub ndp_count: Option<u64>,
    /// How long the peer held the acknowledged packet.
    pub elapsed: Option<Duration>,
    /// Can the peer's application hardly keep up?
    pub is_slow: bool,
    /// CRC-32c of the payload.
    pub data_checksum: Option<u32>,
    /// The Ack Vectors.
    pub vectors: Vectors<'a>,
    /// The Data Dropped options.
    pub drops: Series<'a, DropBlocks<'a>>,
    /// Bytes per second (RFC 4342, section 8.3).
    pub receive_rate: Option<u32>,
    /// Packets per loss interval (RFC 4342, section 8.5).
    pub loss_event_rate: Option<u32>,
    /// The RTT Estimate in microseconds, where the peer agreed to send it (RFC 6323, section 3.3).
    pub rtt_estimate: Option<u32>,
    /// The Loss Intervals options.
    pub loss_intervals: Series<'a, SkippedIntervals<'a>>,
    /// The Dropped Packets options.
    pub drop_counts: Series<'a, DropCounts<'a>>,
}

impl<'a> PacketOptions<'a> {
    /// Keeps what `option` says; `behind` are the bytes of the options area that follow it.
    #[inline]
    pub(crate) fn note(&mut self, option: &DccpOption<'a>, behind: &'a [u8]) {
        match *option {
            DccpOption::NdpCount(count) => self.ndp_count = Some(count),
            DccpOption::ElapsedTime(units) => {
                self.elapsed = Some(ELAPSED_UNIT * u64::from(units));
            }
            DccpOption::SlowReceiver => self.is_slow = true,
            DccpOption::DataChecksum(checksum) => self.data_checksum = Some(checksum),
            DccpOption::AckVector { nonce, cells } => {
                self.vectors.push(Vector { nonce, cells }, behind);
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

    /// The blocks of all Data Dropped options: a later one goes on where the one before it ends
    /// (RFC 4340, section 11.7).
    pub(crate) fn drop_blocks(&self) -> impl Iterator<Item = DropBlock> + use<'a> {
        self.drops.iter().flat_map(DropBlocks::iter)
    }

    /// What a packet with these options says.
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
    /// Its runs of packets, newest first.
    pub cells: AckCells<'a>,
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
        let mut cells = vector.cells.iter();
        self.has_reserved |= cells.any(|cell| cell.state() == CellState::Reserved);
    }

    /// May they be believed? There is one at least, and none has a reserved state (RFC 4340, section
    /// 11.4).
    pub(crate) fn is_sound(&self) -> bool {
        !self.all.is_empty() && !self.has_reserved
    }

    /// The vectors in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Vector<'a>> + use<'a> {
        self.all.iter()
    }

    /// The runs of all vectors: a later one goes on where the one before it ends (RFC 4340, section 11.4).
    pub(crate) fn cells(&self) -> impl Iterator<Item = AckCell> + use<'a> {
        self.iter().flat_map(|vector| vector.cells.iter())
    }
}

/// One Loss Intervals option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SkippedIntervals<'a> {
    /// Packets up to the acknowledged one that are in no interval.
    pub skip: u8,
    /// Its intervals, newest first.
    pub intervals: LossIntervals<'a>,
}

/// All options of one kind in a packet.
///
/// Nearly always that is one, which is kept. Of more, the bytes behind the first up to the last are
/// kept, and walked when they are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Series<'a, T> {
    first: Option<T>,
    behind: &'a [u8],
    /// So many of the bytes behind the first reach to the end of the last.
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

    /// Has the packet none?
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// All of them in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = T> + use<'a, T> {
        let more = self.behind.get(..self.len).unwrap_or_default();
        let more = Options::new(more).iter();
        let more = more.filter_map(|raw| T::of(raw.decode().ok()?));
        self.first.into_iter().chain(more)
    }
}

/// What one kind of option says.
pub(crate) trait OfOption<'a>: Copy {
    /// `None` if `option` is of another kind.
    fn of(option: DccpOption<'a>) -> Option<Self>;
}

impl<'a> OfOption<'a> for Vector<'a> {
    fn of(option: DccpOption<'a>) -> Option<Self> {
        match option {
            DccpOption::AckVector { nonce, cells } => Some(Self { nonce, cells }),
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
