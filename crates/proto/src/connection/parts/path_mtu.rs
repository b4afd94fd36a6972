//! The path MTU as far as it is known, and which ICMP errors about it are trusted (RFC 4340, section 14.1).
//!
//! A Too Big is trusted if it quotes the number of a packet that may still be in the network, and if that packet was
//! larger than the reported MTU. Any other is suspect: it starts a probe but changes nothing by itself (RFC 8899,
//! 4.6.1).

mod search;

use fairwire_units::{Duration, Instant};
use fairwire_wire::Seq;

use super::size::floor;
use crate::config::{Config, PathMtuDiscovery};
use crate::transmit::Path;
pub(crate) use search::plateau_below;
use search::{MAX_PROBES, Search};

/// Number of packets whose size is kept, to compare with the claim of an ICMP error.
const REMEMBERED: usize = 64;

/// Number of loss signs, without a large packet known to have arrived in between, after which the size in use is in
/// doubt.
const DOUBTFUL: u32 = 3;

/// Minimum time between two checks of a doubt: ordinary congestion causes doubts, too.
const DOUBT_AGAIN: Duration = Duration::from_secs(15);

/// Number of suspect errors, and of losses since the first of them, above which they are trusted (RFC 4340, 14.1).
const MAX_SUSPECT: u64 = 3;

/// The path MTU of one connection.
#[derive(Debug)]
pub(crate) struct PathMtu {
    pub(crate) mode: PathMtuDiscovery,
    pub(crate) search: Search,
    /// Probes whose answers still count.
    pub(crate) probes: [Option<(Seq, u16)>; MAX_PROBES as usize],
    /// When the next probe may leave.
    pub(crate) next_probe: Instant,
    /// Sizes of the newest packets as IP packets, by number.
    sizes: [u16; REMEMBERED],
    /// Whether data of a large size has left since the last doubt was checked ([`PathMtu::on_large`]).
    uses_large: bool,
    /// Signs of loss since then, or since a large packet arrived.
    pub(crate) losses: u32,
    doubt_from: Instant,
    /// Number of suspect errors, and the peer's reported losses at the first of them.
    suspect: (u64, u64),
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
            suspect: (0, 0),
            request_from: now,
        }
    }

    /// Returns the size of the largest IP packet that data may use now.
    pub(crate) fn in_use(&self) -> u16 {
        self.search.in_use()
    }

    /// Returns when a probe should leave, or when the present one times out; `probes_from` is when the rate limit
    /// permits one.
    pub(crate) fn due(&self, probes_from: Instant) -> Option<Instant> {
        match self.search.wanted() {
            Some(_) => Some(self.next_probe.max(probes_from)),
            None => self.search.deadline(),
        }
    }

    /// Records the size of a packet that left, in bytes.
    pub(crate) fn on_sent(&mut self, seq: Seq, size: usize) {
        self.sizes[place(seq)] = u16::try_from(size).unwrap_or(u16::MAX);
    }

    /// Notes that data left of a size that not every path takes, or of the largest size allowed.
    pub(crate) fn on_large(&mut self, now: Instant) {
        self.uses_large = true;
        match self.mode {
            PathMtuDiscovery::Off => {}
            PathMtuDiscovery::Icmp => self.search.raise(now),
            PathMtuDiscovery::Probe => self.search.on_large(now),
        }
    }

    /// Handles feedback: signs of loss, and the size of the largest data packet now known to have arrived.
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

    /// Doubts the size in use: a probe checks whether it still passes (RFC 8899, 5.1.1).
    pub(crate) fn doubt(&mut self, now: Instant) {
        if self.mode == PathMtuDiscovery::Probe && now >= self.doubt_from {
            self.doubt_from = now + DOUBT_AGAIN;
            self.uses_large = false;
            self.losses = 0;
            self.search.doubt();
        }
    }

    /// Returns the size of the packet with number `seq`, if it is one of the latest.
    pub(crate) fn size_of(&self, gss: Seq, seq: Seq) -> Option<u16> {
        let recent = seq.distance(gss) < REMEMBERED as u64;
        Some(self.sizes[place(seq)]).filter(|&size| recent && size > 0)
    }

    /// Handles a Too Big that was found plausible. Returns whether it has an effect.
    pub(crate) fn apply_too_big(&mut self, now: Instant, mtu: u16) -> bool {
        match self.mode {
            PathMtuDiscovery::Off => false,
            PathMtuDiscovery::Icmp => self.search.lower(now, mtu),
            PathMtuDiscovery::Probe => self.search.on_too_big(now, mtu),
        }
    }

    /// Handles an error that is not shown to be about a packet of ours; `lost` is the number of losses the peer has
    /// reported so far. Returns true if there were so many that it has an effect.
    pub(crate) fn on_suspect_too_big(&mut self, now: Instant, mtu: u16, lost: u64) -> bool {
        if self.mode == PathMtuDiscovery::Probe {
            self.doubt(now);
            return false;
        }
        let (count, lost_before) = self.suspect;
        self.suspect = match count {
            0 => (1, lost),
            count => (count + 1, lost_before),
        };
        // RFC 4340, 14.1: then a confused router sends them. With probes there is a better test.
        let (count, lost_before) = self.suspect;
        if count <= MAX_SUSPECT || lost - lost_before <= MAX_SUSPECT {
            return false;
        }
        self.suspect = (0, 0);
        self.apply_too_big(now, mtu)
    }
}

/// Returns the index of the size of packet `seq`.
fn place(seq: Seq) -> usize {
    usize::try_from(seq.get() % REMEMBERED as u64).unwrap_or(0)
}
