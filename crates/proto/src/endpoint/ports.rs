//! Choice of a local port that is hard to guess (RFC 4340, section 5.1).

use fairwire_units::Instant;

use super::Endpoint;
use crate::error::StartError;
use crate::flow::Flow;
use crate::transmit::Path;

/// The dynamic ports (RFC 6335, section 6).
const FIRST: u16 = 49_152;
const COUNT: u16 = u16::MAX - FIRST + 1;

impl Endpoint {
    /// Returns the flow of a new connection, with `local_port` or with a free port.
    pub(super) fn free_flow(
        &mut self,
        now: Instant,
        path: Path,
        local_port: Option<u16>,
        remote_port: u16,
    ) -> Result<Flow, StartError> {
        let mut flow = Flow {
            path,
            local_port: local_port.unwrap_or(0),
            remote_port,
        };
        if local_port.is_some() {
            let free = self.is_free(now, &flow);
            return if free {
                Ok(flow)
            } else {
                Err(StartError::NoPort)
            };
        }
        // RFC 6056, 3.3.3: ports are taken in turn, starting at an offset that depends on the peer and on the secret.
        let start = self
            .secret
            .port_offset(&flow)
            .wrapping_add((self.count & 0xFFFF) as u16);
        for turn in 0..COUNT {
            flow.local_port = FIRST + start.wrapping_add(turn) % COUNT;
            if !self.config.shard.covers((flow.local_port, remote_port)) {
                continue;
            }
            let listens = self.listeners.at(flow.local_port).is_some();
            if !listens && self.is_free(now, &flow) {
                return Ok(flow);
            }
        }
        Err(StartError::NoPort)
    }

    /// Returns whether a connection may begin on `flow`.
    ///
    /// RFC 4340, 8.3: while a flow is in TIMEWAIT, no connection may begin on it.
    fn is_free(&mut self, now: Instant, flow: &Flow) -> bool {
        let waits =
            !self.time_wait.is_empty() && self.time_wait.contains(now, self.secret.flow_hash(flow));
        !waits && !self.table.contains(flow)
    }
}
