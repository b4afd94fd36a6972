//! What acknowledges a number outside the acknowledgement window has no effect (RFC 4340, sections 7.5.1
//! and 7.5.3), but for the Sync that may answer it. The window of a packet that ends the connection begins
//! at GAR instead of AWL, in whatever order these two stand.

use fairwire_proto::{ConnectionId, Endpoint, Path};
use fairwire_wire::{Kind, Packet, Seq, SeqNo};

use crate::watched::Watched;

/// States in which sequence numbers are held against windows, and no packet means a new connection.
const SYNCHRONIZED: [&str; 2] = ["PARTOPEN", "OPEN"];

/// A connection that is about to get such a packet.
#[derive(Debug)]
pub(super) struct Outside {
    id: ConnectionId,
    ack: Seq,
    before: Marks,
}

/// What only a valid packet moves.
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
    /// Is this packet one for a connection of `end`, whose acknowledgement number lies outside?
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
        // Reckoned here anew, from what was sent and what was agreed on.
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

    /// The packet has arrived: nothing has moved.
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
