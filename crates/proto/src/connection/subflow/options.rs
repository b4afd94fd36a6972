//! The effect of a valid packet's options (RFC 4340, section 5.8; step 8 of section 8.5).

use fairwire_wire::feature::Feature;
use fairwire_wire::{DccpOption, Packet, PacketType, RawOption, ResetCode, Seq, option_type};

use super::{Call, Subflow};
use crate::ccid::ccid_profile;
use crate::feature::{Fatal, Handled, Location};
use crate::marks::Agreement;
use crate::packet_options::PacketOptions;

/// Returns Reset 6, for a Mandatory option that was not processed (RFC 4340, section 5.8.2).
fn mandatory_error(option: RawOption<'_>) -> Fatal {
    Fatal {
        code: ResetCode::MandatoryError,
        data: option.reset_data(),
    }
}

/// Reset 5, for a Mandatory option that is followed by nothing or by another Mandatory.
const MANDATORY_ALONE: Fatal = Fatal {
    code: ResetCode::OptionError,
    data: [option_type::MANDATORY, 0, 0],
};

/// Returns Reset 5 for an RTT Estimate of invalid length, with its first three bytes (RFC 6323, section 3.3).
fn bad_rtt_estimate(option: RawOption<'_>) -> Fatal {
    let length = u8::try_from(option.data.len() + 2).unwrap_or(u8::MAX);
    let first = option.data.first().copied().unwrap_or(0);
    Fatal {
        code: ResetCode::OptionError,
        data: [option.option_type, length, first],
    }
}

impl Subflow {
    /// Returns whether this is the type of the RTT Estimates that the peer agreed to send.
    fn reads_rtt_estimates(&self, option_type: u8) -> bool {
        let agreed = || {
            if self.agreed.is_stale {
                // An earlier option of the same packet may have agreed on it.
                let (feature, there) = (Feature::SendRttEstimate, Location::Remote);
                return self.negotiation.is_on(feature, there);
            }
            self.agreed.peer_rtt_estimates
        };
        option_type == option_type::RTT_ESTIMATE && agreed()
    }

    /// Returns what the peer agreed to say of its datagrams.
    fn reads_marks(&self) -> Agreement {
        if self.agreed.is_stale {
            let is_on = |feature| self.negotiation.is_on(feature, Location::Remote);
            return Agreement {
                copies: is_on(Feature::AllowCopies),
                parts: is_on(Feature::AllowParts),
            };
        }
        Agreement {
            copies: self.agreed.peer_copies,
            parts: self.agreed.peer_parts,
        }
    }

    /// Returns whether the CCID of our data, if one is in force, has options of this type.
    fn is_of_ccid(&self, option_type: u8) -> bool {
        let send = if self.agreed.is_stale {
            // An earlier option of the same packet may have agreed on it.
            self.negotiation
                .ccid(Location::Local)
                .and_then(ccid_profile)
        } else {
            self.agreed.send
        };
        send.is_some_and(|profile| profile.sender_reads(option_type))
    }

