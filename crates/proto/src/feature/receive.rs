//! Changes and Confirms that arrive (RFC 4340, sections 6.6.2 to 6.6.9).

use fairwire_units::plant::{Plant, planted};
use fairwire_wire::feature::{Confirmed, Feature, Rule, is_at_receiver, is_ccid_specific};
use fairwire_wire::{Ccid, DccpOption, PacketType, ResetCode, Seq};

use super::slot::{List, Offer, State};
use super::{Arriving, Fatal, Handled, Location, Negotiation, Role, earlier};

/// The largest Sequence Window (RFC 4340, section 7.5.2): how far FGSR and FGSS may lag behind.
const W_MAX: u64 = (1 << 46) - 1;

/// The CCIDs whose own features are known: the same in both (RFC 5622, section 8).
const CCIDS_WITH_FEATURES: [Ccid; 2] = [Ccid::TFRC, Ccid::TFRC_SP];

/// Is it a feature for which what we want follows from the CCIDs?
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

/// A Change or Confirm, with everything that its handling needs.
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

    /// RFC 4340, 6.6.9: what fails after Mandatory resets the connection.
    fn mandatory_error(self) -> Fatal {
        self.fatal(ResetCode::MandatoryError)
    }

    /// RFC 4340, 6.6.8: an invalid Confirm resets the connection.
    fn option_error(self) -> Fatal {
        self.fatal(ResetCode::OptionError)
    }
}

impl Negotiation {
    /// Begins with the options of a valid packet. `gsr` already counts it; `gss` is the greatest
    /// sequence number sent. Call it for every valid packet, with or without options.
    pub(crate) fn begin_packet(
        &mut self,
        packet_type: PacketType,
        seq: Seq,
        ackno: Option<Seq>,
        gsr: Seq,
        gss: Seq,
    ) {
        self.commit_fgsr();
        // RFC 4340, 6.6.4 with erratum 974: on a long connection both would seem to lie ahead
        // once half a circle has passed, and everything would be ignored.
        if self.fgsr.is_some_and(|fgsr| fgsr.is_after(gsr)) {
            self.fgsr = Some(gsr.sub(W_MAX));
        }
        if self.fgss.is_some_and(|fgss| fgss.is_after(gss)) {
            self.fgss = Some(gss.sub(W_MAX));
        }
        self.arriving = Some(Arriving {
            packet_type,
            seq,
            ackno,
            negotiates: false,
        });
    }

