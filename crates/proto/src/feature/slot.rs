//! One feature at one location.

use fairwire_wire::Ccid;
use fairwire_wire::feature::{Feature, Rule};

use crate::constants::DEFAULT_CCID;

/// The features that take part: those of RFC 4340 and those of CCID 3 and 4 (RFC 4342, section 8.4;
/// RFC 6323, section 3.2.2). CCID 2 needs two of them, so they are there (RFC 4340, section 6.4).
///
/// Any other number, and these where their CCID is not in use, counts as unknown.
pub(crate) const KNOWN: [Feature; 11] = [
    Feature::Ccid,
    Feature::AllowShortSeqnos,
    Feature::SequenceWindow,
    Feature::EcnIncapable,
    Feature::AckRatio,
    Feature::SendAckVector,
    Feature::SendNdpCount,
    Feature::MinimumChecksumCoverage,
    Feature::CheckDataChecksum,
    Feature::SendRttEstimate,
    Feature::SendLossEventRate,
];

/// Where a feature stands in [`KNOWN`], if it does.
pub(super) fn index(feature: Feature) -> Option<usize> {
    // Asked many times for each option, so it does not search.
    let number = feature.number();
    match number {
        1..=9 => Some(usize::from(number) - 1),
        128 => Some(9),
        192 => Some(10),
        _ => None,
    }
}

/// Values one preference list of ours holds at most; what a longer one names last is left out.
pub(super) const MAX_PREFERENCES: usize = 9;

/// A preference list of ours, best first, each value once; empty only where there are no preferences.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct List {
    values: [u8; MAX_PREFERENCES],
    len: u8,
}

impl List {
    /// No preferences at all, as a non-negotiable feature has.
    const EMPTY: Self = Self {
        values: [0; MAX_PREFERENCES],
        len: 0,
    };

    /// The distinct values of `values`, as many as fit; `default` if there are none.
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

    /// CCIDs by their numbers; the default one if there are none.
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

    /// This list with `first` at its head.
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

    /// The values, best first.
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.values[..usize::from(self.len)]
    }
}

/// What we would have the feature be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Offer {
    /// Server-priority: these, best first.
    List(List),
    /// Non-negotiable and ours: this.
    Value(u64),
}

/// The states of RFC 4340, section 6.6.2.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    /// STABLE: the value is agreed.
    Stable,
    /// STABLE still, but a Change leaves with the next packet that can carry it.
    Wanting,
    /// CHANGING: a Change was sent, an answer is awaited.
    Changing,
    /// UNSTABLE: CHANGING, and the offer has changed since the Change was sent; or its answer was
    /// another one's ([`Slot::doubt`]).
    Unstable,
}

/// A Confirm that is owed, for a Change that came: there is no other way to get one (RFC 4340,
/// section 6.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Owed {
    /// The value agreed on; nothing if the Change was invalid.
    value: u64,
    is_empty: bool,
    /// Our list as it was then, empty for a non-negotiable feature: value and list have to be of one
    /// moment, or the peer would find the choice wrong.
    list: List,
    /// Was it sent at least once? (In PARTOPEN it is repeated.)
    pub(super) told: bool,
}

/// One feature at one location.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about one feature; the state machine is beside them"
)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) state: State,
    /// The value in force.
    pub(super) value: u64,
    /// The one before it, which the peer may still hold if our last Confirm was lost.
    /// (Of server-priority features, whose values are bytes.)
    pub(super) before: Option<u8>,
    pub(super) offer: Offer,
    /// Has a Change with this offer left?
    offered: bool,
    /// How many sequence numbers before FGSS this feature's newest Change left; see [`super::Negotiation`].
    pub(super) lag: u32,
    /// The list that our Changes named before the offer of now: a Confirm of it may still come. (Of
    /// server-priority features; of the others see [`super::earlier`].)
    pub(super) offered_before: Option<List>,
    /// Does our Change carry Mandatory?
    pub(super) mandatory: bool,
    /// Did the peer answer our Change with something else than our first choice? Then we do not ask again.
    pub(super) refused: bool,
    /// Did the connection itself set the offer, so that it no longer follows the CCIDs?
    pub(super) pinned: bool,
    /// The Confirm that is owed.
    pub(super) owed: Option<Owed>,
}

impl Owed {
    /// The value and the list to confirm; `None` for an empty Confirm.
    pub(super) fn answer(&self) -> Option<(u64, &[u8])> {
        (!self.is_empty).then(|| (self.value, self.list.as_slice()))
    }
}

impl Offer {
    /// The preference list; empty for a non-negotiable feature.
    pub(super) fn list(&self) -> &[u8] {
        match self {
            Self::List(list) => list.as_slice(),
            Self::Value(_) => &[],
        }
    }

    /// Would this value do?
    pub(super) fn suits(&self, value: u64) -> bool {
        match self {
            Self::List(list) => list.as_slice().iter().any(|&ours| u64::from(ours) == value),
            Self::Value(ours) => *ours == value,
        }
    }
}

impl Slot {
    /// A feature at its initial value, which we want to keep.
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

    /// Takes note of a new Change that leaves.
    pub(super) fn on_change_sent(&mut self) {
        self.state = State::Changing;
        self.offered = true;
        self.lag = 0;
    }

    /// The value of a non-negotiable feature that a Change with this offer has named.
    pub(super) fn named(&self) -> Option<u64> {
        match self.offer {
            Offer::Value(value) if self.offered => Some(value),
            _ => None,
        }
    }

    /// Makes `offer` what we would have, without asking for it.
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

    /// Puts a value in force.
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

    /// Makes `offer` what we would have; asks for it unless its best, `value`, is in force.
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

    /// The peer seems to hold the value `held`: if that is one of our offer, and not the one in force here, the
    /// same offer is sent as a new Change. Says whether it is.
    pub(super) fn doubt(&mut self, held: u64) -> bool {
        let doubts = self.state == State::Stable && held != self.value && self.offer.suits(held);
        if doubts {
            self.state = State::Unstable;
        }
        doubts
    }

    /// Makes `list` what we would accept, without asking for it.
    pub(super) fn accept(&mut self, list: List) {
        if self.state == State::Stable {
            self.set_offer(Offer::List(list));
        }
    }

    /// Our first choice.
    pub(super) fn best(&self) -> u64 {
        match &self.offer {
            Offer::List(list) => u64::from(list.values[0]),
            Offer::Value(value) => *value,
        }
    }

    /// Owes the peer a Confirm of the value in force, which `offer` led to.
    pub(super) fn owe_value(&mut self, offer: Offer) {
        let list = match offer {
            Offer::List(list) => list,
            Offer::Value(_) => List::EMPTY,
        };
        self.owe(self.value, false, list);
    }

    /// Owes the peer an empty Confirm.
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

    /// Is there anything here that no packet has said yet?
    pub(super) fn owes_news(&self) -> bool {
        matches!(self.state, State::Wanting | State::Unstable)
            || self.owed.is_some_and(|owed| !owed.told)
    }
}

#[cfg(test)]
mod tests {
    use super::{Feature, KNOWN, index};

    /// Each feature has its own place.
    #[test]
    fn features_have_places() {
        for feature in Feature::ALL {
            assert_eq!(index(feature).map(|place| KNOWN[place]), Some(feature));
        }
    }
}