    /// Processes the options in order, and stores in `said` the values that other code reads.
    ///
    /// # Errors
    /// Returns the Reset with which the connection has to end.
    pub(super) fn process_options<'a>(
        &mut self,
        call: &mut Call<'_, '_>,
        packet: &Packet<'a>,
        (seq, ack): (Seq, Option<Seq>),
        said: &mut PacketOptions<'a>,
    ) -> Result<(), Fatal> {
        let packet_type = packet.packet_type();
        let (gsr, gss) = (self.sequence.gsr, self.sequence.gss);
        self.lock_ccids(call.now);
        self.negotiation
            .begin_packet(packet_type, seq, ack, gsr, gss);
        self.ccids.begin_packet();
        if self.gives_cookies(packet_type, seq) {
            self.cookies.clear();
        }
        let processed = self.process_each(call, packet, seq, said);
        self.negotiation.end_packet();
        if self.agreed.is_stale {
            self.refresh_agreed();
            self.note_ccids(call);
        }
        processed
    }

    fn process_each<'a>(
        &mut self,
        call: &mut Call<'_, '_>,
        packet: &Packet<'a>,
        seq: Seq,
        said: &mut PacketOptions<'a>,
    ) -> Result<(), Fatal> {
        let packet_type = packet.packet_type();
        let mut mandatory = false;
        let mut options = packet.options.iter();
        while let Some(raw) = options.next() {
            if raw.option_type == option_type::PADDING {
                // RFC 4340, 5.8.2: Mandatory Padding is two bytes of Padding.
                mandatory = false;
                continue;
            }
            // RFC 4340, 5.8: some options are ignored on Data, including Mandatory, so that an attacker who guesses one
            // number has little effect.
            if option_type::ignored_on(raw.option_type, packet_type) {
                if mandatory {
                    return Err(mandatory_error(raw));
                }
                continue;
            }
            if raw.option_type == option_type::MANDATORY {
                if mandatory {
                    return Err(MANDATORY_ALONE);
                }
                mandatory = true;
                continue;
            }
            let processed = match raw.decode() {
                Ok(DccpOption::RttEstimate(us)) if self.reads_rtt_estimates(raw.option_type) => {
                    said.rtt_estimate = Some(us);
                    true
                }
                Ok(option) => {
                    let read = said.marks.read(&option, seq, || self.reads_marks());
                    if let Some(is_valid) = read {
                        is_valid
                    } else {
                        said.note(&option, options.remainder());
                        self.process_option(call, (packet_type, seq), raw, &option, mandatory)?
                    }
                }
                // RFC 6323, 3.3: unlike other options, this one must be valid once it was agreed on.
                Err(_) if self.reads_rtt_estimates(raw.option_type) => {
                    return Err(bad_rtt_estimate(raw));
                }
                // RFC 4340, 5.8: an invalid value is ignored.
                Err(_) => false,
            };
            if mandatory && !processed {
                return Err(mandatory_error(raw));
            }
            mandatory = false;
        }
        if !mandatory {
            return Ok(());
        }
        // The option after Mandatory is missing, or its length is invalid.
        Err(match *options.remainder() {
            [] => MANDATORY_ALONE,
            [option_type, ..] => mandatory_error(RawOption {
                option_type,
                data: &[],
            }),
        })
    }

    /// Processes one option. Returns false if it was not understood or had no effect. Then a `mandatory` option resets
    /// the connection; any other is ignored without an error (RFC 4340, sections 5.8 and 15).
    fn process_option(
        &mut self,
        call: &mut Call<'_, '_>,
        (packet_type, seq): (PacketType, Seq),
        raw: RawOption<'_>,
        option: &DccpOption<'_>,
        mandatory: bool,
    ) -> Result<bool, Fatal> {
        match *option {
            DccpOption::ChangeL { .. }
            | DccpOption::ConfirmL { .. }
            | DccpOption::ChangeR { .. }
            | DccpOption::ConfirmR { .. } => {
                // `handle` itself checks whether a Mandatory one was understood.
                let handled = self.negotiation.handle(option, mandatory)?;
                if handled != Handled::Ignored {
                    self.apply(call, seq, handled);
                    // Updated once per packet, after all its options.
                    self.agreed.is_stale = true;
                }
                Ok(true)
            }
            DccpOption::Timestamp(value) => {
                self.timestamps.received(call.now, seq, value);
                Ok(true)
            }
            DccpOption::TimestampEcho { timestamp, elapsed } => {
                // The acknowledgement of the handshake gives a better sample, if it comes.
                let trip = self.timestamps.round_trip(call.now, timestamp, elapsed);
                if let Some(trip) = trip
                    && self.rtt.is_none()
                {
                    self.measured(call.now, trip);
                }
                Ok(true)
            }
            DccpOption::InitCookie(cookie) => {
                // RFC 4340, 8.1.4: a client echoes those of the Response; anywhere else they are ignored. A listener
                // that asked for them has already read them.
                let wanted = self.gives_cookies(packet_type, seq);
                if wanted {
                    self.keep_cookie(cookie);
                }
                Ok(wanted)
            }
            // Anywhere else it says nothing.
            DccpOption::CloseCode(_) => Ok(matches!(
                packet_type,
                PacketType::Close | PacketType::CloseReq
            )),
            // Stored in `PacketOptions` for those who need them. RFC 4340, 11.6 and 11.7: Slow Receiver and Data
            // Dropped are valid under any CCID.
            DccpOption::NdpCount(_)
            | DccpOption::SlowReceiver
            | DccpOption::DataDropped(_)
            | DccpOption::DataChecksum(_)
            | DccpOption::ElapsedTime(_) => Ok(true),
            // RFC 4340, 10.3: before the CCIDs are agreed, CCID-specific options are not understood.
            _ => Ok(!mandatory || self.is_of_ccid(raw.option_type)),
        }
    }
}
