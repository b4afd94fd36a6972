//! Hand-offs, and a station with those that it has before it.

use std::collections::VecDeque;

use fairwire_units::{Duration, Instant};

use crate::schedule::Key;
use crate::{NodeId, Packet};

/// What becomes of packets that a hand-off overtakes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum Stranded {
    /// They are lost.
    Lost,
    /// They wait: at a station until it sends again; at the old access point until the new one
    /// is known, and then they go there by wire.
    #[default]
    Kept,
}

/// One change of access point.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HandOff {
    /// Who.
    pub station: NodeId,
    /// When it leaves the old access point.
    pub at: Instant,
    /// The new one, which must be among those the station can come to.
    pub to: NodeId,
    /// How long it belongs to nobody.
    pub outage: Duration,
    /// What becomes of packets at the station.
    pub at_station: Stranded,
    /// What becomes of packets at the old access point.
    pub at_ap: Stranded,
}

/// A station that moves.
#[derive(Debug)]
pub(crate) struct Mover {
    /// Its radio.
    pub(super) station: usize,
    /// Its hand-offs to come, the first one perhaps under way.
    pub(super) plan: VecDeque<Departure>,
    /// What becomes of packets at the access point it left last.
    pub(super) at_ap: Stranded,
    pub(super) is_away: bool,
    /// When it leaves or comes next.
    pub(super) next: Key,
    /// Kept by old access points, with the nodes they are at.
    pub(super) kept: VecDeque<(NodeId, Packet)>,
}

/// A hand-off with the radio of its access point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(super) at: Instant,
    pub(super) to: usize,
    pub(super) hand_off: HandOff,
}

impl Mover {
    pub(super) fn new(station: usize) -> Self {
        Self {
            station,
            plan: VecDeque::new(),
            at_ap: Stranded::Lost,
            is_away: false,
            next: Key::NEVER,
            kept: VecDeque::new(),
        }
    }

    /// Adds a hand-off behind those there are.
    pub(super) fn add(&mut self, departure: Departure) {
        self.plan.push_back(departure);
        self.next_departure(0);
    }

    pub(super) fn next_departure(&mut self, ticket: u64) {
        self.next = self.plan.front().map_or(Key::NEVER, |next| Key {
            at: next.at,
            ticket,
        });
    }
}
