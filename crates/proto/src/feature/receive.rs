//! Received Changes and Confirms (RFC 4340, sections 6.6.2 to 6.6.9).

use fairwire_wire::feature::{Confirmed, Feature, Rule, is_at_receiver, is_ccid_specific};
use fairwire_wire::{Ccid, DccpOption, PacketType, ResetCode, Seq};

use super::slot::{List, Offer, Slot, State};
use super::{CurrentPacket, Fatal, Handled, Location, Negotiation, Role, earlier, has_ack_vectors};

/// The largest Sequence Window (RFC 4340, section 7.5.2), and the furthest that FGSR and FGSS may lag behind.
const W_MAX: u64 = (1 << 46) - 1;

/// Returns whether what we want of this feature follows from the CCIDs.
fn follows_ccid(number: u8) -> bool {
    [
        Feature::SendAckVector,
        Feature::SendNdpCount,
        Feature::SendRttEstimate,
        Feature::SendLossEventRate,
    ]
    .map(Feature::number)
    .contains(&number)
}

/// A Change or Confirm with everything needed to handle it.
#[derive(Clone, Copy, Debug)]
struct Incoming<'a> {
    option_type: u8,
    number: u8,
    location: Location,
    value: &'a [u8],
    mandatory: bool,
}

impl Incoming<'_> {
    fn fatal(self, code: ResetCode) -> Fatal {
        let first = self.value.first().copied().unwrap_or(0);
        Fatal {
            code,
            data: [self.option_type, self.number, first],
        }
    }

    /// Returns the error for a Mandatory option that fails. RFC 4340, 6.6.9: the connection is reset.
    fn mandatory_error(self) -> Fatal {
        self.fatal(ResetCode::MandatoryError)
    }

    /// Returns the error for an invalid Confirm. RFC 4340, 6.6.8: the connection is reset.
    fn option_error(self) -> Fatal {
        self.fatal(ResetCode::OptionError)
    }
}

impl Negotiation {
    /// Begins the options of a valid packet. `gsr` already counts this packet; `gss` is the greatest sequence number
    /// sent. Must be called for every valid packet, with or without options.
    pub(crate) fn begin_packet(
        &mut self,
        packet_type: PacketType,
        seq: Seq,
        ackno: Option<Seq>,
        gsr: Seq,
        gss: Seq,
    ) {
        self.commit_fgsr();
        // RFC 4340, 6.6.4 with erratum 974: after half a circle of numbers, FGSR and FGSS would seem to lie ahead, and
        // all options would be ignored.
        if self.fgsr.is_some_and(|fgsr| fgsr.is_after(gsr)) {
            self.fgsr = Some(gsr.sub(W_MAX));
        }
        if self.fgss.is_some_and(|fgss| fgss.is_after(gss)) {
            self.fgss = Some(gss.sub(W_MAX));
        }
        self.arriving = Some(CurrentPacket {
            packet_type,
            seq,
            ackno,
            negotiates: false,
        });
    }

    /// Handles a Change or Confirm of the current packet; `mandatory` says that Mandatory came just before it. Any
    /// other option is ignored.
    ///
    /// # Errors
    /// Returns an error if the connection must be reset.
    pub(crate) fn handle(
        &mut self,
        option: &DccpOption<'_>,
        mandatory: bool,
    ) -> Result<Handled, Fatal> {
        // The peer is the location of its own "L" options.
        let (location, is_change, number, value) = match *option {
            DccpOption::ChangeL { feature, value } => (Location::Remote, true, feature, value),
            DccpOption::ChangeR { feature, value } => (Location::Local, true, feature, value),
            DccpOption::ConfirmL { feature, value } => (Location::Remote, false, feature, value),
            DccpOption::ConfirmR { feature, value } => (Location::Local, false, feature, value),
            _ => return Ok(Handled::Ignored),
        };
        if !self.is_in_order() {
            return Ok(Handled::Ignored);
        }
        let incoming = Incoming {
            option_type: option.option_type(),
            number,
            location,
            value,
            mandatory,
        };
        if follows_ccid(number) {
            self.update_wishes();
        }
        let ccid = self.current(Feature::Ccid, location);
        let before = self.wish_inputs(number, location);
        let handled = match self.known(number, location) {
            None => self.handle_unknown(incoming, is_change),
            Some(feature) if is_change => self.handle_change(feature, incoming),
            Some(feature) => self.handle_confirm(feature, incoming),
        }?;
        if self.open && self.current(Feature::Ccid, location) != ccid {
            self.begin_ccid(location);
            self.stale = true;
        } else if self.open && is_change && number == Feature::Ccid.number() {
            // Our Confirm was lost; features of the new CCID may have been refused because of that.
            self.begin_own_features(location);
            self.stale = true;
        }
        // Our wishes are updated once per packet, and before an option that depends on them. Many options therefore
        // cost no more than their own handling.
        self.stale |= self.wish_inputs(number, location) != before;
        Ok(handled)
    }

