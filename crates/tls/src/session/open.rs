//! A connected session: what it does with the records that it opens, and its new keys.

use bytes::{Bytes, BytesMut};
use fairwire_proto::{Look, PathCheck};
use fairwire_units::Instant;

use super::arrivals::{LATE, Taken};
use super::renewal::Renewal;
use super::{
    MAX_ANSWERS, MAX_FORGED, Output, RECORDS_PER_ANSWER, Role, Session, State, Unanswered,
};
use crate::acknowledgement;
use crate::alert::Alert;
use crate::channel::{Channel, FIRST_EPOCH, HANDSHAKE_EPOCH, Heard};
use crate::check;
use crate::error::SessionError;
use crate::head::{self, ACK, ALERT, DATA, HANDSHAKE, Head, RETURN_ROUTABILITY_CHECK};
use crate::record::Unopened;

/// The level of the alert that ends a direction. Nobody reads it (RFC 8446, section 6).
const WARNING: u8 = 1;

impl Session {
    /// Takes a protected record, which begins at `start` of the present datagram.
    pub(super) fn take_protected(
        &mut self,
        now: Instant,
        record: &mut [u8],
        start: usize,
    ) -> Result<Taken, SessionError> {
        let Some(channel) = &mut self.channel else {
            return Ok(Taken::Unread);
        };
        let opened = match channel.receiving.open(now, record) {
            Ok(opened) => opened,
            Err(Unopened::Useless) => return Ok(Taken::Unread),
            Err(Unopened::Forged) => {
                let forged = channel.receiving.forged();
                return self.count_forged(forged).map(|()| Taken::Forged);
            }
        };
        self.stats.opened = self.stats.opened.saturating_add(1);
        let (epoch, number) = (opened.epoch, opened.number);
        if epoch > HANDSHAKE_EPOCH {
            self.has_newer_keys |= epoch > FIRST_EPOCH;
            self.repeats_until.get_or_insert(now + LATE);
        }
        if channel.receiving.is_over(epoch, number) {
            return Ok(Taken::Read);
        }
        let (at, content) = (opened.content.clone(), &record[opened.content]);
        match opened.kind {
            DATA if epoch > HANDSHAKE_EPOCH => {
                // Data in its place comes before all outputs.
                if self.outputs.is_empty() && self.opened.is_none() {
                    self.opened = Some(start + at.start..start + at.end);
                } else {
                    let data = Bytes::copy_from_slice(content);
                    self.outputs.push_back(Output::Data(data));
                }
            }
            ALERT => self.hear_alert(epoch, number, content)?,
            ACK => self.hear_acknowledgement(now, content)?,
            HANDSHAKE => self.hear_messages(epoch, number, content)?,
            RETURN_ROUTABILITY_CHECK if epoch > HANDSHAKE_EPOCH => {
                self.outputs.extend(check::read(content).map(Output::Check));
            }
            _ => {}
        }
        Ok(Taken::Read)
    }

    /// Counts a record that was not authentic, one of so many with this key.
    ///
    /// RFC 9147, 4.5.2: it is dropped, and nobody is told. RFC 9147, 4.5.3: long before they are too many, the peer is
    /// asked for another key, and again until it has one.
    fn count_forged(&mut self, forged: u64) -> Result<(), SessionError> {
        self.stats.forged = self.stats.forged.saturating_add(1);
        if forged > MAX_FORGED {
            return self.fail(SessionError::TooManyForgeries { limit: MAX_FORGED });
        }
        if forged >= MAX_FORGED / 2 && forged.is_multiple_of(MAX_FORGED / 16) {
            self.announce(true);
        }
        Ok(())
    }

