//! A network with its agents in place, and where to look for them.

use fairwire_net::{Digest, Network};

use super::capture::Capture;
use super::ends::Ends;
use super::host::Host;
use super::link_meter::LinkMeters;
use super::windows::Windows;

/// What watches a run.
pub(crate) type Watch = (Digest, (LinkMeters, Option<Capture>));

/// Where a flow lives.
#[derive(Clone, Debug)]
pub(crate) struct FlowPlace {
    pub(crate) name: String,
    /// The sender's view and the receiver's.
    pub(crate) ends: (Ends, Ends),
}

/// A run, ready to begin.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) network: Network<Host, Watch>,
    pub(crate) flows: Vec<FlowPlace>,
    pub(crate) windows: Windows,
}
