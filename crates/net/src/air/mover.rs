//! Hand-offs, and a station with its planned hand-offs.

use std::collections::VecDeque;

use fairwire_units::{Duration, Instant};

use crate::schedule::Key;
use crate::{NodeId, Packet};

/// The fate of packets that wait during a hand-off.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[cfg_attr(
    feature = "settings",
    derive(schemars::JsonSchema, serde::Deserialize, serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum WaitingPackets {
    /// They are lost.
    Lost,
    /// They wait. At a station they wait until it sends again. At the old access point they wait until the new one is
    /// known, and then go there by wire.
    #[default]
    Kept,
}

/// One change of access point.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HandOff {
    /// The station.
    pub station: NodeId,
    /// When it leaves the old access point.
    pub at: Instant,
    /// The new access point, which must be one of the station's own.
    pub to: NodeId,
    /// How long the station has no access point.
    pub outage: Duration,
    /// The fate of packets at the station.
    pub at_station: WaitingPackets,
    /// The fate of packets at the old access point.
    pub at_ap: WaitingPackets,
}

/// A station with hand-offs.
#[derive(Debug)]
pub(crate) struct Mover {
    /// The number of its radio.
    pub(super) station: usize,
    /// Its planned hand-offs. The first one may be in progress.
    pub(super) plan: VecDeque<Departure>,
    /// The fate of packets at the access point that it left last.
    pub(super) at_ap: WaitingPackets,
    pub(super) is_away: bool,
    /// When it leaves or joins next.
    pub(super) next: Key,
    /// Packets kept by old access points, with the nodes that they are at.
    pub(super) kept: VecDeque<(NodeId, Packet)>,
}

/// A hand-off with the radio of its new access point.
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
            at_ap: WaitingPackets::Lost,
            is_away: false,
            next: Key::NEVER,
            kept: VecDeque::new(),
        }
    }

    /// Adds a hand-off after the planned ones.
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