    fn hear_alert(&mut self, epoch: u64, number: u64, content: &[u8]) -> Result<(), SessionError> {
        let (Some(channel), &[_, description, ..]) = (&mut self.channel, content) else {
            return Ok(());
        };
        match Alert::from_number(description) {
            Alert::CLOSE_NOTIFY => {
                if channel.receiving.end(epoch, number) {
                    self.stop_renewal();
                    self.state = State::Open { sends: false };
                    self.outputs.push_back(Output::Closed);
                }
                Ok(())
            }
            Alert::USER_CANCELED => Ok(()),
            alert => self.fail(SessionError::Alert(alert)),
        }
    }

    /// Takes an acknowledgement (RFC 9147, sections 7 and 7.2): of a new key, or of the end of the handshake.
    fn hear_acknowledgement(&mut self, now: Instant, content: &[u8]) -> Result<(), SessionError> {
        let mut of_handshake = Vec::new();
        for (epoch, number) in acknowledgement::read(content) {
            if epoch == HANDSHAKE_EPOCH {
                if of_handshake.len() < acknowledgement::MAX_NAMES {
                    of_handshake.push((epoch, number));
                }
            } else if let Some(channel) = &mut self.channel
                && channel.sending.acknowledge(epoch, number)
            {
                self.renewal = None;
            }
        }
        if of_handshake.is_empty() || self.handshake.is_none() {
            return Ok(());
        }
        self.tell_library(now, ACK, &acknowledgement::write(&of_handshake))
    }

    fn hear_messages(
        &mut self,
        epoch: u64,
        number: u64,
        content: &[u8],
    ) -> Result<(), SessionError> {
        let is_client = matches!(self.role, Role::Client { .. });
        let Some(channel) = &mut self.channel else {
            return Ok(());
        };
        match channel.receiving.hear(epoch, is_client, content) {
            Heard::Nothing => {}
            Heard::Misplaced(kind) => {
                return self.fail(SessionError::Protocol {
                    reason: format!("its message of type {kind} has no place after a handshake"),
                });
            }
            Heard::Illegal => {
                return self.fail(SessionError::Protocol {
                    reason: "it neither asks for a new key nor does not".to_owned(),
                });
            }
            Heard::Known { asks } => {
                self.unanswered.asks |= asks == Some(true);
                self.unanswered.records.push((epoch, number));
            }
        }
        Ok(())
    }

    /// Acknowledges what the last datagram had, and announces the new key that it asked for.
    ///
    /// RFC 9147, 5.10: after the end of this direction the peer would read neither.
    pub(super) fn answer(&mut self) -> Result<(), SessionError> {
        if self.unanswered.records.is_empty() {
            return Ok(());
        }
        let Unanswered { mut records, asks } = std::mem::take(&mut self.unanswered);
        if self.closed {
            return Ok(());
        }
        // RFC 9147, 7: in the order of their numbers, with the newest key. RFC 9147, 7.1: if not all fit, the peer repeats
        // the others.
        records.sort_unstable();
        records.truncate(acknowledgement::room(self.max_data()));
        if let Some(channel) = &mut self.channel
            && let Some(record) = channel.sending.seal(ACK, &acknowledgement::write(&records))
        {
            channel.receiving.answered();
            self.answers = self.answers.saturating_add(1);
            self.depart(record);
        }
        // RFC 8446, 4.6.3: asked once or several times, it announces one. If it has announced one, that is the answer.
        // RFC 9147, 8: if there can be no other, it does not.
        if asks && self.announce(false) {
            self.answers = self.answers.saturating_add(1);
        }
        // RFC 9147, 5.10: a peer that replaces its keys for their age is a good one.
        let earned = self.stats.opened / RECORDS_PER_ANSWER;
        if u64::from(self.answers) > u64::from(MAX_ANSWERS) + earned {
            return self.fail(SessionError::TooManyAnswers { limit: MAX_ANSWERS });
        }
        Ok(())
    }

