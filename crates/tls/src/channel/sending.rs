//! The own direction: the key in use, and the next one that was announced.

use bytes::{Bytes, BytesMut};

use super::messages::{FIRST_EPOCH, KEY_UPDATE, UPDATE_NOT_REQUESTED, UPDATE_REQUESTED};
use crate::head::{DATA, HANDSHAKE, Part, RETURN_ROUTABILITY_CHECK};
use crate::record::{Sealer, Secret, Suite};

/// Seals what this end says.
pub(crate) struct Sending {
    suite: Suite,
    epoch: u64,
    sealer: Sealer,
    /// The secret of the next epoch.
    next_secret: Secret,
    /// How many records a key protects.
    records_per_key: u64,
    /// After how many records this key is replaced.
    renews_at: u64,
    /// What the varying times of this epoch follow from.
    jitter: [u8; 32],
    /// The number of the next message.
    next: u16,
    update: Option<Update>,
}

/// A new key that was announced, and is used once that is acknowledged.
struct Update {
    message: Vec<u8>,
    /// The numbers of the records that announced it, all of this epoch.
    sent_as: Vec<u64>,
}

impl Sending {
    pub(super) fn new(suite: Suite, mut secret: Secret, records_per_key: u64) -> Self {
        let (sealer, jitter) = keys(suite, &mut secret, FIRST_EPOCH);
        Self {
            suite,
            epoch: FIRST_EPOCH,
            sealer,
            next_secret: secret,
            records_per_key,
            renews_at: renewal(records_per_key, &jitter),
            jitter,
            next: 0,
            update: None,
        }
    }

    /// Sets the number of the next message, when the handshake is complete.
    pub(crate) fn begin(&mut self, next: u16) {
        self.next = next;
    }

    /// Seals a record. Returns `None` if the key is used up, because the peer did not acknowledge the next one.
    pub(crate) fn seal(&mut self, kind: u8, content: &[u8]) -> Option<Bytes> {
        self.sealer.seal(kind, content)
    }

    /// Seals a record with data, given in parts, and appends it to `records`. Returns `None` as [`seal`](Self::seal).
    #[inline]
    pub(crate) fn append(&mut self, data: &[&[u8]], records: &mut BytesMut) -> Option<()> {
        self.sealer.append(DATA, data, records)
    }

    /// Seals a record with a message that checks a path, and appends it as [`append`](Self::append) does.
    pub(crate) fn append_check(&mut self, content: &[u8], records: &mut BytesMut) -> Option<()> {
        self.sealer
            .append(RETURN_ROUTABILITY_CHECK, &[content], records)
    }

    /// Returns how many records a key may protect.
    pub(crate) const fn limit(&self) -> u64 {
        self.sealer.limit()
    }

    #[cfg(test)]
    pub(crate) const fn set_limit(&mut self, limit: u64) {
        self.sealer.set_limit(limit);
    }

    /// Returns whether the key has protected so many records that the next one is to be announced (RFC 9147, section
    /// 4.5.3).
    #[inline]
    pub(crate) const fn is_worn(&self) -> bool {
        self.sealer.sealed() >= self.renews_at && self.update.is_none()
    }

    /// Announces a new key, and perhaps asks the peer for one. Returns the record that says so.
    ///
    /// RFC 9147, 5.8.4 and 8: one at a time. It is in use once the peer has acknowledged it.
    pub(crate) fn announce(&mut self, asks: bool) -> Option<Bytes> {
        // The numbers of messages do not wrap. RFC 9147, 6.1: so epochs do not, either.
        if self.update.is_some() || self.next == u16::MAX {
            return None;
        }
        let request = if asks {
            UPDATE_REQUESTED
        } else {
            UPDATE_NOT_REQUESTED
        };
        let part = Part {
            kind: KEY_UPDATE,
            length: 1,
            number: self.next,
            offset: 0,
        };
        self.next += 1;
        self.update = Some(Update {
            message: part.write(&[request]),
            sent_as: Vec::new(),
        });
        self.repeat()
    }

    /// Announces the new key again.
    ///
    /// RFC 9147, 4.2.1: with the key of the first time, which stays in use until it is acknowledged.
    pub(crate) fn repeat(&mut self) -> Option<Bytes> {
        let update = self.update.as_mut()?;
        update.sent_as.push(self.sealer.sealed());
        self.sealer.seal(HANDSHAKE, &update.message)
    }

    /// Forgets the new key that was announced.
    pub(crate) fn cancel(&mut self) {
        self.update = None;
    }

    /// Takes the acknowledgement of a record (RFC 9147, section 7.2). Returns whether it was that of the new key, which is in use then.
    pub(crate) fn acknowledge(&mut self, epoch: u64, number: u64) -> bool {
        let is_answer = epoch == self.epoch
            && self
                .update
                .as_ref()
                .is_some_and(|update| update.sent_as.contains(&number));
        if is_answer {
            self.update = None;
            self.epoch += 1;
            (self.sealer, self.jitter) = keys(self.suite, &mut self.next_secret, self.epoch);
            self.renews_at = renewal(self.records_per_key, &self.jitter);
        }
        is_answer
    }

    /// Returns a number from 0 to 255 that varies the time before the new key is announced again.
    pub(crate) fn jitter(&self) -> u8 {
        let times = self
            .update
            .as_ref()
            .map_or(0, |update| update.sent_as.len());
        self.jitter[8 + times % 24]
    }
}

/// Makes the key of an epoch from its secret, in whose place is that of the next epoch then, and numbers that differ
/// between the ends and from epoch to epoch.
fn keys(suite: Suite, secret: &mut Secret, epoch: u64) -> (Sealer, [u8; 32]) {
    let mut jitter = [0; 32];
    secret.expand("jitter", &mut jitter);
    (Sealer::new(suite, secret, epoch), jitter)
}

/// Returns after how many records a key is replaced: some number in the last quarter of those that it protects, so that
/// both ends seldom announce keys at the same time.
fn renewal(records_per_key: u64, jitter: &[u8; 32]) -> u64 {
    let quarter = records_per_key / 4;
    let [b0, b1, b2, b3, b4, b5, b6, b7, ..] = *jitter;
    let drawn = u64::from_be_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
    records_per_key - quarter + drawn % (quarter + 1)
}
