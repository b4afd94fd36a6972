//! The search for the path MTU: which sizes to probe, and what the answers mean (RFC 8899, section 5.2). A pure state
//! machine.
//!
//! It knows sizes and times, but no packets. Sizes are those of whole IP packets, headers included. There are two of
//! them: `confirmed` is the largest size that a probe has shown to pass (RFC 8899's PLPMTU); `in_use` is the size that
//! data may use. They differ at first: RFC 4340, 14.1, starts with the MTU of the interface, and RFC 8899, 3, does not
//! want an application limited to small packets during the search. The size in use is the first to be probed after the
//! base, so within two round trips the two are equal.
//!
//! Silence alone lowers nothing: without any answer the whole path may be down. The size in use falls when a smaller
//! probe is answered after a larger one was not, [`MAX_PROBES`] times.

use fairwire_units::{Duration, Instant};

/// Number of lost probes after which a size is given up (RFC 8899, 5.1.2 and 5.3.1).
pub(crate) const MAX_PROBES: u8 = 3;

/// Time after which a finished search starts again (RFC 8899, 5.1.1). RFC 8201, 4, asks for at least five minutes after
/// a Too Big and recommends ten.
pub(crate) const RAISE: Duration = Duration::from_secs(600);

/// The base size, which every path should take: IPv6's minimum (RFC 8200, 5). It is above the 1,200 bytes that RFC
/// 8899, 5.1.2, recommends for IPv4.
const BASE: u16 = 1_280;

/// Sizes of real paths: RFC 1191, 7, tunnels over Ethernet, `PPPoE`, Ethernet, FDDI, jumbo frames, and tunnels over
/// these.
const COMMON: [u16; 22] = [
    576, 1_006, 1_200, 1_280, 1_340, 1_380, 1_400, 1_420, 1_440, 1_460, 1_472, 1_480, 1_492, 1_500,
    2_002, 4_352, 8_166, 8_900, 9_000, 16_110, 32_000, 65_535,
];

/// Returns the next smaller size that networks have (RFC 1191, 7), for a Too Big that reports no size.
pub(crate) fn plateau_below(size: u16) -> Option<u16> {
    const PLATEAUS: [u16; 7] = [576, 1_006, 1_492, 2_002, 4_352, 8_166, 32_000];
    PLATEAUS.into_iter().rev().find(|&plateau| plateau < size)
}

/// The states of RFC 8899, section 5.2.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    /// No probing: no large packet was sent yet, or no probe was answered.
    Disabled,
    /// Probing the base size.
    Base,
    /// Probing larger sizes.
    Searching,
    /// The search is finished. No probing, unless the size in use is in doubt.
    Complete,
    /// The base size does not pass. Probing the smallest size.
    Error,
}

/// The search along one path.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    phase: Phase,
    /// `MIN_PLPMTU`, `BASE_PLPMTU` and `MAX_PLPMTU`.
    floor: u16,
    base: u16,
    max: u16,
    in_use: u16,
    confirmed: u16,
    /// The largest size to try until the search starts again.
    highest: u16,
    /// A size to try before those of the table: at first the maximum, later the one that a router reported.
    hint: Option<u16>,
    /// `PROBED_SIZE`, while there is one.
    trying: Option<u16>,
    /// `PROBE_COUNT`: probes of that size lost in a row.
    lost: u8,
    /// `PROBE_TIMER`, while a probe is outstanding.
    deadline: Option<Instant>,
    /// Whether the size in use was given up, so that the next answer lowers it.
    fallen: bool,
    /// When to try a larger size.
    raise_at: Option<Instant>,
}

