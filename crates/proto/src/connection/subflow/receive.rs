//! Steps 4 to 16 of RFC 4340, section 8.5, for a received packet, in that order.

use fairwire_units::Ecn;
use fairwire_wire::{DropCode, Kind, Packet, PacketType, ResetCode, Seq};

use super::integrity::is_damaged;
use super::parts::arrivals::Novelty;
use super::parts::receive_queue::Datagram;
use super::parts::sequence::Verdict;
use super::parts::syncs::Sender;
use super::{Call, State, Subflow};
use crate::connection::channel::{Channel, Taking};
use crate::feature::Fatal;
use crate::half::{Ack, Arrival, Incoming};
use crate::packet_options::PacketOptions;
use crate::payload::Arriving;

impl Subflow {
    /// Handles a packet of this flow with a correct checksum.
    pub(crate) fn handle_packet(
        &mut self,
        call: &mut Call<'_, '_>,
        packet: &Packet<'_>,
        payload: Arriving<'_>,
        ecn: Ecn,
    ) {
        let packet_type = packet.packet_type();
        // RFC 5596, 2.2.2: steps 2a and 2b. RFC 5596, 2.2.3.1: a Listen has a meaning only in REQUEST.
        let listened = match self.state {
            State::Invited | State::Listen1 => self.take_invitation(call, packet),
            State::Request if packet_type == PacketType::Listen => {
                self.on_listen(packet);
                false
            }
            _ => packet_type != PacketType::Listen,
        };
        if !listened {
            self.stats.discarded += 1;
            return;
        }
        // The first check of step 6: 24-bit numbers that were not agreed on.
        let Some(seq) = self.full_seq(packet.seq) else {
            self.stats.discarded += 1;
            return;
        };
        if self.state == State::Closed {
            self.stats.discarded += 1;
            return;
        }
        let ack = packet.ack().map(|ack| self.full_ack(ack));
        // Step 4.
        if self.state == State::Request && !self.begin_receiving(call, packet, seq, ack) {
            self.stats.discarded += 1;
            return;
        }
        // Steps 5 and 6. RFC 4340, 7.5.4: nothing of an invalid packet is processed.
        let active = self.is_active(call);
        match self.sequence.check(packet_type, seq, ack, active) {
            Verdict::Valid => {}
            Verdict::RollBack => self.roll_back(call, seq),
            verdict => {
                self.stats.discarded += 1;
                if let Verdict::Sync(ackno) = verdict {
                    let knows = ack.is_some_and(|ack| self.sequence.is_ack_valid(ack));
                    let sender = if knows {
                        Sender::OnPath
                    } else {
                        Sender::Unknown
                    };
                    self.syncs.ask(call.now, ackno, sender);
                }
                return;
            }
        }
        let short = packet.is_short();
        self.sequence.accept(packet_type, seq, ack, short);
        self.sequence.heard_at = Some(call.now);
        self.liveness.on_received(call.now);
        self.next_ack_at = self.rest_deferred_until;
        // Step 7.
        if self.is_unexpected(packet_type, seq) {
            self.stats.discarded += 1;
            self.syncs.ask(call.now, seq, Sender::OnPath);
            return;
        }
        self.stats.packets_received += 1;
        self.process(call, packet, (seq, ack), payload, ecn);
    }

    /// Goes back to `seq`, the number of the packet that showed GSR to be forged, in all state that depends on GSR.
    /// Packets that a stranger inserted beyond it are not reported to anybody.
    fn roll_back(&mut self, call: &mut Call<'_, '_>, seq: Seq) {
        self.sequence.roll_back(seq);
        self.arrivals.roll_back(seq);
        self.dropped.roll_back(seq);
        // Where the connection is encrypted, nobody can have forged what it has numbered.
        if call.channel.secure.is_none()
            && let Some(copies) = &mut call.channel.copies
        {
            copies.roll_back(seq);
        }
        self.negotiation.lower_fgsr(seq.prev());
        if self.rx.is_some()
            && let Some(row) = self.agreed.receive
        {
            self.make_receiver(call.now, row, seq.next());
        }
    }

    /// Returns whether the numbers of this packet are valid (RFC 4340, section 7.5.3). For a Sync or `SyncAck` the
    /// narrow window of an active connection applies.
    pub(crate) fn is_sequence_valid(&self, packet: &Packet<'_>) -> bool {
        let ack = packet.ack().map(|ack| self.full_ack(ack));
        self.full_seq(packet.seq).is_some_and(|seq| {
            let verdict = self.sequence.check(packet.packet_type(), seq, ack, true);
            verdict == Verdict::Valid
        })
    }

