//! What negotiation agreed, as the connection uses it.

use fairwire_units::Instant;
use fairwire_wire::feature::Feature;

use crate::ccid::{self, Row};
use crate::feature::{Location, Negotiation};

/// Answers that every packet needs, kept at hand.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent yes-or-no features of one negotiation"
)]
#[derive(Debug)]
pub(crate) struct Agreed {
    /// May data leave?
    pub(crate) may_send: bool,
    /// May data be taken?
    pub(crate) may_take: bool,
    /// Can the peer read marks (RFC 4340, section 12.1)?
    pub(crate) ect: bool,
    /// May our packets carry 24-bit sequence numbers (RFC 4340, section 7.6.1)? Whether they do says the connection,
    /// which looks at its window and its rate too.
    pub(crate) short: bool,
    /// May the peer's?
    pub(crate) short_received: bool,
    /// Do our packets carry NDP Counts?
    pub(crate) ndp: bool,
    /// Do the peer's?
    pub(crate) peer_ndp: bool,
    /// Do our data carry round-trip times (RFC 6323, section 3.3)?
    pub(crate) rtt_estimates: bool,
    /// Do the peer's?
    pub(crate) peer_rtt_estimates: bool,
    /// The least checksum coverage that the peer takes, and that we take.
    pub(crate) coverage: [u8; 2],
    /// The CCID of our data.
    pub(crate) send: Option<&'static Row>,
    /// The CCID of the peer's data.
    pub(crate) receive: Option<&'static Row>,
    /// When a packet is wanted for negotiation.
    pub(crate) due: Option<Instant>,
    /// Did the packet in hand change what negotiation says?
    pub(crate) is_stale: bool,
}

impl Agreed {
    pub(crate) fn of(negotiation: &Negotiation) -> Self {
        let row = |location| negotiation.ccid(location).and_then(ccid::row);
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
            coverage: [Location::Remote, Location::Local].map(|location| {
                let least = negotiation.current(Feature::MinimumChecksumCoverage, location);
                u8::try_from(least).unwrap_or(0)
            }),
            send: row(Location::Local),
            receive: row(Location::Remote),
            due: None,
            is_stale: false,
        }
    }
}