impl Search {
    /// Returns a search that has not started. Data may use up to `max`, and no size below `floor` is ever tried.
    pub(crate) fn new(floor: u16, max: u16) -> Self {
        let floor = floor.min(max);
        Self {
            phase: Phase::Disabled,
            floor,
            base: BASE.clamp(floor, max),
            max,
            in_use: max,
            confirmed: floor,
            highest: max,
            hint: None,
            trying: None,
            lost: 0,
            deadline: None,
            fallen: false,
            raise_at: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the size of the largest packet that data may use.
    pub(crate) fn in_use(&self) -> u16 {
        self.in_use
    }

    /// Returns the smallest size that is ever used, however small a size the path reports.
    pub(crate) fn floor(&self) -> u16 {
        self.floor
    }

    /// Starts with the MTU of the first hop, `mtu` bytes. Larger sizes are tried as well, because the system's value
    /// may come from an ICMP error that nobody checked.
    pub(crate) fn begin_at(&mut self, mtu: u16) {
        self.in_use = self.in_use.min(mtu.max(self.floor));
    }

    /// Notes that a large packet left: such sizes are in use, so it matters whether they pass.
    pub(crate) fn on_large(&mut self, now: Instant) {
        match self.phase {
            Phase::Disabled if self.raise_at.is_none_or(|at| at <= now) => self.restart(),
            Phase::Complete if self.raise_at.is_some_and(|at| at <= now) => {
                // RFC 8899, 5.2: the raise timer, checked when it can matter (5.1.1).
                self.highest = self.max;
                self.hint = Some(self.max);
                self.raise_at = None;
                self.search();
            }
            _ => {}
        }
    }

    /// Starts again from the base, with every size up to the maximum open.
    pub(crate) fn restart(&mut self) {
        self.highest = self.max;
        self.hint = Some(self.max);
        self.raise_at = None;
        self.fallen = false;
        self.enter(Phase::Base, self.base);
    }

    /// Returns the size of the probe to send, if there is one.
    pub(crate) fn wanted(&self) -> Option<u16> {
        self.trying.filter(|_| self.deadline.is_none())
    }

    /// Returns when to call [`Self::on_timeout`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Notes that a probe left; without an answer it counts as lost at `deadline`.
    pub(crate) fn on_sent(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    /// Notes that a probe of `size` bytes arrived; it may be one that had been given up.
    pub(crate) fn on_acked(&mut self, now: Instant, size: u16) {
        self.highest = self.highest.max(size);
        match self.phase {
            Phase::Disabled => return,
            Phase::Base | Phase::Error => {
                if size < self.base.min(self.trying.unwrap_or(self.base)) {
                    return;
                }
                self.confirmed = size;
                if std::mem::take(&mut self.fallen) {
                    self.in_use = size;
                }
                self.in_use = self.in_use.max(size);
                self.search();
            }
            Phase::Searching => {
                self.confirmed = self.confirmed.max(size);
                self.in_use = self.in_use.max(size);
                if self.trying.is_none_or(|trying| trying <= size) {
                    self.search();
                }
            }
            Phase::Complete => {
                self.in_use = self.in_use.max(size);
                self.confirmed = self.confirmed.max(size);
                if self.trying.is_some_and(|trying| trying <= size) {
                    self.rest();
                }
            }
        }
        if self.phase == Phase::Complete && self.in_use < self.max {
            self.raise_at.get_or_insert(now + RAISE);
        }
    }

    /// Counts the probe as lost at its deadline. Returns true if its size is given up.
    pub(crate) fn on_timeout(&mut self, now: Instant) -> bool {
        self.deadline = None;
        self.lost += 1;
        let Some(tried) = self.trying.filter(|_| self.lost >= MAX_PROBES) else {
            return false;
        };
        match self.phase {
            Phase::Base if self.floor < self.base => {
                self.fall_below(tried);
                self.enter(Phase::Error, self.floor);
            }
            // RFC 8899, 5.2: if not even the smallest size is confirmed, the search stops. Most likely the path is
            // down, and the size in use is as good as before.
            Phase::Base | Phase::Error | Phase::Disabled => {
                self.rest();
                self.phase = Phase::Disabled;
                self.fallen = false;
                self.raise_at = Some(now + RAISE);
            }
            Phase::Searching | Phase::Complete if tried <= self.in_use => {
                // A black hole: data of this size does not pass (RFC 8899, 4.3).
                self.fall_below(tried);
                if tried > self.base {
                    self.enter(Phase::Base, self.base);
                } else {
                    self.enter(Phase::Error, self.floor);
                }
            }
            Phase::Searching | Phase::Complete => {
                self.highest = below(tried);
                self.search();
                if self.phase == Phase::Complete {
                    self.raise_at = Some(now + RAISE);
                }
            }
        }
        true
    }

    /// Doubts the size in use, after signs of loss: it is probed again, and lowered if that fails (RFC 8899, 4.3).
    pub(crate) fn doubt(&mut self) {
        match self.phase {
            Phase::Disabled => self.restart(),
            Phase::Complete if self.trying.is_none() => {
                self.lost = 0;
                self.trying = Some(self.in_use);
            }
            _ => {}
        }
    }

    /// Handles a plausible report of a router that no more than `mtu` bytes pass. Returns true if it changes anything.
    pub(crate) fn on_too_big(&mut self, now: Instant, mtu: u16) -> bool {
        let probed = self.trying.unwrap_or(0).max(self.in_use);
        // RFC 8899, 4.6.2, and RFC 4340, 14.1: a size no smaller than what we send says nothing, and one below the
        // floor is not plausible.
        if mtu < self.floor || mtu >= probed {
            return false;
        }
        self.highest = mtu;
        self.hint = Some(mtu);
        // RFC 4340, 14.1: the size falls at once. RFC 8899, 4.6.2, wants it confirmed first; it is probed next.
        self.in_use = self.in_use.min(mtu);
        if self.confirmed > mtu {
            self.confirmed = self.floor;
        }
        self.raise_at = Some(now + RAISE);
        self.fallen = false;
        self.search();
        true
    }

    /// Lowers the size to `mtu`, for classical discovery without probes; after [`RAISE`] the larger size is tried again
    /// (RFC 1191, 6.3).
    pub(crate) fn lower(&mut self, now: Instant, mtu: u16) -> bool {
        if mtu < self.floor || mtu >= self.in_use {
            return false;
        }
        self.in_use = mtu;
        self.raise_at = Some(now + RAISE);
        true
    }

    /// Uses the largest size again if it is time to, for classical discovery.
    pub(crate) fn raise(&mut self, now: Instant) {
        if self.raise_at.is_some_and(|at| at <= now) {
            self.reset();
        }
    }

    /// Forgets the result, on request (RFC 4340, 14.1).
    pub(crate) fn reset(&mut self) {
        self.in_use = self.max;
        self.raise_at = None;
    }

    /// Notes that packets of `size` bytes and more do not pass.
    fn fall_below(&mut self, size: u16) {
        self.highest = below(size).max(self.floor);
        self.confirmed = self.floor;
        self.fallen = true;
    }

    fn enter(&mut self, phase: Phase, size: u16) {
        self.phase = phase;
        self.trying = Some(size);
        self.lost = 0;
        self.deadline = None;
    }

    fn rest(&mut self) {
        self.trying = None;
        self.lost = 0;
        self.deadline = None;
    }

    /// Continues with the next size, or finishes.
    fn search(&mut self) {
        if let Some(size) = self.candidate() {
            self.enter(Phase::Searching, size);
        } else {
            self.phase = Phase::Complete;
            self.rest();
        }
    }

    /// Returns the next size to try: the one that data already uses, then the hint, then the middle of the common sizes
    /// (RFC 8899, 5.3.2).
    fn candidate(&self) -> Option<u16> {
        let open = |size: u16| size > self.confirmed && size <= self.highest;
        if open(self.in_use) {
            return Some(self.in_use);
        }
        if let Some(hint) = self.hint.filter(|&hint| open(hint)) {
            return Some(hint);
        }
        let first = COMMON.partition_point(|&size| size <= self.confirmed);
        let end = COMMON.partition_point(|&size| size <= self.highest);
        (first < end).then(|| COMMON[usize::midpoint(first, end)])
    }
}

/// Returns the largest common size below `size`.
fn below(size: u16) -> u16 {
    let place = COMMON.partition_point(|&common| common < size);
    place.checked_sub(1).map_or(0, |place| COMMON[place])
}

#[cfg(test)]
mod tests;
