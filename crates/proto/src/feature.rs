//! Feature negotiation (RFC 4340, section 6), without packets or timers of its own.
//!
//! [`Negotiation`] is one connection's whole negotiation: for every feature the value in force at
//! both locations, what we want instead, which Changes wait for a Confirm and which Confirms are
//! owed. It promises bounded state and bounded work whatever the peer sends, and never a
//! Confirm without a Change.
//!
//! # Calls, in order
//! 1. For each valid packet: [`Negotiation::begin_packet`], then [`Negotiation::handle`] for each
//!    Change and Confirm in it, then [`Negotiation::end_packet`]. An [`Handled::Agreed`] says which
//!    value is in force now.
//! 2. For each packet to send: [`Negotiation::write`] writes what is due into its options.
//! 3. [`Negotiation::next_timeout`] says when a packet is wanted just for negotiation.
//! 4. When the handshake is over: [`Negotiation::on_open`].
//!
//! # Map
//! - [`slot`]: one feature at one location, its state and what we would accept.
//! - [`wishes`]: what a [`Config`] asks for, and what follows from the CCIDs agreed on.
//! - [`receive`]: Changes and Confirms that arrive; [`earlier`]: what late ones may answer.
//! - [`send`]: Changes and Confirms to write; [`schedule`]: retransmission and back-off.

mod earlier;
mod receive;
mod schedule;
mod send;
mod slot;
mod wishes;

#[cfg(test)]
mod tests;

use fairwire_units::{Duration, Instant};
use fairwire_wire::feature::{Feature, Rule};
use fairwire_wire::{Ccid, PacketType, ResetCode, Seq};

use crate::config::Config;
use earlier::EarlierValues;
use schedule::{Schedule, UnknownFeatures};
pub(crate) use slot::KNOWN;
use slot::{Offer, Slot, State};

/// Which end of the connection we are: the server's preferences come first (RFC 4340, 6.3.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Role {
    /// We sent the Request.
    Client,
    /// We answered it.
    Server,
}

/// Where a feature is located (RFC 4340, section 6): each feature exists twice.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Location {
    /// At our end: we send its "L" options. CCID/Local is the CCID of the data we send.
    Local,
    /// At the peer's end: we send its "R" options.
    Remote,
}

impl Location {
    const BOTH: [Self; 2] = [Self::Local, Self::Remote];

    /// The other end.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Local => Self::Remote,
            Self::Remote => Self::Local,
        }
    }
}

/// What became of a Change or Confirm.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Handled {
    /// Nothing: reordered, unexpected, or on a packet where it does not count.
    Ignored,
    /// It was taken in; no value changed by agreement.
    Noted,
    /// Both ends agree on this value (again).
    Agreed {
        /// The feature.
        feature: Feature,
        /// Where it is located.
        location: Location,
        /// The value in force from now on.
        value: u64,
    },
}

/// The connection must be reset.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Fatal {
    /// Option Error or Mandatory Error.
    pub code: ResetCode,
    /// The Reset's three data bytes: option type and the first two of its data (RFC 4340, 5.6).
    pub data: [u8; 3],
}

/// The packet whose options are being handled.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    packet_type: PacketType,
    seq: Seq,
    ackno: Option<Seq>,
    /// Did it bring a Change or Confirm in order? Then its number becomes FGSR.
    negotiates: bool,
}

/// One connection's feature negotiation.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about one negotiation"
)]
#[derive(Clone, Debug)]
pub(crate) struct Negotiation {
    role: Role,
    /// By [`Location`], then by [`slot::KNOWN`].
    slots: [[Slot; KNOWN.len()]; 2],
    /// Unknown features whose Change is to be answered with an empty Confirm, by [`Location`].
    unknown: [UnknownFeatures; 2],
    arriving: Option<Arriving>,
    /// Greatest sequence number received with a Change or Confirm (RFC 4340, 6.6.4).
    fgsr: Option<Seq>,
    /// Greatest sequence number sent with a new Change (RFC 4340, 6.6.4). That of each feature, which
    /// decides about its Confirms, lies [`Slot::lag`] before it: with one for all, two ends that keep asking
    /// for more as they hear each other would ignore each other's Confirms for ever.
    fgss: Option<Seq>,
    /// Of our non-negotiable features, the Sequence Window and the Ack Ratio.
    earlier: [Option<EarlierValues>; 2],
    schedule: Schedule,
    /// Must marks be readable here before data is taken (RFC 4340, 12.1)?
    ecn: bool,
    /// Do we ask for round-trip times beside data (RFC 6323, section 3.2.2)?
    rtt_estimates: bool,
    /// Is the handshake over?
    open: bool,
    /// By [`Location`]: has a CCID been agreed on once? It then counts while another is negotiated.
    ccid_agreed: [bool; 2],
    /// By [`Location`]: has it changed in mid-connection?
    ccid_changed: [bool; 2],
    /// By [`Location`]: may the CCID not change now (RFC 4340, 10.5)?
    ccid_locked: [bool; 2],
    /// Did an option change what our wishes follow, since they last did?
    stale: bool,
}

