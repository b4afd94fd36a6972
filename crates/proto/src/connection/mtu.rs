//! How large packets may be on this path (RFC 4340, section 14.1; RFC 6773, section 3.7).
//!
//! [`path_mtu`](super::parts::path_mtu) decides what to try and what to believe; here its probes become
//! Syncs padded to their size, and what follows reaches the application: a size, and the fate of
//! datagrams that no longer fit.

use fairwire_units::plant::{Plant, planted};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{HeadBuf, Kind, PacketType, Seq};

use super::packet::Written;
use super::parts::path_mtu::plateau_below;
use super::parts::size::Sizes;
use super::{Connection, Context, State};
use crate::config::PathMtuDiscovery;
use crate::event::{Event, Fate};
use crate::payload::Payload;
use crate::seal::seal;
use crate::transmit::Transmit;

/// RFC 8899, 5.1.1: the probe timer is never shorter. It would have 15 s, for answers that may take
/// their time; a Sync is answered at once (RFC 4340, 8.2), so three round trips do.
const SHORTEST_TIMER: Duration = Duration::from_secs(1);

/// RFC 4340, 14.1: the application may ask for a new search once in two seconds.
const REQUESTS: Duration = Duration::from_secs(2);

impl Connection {
    /// A Sync padded to the size that is to be tried, if one is due.
    pub(super) fn transmit_probe(
        &mut self,
        ctx: &mut Context<'_>,
        head: &mut HeadBuf,
    ) -> Option<Transmit> {
        let size = self.mtu.search.wanted()?;
        if self.state != State::Open || ctx.now < self.mtu.next_probe {
            return None;
        }
        // RFC 4340, 7.5.4: eight Syncs a second, these apart from those that answer invalid packets, or
        // a stranger could keep every probe from leaving.
        if !self.syncs.may_probe(ctx.now) {
            return None;
        }
        let ack = self.sequence.acknowledgeable.into();
        let mut encoder = self.start(head, &Kind::Sync { ack }, (0, 0), 0);
        self.write_ndp(&mut encoder);
        self.write_rtt_estimate(&mut encoder);
        // RFC 4340, 14.1: whatever the application area of a Sync holds is padding.
        let padding = usize::from(size).saturating_sub(self.sizes.packet(encoder.padded_len(), 0));
        let payload = Payload::Synthetic {
            len: u32::try_from(padding).unwrap_or(0),
            tag: 0,
        };
        let head_len = seal(encoder, &self.flow.path, &payload, 0);
        let (seq, rtt) = (self.next_seq(), self.rtt());
        let written = Written {
            seq,
            packet_type: PacketType::Sync,
            head_len,
            payload,
            id: None,
        };
        let mtu = &mut self.mtu;
        mtu.probes.rotate_right(1);
        mtu.probes[0] = Some((seq, size));
        // RFC 8899, 3: outside congestion control, so a round trip apart.
        mtu.next_probe = ctx.now + rtt;
        mtu.search.on_sent(ctx.now + (rtt * 3).max(SHORTEST_TIMER));
        self.stats.mtu_probes_sent += 1;
        Some(self.sent(ctx, written))
    }

    /// The peer answered our Sync with number `seq`, which may have been a probe.
    pub(super) fn on_sync_ack(&mut self, ctx: &mut Context<'_>, seq: Seq) {
        let mut probes = self.mtu.probes.iter_mut();
        // RFC 8899, 4.1: the number alone tells which probe it was, if any.
        let probe = probes.find(|probe| probe.is_some_and(|(number, _)| number == seq));
        if let Some((_, size)) = probe.and_then(Option::take) {
            self.mtu.search.on_acked(ctx.now, size);
            self.mtu.losses = 0;
            self.refresh_sizes(ctx);
        }
    }

    /// The time of a probe may be up.
    pub(super) fn time_probes(&mut self, ctx: &mut Context<'_>) {
        if self.mtu.search.deadline().is_some_and(|at| at <= ctx.now) {
            // RFC 8899, 3: its loss says nothing about congestion, and no controller hears of it.
            self.stats.mtu_probes_lost += 1;
            self.mtu.search.on_timeout(ctx.now);
            self.refresh_sizes(ctx);
        }
    }

