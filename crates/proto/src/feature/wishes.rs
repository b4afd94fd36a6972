//! What we ask of the peer: from the configuration, and according to the CCIDs.
//!
//! A feature that depends on a CCID follows it. While the CCID is undecided, our list has both possibilities; once it
//! is known, the list has the one that fits.

use fairwire_wire::Ccid;
use fairwire_wire::feature::Feature;

use super::slot::{List, MAX_PREFERENCES, Offer, Slot, State};
use super::{Location, Negotiation, has_ack_vectors};
use crate::config::{Config, DataChecksum};
use crate::constants::DEFAULT_CCID;
use crate::work;

/// The largest Minimum Checksum Coverage (RFC 4340, section 9.2.1).
const MAX_COVERAGE: u8 = 15;

/// The number of coverage values that are proposed or accepted.
const COVERAGES: usize = MAX_PREFERENCES - 1;

const NO: &[u8] = &[0];
const YES: &[u8] = &[1];
const PREFER_NO: &[u8] = &[0, 1];
const PREFER_YES: &[u8] = &[1, 0];

/// Returns the features that belong to the CCID of data from `sender`, and where they are located (RFC 4340, section
/// 10.3).
fn own_features(sender: Location) -> [(Feature, Location); 2] {
    [
        (Feature::SendRttEstimate, sender),
        (Feature::SendLossEventRate, sender.other()),
    ]
}

impl Negotiation {
    /// Prepares the Changes with which the connection begins.
    pub(super) fn wish_from(&mut self, config: &Config) {
        self.wish_ccid(Location::Local, &config.send_ccids);
        self.wish_ccid(Location::Remote, &config.receive_ccids);
        for location in Location::BOTH {
            self.accept(Feature::EcnIncapable, location, PREFER_NO);
        }
        if !config.ecn {
            // RFC 4340, 12.1, and RFC 6773, 3.5: an endpoint that cannot read marks must say so, with Mandatory.
            self.wish(Feature::EcnIncapable, Location::Local, YES, true);
        }
        self.wish_integrity(config);
        let range = Feature::SequenceWindow.values();
        let window = config.sequence_window.clamp(*range.start(), *range.end());
        if let Some(slot) = self.slot_mut(Feature::SequenceWindow, Location::Local) {
            slot.want(Offer::Value(window), window);
        }
        if config.short_seqnos {
            // RFC 4340, 7.6.1: each end asks for short numbers of its own, and accepts the other's.
            self.wish(
                Feature::AllowShortSeqnos,
                Location::Local,
                PREFER_YES,
                false,
            );
            self.accept(Feature::AllowShortSeqnos, Location::Remote, PREFER_YES);
        }
        if config.resend {
            // RFC 4340, 15: off at first, as for every extension. Each end asks for its own data, and accepts the
            // other's.
            self.wish(Feature::AllowCopies, Location::Local, PREFER_YES, false);
            self.accept(Feature::AllowCopies, Location::Remote, PREFER_YES);
        }
        if config.messages {
            self.wish(Feature::AllowParts, Location::Local, PREFER_YES, false);
            self.accept(Feature::AllowParts, Location::Remote, PREFER_YES);
        }
        self.refresh();
    }

    /// Asks for checksum coverage and Data Checksums.
    fn wish_integrity(&mut self, config: &Config) {
        let feature = Feature::MinimumChecksumCoverage;
        // RFC 4340, 9.2.1: we accept any minimum that is no lower than ours, and complete coverage; we ask for any
        // minimum that lets our coverage pass. The lists have eight values each. If two ends can agree at all, such
        // lists always have a common value.
        let takes = |least| (least..=MAX_COVERAGE).take(COVERAGES).chain([0]).collect();
        let accepted: Vec<u8> = match config.minimum_checksum_coverage {
            0 => vec![0],
            least => takes(least),
        };
        self.accept(feature, Location::Local, &accepted);
        let sends = (1..=config.checksum_coverage).rev().take(COVERAGES);
        let wanted: Vec<u8> = sends.chain([0]).collect();
        if wanted.len() > 1 {
            self.wish(feature, Location::Remote, &wanted, false);
        }
        let feature = Feature::CheckDataChecksum;
        // We always check them, so the peer may have this confirmed.
        self.accept(feature, Location::Local, PREFER_YES);
        match config.data_checksum {
            DataChecksum::Off => self.accept(feature, Location::Remote, PREFER_NO),
            DataChecksum::On => self.wish(feature, Location::Remote, PREFER_YES, false),
            // RFC 4340, 9.3.1: with Mandatory, so that a peer without them resets.
            DataChecksum::Required => self.wish(feature, Location::Remote, YES, true),
        }
    }

    /// Proposes CCIDs. This is always done, because the peer cannot know that the initial CCID suits us.
    fn wish_ccid(&mut self, location: Location, ccids: &[Ccid]) {
        let list = List::of_ccids(ccids);
        // RFC 4340, 10: an endpoint that cannot use CCID 2 insists on another.
        let insists = !list.as_slice().contains(&DEFAULT_CCID.number());
        if let Some(slot) = self.slot_mut(Feature::Ccid, location) {
            slot.set_offer(Offer::List(list));
            slot.state = State::Wanting;
            slot.mandatory = insists;
        }
    }

