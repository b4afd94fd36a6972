//! The peer's direction: the keys of its last epochs, and the messages that it sends after the handshake.

use fairwire_proto::Look;
use fairwire_units::{Duration, Instant};

use super::messages::{
    FIRST_EPOCH, HANDSHAKE_EPOCH, KEY_UPDATE, NEW_SESSION_TICKET, UPDATE_NOT_REQUESTED,
    UPDATE_REQUESTED,
};
use crate::head::Part;
use crate::record::{Opened, Opener, Secret, Suite, Unopened};

/// For how long the keys of old epochs are kept once a newer one is in use: the default MSL of TCP (RFC 9147, section
/// 4.2.1).
const LIFETIME: Duration = Duration::from_secs(120);

/// Opens what the peer says.
pub(crate) struct Receiving {
    suite: Suite,
    /// The secret of the newest epoch, for the next one.
    secret: Secret,
    /// The newest epoch, and those before it.
    ///
    /// A peer announces a key in the newest epoch only. So they are the one that it has announced, the one that it uses
    /// until it knows that this is heard (RFC 9147, section 8), and the one before, for records that are late. The lowest
    /// two bits of three epochs in a row differ.
    epochs: [Option<Box<Opener>>; Self::EPOCHS],
    /// When the newest epoch was first used, if it was.
    since: Option<Instant>,
    /// The newest key was announced, and that was not acknowledged yet.
    is_unanswered: bool,
    /// The number of the next message.
    next: u16,
    /// How many records were not authentic since the newest key was announced.
    forged: u64,
    /// Epoch and number of the record that ended the peer's direction.
    end: Option<(u64, u64)>,
}

/// What the messages of a record ask for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Heard {
    /// The record has to be acknowledged. The peer uses a new key then, if `asks` is something: whether it asks for one,
    /// too.
    Known { asks: Option<bool> },
    /// RFC 9147, 7: messages before it are missing, or it is none that anybody sends. It is not acknowledged.
    Nothing,
    /// A message of this type has no place after a handshake.
    Misplaced(u8),
    /// A new key neither asks for one nor does not (RFC 8446, section 4.6.3).
    Illegal,
}

impl Receiving {
    /// How many epochs there are keys of.
    pub(super) const EPOCHS: usize = 3;

    /// Opens records of the first data, and those of the end of the handshake if there is a secret for them.
    pub(super) fn new(suite: Suite, secret: Secret, of_handshake: Option<&Secret>) -> Self {
        let opener = |secret, epoch| Box::new(Opener::new(suite, secret, epoch));
        let first = opener(&secret, FIRST_EPOCH);
        let of_handshake = of_handshake.map(|secret| opener(secret, HANDSHAKE_EPOCH));
        Self {
            suite,
            secret,
            epochs: [Some(first), of_handshake, None],
            since: None,
            is_unanswered: false,
            next: 0,
            forged: 0,
            end: None,
        }
    }

    /// Notes that all was acknowledged.
    pub(crate) fn answered(&mut self) {
        self.is_unanswered = false;
    }

    /// Sets the number of the peer's next message, when the handshake is complete.
    pub(crate) fn begin(&mut self, next: u16) {
        self.next = next;
    }

    /// Opens a record with a protected head, in its place.
    #[inline]
    pub(crate) fn open(&mut self, now: Instant, record: &mut [u8]) -> Result<Opened, Unopened> {
        if self.since.is_some() {
            self.age(now);
        }
        let flags = record.first().copied().unwrap_or(0);
        // RFC 9147, 4.2.2: the newest epoch with these bits. RFC 9147, 6.1: if there is none, nothing is read.
        let mut epochs = self.epochs.iter_mut().flatten();
        let opener = epochs.find(|opener| opener.fits(flags));
        let opened = opener.ok_or(Unopened::Useless)?.open(record);
        match &opened {
            Ok(opened) if opened.epoch > FIRST_EPOCH && opened.epoch == self.newest() => {
                self.since.get_or_insert(now);
            }
            // RFC 9147, 4.5.3: they are counted with each key.
            Err(Unopened::Forged) => self.forged = self.forged.saturating_add(1),
            _ => {}
        }
        opened
    }

    /// Looks into a record with a protected head. It is written over, and only a forged one changes anything: it is
    /// counted.
    pub(crate) fn look_into(&mut self, record: &mut [u8]) -> Look {
        let flags = record.first().copied().unwrap_or(0);
        let mut epochs = self.epochs.iter().flatten();
        let in_use = epochs.clone().find(|opener| opener.next() > 0);
        let in_use = in_use.map_or(FIRST_EPOCH, |opener| opener.epoch());
        let Some(opener) = epochs.find(|opener| opener.fits(flags)) else {
            return Look::Useless;
        };
        let epoch = opener.epoch();
        // RFC 9853, 4: only what was said with the keys of data counts.
        if epoch < FIRST_EPOCH {
            return Look::Useless;
        }
        match opener.look_into(record) {
            Ok(opened) if !opener.is_new(opened.number) || self.is_over(epoch, opened.number) => {
                Look::Useless
            }
            Ok(opened) if epoch >= in_use && opened.number >= opener.next() => Look::Newest,
            Ok(_) => Look::Late,
            Err(Unopened::Useless) => Look::Useless,
            // RFC 9147, 4.5.3: it is counted wherever it came from.
            Err(Unopened::Forged) => {
                self.forged = self.forged.saturating_add(1);
                Look::Forged
            }
        }
    }

