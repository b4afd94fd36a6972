//! Changes and Confirms to write, and when (RFC 4340, sections 6.6.1 and 6.6.3).

use fairwire_units::{Duration, Instant};
use fairwire_wire::feature::Feature;
use fairwire_wire::{DccpOption, Encoder, NoRoom, PacketType, Seq};

use super::schedule::Wrote;
use super::slot::{KNOWN, Offer, Owed, Slot, State};
use super::{Location, Negotiation};

/// Bytes of option type, option length and feature number.
const OPTION_HEAD: usize = 3;

/// The options of ours that a packet type can carry. Mandatory goes with a Change (RFC 4340, section 5.8.2).
#[derive(Clone, Copy, Debug)]
struct Carries {
    changes: bool,
    confirms: bool,
    /// Whether the packet is part of the handshake and carries every open Change, whatever the timer says.
    handshake: bool,
}

impl Carries {
    fn of(packet_type: PacketType) -> Self {
        let handshake = matches!(packet_type, PacketType::Request | PacketType::Response);
        let later = matches!(
            packet_type,
            PacketType::Ack | PacketType::DataAck | PacketType::SyncAck
        );
        Self {
            // RFC 4340, 6: never on Data. The packets that end a connection do not need Changes.
            changes: handshake || later || packet_type == PacketType::Sync,
            // RFC 4340, 6.6.1: only with an Acknowledgement Number. A Sync's number may be that of a packet that was
            // never processed, and the peer would then ignore the Confirm.
            confirms: later || packet_type == PacketType::Response,
            handshake,
        }
    }
}

impl Negotiation {
    /// Writes what is due into a packet of ours with sequence number `seq`. Confirms and Changes are in the order of
    /// the feature numbers, so that a CCID comes before what depends on it.
    ///
    /// `rtt` is the round-trip time, or a guess (0.2 s in RFC 4340, section 3.4).
    ///
    /// # Errors
    /// [`NoRoom`] if not everything fits; then nothing was written and all is still due. There are two exceptions:
    /// empty Confirms of unknown features are written as far as they fit, and a Response may leave out our Changes.
    pub(crate) fn write(
        &mut self,
        now: Instant,
        seq: Seq,
        packet_type: PacketType,
        rtt: Duration,
        encoder: &mut Encoder<'_>,
    ) -> Result<(), NoRoom> {
        let mut carries = Carries::of(packet_type);
        let again = self.sends_again(now, carries);
        let mark = encoder.mark();
        let mut encoded = self.encode(carries, again, encoder);
        if encoded.is_err() && packet_type == PacketType::Response {
            // A Response without room answers only; our own Changes go with the next packet.
            encoder.truncate(mark);
            carries.changes = false;
            encoded = self.encode(carries, again, encoder);
        }
        let mut wrote = encoded.inspect_err(|_| encoder.truncate(mark))?;
        wrote.confirm |= carries.confirms && self.write_unknown(encoder);
        if wrote.confirm || wrote.change {
            self.on_written(now, seq, rtt, carries, wrote);
        }
        Ok(())
    }

    /// Returns whether Changes that await an answer are sent with this packet.
    ///
    /// A new Change takes the others along: it restarts the timer, so theirs would not expire.
    fn sends_again(&self, now: Instant, carries: Carries) -> bool {
        let new = || {
            self.slots()
                .any(|slot| matches!(slot.state, State::Wanting | State::Unstable))
        };
        carries.handshake || self.schedule.is_retransmission_due(now) || new()
    }

    fn encode(
        &self,
        carries: Carries,
        again: bool,
        encoder: &mut Encoder<'_>,
    ) -> Result<Wrote, NoRoom> {
        let mut wrote = Wrote::default();
        for (index, feature) in KNOWN.into_iter().enumerate() {
            for location in Location::BOTH {
                let slot = &self.slots[location as usize][index];
                if carries.confirms && slot.owed.is_some() {
                    write_confirm(slot, feature, location, encoder)?;
                    wrote.confirm = true;
                }
            }
            for location in Location::BOTH {
                let slot = &self.slots[location as usize][index];
                if carries.changes && sends_change(slot, again) {
                    write_change(slot, feature, location, encoder)?;
                    wrote.change = true;
                    wrote.new_change |= slot.state != State::Changing;
                }
            }
        }
        Ok(wrote)
    }