    /// A packet of ours is said to be too big for a link that takes `mtu` bytes (RFC 4340, 14.1).
    /// `seq` is its number, if the quote was long enough to tell.
    pub(crate) fn on_too_big(&mut self, ctx: &mut Context<'_>, seq: Option<Seq>, mtu: u32) {
        if self.mtu.mode == PathMtuDiscovery::Off || self.state == State::Closed {
            return;
        }
        let now = ctx.now;
        let seq = seq.filter(|&seq| self.sequence.is_ack_valid(seq));
        let size = seq.and_then(|seq| self.mtu.size_of(self.sequence.gss, seq));
        let mtu = match mtu {
            // RFC 1191, 5: routers of old name no size.
            0 if self.flow.path.remote.is_ipv4() => {
                plateau_below(size.unwrap_or(self.mtu.in_use())).unwrap_or(0)
            }
            mtu => u16::try_from(mtu).unwrap_or(u16::MAX),
        };
        // RFC 8899, 4.6.1: the number and the size of the packet that it is about speak for it.
        let plausible = seq.is_some() && size.is_none_or(|size| mtu < size);
        let obeyed = if plausible && mtu >= self.mtu.search.floor() {
            self.mtu.believe(now, mtu)
        } else {
            self.mtu.on_odd(now, mtu, self.stats.lost)
        };
        if obeyed {
            self.refresh_sizes(ctx);
        } else {
            self.stats.too_big_ignored += 1;
        }
    }

    /// The first hop takes IP packets of `mtu` bytes.
    pub(crate) fn limit_path_mtu(&mut self, ctx: &mut Context<'_>, mtu: u16) {
        self.mtu.search.begin_at(mtu);
        self.refresh_sizes(ctx);
    }

    /// The application wants the path looked at again. False if it asked a moment ago, or if
    /// nothing is discovered here.
    pub(crate) fn rediscover_path_mtu(&mut self, ctx: &mut Context<'_>) -> bool {
        let mtu = &mut self.mtu;
        if ctx.now < mtu.request_from || mtu.mode == PathMtuDiscovery::Off {
            return false;
        }
        mtu.request_from = ctx.now + REQUESTS;
        match mtu.mode {
            PathMtuDiscovery::Probe => mtu.search.restart(),
            _ => mtu.search.reset(),
        }
        self.refresh_sizes(ctx);
        true
    }

    /// A packet with this number left, its head and its payload so long.
    pub(super) fn note_size(
        &mut self,
        ctx: &mut Context<'_>,
        seq: Seq,
        (head, payload): (usize, usize),
        is_data: bool,
    ) {
        self.mtu.on_sent(seq, self.sizes.packet(head, payload));
        if is_data {
            let large = self.plain_packet(payload) > usize::from(self.mtu.search.floor());
            // Who fills what little is allowed would use more.
            if large || payload == self.max_datagram() {
                self.mtu.on_large(ctx.now);
                self.refresh_sizes(ctx);
            }
        }
    }

    /// Bytes of the IP packet of a Data packet with a payload of `payload` bytes, without options:
    /// so two packets with the same data count as equally large.
    fn plain_packet(&self, payload: usize) -> usize {
        let header = PacketType::Data.header_len(false);
        self.sizes.packet(header, payload)
    }

    /// Feedback told of losses, or of a datagram of `arrived` bytes, the largest, that came.
    pub(super) fn note_losses(&mut self, now: Instant, losses: u32, arrived: u32) {
        if losses > 0 || arrived > 0 {
            let arrived = self.plain_packet(arrived as usize);
            self.mtu.on_feedback(now, losses, arrived);
        }
    }

    /// Puts a new size into force.
    fn refresh_sizes(&mut self, ctx: &mut Context<'_>) {
        let mtu = self.mtu.in_use();
        if mtu == self.sizes.path_mtu() {
            return;
        }
        self.sizes = Sizes::new(&self.flow.path, mtu);
        // RFC 4340, 14.2: what was accepted at a larger size is discarded; it must not leave
        // unfragmentable, and we do not fragment.
        let max_datagram = self.max_datagram();
        // Planted: it is kept.
        let fits = if planted(Plant::TooLargeKept) {
            usize::MAX
        } else {
            max_datagram
        };
        for id in self.queue.take_larger(fits) {
            self.never_sent(ctx, id, Fate::TooLarge);
        }
        self.announce_room(ctx);
        self.emit(ctx, Event::PathMtu { mtu, max_datagram });
    }
}
