//! Properties of CCIDs.

use fairwire_proto::ccids::{CcidProfile, ccid_profile};
use fairwire_wire::Ccid;

/// Returns whether a CCID acknowledges packets, if it is agreed on; if not, it reports loss event rates.
pub(super) fn acknowledges(ccid: Option<Ccid>) -> Option<bool> {
    ccid.and_then(ccid_profile)
        .map(CcidProfile::acknowledges_packets)
}
