//! Writing one packet, and the bookkeeping after it has left.

use fairwire_units::{Ecn, Instant};
use fairwire_wire::{DccpOption, Encoder, HeadBuf, Kind, PacketType, Seq};

use super::parts::dropped::Fit;
use super::{Call, State, Subflow};
use crate::connection::channel::Channel;
use crate::event::Fate;
use crate::half::{AckDue, Sent};
use crate::id::DatagramId;
use crate::payload::Payload;
use crate::seal::seal;
use crate::transmit::Outgoing;

/// A packet whose header is written.
pub(super) struct Written {
    pub(super) seq: Seq,
    pub(super) packet_type: PacketType,
    pub(super) head_len: usize,
    pub(super) payload: Payload,
    pub(super) id: Option<DatagramId>,
}

impl Subflow {
    /// Starts a header that leaves room for `payload` bytes after it.
    pub(super) fn start<'h>(
        &self,
        head: &'h mut HeadBuf,
        kind: &Kind,
        (ccval, cscov): (u8, u8),
        payload: usize,
    ) -> Encoder<'h> {
        let (ports, seq) = (self.flow.ports(), self.next_seqno(kind.packet_type()));
        Encoder::new(head, ports, seq, kind, ccval, cscov).limit(self.sizes.head_limit(payload))
    }

    /// Writes a packet without data, negotiation or feedback.
    pub(super) fn send_plain(
        &mut self,
        call: &mut Call<'_, '_>,
        head: &mut HeadBuf,
        kind: &Kind,
    ) -> Outgoing {
        let mut encoder = self.start(head, kind, (0, 0), 0);
        self.write_cookies(&mut encoder);
        self.write_ndp(&mut encoder);
        if matches!(kind, Kind::Sync { .. } | Kind::SyncAck { .. }) {
            self.write_rtt_estimate(&mut encoder);
        }
        if let Kind::Close { .. } | Kind::CloseReq { .. } = kind
            && let Some(codes) = call.channel.close_codes()
        {
            codes.write(call.channel.secure.is_some(), &mut encoder);
        }
        let transmit = self.finish(call, encoder, kind.packet_type());
        // RFC 4340, 7.5.4: a peer that is alive answers a Sync about a packet that it sent. It ignores a Sync about an
        // invalid packet, maybe a stranger's, so silence after that one proves nothing.
        let known = self.sequence.acknowledgeable.into();
        if matches!(kind, Kind::Sync { ack } if *ack == known) {
            self.liveness.on_sent(call.now, true);
        }
        transmit
    }

    /// Finishes a packet without data.
    pub(super) fn finish(
        &mut self,
        call: &mut Call<'_, '_>,
        encoder: Encoder<'_>,
        packet_type: PacketType,
    ) -> Outgoing {
        let head_len = seal(encoder, &self.flow.path, &Payload::EMPTY, 0);
        let seq = self.next_seq();
        let written = Written {
            seq,
            packet_type,
            head_len,
            payload: Payload::EMPTY,
            id: None,
        };
        self.sent(call, written)
    }

    /// Returns whether the next packet must carry an NDP Count.
    pub(super) fn is_ndp_due(&self) -> bool {
        // RFC 4340, 7.7 and 7.7.2: after a packet without data; otherwise its absence means zero.
        self.agreed.ndp && self.ndp_run > 0
    }

    /// Writes the NDP Count, if one is due. It always fits: it is written before the options that could fill the
    /// header, and room is reserved for it.
    pub(super) fn write_ndp(&self, encoder: &mut Encoder<'_>) {
        if self.is_ndp_due() {
            let written = encoder.option(&DccpOption::NdpCount(self.ndp_run));
            debug_assert!(written.is_ok(), "room for an NDP Count is kept");
        }
    }

    /// Writes our round-trip time if the peer gets it: on Data, `DataAck`, Sync and `SyncAck` (RFC 6323, sections 3.2.2
    /// and 3.3). It always fits: it is written early, and room is reserved for it.
    pub(super) fn write_rtt_estimate(&self, encoder: &mut Encoder<'_>) {
        if self.agreed.rtt_estimates
            && let Some(us) = self.tx.as_ref().and_then(|tx| tx.rtt_estimate())
        {
            let written = encoder.option(&DccpOption::RttEstimate(us));
            debug_assert!(written.is_ok(), "room for an RTT Estimate is kept");
        }
    }

    /// Writes the negotiation options that are due, if they fit; otherwise they stay due.
    pub(super) fn write_negotiation(
        &mut self,
        now: Instant,
        packet_type: PacketType,
        encoder: &mut Encoder<'_>,
    ) {
        let repeats = self.state <= State::PartOpen;
        if !repeats && self.agreed.due.is_none_or(|at| at > now) {
            return;
        }
        let (seq, rtt) = (self.next_seq(), self.rtt());
        let written = self.negotiation.write(now, seq, packet_type, rtt, encoder);
        if written.is_ok() {
            if !self.agreed.may_send {
                // Data may have waited for this Confirm.
                self.refresh_agreed();
            }
            self.refresh_negotiation_time();
        }
    }

    /// Writes a Timestamp Echo, if one is due and fits.
    pub(super) fn write_echo(&mut self, now: Instant, encoder: &mut Encoder<'_>) {
        if let Some(echo) = self.timestamps.echo(now)
            && encoder.option(&echo).is_ok()
        {
            self.timestamps.echoed();
        }
    }

    /// Writes the feedback of the receiving half and Data Dropped. Returns false if they do not fit. Only for packets
    /// with an acknowledgement (RFC 4340, section 11.7).
    pub(super) fn write_feedback(
        &mut self,
        channel: &Channel,
        now: Instant,
        fit: Fit,
        encoder: &mut Encoder<'_>,
    ) -> bool {
        let (seq, ack) = (self.next_seq(), self.sequence.acknowledgeable);
        if channel.is_slow() {
            // RFC 4340, 11.6: on each packet while the condition holds. If the byte does not fit, it can wait.
            let _ = encoder.option(&DccpOption::SlowReceiver);
        }
        let mut reserve = self.rx.as_ref().map_or(0, |rx| rx.options_len(now));
        if fit == Fit::Newest
            && reserve > encoder.room()
            && let Some(rx) = &mut self.rx
        {
            // RFC 4340, 11.4: if no Ack has room for the whole history, its newest part is sent.
            rx.shorten(self.sizes.feedback_room());
            reserve = rx.options_len(now);
        }
        let mark = encoder.mark();
        if self.dropped.write(ack, fit, reserve, encoder).is_err() {
            return false;
        }
        let fits = match &mut self.rx {
            Some(rx) if reserve > 0 => rx.write_options(now, seq, ack, encoder).is_ok(),
            _ => true,
        };
        if fits {
            self.dropped.on_report_sent(seq, ack);
        } else {
            encoder.truncate(mark);
        }
        fits
    }

    /// Returns when feedback is due; the present packet may carry it.
    pub(super) fn feedback_due(&self, now: Instant) -> AckDue {
        self.rx.as_ref().map_or(AckDue::No, |rx| rx.ack_due(now))
    }

    /// Does the bookkeeping for a packet that leaves now.
    pub(super) fn sent(&mut self, call: &mut Call<'_, '_>, written: Written) -> Outgoing {
        let Written {
            seq,
            packet_type,
            head_len,
            payload,
            id,
        } = written;
        let assigned = self.sequence.next_sent();
        debug_assert_eq!(assigned, seq, "one number per packet");
        let now = call.now;
        self.stats.packets_sent += 1;
        let is_data = matches!(packet_type, PacketType::Data | PacketType::DataAck);
        if is_data {
            self.stats.data_sent += 1;
            self.stats.bytes_sent += payload.len() as u64;
        }
        if packet_type == PacketType::Sync {
            self.stats.syncs_sent += 1;
            if let Some(unconfirmed) = &mut self.unconfirmed {
                unconfirmed.on_sync(seq);
            }
        }
        // RFC 4340, 7.7: Request and Response count as data packets.
        self.ndp_run = if packet_type.carries_data() {
            0
        } else {
            self.ndp_run.saturating_add(1)
        };
        let negotiates = self.agreed.due.is_some() && packet_type == PacketType::Ack;
        let wants_answer = is_data
            || negotiates
            || self.state == State::PartOpen
            || matches!(packet_type, PacketType::Close | PacketType::CloseReq);
        self.liveness.on_sent(now, wants_answer);
        let ecn = if is_data {
            self.data_ecn(seq)
        } else {
            Ecn::NotEct
        };
        let sent = Sent {
            seq,
            data: is_data.then(|| u32::try_from(payload.len()).unwrap_or(u32::MAX)),
            id,
            nonce: ecn == Ecn::Ect1,
        };
        self.note_sent(call, sent, packet_type);
        if is_data {
            self.note_spare(call.channel, now);
        }
        if matches!(packet_type, PacketType::Ack | PacketType::DataAck) {
            self.reported.acknowledged(now);
        }
        if self.state == State::PartOpen {
            // RFC 4340, 8.1.5: every packet restarts the timer.
            self.retry.start(now);
        }
        self.adapt_features(now);
        self.note_size(call, seq, (head_len, payload.len()), is_data);
        Outgoing {
            ecn,
            // RFC 4340, 14 and 14.2: only the handshake may be fragmented, so that it does not depend on a known path
            // MTU.
            dont_fragment: !matches!(packet_type, PacketType::Request | PacketType::Response),
            payload,
            id,
            to: None,
        }
    }

    /// Tells the sending half of a packet that leaves now, and reports the fate of its datagram if no acknowledgement
    /// will.
    fn note_sent(&mut self, call: &mut Call<'_, '_>, sent: Sent, packet_type: PacketType) {
        let (now, id, waiting) = (call.now, sent.id, call.channel.waiting(call.now));
        let Some(tx) = &mut self.tx else {
            return;
        };
        tx.on_sent(now, sent, waiting);
        if matches!(packet_type, PacketType::Ack | PacketType::DataAck) {
            tx.on_feedback_acknowledged(now);
        }
        if let Some(id) = id
            && !tx.acknowledges_packets()
        {
            call.ctx.outcome.fates.push((Some(id), Fate::Sent));
            self.settle_outcome(call);
        }
    }
}
