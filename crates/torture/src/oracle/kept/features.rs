//! Of negotiation.

use std::collections::BTreeMap;

use fairwire_units::Instant;
use fairwire_wire::Seq;

/// The Changes that came: by option type and feature.
#[derive(Clone, Debug, Default)]
pub(in crate::oracle) struct Features {
    /// FGSR: the greatest number that came beyond doubt with a Change or a Confirm.
    pub(in crate::oracle) fgsr: Option<Seq>,
    /// The same, with those of doubt.
    pub(in crate::oracle) newest: Option<Seq>,
    /// What a Confirm may answer now: the value of the newest Change in order, and what came since with doubt.
    pub(in crate::oracle) asked: BTreeMap<(u8, u8), Vec<Vec<u8>>>,
    /// Changes without a Confirm: since when, and how many came.
    pub(in crate::oracle) open: BTreeMap<(u8, u8), (Instant, u32)>,
}
