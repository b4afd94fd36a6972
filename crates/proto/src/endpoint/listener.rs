//! Ports that accept connections: the LISTEN state.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use fairwire_wire::ServiceCode;

use super::admit::{Admit, AdmitHook};
use crate::config::Config;
use crate::error::ListenError;
use crate::flow::Flow;
use crate::id::ConnectionId;

/// A listener on one port.
#[derive(Debug)]
pub(super) struct Listener {
    /// The services offered. RFC 5595, 3.3: one or more.
    services: Vec<ServiceCode>,
    /// The places for connections that the application has not taken over.
    accept: AcceptPlaces,
    /// The application's admission hook.
    pub(super) admit: Option<AdmitHook>,
    /// A number that is unique among all listeners so far, including earlier ones on this port.
    pub(super) number: u64,
    /// The configuration of its connections. Shared and never modified.
    pub(super) config: Arc<Config>,
}

/// The places for connections whose handshake is complete and that the application has not taken over.
#[derive(Debug)]
struct AcceptPlaces {
    places: usize,
    free: usize,
    /// Connections that wait for a place, in order of arrival. Some may have ended since.
    waiting: VecDeque<ConnectionId>,
}

impl Listener {
    /// Returns whether another connection may complete its handshake.
    pub(super) fn has_room(&self) -> bool {
        self.accept.free > 0
    }

    /// Asks the hook about a client on `flow` that wants `service`. Without a hook the client is accepted.
    pub(super) fn decide(&self, flow: &Flow, service: ServiceCode) -> Admit {
        let hook = self.admit.as_ref();
        hook.map_or(Admit::Accept, |hook| hook.decide(flow, service))
    }

    /// Returns whether the listener offers this service.
    pub(super) fn offers(&self, service: ServiceCode) -> bool {
        // RFC 4340, 8.1.2, and RFC 5595, 2.5: the invalid code is always refused. RFC 5595, 2.4 and 3.3: a port may
        // offer several services.
        service.is_valid() && self.services.contains(&service)
    }
}

/// All listening ports.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    ports: BTreeMap<u16, Listener>,
    /// Number of listeners created so far.
    count: u64,
}

impl Listeners {
    pub(super) fn add(
        &mut self,
        port: u16,
        services: &[ServiceCode],
        config: Config,
    ) -> Result<(), ListenError> {
        // RFC 4340, 8.1.2, RFC 5595, 2.2 and 2.5: at least one Service Code, and only valid ones.
        if services.is_empty() || services.iter().any(|service| !service.is_valid()) {
            return Err(ListenError::InvalidService);
        }
        // RFC 5595, 3.3: two servers on one port could not be told apart.
        if self.ports.contains_key(&port) {
            return Err(ListenError::PortInUse { port });
        }
        self.count += 1;
        let listener = Listener {
            number: self.count,
            services: services.to_vec(),
            accept: AcceptPlaces {
                places: usize::MAX,
                free: usize::MAX,
                waiting: VecDeque::new(),
            },
            admit: None,
            config: Arc::new(config),
        };
        self.ports.insert(port, listener);
        Ok(())
    }

    pub(super) fn remove(&mut self, port: u16) {
        self.ports.remove(&port);
    }

    /// Sets the number of places of `port`. All of them are free then.
    pub(super) fn set_accept_places(&mut self, port: u16, places: usize) {
        if let Some(listener) = self.ports.get_mut(&port) {
            listener.accept.places = places;
            listener.accept.free = places;
        }
    }

    pub(super) fn set_admit(&mut self, port: u16, hook: Option<AdmitHook>) -> bool {
        let listener = self.ports.get_mut(&port);
        listener.map(|listener| listener.admit = hook).is_some()
    }

    /// Takes a place of `port` for a connection.
    pub(super) fn take_place(&mut self, port: u16) {
        if let Some(Listener { accept, .. }) = self.ports.get_mut(&port) {
            accept.free = accept.free.saturating_sub(1);
        }
    }

    /// Frees a place of `port`.
    pub(super) fn free_place(&mut self, port: u16) {
        if let Some(Listener { accept, .. }) = self.ports.get_mut(&port) {
            accept.free = accept.free.saturating_add(1).min(accept.places);
        }
    }

    /// Returns the queue of connections that wait for a place of `port`.
    pub(super) fn waiting(&mut self, port: u16) -> Option<&mut VecDeque<ConnectionId>> {
        self.ports
            .get_mut(&port)
            .map(|port| &mut port.accept.waiting)
    }

    pub(super) fn at(&self, port: u16) -> Option<&Listener> {
        self.ports.get(&port)
    }
}