    /// Announces a new key, unless one is announced or nothing is sealed any more. Returns whether it does.
    ///
    /// A peer that may lack the end of the handshake has few places for what it cannot read yet, and they are for data. So
    /// no key is announced before the peer has acknowledged that end, or has sealed something itself.
    ///
    /// RFC 9147, 5.8.2: its timer begins with the first value.
    pub(super) fn announce(&mut self, asks: bool) -> bool {
        let sends = self.state == State::Open { sends: true };
        let can_hear = self.is_confirmed || self.repeats_until.is_some();
        let Some(channel) = self.channel.as_mut().filter(|_| sends && can_hear) else {
            return false;
        };
        let Some(record) = channel.sending.announce(asks) else {
            return false;
        };
        let (own, jitter) = (self.clock.own(), channel.sending.jitter());
        self.renewal = Some(Renewal::new(self.retransmission, own, jitter));
        self.depart(record);
        true
    }

    /// Announces a new key again if that is due.
    pub(super) fn announce_again(&mut self) -> Result<(), SessionError> {
        let own = self.clock.own();
        let (Some(renewal), Some(channel)) = (self.renewal, &mut self.channel) else {
            return Ok(());
        };
        if renewal.at() > own {
            return Ok(());
        }
        self.renewal = renewal.again(own, channel.sending.jitter());
        if self.renewal.is_none() {
            return self.fail(SessionError::Unacknowledged);
        }
        if let Some(record) = channel.sending.repeat() {
            self.depart(record);
        }
        Ok(())
    }

    /// Returns when a new key is announced again.
    pub(super) fn next_announcement(&self) -> Option<Instant> {
        self.renewal.map(|renewal| self.clock.when(renewal.at()))
    }

    /// Looks into the first record of a datagram, which is written over: whether it is authentic, and newer than all that
    /// were opened. Only a forged one changes anything: it is counted.
    pub fn look_into(&mut self, datagram: &mut [u8]) -> Look {
        let State::Open { .. } = self.state else {
            return Look::Useless;
        };
        let (Some(channel), Some(record)) = (&mut self.channel, head::first_record(datagram))
        else {
            return Look::Useless;
        };
        if !matches!(Head::of(record), Head::Sealed { .. }) {
            return Look::Useless;
        }
        let look = channel.receiving.look_into(record);
        if look == Look::Forged {
            let forged = channel.receiving.forged();
            // A session that fails of it says so as soon as it is asked for anything.
            let _ = self.count_forged(forged);
        }
        look
    }

    /// Seals a message that checks a path, and appends the datagram with it to `datagrams` (RFC 9853, section 4). It has
    /// to be sent. Returns false if nothing is sealed now.
    ///
    /// RFC 9853, 3: both ends have to have agreed on such messages. The library has no extension for that, so the caller
    /// sends one only if it was told that the peer knows them.
    pub fn append_check(&mut self, check: PathCheck, datagrams: &mut BytesMut) -> bool {
        let sends = self.state == State::Open { sends: true };
        let Some(channel) = self.channel.as_mut().filter(|_| sends) else {
            return false;
        };
        let content = check::write(check);
        channel.sending.append_check(&content, datagrams).is_some()
    }

    /// Forgets a new key that is not acknowledged: nothing is sealed any more.
    pub(super) fn stop_renewal(&mut self) {
        self.renewal = None;
        if let Some(channel) = &mut self.channel {
            channel.sending.cancel();
        }
    }

    /// Tells the peer that nothing follows.
    pub(super) fn announce_end(&mut self) {
        let alert = [WARNING, Alert::CLOSE_NOTIFY.number()];
        if let Some(channel) = &mut self.channel
            && let Some(record) = channel.sending.seal(ALERT, &alert)
            && record.len() <= self.max_datagram
        {
            self.outputs.push_back(Output::Send(record));
        }
    }

    /// Returns the number of a record with data that overtook the handshake, if it is authentic.
    pub(super) fn look_early(&mut self, record: &[u8]) -> Option<u64> {
        let looked = Channel::look_into(&self.secrets, record);
        if looked == Err(Unopened::Forged) {
            self.stats.forged = self.stats.forged.saturating_add(1);
        }
        looked.ok()
    }
}
