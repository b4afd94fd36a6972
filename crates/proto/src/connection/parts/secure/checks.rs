//! What a session has to do with the paths of its connection: which datagram of the peer is the newest, and the messages
//! that check a path.

use bytes::Bytes;
use fairwire_units::Instant;

use super::Secure;
use crate::records::Records;
use crate::security::{Look, PathCheck};

impl Secure {
    /// Looks into a datagram that came from elsewhere. Nothing changes but the count of forged ones.
    pub(crate) fn look_into(&mut self, datagram: &[u8], records: &mut Records) -> Look {
        if self.failure.is_some() {
            return Look::Useless;
        }
        let Some(session) = self.begun() else {
            return Look::Useless;
        };
        let record = records.room(datagram.len());
        record.extend_from_slice(datagram);
        session.look_into(record)
    }

    /// Takes the last message about a path that arrived.
    pub(crate) fn take_check(&mut self) -> Option<PathCheck> {
        self.check.take()
    }

    /// Seals a message about a path, which leaves now.
    pub(crate) fn seal_check(
        &mut self,
        now: Instant,
        check: PathCheck,
        records: &mut Records,
    ) -> Option<Bytes> {
        if !self.can_speak() {
            return None;
        }
        let record = records.room(PathCheck::LEN + self.with.overhead());
        let session = self.begun()?;
        if !session.seal_check(now, check, record) {
            return None;
        }
        let len = record.len();
        Some(records.take(0..len))
    }
}
