//! The wireless parts of a topology, and slow hosts.

use super::Topology;
use crate::{Dcf, HandOff, HostSpec, LinkId, MediumId, NodeId, RadioSpec, StationSpec};

impl Topology {
    /// Adds a shared medium. Radios on different media do not hear each other.
    pub fn medium(&mut self, dcf: Dcf) -> MediumId {
        self.air.add_medium(dcf)
    }

    /// Makes `node` an access point on `medium`.
    ///
    /// # Panics
    /// If the node or the medium is not of this topology, or if the node already has a radio.
    pub fn access_point(&mut self, node: NodeId, medium: MediumId, radio: RadioSpec) {
        assert!(node.0 < self.nodes, "{node:?} is not of this topology");
        self.air.add_access_point(node, medium, radio);
    }

    /// Makes `node` a station that starts at the first of `access_points` and may move to the others.
    ///
    /// Returns the link up, and the links down, one from each access point.
    ///
    /// # Panics
    /// If one of the nodes does not have the required role, or if no access point is given.
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

    /// Adds a hand-off of a station to another access point.
    ///
    /// # Panics
    /// If the node is not a station, cannot reach the access point, or is still in the hand-off before.
    pub fn hand_off(&mut self, hand_off: HandOff) {
        self.air.add_hand_off(hand_off);
    }

    /// Makes `node` a slow host, which needs time for each packet that its agent sends or receives.
    ///
    /// # Panics
    /// If the node is not of this topology.
    pub fn host(&mut self, node: NodeId, spec: HostSpec) {
        assert!(node.0 < self.nodes, "{node:?} is not of this topology");
        self.hosts.push((node, spec));
    }
}
