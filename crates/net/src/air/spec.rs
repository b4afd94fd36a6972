//! The description of media, access points and stations.

use super::adapt::{Adaptation, RateControl};
use super::dcf::{Dcf, Medium};
use super::mover::{Departure, HandOff, Mover};
use super::phy::PhyRate;
use super::radio::{Radio, RadioSpec, Role};
use super::signal::Signal;
use super::{Air, Hop};
use crate::{LinkId, LinkStats, NodeId, Stream};

/// A shared medium, by its number.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct MediumId(pub u32);

/// The settings of a station, and of the signal between it and its access points.
#[derive(Debug)]
pub struct StationSpec {
    radio: RadioSpec,
    rate: RateControl,
    signal: Option<(f64, Stream, Stream)>,
}

impl StationSpec {
    /// Creates a station with this radio, at 54 Mbit/s in both directions and without frame errors.
    pub fn new(radio: RadioSpec) -> Self {
        Self {
            radio,
            rate: RateControl::Fixed(PhyRate::M54),
            signal: None,
        }
    }

    /// Sets how the station chooses its mode, and how the access points do for frames to it.
    pub fn rate(mut self, rate: RateControl) -> Self {
        self.rate = rate;
        self
    }

    /// Sets a signal `db` decibels above the level of 6 Mbit/s, in both directions.
    ///
    /// The streams decide which frames are corrupted up and down.
    pub fn signal(mut self, db: f64, up: Stream, down: Stream) -> Self {
        self.signal = Some((db, up, down));
        self
    }
}

impl Air {
    pub(crate) fn add_medium(&mut self, dcf: Dcf) -> MediumId {
        let id = u32::try_from(self.media.len()).expect("fewer than 2^32 media");
        self.media.push(Medium::new(dcf));
        MediumId(id)
    }

    fn radio_at(&self, node: NodeId) -> Option<usize> {
        self.radios.iter().position(|radio| radio.node == node)
    }

    fn add_radio(&mut self, node: NodeId, medium: usize, role: Role, spec: RadioSpec) -> usize {
        assert!(
            self.radio_at(node).is_none(),
            "{node:?} has a radio already"
        );
        let number = self.radios.len();
        self.radios.push(Radio::new(node, role, medium, spec));
        self.media[medium].enter(number);
        number
    }

    pub(crate) fn add_access_point(&mut self, node: NodeId, medium: MediumId, spec: RadioSpec) {
        let medium = medium.0 as usize;
        assert!(medium < self.media.len(), "there is no such medium");
        self.add_radio(node, medium, Role::AccessPoint { hops: Vec::new() }, spec);
    }

    fn access_point(&self, node: NodeId) -> usize {
        self.radio_at(node)
            .filter(|radio| matches!(self.radios[*radio].role, Role::AccessPoint { .. }))
            .unwrap_or_else(|| panic!("{node:?} is no access point"))
    }

    /// Adds a station and its hops, whose links are numbered from `first` on.
    pub(crate) fn add_station(
        &mut self,
        node: NodeId,
        access_points: &[NodeId],
        spec: StationSpec,
        first: u32,
    ) {
        let aps: Vec<usize> = access_points
            .iter()
            .map(|ap| self.access_point(*ap))
            .collect();
        let start = *aps.first().expect("a station belongs to an access point");
        let medium = self.radios[start].medium.expect("access points stay");
        let up = self.hops.len();
        let role = Role::Station {
            hop: up,
            at: Some(start),
        };
        let station = self.add_radio(node, medium, role, spec.radio);
        let signal = spec.signal.as_ref();
        let heard = signal.map(|(db, draws, _)| (Signal::new(*db), draws.clone()));
        let mut add = |id: u32, from: usize, to: usize, signal| {
            self.hops.push(Hop {
                id: LinkId(id),
                from,
                to,
                rate: Adaptation::new(spec.rate),
                signal,
                stats: LinkStats::default(),
            });
        };
        add(first, station, start, heard);
        for (number, ap) in (first + 1..).zip(&aps) {
            let hears = signal.map(|(db, _, draws)| (Signal::new(*db), draws.clone()));
            add(number, *ap, station, hears);
        }
        for (number, ap) in aps.into_iter().enumerate() {
            if let Role::AccessPoint { hops } = &mut self.radios[ap].role {
                hops.push((node, up + 1 + number));
            }
        }
    }

    pub(crate) fn add_hand_off(&mut self, hand_off: HandOff) {
        let station = self
            .radio_at(hand_off.station)
            .filter(|radio| matches!(self.radios[*radio].role, Role::Station { .. }))
            .unwrap_or_else(|| panic!("{:?} is no station", hand_off.station));
        let to = self.access_point(hand_off.to);
        let reaches = |hop: &Hop| hop.from == to && hop.to == station;
        assert!(
            self.hops.iter().any(reaches),
            "the station cannot come there"
        );
        let departure = Departure {
            at: hand_off.at,
            to,
            hand_off,
        };
        let known = self
            .movers
            .iter()
            .position(|mover| mover.station == station);
        let mover = known.unwrap_or_else(|| {
            self.movers.push(Mover::new(station));
            self.movers.len() - 1
        });
        let in_order = self.movers[mover]
            .plan
            .back()
            .is_none_or(|last| last.at + last.hand_off.outage < departure.at);
        assert!(in_order, "hand-offs of a station come one after the other");
        self.movers[mover].add(departure);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.hops.is_empty()
    }
}
