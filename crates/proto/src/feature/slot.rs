//! The state of one feature at one location.

use fairwire_wire::Ccid;
use fairwire_wire::feature::{Feature, Rule};

use crate::constants::DEFAULT_CCID;

/// The features that can be negotiated: those of RFC 4340 and those of CCID 3 and 4 (RFC 4342, section 8.4; RFC 6323,
/// section 3.2.2), Allow Copies and Allow Parts. Two of them are here because CCID 2 needs them (RFC 4340, section 6.4).
///
/// Any other number counts as unknown, and so do the features of a CCID that is not in use.
pub(crate) const KNOWN: [Feature; 13] = [
    Feature::Ccid,
    Feature::AllowShortSeqnos,
    Feature::SequenceWindow,
    Feature::EcnIncapable,
    Feature::AckRatio,
    Feature::SendAckVector,
    Feature::SendNdpCount,
    Feature::MinimumChecksumCoverage,
    Feature::CheckDataChecksum,
    Feature::AllowCopies,
    Feature::AllowParts,
    Feature::SendRttEstimate,
    Feature::SendLossEventRate,
];

/// Returns the index of a feature in [`KNOWN`], if it is there.
pub(super) fn index(feature: Feature) -> Option<usize> {
    // Called many times for each option, so it does not search.
    let number = feature.number();
    match number {
        1..=9 => Some(usize::from(number) - 1),
        120 => Some(9),
        121 => Some(10),
        128 => Some(11),
        192 => Some(12),
        _ => None,
    }
}

/// The most values of a preference list of ours; the last values of a longer list are left out.
pub(super) const MAX_PREFERENCES: usize = 9;

/// A preference list of ours, best first and without repetitions. It is empty only if there are no preferences.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct List {
    values: [u8; MAX_PREFERENCES],
    len: u8,
}

impl List {
    /// A list without preferences, as for a non-negotiable feature.
    const EMPTY: Self = Self {
        values: [0; MAX_PREFERENCES],
        len: 0,
    };

    /// Creates a list of the distinct values of `values`, as many as fit. If there are none, the list has `default`.
    pub(super) fn new(values: &[u8], default: u8) -> Self {
        let mut list = Self {
            values: [0; MAX_PREFERENCES],
            len: 0,
        };
        for &value in values {
            list.push(value);
        }
        if list.len == 0 {
            list.push(default);
        }
        list
    }

    /// Creates a list of CCID numbers; it has the default CCID if there are none.
    pub(super) fn of_ccids(ccids: &[Ccid]) -> Self {
        let mut list = Self::EMPTY;
        for ccid in ccids {
            list.push(ccid.number());
        }
        if list.len == 0 {
            list.push(DEFAULT_CCID.number());
        }
        list
    }

    /// Returns this list with `first` at its head.
    pub(super) fn with_first(self, first: u8) -> Self {
        let mut list = Self::new(&[first], first);
        for &value in self.as_slice() {
            list.push(value);
        }
        list
    }

    fn push(&mut self, value: u8) {
        let len = usize::from(self.len);
        if len < MAX_PREFERENCES && !self.as_slice().contains(&value) {
            self.values[len] = value;
            self.len += 1;
        }
    }

    /// Returns the values, best first.
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.values[..usize::from(self.len)]
    }
}

/// The value that we want for a feature.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Offer {
    /// For a server-priority feature: these values, best first.
    List(List),
    /// For a non-negotiable feature at our end: this value.
    Value(u64),
}

/// The states of RFC 4340, section 6.6.2.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    /// STABLE: the value is agreed.
    Stable,
    /// STABLE, but a Change will be sent with the next packet that can carry it.
    Wanting,
    /// CHANGING: a Change was sent and awaits an answer.
    Changing,
    /// UNSTABLE: CHANGING, but the offer has changed since the Change was sent; or the answer that came belonged to
    /// another Change ([`Slot::ask_again_if_differs`]).
    Unstable,
}

/// A Confirm that is owed for a received Change. Confirms are sent only for Changes (RFC 4340, section 6.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Owed {
    /// The value agreed on; unused if the Change was invalid.
    value: u64,
    is_empty: bool,
    /// Our list at that time, empty for a non-negotiable feature. Value and list must belong together, or the peer
    /// would find the choice wrong.
    list: List,
    /// Whether it was sent at least once. (In PARTOPEN it is repeated.)
    pub(super) told: bool,
}

/// The state of one feature at one location.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about one feature; the state machine is beside them"
)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) state: State,
    /// The value in force.
    pub(super) value: u64,
    /// The previous value, which the peer may still hold if our last Confirm was lost. Only for server-priority
    /// features, whose values are bytes.
    pub(super) before: Option<u8>,
    pub(super) offer: Offer,
    /// Whether a Change with this offer was sent.
    offered: bool,
    /// How many sequence numbers before FGSS this feature's newest Change was sent; see [`super::Negotiation`].
    pub(super) lag: u32,
    /// The list in our Changes before the current offer: a Confirm of it may still arrive. Only for server-priority
    /// features; for the others see [`super::earlier`].
    pub(super) offered_before: Option<List>,
    /// Whether our Change carries Mandatory.
    pub(super) mandatory: bool,
    /// Whether the peer answered our Change with another value than our first choice. We then do not ask again.
    pub(super) refused: bool,
    /// Whether the connection itself set the offer, so that it no longer follows the CCIDs.
    pub(super) pinned: bool,
    /// The Confirm that is owed.
    pub(super) owed: Option<Owed>,
}

