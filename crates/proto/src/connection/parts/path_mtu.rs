//! What is known of the path MTU, and which ICMP errors about it are believed (RFC 4340, section
//! 14.1).
//!
//! A Too Big is believed if it quotes the number of a packet that may still be in the network and
//! that was larger than what is said to pass. Any other is odd: it makes us look (a probe), not
//! act (RFC 8899, 4.6.1).

mod search;

use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use super::size::floor;
use crate::config::{Config, PathMtuDiscovery};
use crate::transmit::Path;
pub(crate) use search::plateau_below;
use search::{MAX_PROBES, Search};

/// Packets whose size is remembered, to be held against what an ICMP error claims.
const REMEMBERED: usize = 64;

/// Signs of loss, without a large packet known to have arrived in between, that raise doubt.
const DOUBTFUL: u32 = 3;

/// Doubts are looked into no more often than this: ordinary congestion raises them too.
const DOUBT_AGAIN: Duration = Duration::from_secs(15);

/// RFC 4340, 14.1: more than this many odd errors, and as many losses, make them credible.
const ODD: u64 = 3;

/// What a connection knows of its path's MTU.
#[derive(Debug)]
pub(crate) struct PathMtu {
    pub(crate) mode: PathMtuDiscovery,
    pub(crate) search: Search,
    /// Probes whose answers still count.
    pub(crate) probes: [Option<(Seq, u16)>; MAX_PROBES as usize],
    /// When the next may leave.
    pub(crate) next_probe: Instant,
    /// Sizes of the newest packets as IP packets, by number.
    sizes: [u16; REMEMBERED],
    /// Has a packet larger than the floor left since the last doubt was settled?
    uses_large: bool,
    /// Signs of loss since then, or since a large packet arrived.
    pub(crate) losses: u32,
    doubt_from: Instant,
    /// Odd errors, and the losses that the peer had reported at the first of them.
    odd: (u64, u64),
    pub(crate) request_from: Instant,
}

impl PathMtu {
    pub(crate) fn new(now: Instant, path: &Path, config: &Config) -> Self {
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
    pub(crate) fn in_use(&self) -> u16 {
        self.search.in_use()
    }

    /// When a probe should leave or has had its time; `probes_from` is when a probe may leave.
    pub(crate) fn due(&self, probes_from: Instant) -> Option<Instant> {
        match self.search.wanted() {
            Some(_) => Some(self.next_probe.max(probes_from)),
            None => self.search.deadline(),
        }
    }

    /// Takes note of a packet of `size` bytes that left.
    pub(crate) fn on_sent(&mut self, seq: Seq, size: usize) {
        self.sizes[place(seq)] = u16::try_from(size).unwrap_or(u16::MAX);
    }

    /// Data left of a size that not every path takes, or that is all that is allowed.
    pub(crate) fn on_large(&mut self, now: Instant) {
        self.uses_large = true;
        match self.mode {
            PathMtuDiscovery::Off => {}
            PathMtuDiscovery::Icmp => self.search.raise(now),
            PathMtuDiscovery::Probe => self.search.on_large(now),
        }
    }

    /// Signs of loss, and the size of the largest packet of data that is now known to have arrived.
    pub(crate) fn on_feedback(&mut self, now: Instant, losses: u32, arrived: usize) {
        if arrived > usize::from(self.search.floor()) {
            self.losses = 0;
            return;
        }
        self.losses = self.losses.saturating_add(losses);
        if self.losses >= DOUBTFUL && self.uses_large {
            self.doubt(now);
        }
    }

    /// The size in use may not pass any more: a probe will tell (RFC 8899, 5.1.1).
    pub(crate) fn doubt(&mut self, now: Instant) {
        if self.mode == PathMtuDiscovery::Probe && now >= self.doubt_from {
            self.doubt_from = now + DOUBT_AGAIN;
            self.uses_large = false;
            self.losses = 0;
            self.search.doubt();
        }
    }

    /// How large the packet with number `seq` was, if it is one of the last.
    pub(crate) fn size_of(&self, gss: Seq, seq: Seq) -> Option<u16> {
        let recent = seq.distance(gss) < REMEMBERED as u64;
        Some(self.sizes[place(seq)]).filter(|&size| recent && size > 0)
    }

    /// A checked Too Big. True if it is acted upon.
    pub(crate) fn believe(&mut self, now: Instant, mtu: u16) -> bool {
        match self.mode {
            PathMtuDiscovery::Off => false,
            PathMtuDiscovery::Icmp => self.search.lower(now, mtu),
            PathMtuDiscovery::Probe => self.search.on_too_big(now, mtu),
        }
    }

    /// An error that nothing shows to be about a packet of ours; `lost` is what the peer has
    /// reported lost so far. True if so many came that they are obeyed.
    pub(crate) fn on_odd(&mut self, now: Instant, mtu: u16, lost: u64) -> bool {
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