    /// Returns whether a valid packet arrived within the last three round trips (RFC 4340, section 7.5.3).
    fn is_active(&self, call: &Call<'_, '_>) -> bool {
        let heard = self.sequence.heard_at;
        heard.is_some_and(|at| call.now.saturating_since(at) <= self.rtt() * 3)
    }

    /// Steps 8 to 16, for a valid packet.
    fn process(
        &mut self,
        call: &mut Call<'_, '_>,
        packet: &Packet<'_>,
        (seq, ack): (Seq, Option<Seq>),
        payload: Arriving<'_>,
        ecn: Ecn,
    ) {
        let packet_type = packet.packet_type();
        // Step 8.
        let mut options = PacketOptions::default();
        match self.process_options(call, packet, (seq, ack), &mut options) {
            Ok(()) => {}
            // RFC 4340, 8.5: a Reset ends the connection whatever its options, and is never answered.
            Err(_) if packet_type == PacketType::Reset => {}
            Err(fatal) => return self.fail(call, fatal),
        }
        // RFC 4340, 7.4, 11.4 and 11.7: only now may it be acknowledged.
        self.sequence.acknowledgeable = Seq::max(self.sequence.acknowledgeable, seq);
        // Steps 9 to 12.
        match (self.state, packet.kind) {
            (_, Kind::Reset { code, data, .. }) => {
                return self.on_reset(call, (code, data), &payload);
            }
            (State::Request, _) => self.enter_partopen(call),
            (State::Respond, Kind::Request { .. }) => {
                let head = packet_type.header_len(false) + packet.options.as_bytes().len();
                self.on_request(head + payload.len());
            }
            (State::PartOpen, Kind::Response { .. }) => self.due.ack = true,
            (State::PartOpen, Kind::Sync { .. }) => {}
            (State::Respond | State::PartOpen, _) => self.enter_open(call, seq),
            _ => {}
        }
        let novelty = self.feed_halves(call, packet, (seq, ack), &options, &payload, ecn);
        if self.is_peer_aggressive {
            // RFC 4340, 12.3: the last resort.
            let code = ResetCode::AggressionPenalty;
            return self.fail(call, Fatal { code, data: [0; 3] });
        }
        // Steps 13 to 15.
        match packet_type {
            PacketType::CloseReq => self.on_close_req(call, options.close_code),
            PacketType::Close => return self.on_close(call, options.close_code),
            PacketType::Sync => self.syncs.answer(call.now, seq),
            PacketType::SyncAck => ack.into_iter().for_each(|ack| self.on_sync_ack(call, ack)),
            _ => {}
        }
        // Step 16. RFC 4340, 7: sequence numbers identify duplicates made by the network; a packet too old to tell may
        // be one. RFC 4340, 11.4: a packet whose data the receive queue drops is still reported as received.
        if novelty == Novelty::New {
            let (number, resent) = options.marks.number(seq);
            let datagram = Datagram {
                number: Some(number),
                resent,
                part: options.marks.part,
                corrupt: is_damaged(options.data_checksum, &payload),
                payload,
                ecn,
                at: call.now,
                seq,
            };
            self.take_data(call, packet, datagram);
        }
    }

    /// Passes the packet to both halves: its feedback on our data, and the packet itself.
    fn feed_halves(
        &mut self,
        call: &mut Call<'_, '_>,
        packet: &Packet<'_>,
        (seq, ack): (Seq, Option<Seq>),
        options: &PacketOptions<'_>,
        payload: &Arriving<'_>,
        ecn: Ecn,
    ) -> Novelty {
        let packet_type = packet.packet_type();
        let is_data = matches!(packet_type, PacketType::Data | PacketType::DataAck);
        let count = options.ndp_count.unwrap_or(0);
        // RFC 4340, 7.7: for NDP Counts, Requests and Responses are data, so a gap counts them as data.
        let counts = packet_type.carries_data();
        let novelty = self
            .arrivals
            .note(seq, counts, count, call.channel.missing());
        let is_new = novelty == Novelty::New;
        self.stats.duplicates += u64::from(!is_new);
        let arrival = Arrival {
            seq,
            data: (is_data && is_new).then(|| u32::try_from(payload.len()).unwrap_or(u32::MAX)),
            ecn,
            ccval: packet.ccval,
            ndp_count: options.ndp_count,
            has_ndp_counts: self.agreed.peer_ndp,
            rtt_estimate: options.rtt_estimate,
        };
        let syncs = matches!(packet_type, PacketType::Sync | PacketType::SyncAck);
        // RFC 4340, 5.7: a Sync that acknowledges a packet does not say that it was processed.
        let ack = ack.filter(|_| !syncs);
        let of_host = self.read_host_report(call, options, ack);
        let ack = ack.map(|ackno| Ack {
            seq,
            ackno,
            options,
        });
        if let Some(ack) = ack {
            self.on_handshake_ack(call.now, packet_type, ack.ackno);
            self.dropped.on_ack(ack);
        }
        let waiting = call.channel.waiting(call.now);
        if let Some(tx) = &mut self.tx {
            let packet = Incoming {
                arrival: is_new.then_some(arrival),
                // RFC 4340, 10: feedback on packets sent under another CCID is not for this half.
                ack: ack.filter(|ack| self.own_valid_from.counts(ack.ackno)),
                host: of_host.then_some(&self.reported.new),
            };
            tx.on_packet(call.now, packet, waiting, call.ctx.outcome);
            self.is_peer_aggressive |= call.ctx.outcome.aggression;
            let arrived = call.ctx.outcome.arrived_bytes;
            self.settle_outcome(call);
            self.follow_arrivals(call, arrived);
        }
        if let Some(rx) = &mut self.rx {
            // A packet too old to tell gives no data, and so is not reported as received.
            let counts = is_new && self.peer_valid_from.counts(seq);
            let packet = Incoming {
                arrival: counts.then_some(arrival),
                ack,
                host: None,
            };
            rx.on_packet(call.now, packet);
        }
        novelty
    }