impl Owed {
    /// Returns the value and the list to confirm; `None` for an empty Confirm.
    pub(super) fn answer(&self) -> Option<(u64, &[u8])> {
        (!self.is_empty).then(|| (self.value, self.list.as_slice()))
    }
}

impl Offer {
    /// Returns the preference list; empty for a non-negotiable feature.
    pub(super) fn list(&self) -> &[u8] {
        match self {
            Self::List(list) => list.as_slice(),
            Self::Value(_) => &[],
        }
    }

    /// Returns whether this value is acceptable.
    pub(super) fn suits(&self, value: u64) -> bool {
        match self {
            Self::List(list) => list.as_slice().iter().any(|&ours| u64::from(ours) == value),
            Self::Value(ours) => *ours == value,
        }
    }
}

impl Slot {
    /// Creates a feature at its initial value, which we want to keep.
    pub(super) fn initial(feature: Feature) -> Self {
        let value = feature.initial();
        let offer = match feature.rule() {
            Rule::NonNegotiable => Offer::Value(value),
            // Initial values of server-priority features are single bytes.
            Rule::ServerPriority => {
                let value = u8::try_from(value).unwrap_or(0);
                Offer::List(List::new(&[value], value))
            }
        };
        Self {
            state: State::Stable,
            value,
            before: None,
            offer,
            offered: false,
            lag: 0,
            offered_before: None,
            mandatory: false,
            refused: false,
            pinned: false,
            owed: None,
        }
    }

    /// Records that a new Change was sent.
    pub(super) fn on_change_sent(&mut self) {
        self.state = State::Changing;
        self.offered = true;
        self.lag = 0;
    }

    /// Returns the value of a non-negotiable feature that a Change with this offer has named.
    pub(super) fn named(&self) -> Option<u64> {
        match self.offer {
            Offer::Value(value) if self.offered => Some(value),
            _ => None,
        }
    }

    /// Makes `offer` the offer, without asking for it.
    pub(super) fn set_offer(&mut self, offer: Offer) {
        if self.offer == offer {
            return;
        }
        if std::mem::take(&mut self.offered)
            && let Offer::List(list) = self.offer
        {
            self.offered_before = Some(list);
        }
        self.offer = offer;
    }

    /// Puts a value in force. The old one is remembered if it differs.
    pub(super) fn set(&mut self, value: u64) {
        if value != self.value {
            self.before = u8::try_from(self.value).ok();
            self.value = value;
        }
    }

    /// Ends a negotiation with the value in force.
    pub(super) fn settle(&mut self) {
        self.state = State::Stable;
        self.refused = self.value != self.best();
    }

    /// Makes `offer` the offer, and asks for it unless its best value, `value`, is in force.
    pub(super) fn want(&mut self, offer: Offer, value: u64) {
        let same = self.offer == offer;
        self.set_offer(offer);
        self.state = match self.state {
            State::Stable | State::Wanting if self.value == value => State::Stable,
            State::Stable | State::Wanting => State::Wanting,
            // RFC 4340, 6.6.5: another preference list while CHANGING.
            State::Changing | State::Unstable if !same => State::Unstable,
            state => state,
        };
    }

    /// Handles a sign that the peer holds the value `held`. If our offer has that value and it is not in force here,
    /// the same offer is sent as a new Change. Returns whether it is.
    pub(super) fn ask_again_if_differs(&mut self, held: u64) -> bool {
        let doubts = self.state == State::Stable && held != self.value && self.offer.suits(held);
        if doubts {
            self.state = State::Unstable;
        }
        doubts
    }

    /// Makes `list` acceptable, without asking for it.
    pub(super) fn accept(&mut self, list: List) {
        if self.state == State::Stable {
            self.set_offer(Offer::List(list));
        }
    }

    /// Returns our first choice.
    pub(super) fn best(&self) -> u64 {
        match &self.offer {
            Offer::List(list) => u64::from(list.values[0]),
            Offer::Value(value) => *value,
        }
    }

    /// Records that the peer is owed a Confirm of the value in force, which `offer` led to.
    pub(super) fn owe_value(&mut self, offer: Offer) {
        let list = match offer {
            Offer::List(list) => list,
            Offer::Value(_) => List::EMPTY,
        };
        self.owe(self.value, false, list);
    }

    /// Records that the peer is owed an empty Confirm.
    pub(super) fn owe_empty(&mut self) {
        self.owe(0, true, List::EMPTY);
    }

    fn owe(&mut self, value: u64, is_empty: bool, list: List) {
        self.owed = Some(Owed {
            value,
            is_empty,
            list,
            told: false,
        });
    }

    /// Returns whether a Change or Confirm has not been sent in any packet yet.
    pub(super) fn has_unsent(&self) -> bool {
        matches!(self.state, State::Wanting | State::Unstable)
            || self.owed.is_some_and(|owed| !owed.told)
    }
}

#[cfg(test)]
mod tests {
    use super::{Feature, KNOWN, index};

    /// Each feature has its own index.
    #[test]
    fn features_have_places() {
        for feature in Feature::ALL {
            assert_eq!(index(feature).map(|place| KNOWN[place]), Some(feature));
        }
    }
}