impl Negotiation {
    /// The negotiation with which a connection begins; its first packet carries what
    /// [`Config`] asks for.
    pub(crate) fn new(role: Role, config: &Config) -> Self {
        let mut this = Self {
            role,
            slots: Location::BOTH.map(|_| KNOWN.map(Slot::initial)),
            unknown: Default::default(),
            arriving: None,
            fgsr: None,
            fgss: None,
            earlier: [None; 2],
            schedule: Schedule::default(),
            ecn: config.ecn,
            rtt_estimates: config.send_rtt_estimate,
            open: false,
            ccid_agreed: [false; 2],
            ccid_changed: [false; 2],
            ccid_locked: [false; 2],
            stale: false,
        };
        this.wish_from(config);
        this
    }

    /// The value in force.
    pub(crate) fn current(&self, feature: Feature, location: Location) -> u64 {
        self.slot(feature, location)
            .map_or(feature.initial(), |slot| slot.value)
    }

    /// The value in force of a feature that is a yes or no.
    pub(crate) fn is_on(&self, feature: Feature, location: Location) -> bool {
        self.current(feature, location) != 0
    }

    /// Is no Change of ours for this feature outstanding or about to be sent?
    pub(crate) fn is_settled(&self, feature: Feature, location: Location) -> bool {
        self.slot(feature, location)
            .is_none_or(|slot| slot.state == State::Stable)
    }

    /// Has a Change of ours for this feature left that is not answered yet?
    pub(crate) fn is_awaited(&self, feature: Feature, location: Location) -> bool {
        self.slot(feature, location)
            .is_some_and(|slot| matches!(slot.state, State::Changing | State::Unstable))
    }

    /// Is `value` what we would have this feature be?
    pub(crate) fn is_offered(&self, feature: Feature, location: Location, value: u64) -> bool {
        self.slot(feature, location)
            .is_some_and(|slot| slot.best() == value)
    }

    /// The CCID of the data sent from `location`, once agreed. While another is negotiated the old
    /// one stays in force.
    pub(crate) fn ccid(&self, location: Location) -> Option<Ccid> {
        if !self.is_settled(Feature::Ccid, location) && !self.ccid_agreed[location as usize] {
            return None;
        }
        let number = u8::try_from(self.current(Feature::Ccid, location));
        number.ok().map(Ccid::new)
    }

    /// May we send data? Not before its CCID is agreed, and with CCID 2 not before the peer
    /// agreed to send Ack Vectors (RFC 4341, section 4).
    pub(crate) fn may_send_data(&self) -> bool {
        // RFC 4340, 6.6.1: a value counts once its Confirm is sent; in mid-connection data of a new
        // CCID follows its Confirm.
        let untold = |slot: &Slot| slot.owed.is_some_and(|owed| !owed.told);
        if self.open
            && self
                .slot(Feature::Ccid, Location::Local)
                .is_some_and(untold)
        {
            return false;
        }
        match self.ccid(Location::Local) {
            None => false,
            Some(Ccid::TCP_LIKE) => self.is_on(Feature::SendAckVector, Location::Remote),
            Some(_) => true,
        }
    }

    /// May data be taken from the peer? Without ECN not before it confirmed to know so (RFC 4340,
    /// section 12.1).
    pub(crate) fn may_take_data(&self) -> bool {
        self.ecn || self.is_on(Feature::EcnIncapable, Location::Local)
    }

