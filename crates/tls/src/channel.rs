//! What both ends of a session say from epoch 3 on: the keys of both directions, and how they are replaced.
//!
//! The library carries out the handshake. Everything after it is here: data, alerts, acknowledgements, and the messages
//! that a peer sends later (RFC 9147, sections 7 and 8). This module has no clock and queues nothing.

mod messages;
mod receiving;
mod sending;
#[cfg(test)]
mod tests;

use bytes::Bytes;

use crate::provider::Secrets;
use crate::record::{CIPHER_MEMORY, Opener, Sealer, Secret, Suite, Unopened};

pub(crate) use messages::{FIRST_EPOCH, HANDSHAKE_EPOCH};
pub(crate) use receiving::{Heard, Receiving};
pub(crate) use sending::Sending;

/// The records of a session from epoch 3 on.
pub(crate) struct Channel {
    pub(crate) sending: Sending,
    pub(crate) receiving: Receiving,
    /// What the library takes for this channel, while there is the library.
    tunnel: Option<Box<Tunnel>>,
}

/// The records of epoch 3 as the library knows them. They never leave this end: what they contain does.
struct Tunnel {
    to_library: Sealer,
    from_library: Opener,
}

impl Channel {
    /// The most memory of a channel without the library, in bytes.
    pub(crate) const MEMORY: usize = size_of::<Self>()
        + Receiving::EPOCHS * size_of::<Opener>()
        + 2 * Secret::MEMORY
        + (1 + Receiving::EPOCHS) * CIPHER_MEMORY;

    /// What it has besides while there is the library.
    pub(crate) const MEMORY_OF_LIBRARY: usize = size_of::<Tunnel>() + 2 * CIPHER_MEMORY;

    /// Makes the channel of a client or a server, once the library has derived all secrets. Keys of the own direction
    /// protect `records_per_key` records.
    pub(crate) fn new(secrets: &mut Secrets, records_per_key: u64) -> Option<Self> {
        let suite = secrets.suite?;
        if secrets.of_client.is_none() || secrets.of_server.is_none() {
            return None;
        }
        let (client, server) = (secrets.of_client.take()?, secrets.of_server.take()?);
        let (own, mut peer) = if secrets.is_client {
            (client, server)
        } else {
            (server, client)
        };
        // A client may repeat the end of its handshake, because the acknowledgement got lost.
        let repeats = secrets.of_handshake.take().filter(|_| !secrets.is_client);
        let tunnel = Tunnel::new(suite, &own.of_library, &mut peer.of_library);
        Some(Self {
            sending: Sending::new(suite, own.of_session, records_per_key),
            receiving: Receiving::new(suite, peer.of_session, repeats.as_ref()),
            tunnel: Some(Box::new(tunnel)),
        })
    }

    /// Returns the number of a record of the peer's first data, if it is authentic. There is no channel yet: its memory is
    /// not reserved for a handshake.
    pub(crate) fn look_into(secrets: &Secrets, record: &[u8]) -> Result<u64, Unopened> {
        let of_peer = if secrets.is_client {
            &secrets.of_server
        } else {
            &secrets.of_client
        };
        let (Some(suite), Some(of_peer)) = (secrets.suite, of_peer) else {
            return Err(Unopened::Useless);
        };
        let opener = Opener::new(suite, &of_peer.of_session, FIRST_EPOCH);
        let opened = opener.look_into(&mut record.to_vec())?;
        Ok(opened.number)
    }

    /// Returns a record for the library, as if its peer had sent it.
    pub(crate) fn for_library(&mut self, kind: u8, content: &[u8]) -> Option<Bytes> {
        self.tunnel.as_mut()?.to_library.seal(kind, content)
    }

    /// Seals again what a record of epoch 3 has that the library made.
    pub(crate) fn of_library(&mut self, record: &[u8]) -> Option<Bytes> {
        let mut record = record.to_vec();
        let opened = self.tunnel.as_mut()?.from_library.open(&mut record).ok()?;
        self.sending.seal(opened.kind, &record[opened.content])
    }

    /// Notes that the library is gone.
    pub(crate) fn forget_library(&mut self) {
        self.tunnel = None;
    }
}

impl Tunnel {
    fn new(suite: Suite, own: &Secret, peer: &mut Secret) -> Self {
        Self {
            to_library: Sealer::new(suite, peer, FIRST_EPOCH),
            from_library: Opener::new(suite, own, FIRST_EPOCH),
        }
    }
}
