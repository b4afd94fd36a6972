//! Records of negotiation.

use std::collections::BTreeMap;

use fairwire_units::Instant;
use fairwire_wire::Seq;

/// The Changes that arrived, by option type and feature.
#[derive(Clone, Debug, Default)]
pub(in crate::oracle) struct Features {
    /// FGSR: the greatest number of a certainly valid packet with a Change or a Confirm.
    pub(in crate::oracle) fgsr: Option<Seq>,
    /// The same, including possibly valid packets.
    pub(in crate::oracle) newest: Option<Seq>,
    /// The values that a Confirm may answer now: that of the newest Change in order, and those of possibly valid ones
    /// since.
    pub(in crate::oracle) asked: BTreeMap<(u8, u8), Vec<Vec<u8>>>,
    /// Changes without a Confirm: since when, and how many arrived.
    pub(in crate::oracle) open: BTreeMap<(u8, u8), (Instant, u32)>,
}