    /// Returns the state of a feature on which our wishes depend. An option may change it.
    fn wish_inputs(&self, number: u8, location: Location) -> Option<(u64, State, bool)> {
        if number != Feature::Ccid.number() && !follows_ccid(number) {
            return None;
        }
        let slot = self.slot(Feature::from_number(number)?, location)?;
        Some((slot.value, slot.state, slot.refused))
    }

    /// Ends the packet: all its options were handled.
    pub(crate) fn end_packet(&mut self) {
        self.update_wishes();
    }

    /// Updates our wishes after options have changed what they depend on.
    pub(super) fn update_wishes(&mut self) {
        if std::mem::take(&mut self.stale) {
            self.refresh();
        }
    }

    /// Returns whether the options of this packet count, and if so, records that it negotiates.
    fn is_in_order(&mut self) -> bool {
        let fgsr = self.fgsr;
        let Some(arriving) = &mut self.arriving else {
            return false;
        };
        // RFC 4340, 6: negotiation options on Data are ignored.
        if arriving.packet_type == PacketType::Data {
            return false;
        }
        // RFC 4340, 6.6.4: only in strictly increasing order. A number up to half a circle away counts as ahead;
        // `begin_packet` keeps `fgsr` within that distance.
        let is_old = |fgsr| !arriving.seq.is_after(fgsr);
        if fgsr.is_some_and(is_old) {
            return false;
        }
        arriving.negotiates = true;
        true
    }

    /// Corrects FGSR after GSR was forged: the peer's own packets handled so far have numbers up to `seq`.
    pub(crate) fn lower_fgsr(&mut self, seq: Seq) {
        self.commit_fgsr();
        // RFC 4340, 6.6.4: later packets count, and copies of earlier ones do not. If FGSR was forged too, the right
        // value is not known, but it is at most `seq`.
        if self.fgsr.is_some_and(|fgsr| fgsr.is_after(seq)) {
            self.fgsr = Some(seq);
        }
    }

    fn commit_fgsr(&mut self) {
        if let Some(arriving) = self.arriving.take()
            && arriving.negotiates
        {
            self.fgsr = Some(arriving.seq);
        }
    }

    /// Returns this negotiation as the next packet will find it. Two that are equal here behave alike: every packet
    /// begins with [`Self::begin_packet`], which does the same first and then replaces the state of the last packet.
    /// Nothing reads that state, or FGSR, between packets.
    #[cfg(test)]
    pub(crate) fn between_packets(&self) -> Self {
        let mut this = self.clone();
        this.commit_fgsr();
        this
    }

    /// Returns the feature with this number, if it is known at that location.
    pub(super) fn known(&self, number: u8, location: Location) -> Option<Feature> {
        let feature = Feature::from_number(number)?;
        self.slot(feature, location)?;
        if is_ccid_specific(number) {
            // RFC 4340, 10.3: features from 192 on are located at the receiver of the data whose CCID they belong to.
            let sender = if is_at_receiver(number) {
                location.other()
            } else {
                location
            };
            let in_force = self.current(Feature::Ccid, sender);
            // Only those of TFRC have features of their own, which are the same for all (RFC 5622, 8).
            let has_features = |ccid| !has_ack_vectors(ccid);
            let in_force =
                u8::try_from(in_force).is_ok_and(|number| has_features(Ccid::new(number)));
            // In the handshake they may follow their CCID's Change; later they follow its Confirm.
            let expected = self.expected_ccid(sender).filter(|_| !self.open);
            if !in_force && !expected.is_some_and(has_features) {
                return None;
            }
        }
        Some(feature)
    }

    fn handle_unknown(
        &mut self,
        incoming: Incoming<'_>,
        is_change: bool,
    ) -> Result<Handled, Fatal> {
        if !is_change {
            // RFC 4340, 6.6.7: we asked for nothing; ignored.
            return Ok(Handled::Ignored);
        }
        if incoming.mandatory {
            return Err(incoming.mandatory_error());
        }
        self.unknown[incoming.location as usize].owe(incoming.number);
        self.note_handshake();
        Ok(Handled::Noted)
    }

