//! Which sizes to probe, and what the answers mean (RFC 8899, section 5.2), as a pure state machine.
//!
//! It knows sizes and times, no packets. Sizes are those of whole IP packets, headers included.
//! Two sizes matter: `confirmed` is the largest that a probe has shown to pass (RFC 8899's
//! PLPMTU), `in_use` is what data may use. They differ at first: RFC 4340, 14.1, begins with the
//! MTU of the interface, and RFC 8899, 3, would not have an application held small while the
//! search goes on. The size in use is the first to be tried after the base, so within two round
//! trips they meet.
//!
//! Silence alone lowers nothing: where no answer comes the whole path may be down. The size in use
//! falls when a smaller probe is answered after a larger one was not, [`MAX_PROBES`] times.

use fairwire_units::{Duration, Instant};

/// RFC 8899, 5.1.2 and 5.3.1: so many probes of one size are lost before that size is given up.
pub(crate) const MAX_PROBES: u8 = 3;

/// RFC 8899, 5.1.1: after this long a finished search begins again. RFC 8201, 4, asks for no less
/// than five minutes after a Too Big and recommends ten.
pub(crate) const RAISE: Duration = Duration::from_secs(600);

/// What every path should take: IPv6's minimum (RFC 8200, 5), above the 1,200 bytes that RFC 8899,
/// 5.1.2, recommends for IPv4.
const BASE: u16 = 1_280;

/// Sizes that paths really have: RFC 1191, 7, tunnels over Ethernet, `PPPoE`, Ethernet, FDDI, jumbo
/// frames and what the first kinds of them leave.
const COMMON: [u16; 22] = [
    576, 1_006, 1_200, 1_280, 1_340, 1_380, 1_400, 1_420, 1_440, 1_460, 1_472, 1_480, 1_492, 1_500,
    2_002, 4_352, 8_166, 8_900, 9_000, 16_110, 32_000, 65_535,
];

/// RFC 1191, 7: the next smaller size that networks have, for a Too Big that names none.
pub(crate) fn plateau_below(size: u16) -> Option<u16> {
    const PLATEAUS: [u16; 7] = [576, 1_006, 1_492, 2_002, 4_352, 8_166, 32_000];
    PLATEAUS.into_iter().rev().find(|&plateau| plateau < size)
}

/// The states of RFC 8899, section 5.2.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    /// Nothing is probed: nothing large was sent yet, or nothing at all was answered.
    Disabled,
    /// Does the base size pass?
    Base,
    /// What more passes?
    Searching,
    /// Found. Nothing is probed, unless there is reason to doubt.
    Complete,
    /// The base size does not pass. Does the smallest?
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
    /// Nothing larger is tried before the search begins again.
    highest: u16,
    /// Tried before the sizes of the table: the maximum at first, then what a router said.
    hint: Option<u16>,
    /// `PROBED_SIZE`, while something is tried.
    trying: Option<u16>,
    /// `PROBE_COUNT`: probes of that size lost in a row.
    lost: u8,
    /// `PROBE_TIMER`, while a probe is under way.
    deadline: Option<Instant>,
    /// Was the size in use given up, so that the next answer lowers it?
    fallen: bool,
    /// When a larger size is worth a try.
    raise_at: Option<Instant>,
}

impl Search {
    /// Nothing is known yet: data uses up to `max`, and nothing below `floor` is ever tried.
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

    /// The largest packet that data may use.
    pub(crate) fn in_use(&self) -> u16 {
        self.in_use
    }

    /// The smallest size that is ever used, if the path is to be believed.
    pub(crate) fn floor(&self) -> u16 {
        self.floor
    }

    /// The first hop takes `mtu` bytes: data begins with that. Larger sizes are tried all the same,
    /// for what a system says of its first hop may come from an ICMP error that nobody checked.
    pub(crate) fn begin_at(&mut self, mtu: u16) {
        self.in_use = self.in_use.min(mtu.max(self.floor));
    }

