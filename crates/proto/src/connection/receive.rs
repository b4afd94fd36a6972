//! Steps 4 to 16 of RFC 4340, section 8.5, for a received packet, in that order.

use fairwire_units::Ecn;
use fairwire_units::plant::{Plant, planted};
use fairwire_wire::{DropCode, Kind, Packet, PacketType, ResetCode, Seq};

use super::integrity::is_damaged;
use super::parts::arrivals::Novelty;
use super::parts::receive_queue::Datagram;
use super::parts::sequence::Verdict;
use super::parts::syncs::Sender;
use super::resend::Taking;
use super::{Connection, Context, State};
use crate::feature::Fatal;
use crate::half::{Ack, Arrival, Incoming};
use crate::packet_options::PacketOptions;
use crate::payload::Arriving;

impl Connection {
    /// Handles a packet of this flow with a correct checksum.
    pub(crate) fn handle_packet(
        &mut self,
        ctx: &mut Context<'_>,
        packet: &Packet<'_>,
        payload: Arriving<'_>,
        ecn: Ecn,
    ) {
        let packet_type = packet.packet_type();
        // RFC 5596, 2.2.2: steps 2a and 2b. RFC 5596, 2.2.3.1: a Listen has a meaning only in REQUEST.
        let listened = match self.state {
            State::Invited | State::Listen1 => self.take_invitation(ctx, packet),
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
        if self.state == State::Request && !self.begin_receiving(ctx, packet, seq, ack) {
            self.stats.discarded += 1;
            return;
        }
        // Steps 5 and 6. RFC 4340, 7.5.4: nothing of an invalid packet is processed.
        let active = self.is_active(ctx);
        match self.sequence.check(packet_type, seq, ack, active) {
            Verdict::Valid => {}
            Verdict::RollBack => self.roll_back(ctx, seq),
            verdict => {
                self.stats.discarded += 1;
                if let Verdict::Sync(ackno) = verdict {
                    let knows = ack.is_some_and(|ack| self.sequence.is_ack_valid(ack));
                    let sender = if knows {
                        Sender::OnPath
                    } else {
                        Sender::Unknown
                    };
                    self.syncs.ask(ctx.now, ackno, sender);
                }
                return;
            }
        }
        let short = packet.is_short();
        self.sequence.accept(packet_type, seq, ack, short);
        self.sequence.heard_at = Some(ctx.now);
        self.liveness.on_received(ctx.now);
        self.next_ack_at = self.rest_deferred_until;
        // Step 7.
        if self.is_unexpected(packet_type, seq) {
            self.stats.discarded += 1;
            self.syncs.ask(ctx.now, seq, Sender::OnPath);
            return;
        }
        self.stats.packets_received += 1;
        self.process(ctx, packet, (seq, ack), payload, ecn);
    }

    /// Goes back to `seq`, the number of the packet that showed GSR to be forged, in all state that depends on GSR.
    /// Packets that a stranger inserted beyond it are not reported to anybody.
    fn roll_back(&mut self, ctx: &mut Context<'_>, seq: Seq) {
        self.sequence.roll_back(seq);
        self.received.roll_back(seq);
        self.dropped.roll_back();
        // Where the connection is encrypted, nobody can have forged what it has numbered.
        if self.secure.is_none()
            && let Some(copies) = &mut self.copies
        {
            copies.roll_back(seq);
        }
        self.negotiation.lower_fgsr(seq.prev());
        if self.rx.is_some()
            && let Some(row) = self.agreed.receive
        {
            self.make_receiver(ctx.now, row, seq.next());
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
    fn is_active(&self, ctx: &Context<'_>) -> bool {
        let heard = self.sequence.heard_at;
        heard.is_some_and(|at| ctx.now.saturating_since(at) <= self.rtt() * 3)
    }

    /// Steps 8 to 16, for a valid packet.
    fn process(
        &mut self,
        ctx: &mut Context<'_>,
        packet: &Packet<'_>,
        (seq, ack): (Seq, Option<Seq>),
        payload: Arriving<'_>,
        ecn: Ecn,
    ) {
        let packet_type = packet.packet_type();
        // Step 8.
        let mut options = PacketOptions::default();
        match self.process_options(ctx, packet, (seq, ack), &mut options) {
            Ok(()) => {}
            // RFC 4340, 8.5: a Reset ends the connection whatever its options, and is never answered.
            Err(_) if packet_type == PacketType::Reset => {}
            Err(fatal) => return self.fail(ctx, fatal),
        }
        // RFC 4340, 7.4, 11.4 and 11.7: only now may it be acknowledged.
        self.sequence.acknowledgeable = Seq::max(self.sequence.acknowledgeable, seq);
        let completes = self.state == State::Respond;
        // Steps 9 to 12.
        match (self.state, packet.kind) {
            (_, Kind::Reset { code, data, .. }) => {
                return self.on_reset(ctx, (code, data), &payload);
            }
            (State::Request, _) => self.enter_partopen(ctx),
            (State::Respond, Kind::Request { .. }) => {
                let head = packet_type.header_len(false) + packet.options.as_bytes().len();
                self.on_request(head + payload.len());
            }
            (State::PartOpen, Kind::Response { .. }) => self.due.ack = true,
            (State::PartOpen, Kind::Sync { .. }) => {}
            (State::Respond | State::PartOpen, _) => self.enter_open(ctx, seq),
            _ => {}
        }
        let novelty = self.feed_halves(ctx, packet, (seq, ack), &options, &payload, ecn);
        if self.is_peer_aggressive {
            // RFC 4340, 12.3: the last resort.
            let code = ResetCode::AggressionPenalty;
            return self.fail(ctx, Fatal { code, data: [0; 3] });
        }
        // Steps 13 to 15.
        match packet_type {
            PacketType::CloseReq => self.on_close_req(ctx),
            PacketType::Close => return self.on_close(ctx),
            PacketType::Sync => self.syncs.answer(ctx.now, seq),
            PacketType::SyncAck => ack.into_iter().for_each(|ack| self.on_sync_ack(ctx, ack)),
            _ => {}
        }
        // Step 16. RFC 4340, 7: sequence numbers identify duplicates made by the network; a packet too old to tell may
        // be one. RFC 4340, 11.4: a packet whose data the application never gets is still reported as received.
        // Planted: the datagram that completes the handshake is dropped.
        if novelty == Novelty::New && !(completes && planted(Plant::FirstDataLost)) {
            let datagram = Datagram {
                number: Some(options.copy_of.unwrap_or(seq)),
                resent: options.copy_of.is_some(),
                corrupt: is_damaged(options.data_checksum, &payload),
                payload,
                ecn,
                at: ctx.now,
                seq,
            };
            self.take_data(ctx, packet, datagram);
        }
    }

    /// Passes the packet to both halves: its feedback on our data, and the packet itself.
    fn feed_halves(
        &mut self,
        ctx: &mut Context<'_>,
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
        let novelty = self.received.on_packet(seq, counts, count);
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
        let of_host = self.read_host_report(ctx, options, ack);
        let ack = ack.map(|ackno| Ack {
            seq,
            ackno,
            options,
        });
        if let Some(ack) = ack {
            self.on_handshake_ack(ctx.now, packet_type, ack.ackno);
            self.dropped.on_ack(ack);
        }
        let waiting = self.waiting();
        if let Some(tx) = &mut self.tx {
            let packet = Incoming {
                arrival: is_new.then_some(arrival),
                // RFC 4340, 10: feedback on packets sent under another CCID is not for this half.
                ack: ack.filter(|ack| self.own_valid_from.counts(ack.ackno)),
                host: of_host.then_some(&self.reported.new),
            };
            tx.on_packet(ctx.now, packet, waiting, ctx.outcome);
            self.is_peer_aggressive |= ctx.outcome.aggression;
            let arrived = ctx.outcome.arrived_bytes;
            self.settle_outcome(ctx);
            self.follow_arrivals(ctx, arrived);
        }
        if let Some(rx) = &mut self.rx {
            let counts = novelty != Novelty::Copy && self.peer_valid_from.counts(seq);
            let packet = Incoming {
                arrival: counts.then_some(arrival),
                ack,
                host: None,
            };
            rx.on_packet(ctx.now, packet);
        }
        novelty
    }

    /// Delivers application data, or reports why not.
    fn take_data(&mut self, ctx: &mut Context<'_>, packet: &Packet<'_>, datagram: Datagram<'_>) {
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
        if let Some(code) = self.refusal(handshake, packet.cscov, datagram.corrupt) {
            self.received.miss();
            return self.drop_data(seq, code);
        }
        // RFC 4340, 8.1.3 and 8.5, step 16: the data of at most one of these is delivered.
        if handshake && std::mem::replace(&mut self.took_handshake_data, true) {
            return self.drop_data(seq, DropCode::ProtocolConstraints);
        }
        let is_secure = self.secure.is_some();
        let first = datagram.number.unwrap_or(seq);
        if !is_secure {
            match self.taking(first, datagram.resent) {
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
            self.open(ctx, datagram);
        } else {
            self.queue_data(ctx, datagram);
        }
    }

    /// Returns why data is refused, if it is.
    fn refusal(&self, handshake: bool, cscov: u8, corrupt: bool) -> Option<DropCode> {
        // RFC 4340, 11.7.2: after Not Listening was reported once, no other code is reported.
        // A session has to hear its peer all the same.
        if self.dropped.is_not_listening && self.secure.is_none() {
            return Some(DropCode::NotListening);
        }
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