    fn handle_change(
        &mut self,
        feature: Feature,
        incoming: Incoming<'_>,
    ) -> Result<Handled, Fatal> {
        let location = incoming.location;
        let (role, open) = (self.role, self.open);
        let locked = feature == Feature::Ccid && self.ccid_locked[location as usize];
        let Some(slot) = self.slot_mut(feature, location) else {
            return Ok(Handled::Ignored);
        };
        if slot.state == State::Unstable {
            // An acknowledgement of this Change must not answer an older one.
            slot.owed = None;
            return Ok(Handled::Ignored);
        }
        // RFC 4340, 10.5: a CCID must not change too often. But a Change that we sent stays valid.
        let offer = match u8::try_from(slot.value) {
            Ok(value) if locked && slot.state != State::Changing => {
                Offer::List(List::new(&[value], value))
            }
            _ => slot.offer,
        };
        let chosen = match feature.rule() {
            // RFC 4340, 6.3.2: only the feature's location proposes values; any valid one is accepted.
            Rule::NonNegotiable if location == Location::Remote => {
                feature.decode_value(incoming.value).map(Some).ok()
            }
            Rule::NonNegotiable => None,
            Rule::ServerPriority => feature
                .decode_list(incoming.value)
                .ok()
                .map(|theirs| reconcile(role, offer.list(), theirs).map(u64::from)),
        };
        if incoming.mandatory && chosen.flatten().is_none() {
            // RFC 4340, 6.6.9: the Change is invalid, or the lists have nothing in common.
            return Err(incoming.mandatory_error());
        }
        let handled = match chosen {
            // RFC 4340, 6.6.8: an invalid Change gets an empty Confirm and changes nothing.
            None => {
                slot.owe_empty();
                Handled::Noted
            }
            // RFC 4340, 6.3.1: without a common value, the value in force stays.
            Some(None) => {
                slot.owe_value(offer);
                // A need is not given up: the Mandatory Change that is still to be sent, or sent again, then ends the
                // connection.
                //
                // Where Changes cross, the client gives up. If each end accepted the value that the other keeps, two
                // ends that differ because of a lost Confirm would swap their values.
                let kept = slot.mandatory && slot.value != slot.best();
                let gives_up = !open || role == Role::Client;
                if slot.state != State::Stable && gives_up && !kept {
                    slot.settle();
                }
                Handled::Noted
            }
            Some(Some(value)) => {
                slot.set(value);
                slot.owe_value(offer);
                // RFC 4340, 6.6.6: a Change that crosses ours is its answer. In mid-connection, however, it may be a
                // copy of one that was answered before. The peer has then not received our Change, and never will if we
                // stop asking. Ours therefore stays open until the peer confirms it.
                if slot.state == State::Stable || !open {
                    slot.settle();
                }
                Handled::Agreed {
                    feature,
                    location,
                    value,
                }
            }
        };
        self.note_handshake();
        Ok(handled)
    }

    fn handle_confirm(
        &mut self,
        feature: Feature,
        incoming: Incoming<'_>,
    ) -> Result<Handled, Fatal> {
        let location = incoming.location;
        // RFC 4340, 6.6.4: a Confirm must acknowledge the newest Change of its feature.
        let ackno = self.arriving.and_then(|arriving| arriving.ackno);
        let lag = self.slot(feature, location).map_or(0, |slot| slot.lag);
        // RFC 4340, 6.6.1: the value stays until then.
        let answers = match (ackno, self.fgss) {
            (Some(ackno), Some(fgss)) => !ackno.is_before(fgss.sub(u64::from(lag))),
            _ => false,
        };
        if !answers {
            return Ok(Handled::Ignored);
        }
        if feature.rule() == Rule::NonNegotiable && location == Location::Remote {
            // RFC 4340, 6.6.8: a non-negotiable feature has no Confirm L.
            return Err(incoming.option_error());
        }
        let role = self.role;
        if self
            .slot(feature, location)
            .is_some_and(|slot| slot.state == State::Stable)
        {
            return Ok(self.handle_unexpected_confirm(feature, incoming));
        }
        let earlier = earlier::index(feature).and_then(|index| self.earlier[index]);
        // RFC 4340, 6.6.8: a Confirm that belongs to no current negotiation is ignored, even if invalid.
        let Some(slot) = self
            .slot_mut(feature, location)
            .filter(|slot| slot.state == State::Changing)
        else {
            return Ok(Handled::Ignored);
        };
        let confirmed = feature
            .decode_confirm(incoming.value)
            .map_err(|_| incoming.option_error())?;
        let Confirmed::Value { value, preferences } = confirmed else {
            // RFC 4340, 6.6.7: every DCCP understands the required features. 5.8.2: a peer that does not understand a
            // feature after Mandatory must reset.
            if feature.is_required() || slot.mandatory {
                return Err(incoming.option_error());
            }
            slot.state = State::Stable;
            slot.refused = true;
            return Ok(Handled::Noted);
        };
        let fits = |list: &List| fits(role, slot, list.as_slice(), (value, preferences));
        let right = match &slot.offer {
            Offer::Value(ours) => value == *ours,
            Offer::List(list) => fits(list),
        };
        let answers_earlier = || match &slot.offer {
            Offer::Value(_) => earlier.is_some_and(|values| values.contains(value)),
            Offer::List(_) => slot.offered_before.as_ref().is_some_and(fits),
        };
        if !right && answers_earlier() {
            // It answers an earlier Change. The peer has received a later packet, but perhaps not the later Change. Or
            // it answers the second copy of a Change that was agreed on.
            return Ok(Handled::Ignored);
        }
        if !right {
            // RFC 4340, 6.6.8: the wrong choice, given both lists.
            return Err(incoming.option_error());
        }
        if slot.mandatory && !slot.offer.suits(value) {
            // RFC 4340, 5.8.2: a Change with Mandatory is granted, or the connection ends.
            return Err(incoming.option_error());
        }
        slot.set(value);
        slot.settle();
        Ok(Handled::Agreed {
            feature,
            location,
            value,
        })
    }