    /// Forgets the epochs before the newest one in time.
    ///
    /// RFC 9147, 8: not before a record of the newest one was opened. RFC 9147, 5.8.1: that of the handshake is kept while
    /// the first data are in use, because its peer may not have heard that it is complete.
    fn age(&mut self, now: Instant) {
        let is_late = |since| now.saturating_since(since) > LIFETIME;
        if self.since.is_some_and(is_late) {
            self.epochs[1..].fill_with(|| None);
        }
    }

    /// Returns how many records were not authentic since the newest key was announced.
    pub(crate) const fn forged(&self) -> u64 {
        self.forged
    }

    /// Notes that a record ended the peer's direction. Returns whether it is the first one that did.
    pub(crate) fn end(&mut self, epoch: u64, number: u64) -> bool {
        let is_first = self.end.is_none();
        self.end.get_or_insert((epoch, number));
        is_first
    }

    /// RFC 9147, 5.10: returns whether the peer's direction ended before this record.
    pub(crate) fn is_over(&self, epoch: u64, number: u64) -> bool {
        self.end.is_some_and(|end| (epoch, number) > end)
    }

    /// Takes all messages of a record of this epoch, or none.
    ///
    /// There are tickets, which nobody uses: a part of one counts as the whole, and the others as copies of it, so that
    /// none waits for another. And there are new keys, each alone or at the end of its record (RFC 8446, section 5.1), and
    /// none while another is unanswered: its sender cannot use that one yet (RFC 9147, section 8).
    pub(crate) fn hear(&mut self, epoch: u64, is_client: bool, mut content: &[u8]) -> Heard {
        let mut next = self.next;
        let mut asks = None;
        if content.is_empty() {
            return Heard::Nothing;
        }
        while !content.is_empty() {
            let Some((part, body, after)) = Part::read(content) else {
                return Heard::Nothing;
            };
            content = after;
            // RFC 9147, 5.2: it was heard before.
            if part.number < next {
                continue;
            }
            let is_whole = part.offset == 0 && body.len() == part.length;
            // A server sends nothing else after its handshake, and a client no tickets; RFC 9147, 9: nor does anybody
            // who has negotiated no identifiers send messages about them. RFC 9147, 4.2.1: what belongs to the handshake
            // is repeated in its epoch, so nothing new comes there.
            let is_known = part.kind == KEY_UPDATE || part.kind == NEW_SESSION_TICKET && is_client;
            match (part.kind, body) {
                _ if part.number > next || epoch == HANDSHAKE_EPOCH => return Heard::Nothing,
                _ if !is_known && is_whole => return Heard::Misplaced(part.kind),
                (NEW_SESSION_TICKET, _) if is_known => {}
                (KEY_UPDATE, &[request @ (UPDATE_NOT_REQUESTED | UPDATE_REQUESTED)])
                    if is_whole
                        && after.is_empty()
                        && epoch == self.newest()
                        && !self.is_unanswered =>
                {
                    asks = Some(request == UPDATE_REQUESTED);
                }
                (KEY_UPDATE, &[request]) if is_whole && request > UPDATE_REQUESTED => {
                    return Heard::Illegal;
                }
                _ => return Heard::Nothing,
            }
            next = next.saturating_add(1);
        }
        self.next = next;
        if asks.is_some() {
            self.renew();
        }
        Heard::Known { asks }
    }

    /// Opens a copy of a record, and returns its content, too.
    #[cfg(test)]
    pub(crate) fn read(
        &mut self,
        now: Instant,
        record: &[u8],
    ) -> Result<(Opened, Vec<u8>), Unopened> {
        let mut copy = record.to_vec();
        let opened = self.open(now, &mut copy)?;
        let content = copy[opened.content.clone()].to_vec();
        Ok((opened, content))
    }

    /// Returns the number of the next message.
    #[cfg(test)]
    pub(crate) fn next(&self) -> u16 {
        self.next
    }

    #[cfg(test)]
    pub(crate) fn set_forged(&mut self, forged: u64) {
        self.forged = forged;
    }

    /// Returns how many epochs there are keys of.
    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        self.epochs.iter().flatten().count()
    }

    fn newest(&self) -> u64 {
        let newest = self.epochs.iter().flatten().next();
        newest.map_or(FIRST_EPOCH, |opener| opener.epoch())
    }

    /// Expects records of the next epoch, too.
    fn renew(&mut self) {
        let epoch = self.newest() + 1;
        self.secret.advance();
        let next = Opener::new(self.suite, &self.secret, epoch);
        self.epochs.rotate_right(1);
        self.epochs[0] = Some(Box::new(next));
        self.since = None;
        self.is_unanswered = true;
        self.forged = 0;
    }
}
