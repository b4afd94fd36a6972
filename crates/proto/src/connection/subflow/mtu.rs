//! Path MTU discovery: how large packets may be on this path (RFC 4340, section 14.1; RFC 6773, section 3.7).
//!
//! [`path_mtu`](super::parts::path_mtu) decides which sizes to probe and which reports to trust. This file sends the
//! probes as padded Syncs, and reports the results to the application: the new size, and the fate of datagrams that no
//! longer fit.

use fairwire_units::{Duration, Instant};
use fairwire_wire::{HeadBuf, Kind, PacketType, Seq};

use super::packet::Written;
use super::parts::path_mtu::{PathMtu, plateau_below};
use super::parts::size::Sizes;
use super::{Call, State, Subflow};
use crate::config::PathMtuDiscovery;
use crate::event::Event;
use crate::payload::Payload;
use crate::seal::seal;
use crate::transmit::Outgoing;

/// Minimum time of the probe timer (RFC 8899, 5.1.1). That RFC suggests 15 s, for answers that may take time. A Sync is
/// answered at once (RFC 4340, 8.2), so three round trips are enough.
const SHORTEST_TIMER: Duration = Duration::from_secs(1);

/// Minimum time between new searches that the application starts (RFC 4340, 14.1).
const REQUESTS: Duration = Duration::from_secs(2);

impl Subflow {
    /// Writes a probe, a Sync padded to the size to try, if one is due.
    pub(super) fn transmit_probe(
        &mut self,
        call: &mut Call<'_, '_>,
        head: &mut HeadBuf,
    ) -> Option<Outgoing> {
        let size = self.mtu.search.wanted()?;
        if self.state != State::Open || call.now < self.mtu.next_probe {
            return None;
        }
        // RFC 4340, 7.5.4: eight Syncs a second. Probes have a limit of their own, apart from Syncs that answer invalid
        // packets. Otherwise a stranger could keep every probe from leaving.
        if !self.syncs.may_probe(call.now) {
            return None;
        }
        let ack = self.sequence.acknowledgeable.into();
        let mut encoder = self.start(head, &Kind::Sync { ack }, (0, 0), 0);
        self.write_ndp(&mut encoder);
        self.write_rtt_estimate(&mut encoder);
        // RFC 4340, 14.1: the application area of a Sync is padding.
        let padding = usize::from(size).saturating_sub(self.sizes.packet(encoder.padded_len(), 0));
        let payload = Payload::synthetic(u32::try_from(padding).unwrap_or(0), 0);
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
        // RFC 8899, 3: probes are outside congestion control, so they leave at least a round trip apart.
        mtu.next_probe = call.now + rtt;
        mtu.search.on_sent(call.now + (rtt * 3).max(SHORTEST_TIMER));
        self.stats.mtu_probes_sent += 1;
        Some(self.sent(call, written))
    }

    /// Handles the peer's answer to our Sync with number `seq`, which may have been a probe.
    pub(super) fn on_sync_ack(&mut self, call: &mut Call<'_, '_>, seq: Seq) {
        let mut probes = self.mtu.probes.iter_mut();
        // RFC 8899, 4.1: the number alone identifies the probe, if it was one.
        let probe = probes.find(|probe| probe.is_some_and(|(number, _)| number == seq));
        if let Some((_, size)) = probe.and_then(Option::take) {
            self.mtu.search.on_acked(call.now, size);
            self.mtu.losses = 0;
            self.refresh_sizes(call);
        }
    }

    /// Handles the probe timer, if it has expired.
    pub(super) fn on_probe_timeout(&mut self, call: &mut Call<'_, '_>) {
        if self.mtu.search.deadline().is_some_and(|at| at <= call.now) {
            // RFC 8899, 3: a lost probe says nothing about congestion, so no controller hears of it.
            self.stats.mtu_probes_lost += 1;
            self.mtu.search.on_timeout(call.now);
            self.refresh_sizes(call);
        }
    }

