//! The connections that may go to another address of this host.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::flow::Flow;

/// The part of a flow that stays when this end goes elsewhere: the peer's address, and the DCCP ports.
type Rest = (SocketAddr, u16, u16);

/// How many connections there are with each such part.
#[derive(Debug, Default)]
pub(super) struct Mobile(BTreeMap<Rest, usize>);

impl Mobile {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn insert(&mut self, flow: &Flow) {
        *self.0.entry(rest(flow)).or_default() += 1;
    }

    pub(super) fn remove(&mut self, flow: &Flow) {
        if let Some(count) = self.0.get_mut(&rest(flow)) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&rest(flow));
            }
        }
    }

    /// Returns whether a packet of this flow may be for one of them, at an address where it was.
    pub(super) fn may_have_left(&self, flow: &Flow) -> bool {
        !self.is_empty() && self.0.contains_key(&rest(flow))
    }
}

fn rest(flow: &Flow) -> Rest {
    (flow.path.remote, flow.local_port, flow.remote_port)
}