    /// Asks for another value, in mid-connection too. False if that is impossible: a value out of
    /// range, a non-negotiable feature of the peer's, or a CCID, which has
    /// [`Negotiation::change_ccid`].
    ///
    /// A value that is in force or asked for already sends nothing.
    pub(crate) fn request_change(
        &mut self,
        feature: Feature,
        location: Location,
        value: u64,
    ) -> bool {
        // RFC 4340, 6.3.2: for a non-negotiable feature no Change R exists.
        let impossible = !feature.values().contains(&value)
            || self.known(feature.number(), location).is_none()
            || (feature.rule() == Rule::NonNegotiable && location == Location::Remote)
            || feature == Feature::Ccid;
        if impossible {
            return false;
        }
        self.note_earlier(feature, value);
        let Some(slot) = self.slot_mut(feature, location) else {
            return false;
        };
        slot.pinned = true;
        slot.refused = false;
        let offer = match slot.offer {
            Offer::Value(_) => Offer::Value(value),
            Offer::List(list) => {
                // Values of server-priority features are bytes, as `values` just proved.
                Offer::List(list.with_first(u8::try_from(value).unwrap_or(u8::MAX)))
            }
        };
        slot.want(offer, value);
        true
    }

    /// A non-negotiable feature of ours is to have this value: the one that our Changes have named till
    /// now becomes an earlier one.
    fn note_earlier(&mut self, feature: Feature, value: u64) {
        let slot = self.slot(feature, Location::Local);
        let (Some(index), Some(slot)) = (earlier::index(feature), slot) else {
            return;
        };
        if let Some(named) = slot.named().filter(|&named| named != value) {
            let asks = matches!(slot.state, State::Changing | State::Unstable);
            // RFC 4340, 6.6.4: a peer that has answered it takes in no older Change any more.
            let unanswered = self.earlier[index].filter(|_| asks);
            let all = unanswered.map_or(EarlierValues::new(named), |these| these.and(named));
            self.earlier[index] = Some(all);
        }
    }

    /// Asks, once, for this one value of a server-priority feature: whoever knows the feature then
    /// has no choice, whichever end's preferences come first. False if it was asked for already.
    pub(crate) fn insist(&mut self, feature: Feature, location: Location, value: u8) -> bool {
        let only = Offer::List(slot::List::new(&[value], value));
        let Some(slot) = self.slot_mut(feature, location) else {
            return false;
        };
        if slot.offer == only {
            return false;
        }
        slot.pinned = true;
        slot.want(only, u64::from(value));
        true
    }

    /// From now on these CCIDs, best first, would do for the data sent from `location`; the first is
    /// asked for unless it is in force. In mid-connection, while no other negotiation of it runs.
    pub(crate) fn change_ccid(&mut self, location: Location, ccids: &[Ccid]) {
        let Some(slot) = self.slot_mut(Feature::Ccid, location) else {
            return;
        };
        let list = slot::List::of_ccids(ccids);
        // The connection can live with the CCID it has: it is not worth a Reset.
        slot.mandatory = false;
        slot.refused = false;
        slot.want(Offer::List(list), u64::from(list.as_slice()[0]));
        self.refresh();
    }

    /// Keeps the CCID at a location as it is, or no longer (RFC 4340, 10.5): a Change of the peer's
    /// that does not answer one of ours finds the value in force to be all we would accept.
    pub(crate) fn lock_ccid(&mut self, location: Location, locked: bool) {
        self.ccid_locked[location as usize] = locked;
    }

    /// The handshake is over: the first packet after the Response arrived, or the server's first
    /// packet after the Request. Answers are no longer repeated.
    pub(crate) fn on_open(&mut self) {
        self.open = true;
        self.forget_told();
        self.refresh();
    }

    /// When a packet is wanted just for negotiation, if it is; a moment past means at once.
    ///
    /// A packet that leaves anyway and carries what is due moves it.
    pub(crate) fn next_timeout(&self, rtt: Duration) -> Option<Instant> {
        let owes = self.slots().any(Slot::owes_news)
            || self.unknown.iter().any(|unknown| !unknown.is_empty());
        // RFC 4340, 6.6.3: a Change is repeated until there is an answer.
        let waits = self.slots().any(|slot| slot.state == State::Changing);
        self.schedule.next(owes, waits, rtt)
    }

    fn slot(&self, feature: Feature, location: Location) -> Option<&Slot> {
        let index = slot::index(feature)?;
        Some(&self.slots[location as usize][index])
    }

    fn slot_mut(&mut self, feature: Feature, location: Location) -> Option<&mut Slot> {
        let index = slot::index(feature)?;
        Some(&mut self.slots[location as usize][index])
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().flatten()
    }
}
