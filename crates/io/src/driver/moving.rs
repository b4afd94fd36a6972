//! Connections that go to another address of this host: when the one that they began with is gone, or when the route to
//! their peers begins at another one.
//!
//! The system tells of both ([`Changes`]), and so does a datagram that it refuses to send. Then it is asked for the route
//! to each peer whose connection can go. It rests after that, for [`PAUSE`] at least, and so that the questions take a
//! small part of the time only.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;

use fairwire_proto::{Encapsulation, Path};
use fairwire_units::{Duration, Instant};

use crate::outbox::Outbox;
use crate::state::Shared;
use crate::transport::Changes;

/// The shortest time between two looks at the routes.
const PAUSE: Duration = Duration::from_millis(20);

/// How many times as long as a look the time to the next one is at least.
const REST: u64 = 10;

/// What tells the driver that it has to look at the routes.
#[derive(Debug, Default)]
pub(super) struct Moving {
    changes: Option<Box<dyn Changes>>,
    /// Whether there was a change since the last look.
    is_changed: bool,
    /// When the next look may be, because of a change and because of a refusal: an address often goes just after another
    /// one came.
    next_at: Instant,
    refused_at: Instant,
}

impl Moving {
    /// Listens to the system while there is a connection that can go elsewhere.
    pub(super) fn listen(&mut self, shared: &Shared, has_mobile: bool) {
        if !has_mobile {
            (self.changes, self.is_changed) = (None, false);
        } else if self.changes.is_none() {
            self.changes = shared.system.changes();
        }
    }

    /// Waits until routes or addresses may have changed, and may be looked at.
    pub(super) async fn changed(&mut self, shared: &Shared) {
        let Some(changes) = &mut self.changes else {
            return std::future::pending().await;
        };
        if !self.is_changed {
            poll_fn(|context| changes.poll_changed(context)).await;
            self.is_changed = true;
        }
        let pause = self.next_at.saturating_since(shared.clock.now());
        if pause > Duration::ZERO {
            tokio::time::sleep(pause.into()).await;
        }
    }

    /// Looks at the routes, because the system has refused the next datagrams. Returns whether they can leave from
    /// another address now.
    pub(super) fn on_refused(
        &mut self,
        shared: &Shared,
        outbox: &mut Outbox,
        error: &io::Error,
    ) -> bool {
        // What the system says where an address or the route from it is gone.
        let is_about_address = matches!(
            error.kind(),
            io::ErrorKind::InvalidInput
                | io::ErrorKind::AddrNotAvailable
                | io::ErrorKind::NetworkUnreachable
                | io::ErrorKind::HostUnreachable
        );
        let now = shared.clock.now();
        if !is_about_address || now < self.refused_at || !shared.lock().proto.has_mobile() {
            return false;
        }
        let here = outbox.batch.path();
        let mut leaves = false;
        for (from, to) in self.look(shared, Some(here)) {
            // The checksum of a packet without UDP has the old address.
            if from.encapsulation == Encapsulation::Udp {
                outbox.batch.redirect(from, to);
                leaves |= from == here;
            }
        }
        leaves
    }

    /// Takes each connection that can go elsewhere to the address with which the route to its peer begins; none if
    /// `refused` is the path of none of them. Returns the old and the new paths of those whose address is gone.
    pub(super) fn look(&mut self, shared: &Shared, refused: Option<Path>) -> Vec<(Path, Path)> {
        let began = shared.clock.now();
        let gone = look(shared, refused);
        let ended = shared.clock.now();
        self.next_at = ended + PAUSE.max(ended.saturating_since(began) * REST);
        if refused.is_some() {
            self.refused_at = self.next_at;
        }
        self.is_changed &= refused.is_some();
        gone
    }
}

fn look(shared: &Shared, refused: Option<Path>) -> Vec<(Path, Path)> {
    let state = shared.lock();
    let ids = state.connections.keys();
    let mobile: Vec<_> = ids
        .filter_map(|&id| Some((id, state.proto.mobile_path(id)?)))
        .collect();
    drop(state);
    if refused.is_some_and(|refused| mobile.iter().all(|(_, path)| *path != refused)) {
        return Vec::new();
    }
    // The system is asked once for each: many connections may have the same peer.
    let (mut routes, mut lost) = (BTreeMap::new(), BTreeMap::new());
    let mut gone = Vec::new();
    for (id, path) in mobile {
        let mut host = path.remote;
        host.set_port(0); // With its zone, if it has one.
        let route = routes.entry(host);
        let route = route.or_insert_with(|| {
            let route = shared.system.route(shared.facts.local, path.remote);
            route.ok() // If there is none now, the system tells when there is one.
        });
        let Some(route) = route.filter(|route| route.local != path.local) else {
            continue;
        };
        let ip = path.local.ip();
        let is_lost = *lost.entry(ip).or_insert_with(|| shared.system.is_lost(ip));
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
