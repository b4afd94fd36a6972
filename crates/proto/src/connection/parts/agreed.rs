//! The agreed feature values, in the form in which the connection uses them.

use fairwire_units::Instant;
use fairwire_wire::feature::Feature;

use crate::ccid::{CcidProfile, ccid_profile};
use crate::feature::{Location, Negotiation};

/// Cached results of negotiation that every packet needs.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent yes-or-no features of one negotiation"
)]
#[derive(Debug)]
pub(crate) struct Agreed {
    /// Whether data may be sent.
    pub(crate) may_send: bool,
    /// Whether data may be taken.
    pub(crate) may_take: bool,
    /// Whether the peer can read ECN marks (RFC 4340, section 12.1).
    pub(crate) ect: bool,
    /// Whether our packets may carry 24-bit sequence numbers (RFC 4340, section 7.6.1). The connection decides whether
    /// they do; it also considers its window and its rate.
    pub(crate) short: bool,
    /// Whether the peer's packets may carry them.
    pub(crate) short_received: bool,
    /// Whether our packets carry NDP Counts.
    pub(crate) ndp: bool,
    /// Whether the peer's packets carry them.
    pub(crate) peer_ndp: bool,
    /// Whether our data carries round-trip times (RFC 6323, section 3.3).
    pub(crate) rtt_estimates: bool,
    /// Whether the peer's data carries them.
    pub(crate) peer_rtt_estimates: bool,
    /// Whether we may send datagrams again.
    pub(crate) copies: bool,
    /// Whether the peer may.
    pub(crate) peer_copies: bool,
    /// Whether we may send messages of several datagrams.
    pub(crate) parts: bool,
    /// Whether the peer may.
    pub(crate) peer_parts: bool,
    /// The Minimum Checksum Coverage of the peer, and ours.
    pub(crate) coverage: [u8; 2],
    /// The CCID of our data.
    pub(crate) send: Option<&'static CcidProfile>,
    /// The CCID of the peer's data.
    pub(crate) receive: Option<&'static CcidProfile>,
    /// When negotiation needs a packet of its own.
    pub(crate) due: Option<Instant>,
    /// Whether an option of the present packet changed a value, so that this cache is out of date.
    pub(crate) is_stale: bool,
}

impl Agreed {
    pub(crate) fn of(negotiation: &Negotiation) -> Self {
        let profile = |location| negotiation.ccid(location).and_then(ccid_profile);
        Self {
            may_send: negotiation.may_send_data(),
            may_take: negotiation.may_take_data(),
            ect: !negotiation.is_on(Feature::EcnIncapable, Location::Remote),
            short: negotiation.is_on(Feature::AllowShortSeqnos, Location::Local),
            short_received: negotiation.is_on(Feature::AllowShortSeqnos, Location::Remote),
            ndp: negotiation.is_on(Feature::SendNdpCount, Location::Local),
            peer_ndp: negotiation.is_on(Feature::SendNdpCount, Location::Remote),
            rtt_estimates: negotiation.is_on(Feature::SendRttEstimate, Location::Local),
            peer_rtt_estimates: negotiation.is_on(Feature::SendRttEstimate, Location::Remote),
            copies: negotiation.is_on(Feature::AllowCopies, Location::Local),
            peer_copies: negotiation.is_on(Feature::AllowCopies, Location::Remote),
            parts: negotiation.is_on(Feature::AllowParts, Location::Local),
            peer_parts: negotiation.is_on(Feature::AllowParts, Location::Remote),
            coverage: [Location::Remote, Location::Local].map(|location| {
                let least = negotiation.current(Feature::MinimumChecksumCoverage, location);
                u8::try_from(least).unwrap_or(0)
            }),
            send: profile(Location::Local),
            receive: profile(Location::Remote),
            due: None,
            is_stale: false,
        }
    }
}
