//! Checks that a packet whose acknowledgement number is outside the acknowledgement window has no effect (RFC 4340,
//! sections 7.5.1 and 7.5.3), except for the Sync that may answer it. For a packet that ends the connection, the window
//! begins at GAR instead of AWL, whichever of the two is greater.

use fairwire_proto::{ConnectionId, Endpoint, Path};
use fairwire_wire::{Kind, Packet, Seq, SeqNo};

use crate::watched::Watched;

/// The states in which sequence numbers are checked against windows, and no packet begins a new connection.
const SYNCHRONIZED: [&str; 2] = ["PARTOPEN", "OPEN"];

/// A connection that is about to receive such a packet.
#[derive(Debug)]
pub(super) struct Outside {
    id: ConnectionId,
    ack: Seq,
    before: Marks,
}

/// The values that only a valid packet changes.
#[derive(Debug, Eq, PartialEq)]
struct Marks {
    packets_received: u64,
    data_received: u64,
    duplicates: u64,
    gsr: Seq,
    gar: Seq,
    acknowledgeable: Seq,
}

impl Outside {
    /// Returns a check if this packet is for a connection of `end` and its acknowledgement number is outside the
    /// window.
    pub(super) fn of(end: &Watched, path: &Path, packet: &Packet<'_>) -> Option<Self> {
        let ack = packet.ack().and_then(SeqNo::long)?;
        let ports = (packet.ports.destination, packet.ports.source, *path);
        let endpoint = end.endpoint();
        let mut ids = end.ids().into_iter();
        let id = ids.find(|&id| endpoint.addresses(id) == Some(ports))?;
        let seen = endpoint.inspect(id)?;
        if !SYNCHRONIZED.contains(&seen.state) {
            return None;
        }
        // Computed here independently, from what was sent and agreed on.
        let lowest = match packet.kind {
            Kind::CloseReq { .. } | Kind::Close { .. } | Kind::Reset { .. } => seen.gar,
            _ => seen.gss.next().sub(seen.local_window),
        };
        if ack.in_window(lowest, seen.gss) {
            return None;
        }
        let before = marks(endpoint, id)?;
        Some(Self { id, ack, before })
    }

    /// Checks, after the packet has arrived, that nothing has changed.
    pub(super) fn check(self, end: &Watched) {
        let Self { id, ack, before } = self;
        let after = marks(end.endpoint(), id);
        assert_eq!(
            after,
            Some(before),
            "{id:?} took a packet that acknowledges {ack:?}"
        );
    }
}

fn marks(endpoint: &Endpoint, id: ConnectionId) -> Option<Marks> {
    let (seen, stats) = (endpoint.inspect(id)?, endpoint.stats(id)?);
    Some(Marks {
        packets_received: stats.packets_received,
        data_received: stats.data_received,
        duplicates: stats.duplicates,
        gsr: seen.gsr,
        gar: seen.gar,
        acknowledgeable: seen.acknowledgeable,
    })
}
