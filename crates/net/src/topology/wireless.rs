//! The parts of a topology that have no wires, and hosts that are slow.

use super::Topology;
use crate::{Dcf, HandOff, HostSpec, LinkId, MediumId, NodeId, RadioSpec, StationSpec};

impl Topology {
    /// A new shared medium. Media do not hear each other.
    pub fn medium(&mut self, dcf: Dcf) -> MediumId {
        self.air.add_medium(dcf)
    }

    /// Makes `node` an access point on `medium`.
    ///
    /// # Panics
    /// If the node or the medium is not of this topology, or the node has a radio already.
    pub fn access_point(&mut self, node: NodeId, medium: MediumId, radio: RadioSpec) {
        assert!(node.0 < self.nodes, "{node:?} is not of this topology");
        self.air.add_access_point(node, medium, radio);
    }

    /// Makes `node` a station that belongs to the first of `access_points` and can come to the
    /// others. Returns the link up, and the links down, one from each of them.
    ///
    /// # Panics
    /// If one of the nodes is not what it should be, or no access point is named.
    pub fn station(
        &mut self,
        node: NodeId,
        access_points: &[NodeId],
        station: StationSpec,
    ) -> (LinkId, Vec<LinkId>) {
        assert!(node.0 < self.nodes, "{node:?} is not of this topology");
        let first = u32::try_from(self.ends.len()).expect("fewer than 2^32 links");
        self.air.add_station(node, access_points, station, first);
        self.ends.push((node, access_points[0]));
        let mut down = Vec::with_capacity(access_points.len());
        for (number, ap) in (first + 1..).zip(access_points) {
            self.ends.push((*ap, node));
            down.push(LinkId(number));
        }
        (LinkId(first), down)
    }

    /// Lets a station change its access point.
    ///
    /// # Panics
    /// If it is no station, cannot come there, or is still busy with the hand-off before.
    pub fn hand_off(&mut self, hand_off: HandOff) {
        self.air.add_hand_off(hand_off);
    }

    /// Makes `node` a slow host: packets that its agent sends and gets take their time.
    ///
    /// # Panics
    /// If the node is not of this topology.
    pub fn host(&mut self, node: NodeId, spec: HostSpec) {
        assert!(node.0 < self.nodes, "{node:?} is not of this topology");
        self.hosts.push((node, spec));
    }
}
