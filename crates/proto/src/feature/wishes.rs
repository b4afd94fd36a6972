//! What we want of the peer: from the configuration, and as it follows from the CCIDs.
//!
//! A feature that depends on a CCID follows it: while the CCID is open, our list names both
//! possibilities; once it is known, the one that fits.

use fairwire_wire::feature::Feature;

use super::slot::{List, Offer, State};
use super::{Location, Negotiation};
use crate::config::Config;

/// The CCID with which connections start (RFC 4340, section 10).
const DEFAULT_CCID: u8 = 2;

const NO: &[u8] = &[0];
const YES: &[u8] = &[1];
const RATHER_NO: &[u8] = &[0, 1];
const RATHER_YES: &[u8] = &[1, 0];

impl Negotiation {
    /// The Changes with which the connection begins.
    pub(super) fn wish_from(&mut self, config: &Config) {
        self.wish_ccid(Location::Local, &config.send_ccids);
        self.wish_ccid(Location::Remote, &config.receive_ccids);
        for location in Location::BOTH {
            self.accept(Feature::EcnIncapable, location, RATHER_NO);
        }
        if !config.ecn {
            // RFC 4340, 12.1, and RFC 6773, 3.5: who cannot read marks says so, and insists.
            self.wish(Feature::EcnIncapable, Location::Local, YES, true);
        }
        let range = Feature::SequenceWindow.values();
        let window = config.sequence_window.clamp(*range.start(), *range.end());
        if let Some(slot) = self.slot_mut(Feature::SequenceWindow, Location::Local) {
            slot.want(Offer::Value(window), window);
        }
        if config.short_seqnos {
            // RFC 4340, 7.6.1: each end asks for its own numbers, and grants the other's.
            self.wish(
                Feature::AllowShortSeqnos,
                Location::Local,
                RATHER_YES,
                false,
            );
            self.accept(Feature::AllowShortSeqnos, Location::Remote, RATHER_YES);
        }
        self.refresh();
    }

    /// Proposes CCIDs; always, because the peer cannot know that the initial one suits us.
    fn wish_ccid(&mut self, location: Location, ccids: &[u8]) {
        let list = List::new(ccids, DEFAULT_CCID);
        // RFC 4340, 10: who cannot live with CCID 2 insists on another.
        let insists = !list.as_slice().contains(&DEFAULT_CCID);
        if let Some(slot) = self.slot_mut(Feature::Ccid, location) {
            slot.offer = Offer::List(list);
            slot.state = State::Wanting;
            slot.mandatory = insists;
        }
    }

    /// The CCID that data from `location` will use, if there is only one possibility left. What
    /// belongs to a CCID is asked for only then (RFC 4340, section 10.3).
    pub(super) fn expected_ccid(&self, location: Location) -> Option<u8> {
        self.ccid(location).or_else(|| {
            match self
                .slot(Feature::Ccid, location)
                .map(|slot| slot.offer.list())
            {
                Some(&[only]) => Some(only),
                _ => None,
            }
        })
    }

    /// Brings what depends on the CCIDs in line with them. Cheap, and without effect when
    /// nothing has changed.
    pub(super) fn refresh(&mut self) {
        for sender in Location::BOTH {
            let receiver = sender.other();
            let ccid = self.expected_ccid(sender);
            match ccid {
                // RFC 4341, 4, and RFC 4340, 11.5: CCID 2 cannot do without Ack Vectors, so both
                // ends ask for them.
                Some(2) => self.wish(Feature::SendAckVector, receiver, YES, true),
                // Only CCID 2's halves write and read them.
                Some(_) => self.wish(Feature::SendAckVector, receiver, NO, false),
                None => self.wish(Feature::SendAckVector, receiver, RATHER_YES, false),
            }
            match (sender, ccid) {
                // RFC 4342, 6.1: without it a receiver has to take every lost packet for data.
                (Location::Remote, Some(3 | 4)) => {
                    self.wish(Feature::SendNdpCount, sender, RATHER_YES, false);
                }
                (_, Some(2)) => self.accept(Feature::SendNdpCount, sender, RATHER_NO),
                _ => self.accept(Feature::SendNdpCount, sender, RATHER_YES),
            }
            match (sender, ccid) {
                // RFC 4342, 8.4, and RFC 5622, 8.4: the sender asks the receiver.
                (Location::Local, Some(3 | 4)) => {
                    self.wish(Feature::SendLossEventRate, receiver, RATHER_YES, false);
                }
                _ => self.accept(Feature::SendLossEventRate, receiver, RATHER_YES),
            }
            match ccid {
                // RFC 6323, 3.2.2: off unless somebody asks; either end may.
                Some(3 | 4) if self.rtt_estimates => {
                    self.wish(Feature::SendRttEstimate, sender, RATHER_YES, false);
                }
                _ => self.accept(Feature::SendRttEstimate, sender, RATHER_YES),
            }
            self.fix_ccid(sender);
        }
    }

    /// The CCID of an open connection stays: its value is then all that we would accept.
    fn fix_ccid(&mut self, location: Location) {
        if !self.open {
            return;
        }
        if let Some(ccid) = self.ccid(location)
            && let Some(slot) = self.slot_mut(Feature::Ccid, location)
        {
            slot.accept(List::new(&[ccid], ccid));
        }
    }

    fn wish(&mut self, feature: Feature, location: Location, list: &[u8], mandatory: bool) {
        let Some(slot) = self.slot_mut(feature, location) else {
            return;
        };
        let best = list[0];
        // A Change that is on its way stays as it is; when it ends, this is asked again.
        if slot.pinned || !matches!(slot.state, State::Stable | State::Wanting) {
            return;
        }
        if mandatory && !slot.mandatory {
            // What was refused as a preference is now a necessity.
            slot.refused = false;
        }
        slot.mandatory = mandatory;
        let offer = Offer::List(List::new(list, best));
        if slot.refused {
            slot.offer = offer;
        } else {
            slot.want(offer, u64::from(best));
        }
    }

    fn accept(&mut self, feature: Feature, location: Location, list: &[u8]) {
        let Some(slot) = self.slot_mut(feature, location) else {
            return;
        };
        if slot.pinned {
            return;
        }
        if slot.state == State::Wanting {
            slot.state = State::Stable;
        }
        slot.accept(List::new(list, list[0]));
    }
}
