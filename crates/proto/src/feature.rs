//! Feature negotiation (RFC 4340, section 6), without packets or timers of its own.
//!
//! [`Negotiation`] is the state of one connection. It holds for every feature the value in force at both locations and
//! the value we want, and also the Changes that wait for a Confirm and the Confirms that we owe. State and work are
//! bounded whatever the peer sends, and no Confirm is sent without a Change.
//!
//! # Order of calls
//! 1. For each valid packet: [`Negotiation::begin_packet`], then [`Negotiation::handle`] for each Change and Confirm in
//!    it, then [`Negotiation::end_packet`]. An [`Handled::Agreed`] says which value is now in force.
//! 2. For each packet to send: [`Negotiation::write`] writes what is due into its options.
//! 3. [`Negotiation::next_timeout`] says when negotiation needs a packet of its own.
//! 4. When the handshake is over: [`Negotiation::on_open`].
//!
//! # Map
//! - [`slot`]: one feature at one location, its state and the values that we accept.
//! - [`wishes`]: the values that a [`Config`] asks for, and those that the agreed CCIDs imply.
//! - [`receive`]: arriving Changes and Confirms; [`earlier`]: the older values that late Confirms may answer.
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

use crate::ccid::{CcidProfile, ccid_profile};
use crate::config::Config;
use earlier::EarlierValues;
use schedule::{Schedule, UnknownFeatures};
pub(crate) use slot::KNOWN;
use slot::{Offer, Slot, State};

/// The end of the connection that we are. The server's preferences take precedence (RFC 4340, 6.3.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Role {
    /// We sent the Request.
    Client,
    /// We answered it.
    Server,
}

/// Where a feature is located (RFC 4340, section 6); each feature exists at both ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Location {
    /// At our end: we send its "L" options. CCID/Local is the CCID of the data we send.
    Local,
    /// At the peer's end: we send its "R" options.
    Remote,
}

/// Returns whether data of this CCID is acknowledged in Ack Vectors.
fn has_ack_vectors(ccid: Ccid) -> bool {
    ccid_profile(ccid).is_some_and(CcidProfile::acknowledges_packets)
}

impl Location {
    const BOTH: [Self; 2] = [Self::Local, Self::Remote];

    /// Returns the other end.
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Local => Self::Remote,
            Self::Remote => Self::Local,
        }
    }
}

/// The result of a Change or Confirm.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Handled {
    /// No effect: it was reordered, unexpected, or on a packet where it does not count.
    Ignored,
    /// It was processed; no value changed by agreement.
    Noted,
    /// Both ends agree on this value; it may be the old one.
    Agreed {
        /// The feature.
        feature: Feature,
        /// Where it is located.
        location: Location,
        /// The value in force from now on.
        value: u64,
    },
}

/// An error in the peer's options that resets the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Fatal {
    /// Option Error or Mandatory Error.
    pub code: ResetCode,
    /// The Reset's three data bytes: option type and the first two of its data (RFC 4340, 5.6).
    pub data: [u8; 3],
}

/// The packet whose options are being handled.
#[derive(Clone, Copy, Debug)]
struct CurrentPacket {
    packet_type: PacketType,
    seq: Seq,
    ackno: Option<Seq>,
    /// Whether it brought a Change or Confirm in order. Then its number becomes FGSR.
    negotiates: bool,
}

/// The feature negotiation of one connection.
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
    arriving: Option<CurrentPacket>,
    /// Greatest sequence number received with a Change or Confirm (RFC 4340, 6.6.4).
    fgsr: Option<Seq>,
    /// Greatest sequence number sent with a new Change (RFC 4340, 6.6.4).
    ///
    /// The FGSS of each feature, which decides about its Confirms, lies [`Slot::lag`] before it. With one FGSS for all
    /// features, two ends that keep sending Changes as they hear each other would ignore each other's Confirms for
    /// ever.
    fgss: Option<Seq>,
    /// Earlier values of our non-negotiable features, the Sequence Window and the Ack Ratio.
    earlier: [Option<EarlierValues>; 2],
    schedule: Schedule,
    /// Whether we read ECN marks. If not, no data is taken until the peer confirms that it knows (RFC 4340, 12.1).
    ecn: bool,
    /// Whether we ask for RTT Estimate options on data (RFC 6323, section 3.2.2).
    rtt_estimates: bool,
    /// Whether the handshake is over.
    open: bool,
    /// By [`Location`]: whether a CCID was agreed on once. It then stays in force while another one is negotiated.
    ccid_agreed: [bool; 2],
    /// By [`Location`]: whether the CCID changed in mid-connection.
    ccid_changed: [bool; 2],
    /// By [`Location`]: whether the CCID must not change now (RFC 4340, 10.5).
    ccid_locked: [bool; 2],
    /// Whether an option changed a value on which our wishes depend, since they were last updated.
    stale: bool,
}

impl Negotiation {
    /// Returns the negotiation of a new connection; its first packet carries what [`Config`] asks for.
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

    /// Returns the value in force.
    pub(crate) fn current(&self, feature: Feature, location: Location) -> u64 {
        self.slot(feature, location)
            .map_or(feature.initial(), |slot| slot.value)
    }

    /// Returns the value in force of a Boolean feature.
    pub(crate) fn is_on(&self, feature: Feature, location: Location) -> bool {
        self.current(feature, location) != 0
    }

    /// Returns whether no Change of ours for this feature is outstanding or about to be sent.
    pub(crate) fn is_settled(&self, feature: Feature, location: Location) -> bool {
        self.slot(feature, location)
            .is_none_or(|slot| slot.state == State::Stable)
    }