    /// Handles a Change or Confirm of the packet last begun; `mandatory` says that Mandatory came
    /// just before it. Any other option is ignored.
    ///
    /// # Errors
    /// The connection is to be reset.
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
            self.settle_wishes();
        }
        let ccid = self.current(Feature::Ccid, location);
        let before = self.bears_on_wishes(number, location);
        let handled = match self.known(number, location) {
            None => self.handle_unknown(incoming, is_change),
            Some(feature) if is_change => self.handle_change(feature, incoming),
            Some(feature) => self.handle_confirm(feature, incoming),
        }?;
        if self.open && self.current(Feature::Ccid, location) != ccid {
            self.begin_ccid(location);
            self.stale = true;
        } else if self.open && is_change && number == Feature::Ccid.number() {
            // Our Confirm was lost, and what belongs to the new CCID may have been refused without it.
            self.begin_own_features(location);
            self.stale = true;
        }
        // Our wishes follow once for a packet, and before an option that they have a say in: many
        // options cost no more than their own handling.
        self.stale |= self.bears_on_wishes(number, location) != before;
        Ok(handled)
    }

    /// What an option about this feature may change that moves our wishes.
    fn bears_on_wishes(&self, number: u8, location: Location) -> Option<(u64, State, bool)> {
        if number != Feature::Ccid.number() && !follows_ccid(number) {
            return None;
        }
        let slot = self.slot(Feature::from_number(number)?, location)?;
        Some((slot.value, slot.state, slot.refused))
    }

    /// All options of the packet last begun were handled.
    pub(crate) fn end_packet(&mut self) {
        self.settle_wishes();
    }

    /// Brings our wishes in line with what options have changed.
    pub(super) fn settle_wishes(&mut self) {
        if std::mem::take(&mut self.stale) {
            self.refresh();
        }
    }

    /// May the options of this packet count? Marks it as one that negotiates if so.
    fn is_in_order(&mut self) -> bool {
        let fgsr = self.fgsr;
        let Some(arriving) = &mut self.arriving else {
            return false;
        };
        // RFC 4340, 6: negotiation options on Data are ignored.
        if arriving.packet_type == PacketType::Data {
            return false;
        }
        // RFC 4340, 6.6.4: in strictly increasing order only. Distances up to half a circle are
        // ahead; `fgsr` is never further behind, see `begin_packet`.
        // Planted: only the very packet last handled is old.
        let any_order = planted(Plant::OldChange);
        let is_old = |fgsr| arriving.seq == fgsr || (!arriving.seq.is_after(fgsr) && !any_order);
        if fgsr.is_some_and(is_old) {
            return false;
        }
        arriving.negotiates = true;
        true
    }

    /// GSR was forged: what the peer itself has sent, and was handled, has numbers up to `seq`.
    pub(crate) fn recede(&mut self, seq: Seq) {
        self.commit_fgsr();
        // RFC 4340, 6.6.4: what comes from now on counts, and no copy of what came before does. How far
        // that went is not known if FGSR was forged too; no farther than this.
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

    /// This negotiation as the next packet will find it. Two that are alike here act alike: every packet begins
    /// with [`Self::begin_packet`], which does the same first and then replaces what is known of the last packet,
    /// and nothing reads that, or FGSR, between packets.
    #[cfg(test)]
    pub(crate) fn between_packets(&self) -> Self {
        let mut this = self.clone();
        this.commit_fgsr();
        this
    }

    /// The feature with this number, if it means something to us at that location.
    pub(super) fn known(&self, number: u8, location: Location) -> Option<Feature> {
        let feature = Feature::from_number(number)?;
        self.slot(feature, location)?;
        if is_ccid_specific(number) {
            // RFC 4340, 10.3: features from 192 up are located at the receiver of the data whose
            // CCID they belong to.
            let sender = if is_at_receiver(number) {
                location.other()
            } else {
                location
            };
            let in_force = self.current(Feature::Ccid, sender);
            let has_features = |ccid| CCIDS_WITH_FEATURES.contains(&ccid);
            let in_force =
                u8::try_from(in_force).is_ok_and(|number| has_features(Ccid::new(number)));
            // In the handshake they may follow their Change; later they follow its Confirm.
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
            // RFC 4340, 6.6.7: nobody asked; ignored.
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
            // What acknowledges this Change must not answer an older one.
            slot.owed = None;
            return Ok(Handled::Ignored);
        }
        // RFC 4340, 10.5: a CCID does not change too often. A Change of ours that was sent is held to.
        let offer = match u8::try_from(slot.value) {
            Ok(value) if locked && slot.state != State::Changing => {
                Offer::List(List::new(&[value], value))
            }
            _ => slot.offer,
        };
        let chosen = match feature.rule() {
            // RFC 4340, 6.3.2: the location alone proposes values, any valid one is taken.
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
            // RFC 4340, 6.6.9: invalid, or nothing in common.
            return Err(incoming.mandatory_error());
        }
        let handled = match chosen {
            // RFC 4340, 6.6.8: an invalid Change gets an empty Confirm, and changes nothing.
            None => {
                slot.owe_empty();
                Handled::Noted
            }
            // RFC 4340, 6.3.1: nothing in common leaves the value as it was.
            Some(None) => {
                slot.owe_value(offer);
                // A necessity is not given up: the Mandatory Change that is still to be sent, or
                // sent again, then ends the connection.
                //
                // Where Changes cross, the client gives up: if each end took the other's word for
                // what stays, two that differ (a Confirm was lost before) would swap their values.
                let kept = slot.mandatory && slot.value != slot.best();
                let gives_up = !open || role == Role::Client;
                if slot.state != State::Stable && gives_up && !kept {
                    slot.settle();
                }
                Handled::Noted
            }
            Some(Some(value)) => {
                // Planted: no Confirm for a Change that changes nothing, as its copies do.
                let is_news = slot.value != value || !open;
                slot.set(value);
                if is_news || !planted(Plant::UnansweredChange) {
                    slot.owe_value(offer);
                }
                // RFC 4340, 6.6.6: a Change that crosses ours is its answer. But in mid-connection it
                // may be a copy of one that was answered before, from a peer that has not heard ours
                // and never will if we ask no more: ours stays open until it is confirmed, as it
                // is by a peer that has heard it.
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
        // RFC 4340, 6.6.4: a Confirm has to acknowledge the newest Change of its feature.
        let ackno = self.arriving.and_then(|arriving| arriving.ackno);
        let lag = self.slot(feature, location).map_or(0, |slot| slot.lag);
        // RFC 4340, 6.6.1: until then the value stays.
        let answers = match (ackno, self.fgss) {
            (Some(ackno), Some(fgss)) => !ackno.is_before(fgss.sub(u64::from(lag))),
            _ => false,
        };
        if !answers {
            return Ok(Handled::Ignored);
        }
        if feature.rule() == Rule::NonNegotiable && location == Location::Remote {
            // RFC 4340, 6.6.8: Confirm L exists for no non-negotiable feature.
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
        // RFC 4340, 6.6.8: what belongs to no negotiation under way is ignored, even if invalid.
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
            // RFC 4340, 6.6.7: every DCCP understands the required ones. 5.8.2: and who does not
            // understand one behind Mandatory resets.
            if feature.is_required() || slot.mandatory {
                return Err(incoming.option_error());
            }
            slot.state = State::Stable;
            slot.refused = true;
            return Ok(Handled::Noted);
        };
        let fits = |list: &List| {
            let ours = list.as_slice();
            let shared = if preferences.is_empty() {
                // RFC 4340, 6.2: the list may be left out; the value must suit ours then.
                ours.iter().copied().find(|&ours| u64::from(ours) == value)
            } else {
                reconcile(role, ours, preferences)
            };
            // RFC 4340, 6.3.1: where nothing is in common the value in force stays. Which one that
            // is, the peer knows better where a Confirm was lost: ours of the last change, or its
            // own of what it has granted us meanwhile.
            let stays = || {
                let granted = ours.iter().any(|&ours| u64::from(ours) == value);
                granted || value == slot.value || slot.before.map(u64::from) == Some(value)
            };
            shared.map_or_else(stays, |shared| value == u64::from(shared))
        };
        let right = match &slot.offer {
            Offer::Value(ours) => value == *ours,
            Offer::List(list) => fits(list),
        };
        let answers_earlier = || match &slot.offer {
            Offer::Value(_) => earlier.is_some_and(|values| values.contains(value)),
            Offer::List(_) => slot.offered_before.as_ref().is_some_and(fits),
        };
        if !right && answers_earlier() {
            // It answers an earlier Change: that the peer has heard a later packet does not mean
            // that it has heard the later Change. It may also be the second copy of one that was
            // agreed on.
            return Ok(Handled::Ignored);
        }
        if !right {
            // RFC 4340, 6.6.8: the wrong choice, given both lists.
            return Err(incoming.option_error());
        }
        if slot.mandatory && !slot.offer.suits(value) {
            // RFC 4340, 5.8.2: what stands behind Mandatory is granted, or there is no connection.
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

    /// RFC 4340, 6.6.8: a Confirm that belongs to no negotiation under way is ignored, even if invalid.
    ///
    /// But 6.6.4 goes by the Acknowledgement Number, which is that of the greatest packet received (7.4),
    /// and this may have overtaken our latest Change: the answer to an earlier Change then passes for the
    /// answer to the latest, whose own comes here. If it shows that the peer holds another value we ask again.
    fn handle_unexpected_confirm(&mut self, feature: Feature, incoming: Incoming<'_>) -> Handled {
        let location = incoming.location;
        // RFC 4340, 10.5: a CCID does not change too often.
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
        if slot.doubt(value) {
            Handled::Noted
        } else {
            Handled::Ignored
        }
    }

    /// Answers to a handshake packet are repeated until the handshake is over: the packet with
    /// them may be lost, and a copy of what they answer does not call for them again.
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

/// RFC 4340, 6.3.1: the first entry of the server's list that the client's has too. RFC 4340, 15:
/// values that we do not know are never in both.
fn reconcile(role: Role, ours: &[u8], theirs: &[u8]) -> Option<u8> {
    let (server, client) = match role {
        Role::Server => (ours, theirs),
        Role::Client => (theirs, ours),
    };
    server.iter().copied().find(|value| client.contains(value))
}
