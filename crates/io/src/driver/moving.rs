//! Connections that go to another address of this host: when the one that they began with is gone, or when the route to
//! their peers begins at another one.
//!
//! The system tells of both ([`Changes`]), and so does a datagram that it refuses to send. Then it is asked for the route
//! of each connection that can go. It is asked at most once in [`PAUSE`].

use std::future::poll_fn;

use fairwire_proto::{Encapsulation, Path};
use fairwire_units::{Duration, Instant};

use crate::outbox::Outbox;
use crate::state::Shared;
use crate::transport::Changes;

/// The shortest time between two looks at the routes that refused datagrams cause.
const PAUSE: Duration = Duration::from_millis(20);

/// What tells the driver that it has to look at the routes.
#[derive(Debug, Default)]
pub(super) struct Moving {
    changes: Option<Box<dyn Changes>>,
    /// From when a refused datagram causes another look.
    next_at: Instant,
}

impl Moving {
    /// Listens to the system while there is a connection that can go elsewhere.
    pub(super) fn listen(&mut self, shared: &Shared, has_mobile: bool) {
        if !has_mobile {
            self.changes = None;
        } else if self.changes.is_none() {
            self.changes = shared.system.changes();
        }
    }

    /// Waits until routes or addresses may have changed.
    pub(super) async fn changed(&mut self) {
        match &mut self.changes {
            Some(changes) => poll_fn(|context| changes.poll_changed(context)).await,
            None => std::future::pending().await,
        }
    }

    /// Looks at the routes, because the system has refused the next datagrams. Returns whether they can leave from
    /// another address now.
    pub(super) fn on_refused(&mut self, shared: &Shared, outbox: &mut Outbox) -> bool {
        let now = shared.clock.now();
        if now < self.next_at || !shared.lock().proto.has_mobile() {
            return false;
        }
        self.next_at = now + PAUSE;
        let here = outbox.batch.path();
        let mut leaves = false;
        for (from, to) in look(shared) {
            // The checksum of a packet without UDP has the old address.
            if from.encapsulation == Encapsulation::Udp {
                outbox.batch.redirect(from, to);
                leaves |= from == here;
            }
        }
        leaves
    }
}

/// Takes each connection that can go elsewhere to the address with which the route to its peer begins. Returns the old
/// and the new paths of those whose address is gone.
pub(super) fn look(shared: &Shared) -> Vec<(Path, Path)> {
    let state = shared.lock();
    let ids = state.connections.keys();
    let mobile: Vec<_> = ids
        .filter_map(|&id| Some((id, state.proto.mobile_path(id)?)))
        .collect();
    drop(state);
    let mut gone = Vec::new();
    for (id, path) in mobile {
        let Ok(route) = shared.system.route(shared.facts.local, path.remote) else {
            continue; // The system tells when there is one.
        };
        if route.local == path.local {
            continue;
        }
        let is_lost = shared.system.is_lost(path.local.ip());
        let mut state = shared.lock();
        let now = shared.clock.now();
        if state.proto.change_local(now, id, route.local, is_lost) && is_lost {
            if let Some(mtu) = route.mtu {
                let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
                state.proto.limit_path_mtu(now, id, mtu);
            }
            let local = route.local;
            gone.push((path, Path { local, ..path }));
        }
    }
    gone
}