    /// Returns whether a Change of ours for this feature was sent and is not yet answered.
    pub(crate) fn is_awaited(&self, feature: Feature, location: Location) -> bool {
        self.slot(feature, location)
            .is_some_and(|slot| matches!(slot.state, State::Changing | State::Unstable))
    }

    /// Returns whether `value` is the one we prefer for this feature.
    pub(crate) fn is_offered(&self, feature: Feature, location: Location, value: u64) -> bool {
        self.slot(feature, location)
            .is_some_and(|slot| slot.best() == value)
    }

    /// Returns the CCID of the data sent from `location`, once agreed. While another one is negotiated, the old one
    /// stays in force.
    pub(crate) fn ccid(&self, location: Location) -> Option<Ccid> {
        if !self.is_settled(Feature::Ccid, location) && !self.ccid_agreed[location as usize] {
            return None;
        }
        let number = u8::try_from(self.current(Feature::Ccid, location));
        number.ok().map(Ccid::new)
    }

    /// Returns whether we may send data. Its CCID has to be agreed first; if it works with Ack Vectors, the peer must
    /// also have agreed to send them (RFC 4341, section 4).
    pub(crate) fn may_send_data(&self) -> bool {
        // RFC 4340, 6.6.1: a value is in force once its Confirm is sent; in mid-connection, data of a new CCID follows
        // its Confirm.
        let unsent = |slot: &Slot| slot.owed.is_some_and(|owed| !owed.told);
        if self.open
            && self
                .slot(Feature::Ccid, Location::Local)
                .is_some_and(unsent)
        {
            return false;
        }
        match self.ccid(Location::Local) {
            None => false,
            Some(ccid) if has_ack_vectors(ccid) => {
                self.is_on(Feature::SendAckVector, Location::Remote)
            }
            Some(_) => true,
        }
    }

    /// Returns whether data may be taken from the peer. If we cannot read ECN marks, the peer has to confirm first that
    /// it knows (RFC 4340, section 12.1).
    pub(crate) fn may_take_data(&self) -> bool {
        self.ecn || self.is_on(Feature::EcnIncapable, Location::Local)
    }

    /// Asks for another value, also in mid-connection. Returns false if that is impossible: the value is out of range,
    /// the feature is a non-negotiable one of the peer, or it is a CCID (see [`Negotiation::change_ccid`]).
    ///
    /// Nothing is sent for a value that is already in force or asked for.
    pub(crate) fn request_change(
        &mut self,
        feature: Feature,
        location: Location,
        value: u64,
    ) -> bool {
        // RFC 4340, 6.3.2: a non-negotiable feature has no Change R.
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
                // Values of server-priority features are bytes, as the check against `values` has just shown.
                Offer::List(list.with_first(u8::try_from(value).unwrap_or(u8::MAX)))
            }
        };
        slot.want(offer, value);
        true
    }

    /// Keeps the value that our Changes have named so far as an earlier value, before a non-negotiable feature of ours
    /// changes to `value`.
    fn note_earlier(&mut self, feature: Feature, value: u64) {
        let slot = self.slot(feature, Location::Local);
        let (Some(index), Some(slot)) = (earlier::index(feature), slot) else {
            return;
        };
        if let Some(named) = slot.named().filter(|&named| named != value) {
            let asks = matches!(slot.state, State::Changing | State::Unstable);
            // RFC 4340, 6.6.4: a peer that has answered this value accepts no older Change any more.
            let unanswered = self.earlier[index].filter(|_| asks);
            let all = unanswered.map_or(EarlierValues::new(named), |these| these.with(named));
            self.earlier[index] = Some(all);
        }
    }

    /// Asks, once, for only this value of a server-priority feature. A peer that knows the feature then has no choice,
    /// whichever end's preferences take precedence. Returns false if it was already asked for.
    pub(crate) fn request_only(&mut self, feature: Feature, location: Location, value: u8) -> bool {
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

    /// Sets the CCIDs that are acceptable for the data sent from `location`, most preferred first, and asks for the
    /// first unless it is in force. Called in mid-connection, while no other negotiation of this CCID is under way.
    pub(crate) fn change_ccid(&mut self, location: Location, ccids: &[Ccid]) {
        let Some(slot) = self.slot_mut(Feature::Ccid, location) else {
            return;
        };
        let list = slot::List::of_ccids(ccids);
        // The connection can go on with its present CCID, so a refusal must not cause a Reset.
        slot.mandatory = false;
        slot.refused = false;
        slot.want(Offer::List(list), u64::from(list.as_slice()[0]));
        self.refresh();
    }

    /// Locks or unlocks the CCID at a location (RFC 4340, 10.5). While it is locked, the value in force is the only one
    /// we accept in a Change of the peer that does not answer one of ours.
    pub(crate) fn lock_ccid(&mut self, location: Location, locked: bool) {
        self.ccid_locked[location as usize] = locked;
    }

    /// Notes that the handshake is over: on a client when the first packet after the Response arrives, on a server when
    /// the client's first packet after the Request does. Confirms are no longer repeated.
    pub(crate) fn on_open(&mut self) {
        self.open = true;
        self.stop_repeating_answers();
        self.refresh();
    }

    /// Returns when negotiation needs a packet of its own, if it does; a time in the past means at once.
    ///
    /// A packet that leaves for another reason and carries what is due postpones it.
    pub(crate) fn next_timeout(&self, rtt: Duration) -> Option<Instant> {
        let owes = self.slots().any(Slot::has_unsent)
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