    /// A packet larger than the floor left: such sizes are used, so it matters whether they pass.
    pub(crate) fn on_large(&mut self, now: Instant) {
        match self.phase {
            Phase::Disabled if self.raise_at.is_none_or(|at| at <= now) => self.restart(),
            Phase::Complete if self.raise_at.is_some_and(|at| at <= now) => {
                // RFC 8899, 5.2: the raise timer, looked at when it can matter (5.1.1).
                self.highest = self.max;
                self.hint = Some(self.max);
                self.raise_at = None;
                self.search();
            }
            _ => {}
        }
    }

    /// Begins anew from the base, with everything up to the maximum open.
    pub(crate) fn restart(&mut self) {
        self.highest = self.max;
        self.hint = Some(self.max);
        self.raise_at = None;
        self.fallen = false;
        self.enter(Phase::Base, self.base);
    }

    /// The size of the probe that should leave, if one should.
    pub(crate) fn wanted(&self) -> Option<u16> {
        self.trying.filter(|_| self.deadline.is_none())
    }

    /// When to call [`Self::on_timeout`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// A probe left; without an answer it counts as lost at `deadline`.
    pub(crate) fn on_sent(&mut self, deadline: Instant) {
        self.deadline = Some(deadline);
    }

    /// A probe of `size` bytes arrived; perhaps one that had been given up.
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

    /// The probe's time is up. True if its size is given up.
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
            // RFC 8899, 5.2: what cannot be confirmed at the smallest size is left alone. Most
            // likely the path is down, and the size in use is as good as it was.
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

    /// Somebody doubts the size in use, with reason: it is probed again, and lowered if that
    /// fails (RFC 8899, 4.3).
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

    /// A router said, credibly, that no more than `mtu` bytes pass. True if that is news.
    pub(crate) fn on_too_big(&mut self, now: Instant, mtu: u16) -> bool {
        let probed = self.trying.unwrap_or(0).max(self.in_use);
        // RFC 8899, 4.6.2, and RFC 4340, 14.1: what is no smaller than what we send says nothing;
        // below the floor is no path that we would believe in.
        if mtu < self.floor || mtu >= probed {
            return false;
        }
        self.highest = mtu;
        self.hint = Some(mtu);
        // RFC 4340, 14.1: the size falls at once. RFC 8899, 4.6.2, would have it confirmed first;
        // it is the next to be probed.
        self.in_use = self.in_use.min(mtu);
        if self.confirmed > mtu {
            self.confirmed = self.floor;
        }
        self.raise_at = Some(now + RAISE);
        self.fallen = false;
        self.search();
        true
    }

    /// Classical discovery, without probes: the size falls to `mtu`, and after [`RAISE`] it is
    /// tried again (RFC 1191, 6.3).
    pub(crate) fn lower(&mut self, now: Instant, mtu: u16) -> bool {
        if mtu < self.floor || mtu >= self.in_use {
            return false;
        }
        self.in_use = mtu;
        self.raise_at = Some(now + RAISE);
        true
    }

    /// Classical discovery: if it is time to try the largest size again, it is in use.
    pub(crate) fn raise(&mut self, now: Instant) {
        if self.raise_at.is_some_and(|at| at <= now) {
            self.reset();
        }
    }

    /// Forgets what was found (RFC 4340, 14.1: on request).
    pub(crate) fn reset(&mut self) {
        self.in_use = self.max;
        self.raise_at = None;
    }

    /// `size` and more do not pass.
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

    /// Goes on with the next size, or is done.
    fn search(&mut self) {
        if let Some(size) = self.candidate() {
            self.enter(Phase::Searching, size);
        } else {
            self.phase = Phase::Complete;
            self.rest();
        }
    }

    /// The next size to try: what data uses already, then what somebody said, then the middle of
    /// the sizes that paths have (RFC 8899, 5.3.2).
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

/// The largest common size below `size`.
fn below(size: u16) -> u16 {
    let place = COMMON.partition_point(|&common| common < size);
    place.checked_sub(1).map_or(0, |place| COMMON[place])
}

#[cfg(test)]
mod tests;
