//! Ports that accept connections: the state LISTEN.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairwire_wire::ServiceCode;

use super::error::ListenError;
use crate::config::Config;

/// One port.
#[derive(Debug)]
pub(super) struct Listener {
    /// RFC 5595, 3.3: one or more.
    services: Vec<ServiceCode>,
    /// Is there no room for another connection?
    pub(super) busy: bool,
    /// Differs from every other listener's, earlier ones on this port included.
    pub(super) number: u64,
    /// What its connections do. Shared, and never written to.
    pub(super) config: Arc<Config>,
}

impl Listener {
    /// Does it offer this service?
    pub(super) fn offers(&self, service: ServiceCode) -> bool {
        // RFC 4340, 8.1.2, and RFC 5595, 2.5: the invalid code is refused, whoever asks. RFC 5595,
        // 2.4 and 3.3: a port may offer several.
        service.is_valid() && self.services.contains(&service)
    }
}

/// All listening ports.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    ports: BTreeMap<u16, Listener>,
    /// Listeners there have been.
    count: u64,
}

impl Listeners {
    pub(super) fn add(
        &mut self,
        port: u16,
        services: &[ServiceCode],
        config: Config,
    ) -> Result<(), ListenError> {
        // RFC 4340, 8.1.2, RFC 5595, 2.2 and 2.5: a Service Code at least, and valid ones.
        if services.is_empty() || services.iter().any(|service| !service.is_valid()) {
            return Err(ListenError::InvalidService);
        }
        // RFC 5595, 3.3: nobody could tell two servers at one port apart.
        if self.ports.contains_key(&port) {
            return Err(ListenError::PortInUse { port });
        }
        self.count += 1;
        let listener = Listener {
            number: self.count,
            services: services.to_vec(),
            busy: false,
            config: Arc::new(config),
        };
        self.ports.insert(port, listener);
        Ok(())
    }

    pub(super) fn remove(&mut self, port: u16) {
        self.ports.remove(&port);
    }

    pub(super) fn set_busy(&mut self, port: u16, busy: bool) {
        if let Some(listener) = self.ports.get_mut(&port) {
            listener.busy = busy;
        }
    }

    pub(super) fn at(&self, port: u16) -> Option<&Listener> {
        self.ports.get(&port)
    }
}
