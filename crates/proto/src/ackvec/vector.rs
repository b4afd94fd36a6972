//! Reading Ack Vectors: the options of one packet as runs of packets.

use fairwire_units::Duration;
use fairwire_wire::{AckCell, AckCells, CellState, DccpOption, Options, Seq};

/// Units of Elapsed Time (RFC 4340, section 13.2).
const ELAPSED_UNIT_US: u64 = 10;

/// Consecutive packets in one state, from `high` down to `low`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Stretch {
    pub(super) state: CellState,
    pub(super) high: Seq,
    pub(super) low: Seq,
}

/// The feedback of one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<'a> {
    options: Options<'a>,
    ackno: Seq,
    /// How long the peer held the acknowledged packet.
    pub(super) elapsed: Option<Duration>,
}

impl<'a> Report<'a> {
    /// The report in `options` about `ackno` and older packets. `None` if there is no vector, or
    /// one with reserved states: that one is not to be trusted (RFC 4340, section 11.4).
    pub(crate) fn read(options: Options<'a>, ackno: Seq) -> Option<Self> {
        let mut elapsed = None;
        let mut any = false;
        for raw in options {
            match raw.decode() {
                Ok(DccpOption::AckVector { cells, .. }) => {
                    any = true;
                    if cells.iter().any(|cell| cell.state() == CellState::Reserved) {
                        return None;
                    }
                }
                Ok(DccpOption::ElapsedTime(units)) => {
                    elapsed = Some(Duration::from_micros(u64::from(units) * ELAPSED_UNIT_US));
                }
                _ => {}
            }
        }
        any.then_some(Self {
            options,
            ackno,
            elapsed,
        })
    }

    /// Does it say that packet `seq` has arrived?
    pub(crate) fn has_arrived(self, seq: Seq) -> bool {
        self.stretches()
            .find(|stretch| !seq.is_before(stretch.low))
            .is_some_and(|stretch| {
                let arrived = matches!(stretch.state, CellState::Received | CellState::Marked);
                arrived && !seq.is_after(stretch.high)
            })
    }

    /// Its vectors, each with its nonce echo and its newest packet.
    pub(super) fn vectors(self) -> impl Iterator<Item = (bool, Seq, AckCells<'a>)> + use<'a> {
        let mut high = self.ackno;
        self.options.iter().filter_map(move |raw| {
            let Ok(DccpOption::AckVector { nonce, cells }) = raw.decode() else {
                return None;
            };
            let newest = high;
            let packets = cells.iter().map(|cell| u64::from(cell.run())).sum();
            high = high.sub(packets);
            Some((nonce, newest, cells))
        })
    }

    /// What it says of which packets, newest first. A later vector goes on where the one before
    /// it ends (RFC 4340, section 11.4).
    pub(super) fn stretches(self) -> impl Iterator<Item = Stretch> + use<'a> {
        let mut cells = self.options.iter().flat_map(vector_cells).peekable();
        let mut high = self.ackno;
        std::iter::from_fn(move || {
            let first: AckCell = cells.next()?;
            let state = first.state();
            let mut packets = u64::from(first.run());
            while let Some(more) = cells.next_if(|cell| cell.state() == state) {
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

fn vector_cells(raw: fairwire_wire::RawOption<'_>) -> impl Iterator<Item = AckCell> {
    let cells = match raw.decode() {
        Ok(DccpOption::AckVector { cells, .. }) => Some(cells),
        _ => None,
    };
    cells.into_iter().flat_map(AckCells::iter)
}