    /// Writes empty Confirms while there is room, and returns whether there were any.
    fn write_unknown(&mut self, encoder: &mut Encoder<'_>) -> bool {
        let mut wrote = false;
        for location in Location::BOTH {
            let unknown = &mut self.unknown[location as usize];
            while encoder.room() >= OPTION_HEAD
                && let Some(number) = unknown.take()
            {
                wrote |= encoder.option(&confirm(number, location, &[])).is_ok();
            }
        }
        wrote
    }

    fn on_written(
        &mut self,
        now: Instant,
        seq: Seq,
        rtt: Duration,
        carries: Carries,
        wrote: Wrote,
    ) {
        self.schedule.on_written(now, rtt, carries.handshake, wrote);
        // RFC 4340, 6.6.4: retransmissions do not change FGSS.
        let moved = match self.fgss {
            Some(fgss) if wrote.new_change => fgss.distance(seq),
            _ => 0,
        };
        let moved = u32::try_from(moved).unwrap_or(u32::MAX);
        for slot in self.slots.iter_mut().flatten() {
            slot.lag = slot.lag.saturating_add(moved);
            if carries.changes && matches!(slot.state, State::Wanting | State::Unstable) {
                slot.on_change_sent();
            }
            if let Some(owed) = &mut slot.owed {
                owed.told |= carries.confirms;
            }
        }
        if wrote.new_change {
            self.fgss = Some(seq);
        }
        if !self.schedule.repeat_answers {
            self.stop_repeating_answers();
        }
    }

    /// Stops repeating answers: those already sent are dropped, and later ones are sent once.
    pub(super) fn stop_repeating_answers(&mut self) {
        self.schedule.repeat_answers = false;
        for slot in self.slots.iter_mut().flatten() {
            slot.owed = slot.owed.filter(|owed| !owed.told);
        }
    }
}

fn sends_change(slot: &Slot, again: bool) -> bool {
    match slot.state {
        State::Stable => false,
        State::Wanting | State::Unstable => true,
        State::Changing => again,
    }
}

fn write_change(
    slot: &Slot,
    feature: Feature,
    location: Location,
    encoder: &mut Encoder<'_>,
) -> Result<(), NoRoom> {
    if slot.mandatory {
        encoder.option(&DccpOption::Mandatory)?;
    }
    let number = feature.number();
    let encoded;
    let value = match &slot.offer {
        Offer::List(list) => list.as_slice(),
        Offer::Value(value) => {
            encoded = feature.encode_value(*value);
            encoded.as_slice()
        }
    };
    encoder.option(&match location {
        Location::Local => DccpOption::ChangeL {
            feature: number,
            value,
        },
        Location::Remote => DccpOption::ChangeR {
            feature: number,
            value,
        },
    })
}

/// Writes a Confirm. RFC 4340, 6.2, 6.3.1 and 6.3.2: the value in force, then our list for a server-priority feature.
fn write_confirm(
    slot: &Slot,
    feature: Feature,
    location: Location,
    encoder: &mut Encoder<'_>,
) -> Result<(), NoRoom> {
    let Some((value, list)) = slot.owed.as_ref().and_then(Owed::answer) else {
        return encoder.option(&confirm(feature.number(), location, &[]));
    };
    let value = feature.encode_value(value);
    let value = value.as_slice();
    let mut data = [0; 8 + super::slot::MAX_PREFERENCES];
    data[..value.len()].copy_from_slice(value);
    let len = value.len() + list.len();
    data[value.len()..len].copy_from_slice(list);
    encoder.option(&confirm(feature.number(), location, &data[..len]))
}

fn confirm(feature: u8, location: Location, value: &[u8]) -> DccpOption<'_> {
    match location {
        Location::Local => DccpOption::ConfirmL { feature, value },
        Location::Remote => DccpOption::ConfirmR { feature, value },
    }
}