    /// Returns the CCID that data from `location` will use, if only one possibility is left. Only then are its own
    /// features asked for (RFC 4340, section 10.3).
    pub(super) fn expected_ccid(&self, location: Location) -> Option<Ccid> {
        if self.is_settled(Feature::Ccid, location) {
            return self.ccid(location);
        }
        match self
            .slot(Feature::Ccid, location)
            .map(|slot| slot.offer.list())
        {
            Some(&[only]) => Some(Ccid::new(only)),
            _ => None,
        }
    }

    /// Adjusts to a new CCID for data from `sender` in mid-connection. The old CCID's own features are reset, and
    /// features refused under it may be asked for again.
    pub(super) fn begin_ccid(&mut self, sender: Location) {
        self.ccid_changed[sender as usize] = true;
        for (feature, location) in own_features(sender) {
            if let Some(slot) = self.slot_mut(feature, location) {
                slot.value = feature.initial();
            }
        }
        self.begin_own_features(sender);
    }

    /// Restarts the features that depend on a CCID and are not agreed on. A refused feature may be asked for again, and
    /// a pending Change becomes a new one, which no earlier Confirm answers.
    pub(super) fn begin_own_features(&mut self, sender: Location) {
        for (feature, location) in own_features(sender) {
            if let Some(slot) = self.slot_mut(feature, location)
                && slot.value == feature.initial()
            {
                *slot = Slot::initial(feature);
            }
        }
        self.clear_refusal(Feature::SendAckVector, sender.other());
        self.clear_refusal(Feature::SendNdpCount, sender);
    }

    fn clear_refusal(&mut self, feature: Feature, location: Location) {
        if let Some(slot) = self.slot_mut(feature, location) {
            slot.refused = false;
            slot.mandatory = false;
            if slot.state == State::Changing {
                slot.state = State::Unstable;
            }
        }
    }

    /// Updates what depends on the CCIDs. Cheap, and without effect if nothing has changed.
    pub(super) fn refresh(&mut self) {
        work::step();
        for sender in Location::BOTH {
            let receiver = sender.other();
            let vectors = self.expected_ccid(sender).map(has_ack_vectors);
            let settled = self.is_settled(Feature::Ccid, sender);
            self.ccid_agreed[sender as usize] |= settled;
            if self.open && !settled {
                // The CCID in force keeps what it needs until another is agreed on. What the other one cannot work
                // without is asked for in addition, but not with Mandatory, because that would end a connection that
                // can continue as it is.
                if vectors == Some(true) {
                    self.wish(Feature::SendAckVector, receiver, YES, false);
                }
                continue;
            }
            match vectors {
                // RFC 4341, 4, and RFC 4340, 11.5: CCID 2 cannot work without Ack Vectors, so both ends ask for them.
                // Not with Mandatory if the peer may not know yet which CCID is in force: after a change in
                // mid-connection, which end knows first depends on what was lost.
                Some(true) => {
                    let insists = !self.ccid_changed[sender as usize];
                    self.wish(Feature::SendAckVector, receiver, YES, insists);
                }
                // TFRC neither writes nor reads them.
                Some(false) => self.wish(Feature::SendAckVector, receiver, NO, false),
                None => self.wish(Feature::SendAckVector, receiver, PREFER_YES, false),
            }
            match (sender, vectors) {
                // RFC 4342, 6.1: without it, a receiver must count every lost packet as data.
                (Location::Remote, Some(false)) => {
                    self.wish(Feature::SendNdpCount, sender, PREFER_YES, false);
                }
                (_, Some(true)) => self.accept(Feature::SendNdpCount, sender, PREFER_NO),
                _ => self.accept(Feature::SendNdpCount, sender, PREFER_YES),
            }
            match (sender, vectors) {
                // RFC 4342, 8.4, and RFC 5622, 8.4: the sender asks the receiver.
                (Location::Local, Some(false)) => {
                    self.wish(Feature::SendLossEventRate, receiver, PREFER_YES, false);
                }
                _ => self.accept(Feature::SendLossEventRate, receiver, PREFER_YES),
            }
            match vectors {
                // RFC 6323, 3.2.2: off unless either end asks.
                Some(false) if self.rtt_estimates => {
                    self.wish(Feature::SendRttEstimate, sender, PREFER_YES, false);
                }
                _ => self.accept(Feature::SendRttEstimate, sender, PREFER_YES),
            }
        }
    }

    fn wish(&mut self, feature: Feature, location: Location, list: &[u8], mandatory: bool) {
        let Some(slot) = self.slot_mut(feature, location) else {
            return;
        };
        let best = list[0];
        // A pending Change stays as it is; this is called again when it ends.
        if slot.pinned || !matches!(slot.state, State::Stable | State::Wanting) {
            return;
        }
        if mandatory && !slot.mandatory {
            // The feature was refused as a preference, but is needed now.
            slot.refused = false;
        }
        slot.mandatory = mandatory;
        let offer = Offer::List(List::new(list, best));
        if slot.refused {
            slot.set_offer(offer);
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
