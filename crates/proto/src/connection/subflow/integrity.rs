//! How much of the data a checksum protects, and how damaged data is detected (RFC 4340, sections 9.2 and 9.3).

use fairwire_wire::checksum::coverage;
use fairwire_wire::{DccpOption, Encoder};

use super::Subflow;
use crate::config::{DamagedData, DataChecksum};
use crate::payload::Arriving;
use crate::payload::Payload;

/// Returns whether `cscov` is acceptable under a Minimum Checksum Coverage of `least` (RFC 4340, 9.2.1).
fn is_acceptable(cscov: u8, least: u8) -> bool {
    cscov == 0 || (least > 0 && cscov >= least)
}

/// Returns whether the data of a packet does not match its Data Checksum, `told`.
///
/// RFC 4340, 9.3 and 9.3.1: a received Data Checksum is always checked, whether or not that was negotiated.
pub(super) fn is_damaged(told: Option<u32>, payload: &Arriving<'_>) -> bool {
    told.is_some_and(|told| told != payload.view().data_checksum())
}

impl Subflow {
    /// Returns the `CsCov` for a data packet of `size` bytes.
    pub(super) fn coverage_of(&self, size: usize) -> u8 {
        let wanted = self.config.checksum_coverage & 0x0F;
        // RFC 4340, 9.2: coverage beyond the data would make the packet invalid.
        let fits = coverage(wanted, size) <= size;
        let [peers, _] = self.agreed.coverage;
        // RFC 4340, 9.2.1: not less than the peer's minimum.
        if fits && is_acceptable(wanted, peers) {
            wanted
        } else {
            0
        }
    }

    /// Returns whether the checksum of a packet covers enough for us.
    pub(super) fn is_covered(&self, cscov: u8) -> bool {
        let [_, ours] = self.agreed.coverage;
        is_acceptable(cscov, ours)
    }

    /// Writes the Data Checksum of the datagram that leaves next, if it gets one. Room for it is reserved.
    pub(super) fn write_data_checksum(&self, payload: &Payload, encoder: &mut Encoder<'_>) {
        if self.config.data_checksum == DataChecksum::Off {
            return;
        }
        // RFC 4340, 9.3: of the application data, as the packet carries it; before the header checksum, which covers it.
        let checksum = DccpOption::DataChecksum(payload.view().data_checksum());
        let written = encoder.option(&checksum);
        debug_assert!(written.is_ok(), "room for a Data Checksum is kept");
    }

    /// Returns whether damaged data is dropped.
    pub(super) fn drops_damaged(&self) -> bool {
        self.config.damaged_data == DamagedData::Drop
    }
}