    /// Delivers application data, or reports why not.
    fn take_data(&mut self, call: &mut Call<'_, '_>, packet: &Packet<'_>, datagram: Datagram<'_>) {
        let (seq, packet_type) = (datagram.seq, packet.packet_type());
        let handshake = matches!(packet_type, PacketType::Request | PacketType::Response);
        // RFC 4340, 5.4: a packet of the handshake without bytes carries no datagram. RFC 4340, 5.4, 5.5 and 5.7: data
        // on other types is padding.
        let is_datagram = matches!(packet_type, PacketType::Data | PacketType::DataAck)
            || (handshake && !datagram.payload.is_empty());
        if !is_datagram {
            if datagram.corrupt {
                // RFC 4340, 9.3: reported, although no application would have got it.
                self.drop_data(seq, DropCode::Corrupt);
            }
            return;
        }
        if let Some(code) = self.refusal(call.channel, handshake, packet.cscov, datagram.corrupt) {
            call.channel.received.miss();
            return self.drop_data(seq, code);
        }
        // RFC 4340, 8.1.3 and 8.5, step 16: the data of at most one of these is delivered.
        if handshake && std::mem::replace(&mut self.took_handshake_data, true) {
            return self.drop_data(seq, DropCode::ProtocolConstraints);
        }
        let is_secure = call.channel.secure.is_some();
        let first = datagram.number.unwrap_or(seq);
        if !is_secure {
            match call.channel.taking(self, first, datagram.resent) {
                Taking::Deliver => {}
                Taking::Ignore => return,
                // Our memory is too small to tell.
                Taking::TooOld => return self.drop_data(seq, DropCode::ReceiveBuffer),
            }
        }
        self.stats.data_received += 1;
        self.stats.bytes_received += datagram.payload.len() as u64;
        self.stats.marks_received += u64::from(datagram.ecn == Ecn::Ce);
        if is_secure {
            call.channel.open(call.ctx, self, datagram);
            self.take_check(call);
        } else {
            call.channel.queue_data(call.ctx, datagram);
        }
        self.note_dropped(call.channel);
    }

    /// Returns why data is refused, if it is.
    fn refusal(
        &self,
        channel: &Channel,
        handshake: bool,
        cscov: u8,
        corrupt: bool,
    ) -> Option<DropCode> {
        // RFC 4340, 11.7.2: after Not Listening was reported once, no other code is reported.
        let has_stopped = channel.readers.has_stopped;
        if has_stopped && channel.secure.is_none() {
            return Some(DropCode::NotListening);
        }
        // A session has to hear its peer all the same.
        let code = self.fault(handshake, cscov, corrupt)?;
        Some(if has_stopped {
            DropCode::NotListening
        } else {
            code
        })
    }

    /// Returns what is wrong with the packet that brings data, if anything is.
    fn fault(&self, handshake: bool, cscov: u8, corrupt: bool) -> Option<DropCode> {
        // RFC 4340, 8.2: before its CCID is agreed on, no feedback about it is possible.
        let unready = self.rx.is_none() && !handshake;
        // RFC 4340, 12.1: without ECN no data is taken before the peer knows. RFC 4340, 9.2.1: data with too little
        // coverage is refused.
        if unready || !self.agreed.may_take || !self.is_covered(cscov) {
            return Some(DropCode::ProtocolConstraints);
        }
        // RFC 4340, 9.3: damaged data is dropped, or else delivered and marked as corrupt.
        (corrupt && self.drops_damaged()).then_some(DropCode::Corrupt)
    }
}