    /// Handles an ICMP error which says that our packet is too big for a link with an MTU of `mtu` bytes (RFC 4340,
    /// 14.1). `seq` is the packet's number, if the quote was long enough to contain it.
    pub(crate) fn on_too_big(&mut self, call: &mut Call<'_, '_>, seq: Option<Seq>, mtu: u32) {
        if self.mtu.mode == PathMtuDiscovery::Off || self.state == State::Closed {
            return;
        }
        let now = call.now;
        let seq = seq.filter(|&seq| self.sequence.is_ack_valid(seq));
        let size = seq.and_then(|seq| self.mtu.size_of(self.sequence.gss, seq));
        let mtu = match mtu {
            // RFC 1191, 5: old routers report no size.
            0 if self.flow.path.remote.is_ipv4() => {
                plateau_below(size.unwrap_or(self.mtu.in_use())).unwrap_or(0)
            }
            mtu => u16::try_from(mtu).unwrap_or(u16::MAX),
        };
        // RFC 8899, 4.6.1: the number and the size of the quoted packet make the error plausible.
        let plausible = seq.is_some() && size.is_none_or(|size| mtu < size);
        let applied = if plausible && mtu >= self.mtu.search.floor() {
            self.mtu.apply_too_big(now, mtu)
        } else {
            self.mtu.on_suspect_too_big(now, mtu, self.stats.lost)
        };
        if applied {
            self.refresh_sizes(call);
        } else {
            self.stats.too_big_ignored += 1;
        }
    }

    /// Limits the path MTU to the MTU of the first hop, `mtu` bytes.
    pub(crate) fn limit_path_mtu(&mut self, call: &mut Call<'_, '_>, mtu: u16) {
        self.mtu.search.begin_at(mtu);
        self.refresh_sizes(call);
    }

    /// Starts a new search for the application. Returns false if the last one was too recent, or if path MTU discovery
    /// is off.
    pub(crate) fn rediscover_path_mtu(&mut self, call: &mut Call<'_, '_>) -> bool {
        let mtu = &mut self.mtu;
        if call.now < mtu.request_from || mtu.mode == PathMtuDiscovery::Off {
            return false;
        }
        mtu.request_from = call.now + REQUESTS;
        match mtu.mode {
            PathMtuDiscovery::Probe => mtu.search.restart(),
            _ => mtu.search.reset(),
        }
        self.refresh_sizes(call);
        true
    }

    /// Begins the search of another path, with packets that are no larger than now.
    pub(super) fn begin_path_mtu(&mut self, call: &mut Call<'_, '_>) {
        let in_use = self.mtu.in_use();
        self.mtu = PathMtu::new(call.now, &self.flow.path, &self.config);
        self.mtu.search.begin_at(in_use);
        if self.mtu.mode == PathMtuDiscovery::Probe {
            self.mtu.search.restart();
        }
        self.apply_sizes(call);
    }

    /// Notes that packet `seq` left, with the given lengths of its header and its payload.
    pub(super) fn note_size(
        &mut self,
        call: &mut Call<'_, '_>,
        seq: Seq,
        (head, payload): (usize, usize),
        is_data: bool,
    ) {
        self.mtu.on_sent(seq, self.sizes.packet(head, payload));
        if is_data {
            let large = self.plain_packet(payload) > usize::from(self.mtu.search.floor());
            // A sender that fills the largest packet allowed would use a larger one.
            if large || payload == self.sizes.max_datagram() {
                self.mtu.on_large(call.now);
                self.refresh_sizes(call);
            }
        }
    }

    /// Returns the bytes of the IP packet of a Data packet with `payload` bytes and no options, so that two packets
    /// with the same data count as equally large.
    fn plain_packet(&self, payload: usize) -> usize {
        let header = PacketType::Data.header_len(false);
        self.sizes.packet(header, payload)
    }

    /// Notes that feedback reported `losses` losses, and `arrived` bytes as the largest datagram that arrived.
    pub(super) fn note_losses(&mut self, now: Instant, losses: u32, arrived: u32) {
        if losses > 0 || arrived > 0 {
            let arrived = self.plain_packet(arrived as usize);
            self.mtu.on_feedback(now, losses, arrived);
        }
    }

    /// Applies a change of the path MTU.
    fn refresh_sizes(&mut self, call: &mut Call<'_, '_>) {
        if self.mtu.in_use() != self.sizes.path_mtu() {
            self.apply_sizes(call);
        }
    }

    fn apply_sizes(&mut self, call: &mut Call<'_, '_>) {
        let mtu = self.mtu.in_use();
        self.sizes = Sizes::new(&self.flow.path, mtu);
        call.channel
            .set_max_datagram(call.now, self.sizes.max_datagram());
        // RFC 4340, 14.2: datagrams accepted at a larger size are discarded. They must not leave with Don't Fragment
        // set, and we do not fragment.
        let max_datagram = call.channel.max_datagram(self);
        call.channel.drop_larger(call.ctx, max_datagram);
        call.channel.announce_room(call.ctx);
        call.emit(Event::PathMtu { mtu, max_datagram });
    }
}