    /// Handles a Confirm that nobody awaits. RFC 4340, 6.6.8: it is ignored, even if invalid.
    ///
    /// Section 6.6.4 goes by the Acknowledgement Number, which is that of the greatest packet received (7.4), and that
    /// packet may have overtaken our latest Change. The answer to an earlier Change is then taken for the answer to the
    /// latest, and the real answer to the latest arrives here. If it shows that the peer holds another value, we ask
    /// again.
    fn handle_unexpected_confirm(&mut self, feature: Feature, incoming: Incoming<'_>) -> Handled {
        let location = incoming.location;
        // RFC 4340, 10.5: a CCID must not change too often.
        let locked = feature == Feature::Ccid && self.ccid_locked[location as usize];
        if locked || !self.open {
            return Handled::Ignored;
        }
        let confirmed = feature.decode_confirm(incoming.value);
        let (Some(slot), Ok(Confirmed::Value { value, .. })) =
            (self.slot_mut(feature, location), confirmed)
        else {
            return Handled::Ignored;
        };
        if slot.ask_again_if_differs(value) {
            Handled::Noted
        } else {
            Handled::Ignored
        }
    }

    /// Records an answer to a handshake packet. Such answers are repeated until the handshake is over: the packet that
    /// carries them may be lost, and a copy of the peer's packet would not cause them again.
    fn note_handshake(&mut self) {
        let on_handshake = self.arriving.is_some_and(|arriving| {
            matches!(
                arriving.packet_type,
                PacketType::Request | PacketType::Response
            )
        });
        if on_handshake && !self.open {
            self.schedule.repeat_answers = true;
        }
    }
}

/// Returns whether a confirmed value, with the preferences that came with it, is a right choice given our list.
fn fits(role: Role, slot: &Slot, ours: &[u8], (value, preferences): (u64, &[u8])) -> bool {
    let shared = if preferences.is_empty() {
        // RFC 4340, 6.2: the list may be left out; the value must then be in ours.
        ours.iter().copied().find(|&ours| u64::from(ours) == value)
    } else {
        reconcile(role, ours, preferences)
    };
    // RFC 4340, 6.3.1: without a common value, the value in force stays. If a Confirm was lost, only the peer knows
    // which one that is: our value, the one before it, or one of our list that the peer has granted meanwhile.
    let stays = || {
        let granted = ours.iter().any(|&ours| u64::from(ours) == value);
        granted || value == slot.value || slot.before.map(u64::from) == Some(value)
    };
    shared.map_or_else(stays, |shared| value == u64::from(shared))
}

/// Returns the first entry of the server's list that the client's list also has (RFC 4340, 6.3.1). RFC 4340, 15: a
/// value that we do not know is never in both lists.
fn reconcile(role: Role, ours: &[u8], theirs: &[u8]) -> Option<u8> {
    let (server, client) = match role {
        Role::Server => (ours, theirs),
        Role::Client => (theirs, ours),
    };
    server.iter().copied().find(|value| client.contains(value))
}
