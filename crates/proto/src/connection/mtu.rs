//! How large packets may be on this path (RFC 4340, section 14.1; RFC 6773, section 3.7).
//!
//! [`search`] decides what to try; here its probes become Syncs padded to their size, answers and
//! ICMP errors are checked, and what follows reaches the application: a size, and the fate of
//! datagrams that no longer fit.
//!
//! A Too Big is believed if it quotes the number of a packet that may still be in the network and
//! that was larger than what is said to pass. Any other is odd: it makes us look (a probe), not
//! act (RFC 8899, 4.6.1).

mod search;

use fairwire_units::plant::{Plant, planted};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{HeadBuf, Kind, PacketType, Seq};

use super::packet::Written;
use super::size::floor;
use super::{Connection, Context, Sizes, State, seal};
use crate::config::{Config, PathMtuDiscovery};
use crate::event::{Event, Fate};
use crate::payload::Payload;
use crate::transmit::{Path, Transmit};
use search::{MAX_PROBES, Search, plateau_below};

/// Packets whose size is remembered, to be held against what an ICMP error claims.
const REMEMBERED: usize = 64;

/// RFC 8899, 5.1.1: the probe timer is never shorter. It would have 15 s, for answers that may take
/// their time; a Sync is answered at once (RFC 4340, 8.2), so three round trips do.
const SHORTEST_TIMER: Duration = Duration::from_secs(1);

/// RFC 4340, 14.1: the application may ask for a new search once in two seconds.
const REQUESTS: Duration = Duration::from_secs(2);

/// Signs of loss, without a large packet known to have arrived in between, that raise doubt.
const DOUBTFUL: u32 = 3;

/// Doubts are looked into no more often than this: ordinary congestion raises them too.
const DOUBT_AGAIN: Duration = Duration::from_secs(15);

/// RFC 4340, 14.1: more than this many odd errors, and as many losses, make them credible.
const ODD: u64 = 3;

/// What a connection knows of its path's MTU.
#[derive(Debug)]
pub(super) struct PathMtu {
    mode: PathMtuDiscovery,
    search: Search,
    /// Probes whose answers still count.
    probes: [Option<(Seq, u16)>; MAX_PROBES as usize],
    /// When the next may leave.
    next_probe: Instant,
    /// Sizes of the newest packets as IP packets, by number.
    sizes: [u16; REMEMBERED],
    /// Has a packet larger than the floor left since the last doubt was settled?
    uses_large: bool,
    /// Signs of loss since then, or since a large packet arrived.
    losses: u32,
    doubt_from: Instant,
    /// Odd errors, and the losses that the peer had reported at the first of them.
    odd: (u64, u64),
    request_from: Instant,
}

impl PathMtu {
    pub(super) fn new(now: Instant, path: &Path, config: &Config) -> Self {
        Self {
            mode: config.path_mtu_discovery,
            search: Search::new(floor(path), config.path_mtu),
            probes: [None; MAX_PROBES as usize],
            next_probe: now,
            sizes: [0; REMEMBERED],
            uses_large: false,
            losses: 0,
            doubt_from: now,
            odd: (0, 0),
            request_from: now,
        }
    }

    /// The largest IP packet of data now.
    pub(super) fn in_use(&self) -> u16 {
        self.search.in_use()
    }

    /// When a probe should leave or has had its time; `probes_from` is when a probe may leave.
    pub(super) fn due(&self, probes_from: Instant) -> Option<Instant> {
        match self.search.wanted() {
            Some(_) => Some(self.next_probe.max(probes_from)),
            None => self.search.deadline(),
        }
    }

    /// Takes note of a packet of `size` bytes that left.
    fn on_sent(&mut self, seq: Seq, size: usize) {
        self.sizes[place(seq)] = u16::try_from(size).unwrap_or(u16::MAX);
    }

    /// Data left of a size that not every path takes, or that is all that is allowed.
    fn on_large(&mut self, now: Instant) {
        self.uses_large = true;
        match self.mode {
            PathMtuDiscovery::Off => {}
            PathMtuDiscovery::Icmp => self.search.raise(now),
            PathMtuDiscovery::Probe => self.search.on_large(now),
        }
    }

    /// Signs of loss, and the size of the largest packet of data that is now known to have arrived.
    fn on_feedback(&mut self, now: Instant, losses: u32, arrived: usize) {
        if arrived > usize::from(self.search.floor()) {
            self.losses = 0;
            return;
        }
        self.losses = self.losses.saturating_add(losses);
        if self.losses >= DOUBTFUL && self.uses_large {
            self.doubt(now);
        }
    }

    /// The size in use may not pass any more: a probe will tell.
    fn doubt(&mut self, now: Instant) {
        if self.mode == PathMtuDiscovery::Probe && now >= self.doubt_from {
            self.doubt_from = now + DOUBT_AGAIN;
            self.uses_large = false;
            self.losses = 0;
            self.search.doubt();
        }
    }

    /// How large the packet with number `seq` was, if it is one of the last.
    fn size_of(&self, gss: Seq, seq: Seq) -> Option<u16> {
        let recent = seq.distance(gss) < REMEMBERED as u64;
        Some(self.sizes[place(seq)]).filter(|&size| recent && size > 0)
    }

    /// A checked Too Big. True if it is acted upon.
    fn believe(&mut self, now: Instant, mtu: u16) -> bool {
        match self.mode {
            PathMtuDiscovery::Off => false,
            PathMtuDiscovery::Icmp => self.search.lower(now, mtu),
            PathMtuDiscovery::Probe => self.search.on_too_big(now, mtu),
        }
    }

    /// An error that nothing shows to be about a packet of ours; `lost` is what the peer has
    /// reported lost so far. True if so many came that they are obeyed.
    fn on_odd(&mut self, now: Instant, mtu: u16, lost: u64) -> bool {
        if self.mode == PathMtuDiscovery::Probe {
            self.doubt(now);
            return false;
        }
        let (count, lost_before) = self.odd;
        self.odd = match count {
            0 => (1, lost),
            count => (count + 1, lost_before),
        };
        // RFC 4340, 14.1: a confused router, then. With probes there is a better judge.
        let (count, lost_before) = self.odd;
        if count <= ODD || lost - lost_before <= ODD {
            return false;
        }
        self.odd = (0, 0);
        self.believe(now, mtu)
    }
}

/// Where the size of packet `seq` is kept.
fn place(seq: Seq) -> usize {
    usize::try_from(seq.get() % REMEMBERED as u64).unwrap_or(0)
}

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
