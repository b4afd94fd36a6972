//! A network with its agents in place, and the places of its flows.

use fairwire_net::{Digest, Network};

use super::capture::Capture;
use super::host::Host;
use super::link_meter::LinkMeters;
use fairwire_scenario::transport::Reading;
use fairwire_scenario::transport::ends::Ends;
use fairwire_scenario::transport::windows::Windows;

/// The observers of a run.
pub(crate) type Watch = (Digest, (LinkMeters, Option<Capture>));

/// The place of a flow in the network.
#[derive(Clone, Debug)]
pub(crate) struct FlowPlace {
    pub(crate) name: String,
    /// The sender's ends and the receiver's.
    pub(crate) ends: (Ends, Ends),
}

impl FlowPlace {
    /// Returns the readings of both sides.
    pub(crate) fn readings(&self, network: &Network<Host, Watch>) -> (Reading, Reading) {
        let side = |ends: &Ends| {
            let host = network.agent(ends.here);
            host.map(|host| host.reading(ends.outgoing))
                .unwrap_or_default()
        };
        (side(&self.ends.0), side(&self.ends.1))
    }
}

/// A run that is ready to begin.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) network: Network<Host, Watch>,
    pub(crate) flows: Vec<FlowPlace>,
    pub(crate) windows: Windows,
}
