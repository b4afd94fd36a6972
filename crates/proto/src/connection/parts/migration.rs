//! Which address a peer is checked at, and what is known of the check (RFC 9000, section 8.2.1; RFC 9853,
//! section 5).
//!
//! An attempt is for one address. Up to three challenges go there, or only one while no authentic packet has come from
//! it, and one goes to the address in use. Each has a cookie of its own. Whoever sends a cookie back from the address to
//! which it was sent receives there. If the address in use answers first, the peer has not moved, and somebody else sent
//! copies of its packets (RFC 9000, section 9.3.3).

use std::collections::VecDeque;
use std::hash::Hasher;

use fairwire_units::{Duration, Instant};
use siphasher::sip::SipHasher24;

use super::draws::DrawKey;
use crate::rate_limit::RateLimit;
use crate::security::PathCheck;
use crate::transmit::Path;

/// The most challenges of an attempt.
const CHALLENGES: u8 = 3;

/// Attempts at one address that fail before its packets are those of a stranger again.
const ATTEMPTS: u8 = 2;

/// For how long it is remembered that attempts at an address have failed.
const FAILED_FOR: Duration = Duration::from_secs(30);

/// Attempts per second, and how many at once.
const ATTEMPTS_PER_S: u32 = 1;
const ATTEMPTS_AT_ONCE: u32 = 4;

/// RFC 9000, 8.1: how many times the bytes that came from an address may go there before it is checked.
const AMPLIFICATION: u64 = 3;

/// The most answers to challenges that wait.
const ANSWERS: usize = 4;

/// The shortest and the longest time to the second challenge: a round trip, if that is between. It doubles with each.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The shortest time from the first challenge to the end of an attempt. RFC 9000, 8.2.4, and RFC 9853, 5.5: another path
/// may be longer.
const SHORTEST_ATTEMPT: Duration = Duration::from_secs(3);

/// How many forged records from elsewhere are looked into, per second and at once.
const FORGED_PER_S: u32 = 64;

/// The most packets of an attempt that cost their source nothing.
const FREE_PACKETS: u8 = 64;

type Cookie = [u8; 8];

/// The checks of one end.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and any may go with any"
)]
pub(crate) struct Migration {
    /// Whether this end follows its peer, and whether it takes part in the checks of its peer.
    follows: bool,
    answers: bool,
    key: DrawKey,
    /// Cookies drawn so far.
    drawn: u64,
    limit: RateLimit,
    /// Forged records from elsewhere.
    forged: RateLimit,
    attempt: Option<Attempt>,
    /// The attempt before, at another address, until it ends: its challenges may still be answered.
    before: Option<Attempt>,
    /// The address at which attempts failed last.
    failed: Option<Failed>,
    /// The address from which the present packet came, if it is not the one in use.
    pub(crate) arriving: Option<Path>,
    /// The path that this end has left, or with which its peer was before it went elsewhere.
    left: Option<Path>,
    /// Whether the peer is known to hear this end on the path in use: not if that was lost, until it answers.
    is_heard: bool,
    /// Whether the peer has sent a challenge of its own, and so goes elsewhere by itself.
    peer_asks: bool,
    /// Answers to challenges, which leave next.
    owed: VecDeque<Due>,
    /// The answer to a challenge that came from an address of the peer that is not checked.
    owed_there: Option<Owed>,
    /// Whether the present packet says that the peer does not want the path on which it came.
    is_dropped: bool,
}

/// An address at which attempts failed.
#[derive(Clone, Copy, Debug)]
struct Failed {
    path: Path,
    times: u8,
    /// Whether the peer has said that it does not want it.
    is_refused: bool,
    /// When it is forgotten.
    until: Instant,
}

/// What is known of an address that is not in use.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Standing {
    /// The peer may be there.
    Open,
    /// Nobody has answered there. What comes from there is ignored: it may be from the peer, so it is not answered.
    Unanswered,
    /// The peer does not want it.
    Refused,
}

/// The check of one address.
#[derive(Debug)]
struct Attempt {
    path: Path,
    /// Whether it is an address of this end, from which the peer is asked.
    is_own: bool,
    /// The cookies of the challenges that were due, and when each left.
    cookies: [Option<(Cookie, Instant)>; CHALLENGES as usize],
    challenges: u8,
    /// The cookie for the address in use, and whether it is still to be sent.
    stay_cookie: Cookie,
    asks_to_stay: bool,
    /// When the next challenge is due, and when the attempt ends.
    next_at: Instant,
    ends_at: Instant,
    wait: Duration,
    /// Whether an authentic packet came from the address.
    is_authentic: bool,
    /// Bytes that came from the address, and that went there.
    received: u64,
    spent: u64,
    /// How many more packets cost their source nothing.
    free: u8,
}

/// A message about a path that leaves now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Due {
    pub(crate) check: PathCheck,
    /// Where it goes, if not to the address in use.
    pub(crate) to: Option<Path>,
}

/// The answer to a challenge from an address that is not checked.
#[derive(Clone, Copy, Debug)]
struct Owed {
    cookie: Cookie,
    to: Path,
    /// The bytes that came with the challenge.
    received: u64,
}

/// What a message of the peer about a path means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Found {
    /// Nothing more.
    Nothing,
    /// The peer receives at this address, and took `rtt` to answer.
    There { path: Path, rtt: Duration },
    /// The peer reaches this end at the address from which it is asked: it has heard it there.
    Heard { path: Path },
}

impl Attempt {
    /// Returns whether `size` bytes more may go there, and counts them if so.
    fn spend(&mut self, size: usize) -> bool {
        let spent = self.spent.saturating_add(size as u64);
        let may = spent <= self.received.saturating_mul(AMPLIFICATION);
        if may {
            self.spent = spent;
        }
        may
    }

    /// Returns when the challenge with this cookie left for the address.
    fn sent_at(&self, cookie: Cookie) -> Option<Instant> {
        let mut sent = self.cookies.iter().flatten();
        sent.find(|(sent, _)| *sent == cookie).map(|(_, at)| *at)
    }

    /// Returns whether another challenge may go to the address. Somebody else can have sent what has no record, so it is
    /// worth one.
    fn may_ask(&self) -> bool {
        self.challenges == 0 || (self.is_authentic && self.challenges < CHALLENGES)
    }
}

impl Migration {
    /// Begins without an attempt. `follows` says whether this end follows its peer, `answers` whether it confirms its
    /// own addresses.
    pub(crate) fn new(follows: bool, answers: bool, key: DrawKey) -> Self {
        Self {
            follows,
            answers,
            key,
            drawn: 0,
            limit: RateLimit::per_second(ATTEMPTS_PER_S, ATTEMPTS_AT_ONCE),
            forged: RateLimit::per_second(FORGED_PER_S, FORGED_PER_S),
            attempt: None,
            before: None,
            failed: None,
            arriving: None,
            left: None,
            is_heard: true,
            peer_asks: false,
            owed: VecDeque::new(),
            owed_there: None,
            is_dropped: false,
        }
    }

    pub(crate) fn follows(&self) -> bool {
        self.follows
    }

    /// Returns what is known of an address that is not in use.
    pub(crate) fn standing(&self, now: Instant, path: Path) -> Standing {
        let failed = self.failed.filter(|of| of.path == path && now < of.until);
        match failed {
            Some(failed) if failed.is_refused => Standing::Refused,
            Some(failed) if failed.times >= ATTEMPTS => Standing::Unanswered,
            _ => Standing::Open,
        }
    }

    /// Returns whether a record from elsewhere may be looked into: not if too many were forged.
    pub(crate) fn may_look(&self, now: Instant) -> bool {
        self.forged.allowed_from() <= now
    }

    /// Notes that a record from elsewhere was forged.
    pub(crate) fn note_forged(&mut self, now: Instant) {
        self.forged.allow(now);
    }

    /// Returns whether a packet from this address costs its source nothing, because the address is being checked. Only so
    /// many do.
    pub(crate) fn is_free(&mut self, path: Path) -> bool {
        let attempt = self.attempt.as_mut().filter(|of| of.path == path);
        let free = attempt.and_then(|of| Some((of.free.checked_sub(1)?, of)));
        free.map(|(left, of)| of.free = left).is_some()
    }

    /// Notes that `bytes` came from an address that is not in use. `is_newest` says whether they held an authentic record
    /// that is newer than all others. Only such a packet can take an attempt away from another address.
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        path: Path,
        bytes: usize,
        is_newest: bool,
        rtt: Duration,
    ) {
        if !self.follows || self.standing(now, path) != Standing::Open {
            return;
        }
        let bytes = bytes as u64;
        if let Some(attempt) = &mut self.attempt {
            if attempt.path == path {
                attempt.received = attempt.received.saturating_add(bytes);
                attempt.is_authentic |= is_newest;
                return;
            }
            if !is_newest {
                return;
            }
        }
        if !self.limit.allow(now) {
            return;
        }
        if let Some(before) = self.attempt.take() {
            self.before = Some(before);
        }
        self.begin(now, path, rtt);
        if let Some(attempt) = &mut self.attempt {
            attempt.is_authentic = is_newest;
            attempt.received = bytes;
        }
    }

    /// Notes that the packet of `bytes` that came from `path` held an authentic record, which is newer than all others if
    /// it `is_newest`. RFC 9000, 8.2.2: a challenge is answered also if it comes late, and shows that the peer wants to go
    /// there. But a late one does not take an attempt away from another address.
    pub(crate) fn on_record(
        &mut self,
        now: Instant,
        path: Path,
        bytes: usize,
        is_newest: bool,
        rtt: Duration,
    ) {
        let owed = self
            .owed_there
            .as_mut()
            .filter(|of| of.to == path && of.received == 0);
        let asks = owed.is_some();
        if let Some(owed) = owed {
            owed.received = bytes as u64;
        }
        // RFC 9853, 5.2: it still answers where it was, but only that.
        if std::mem::take(&mut self.is_dropped) {
            return;
        }
        let attempt = self.attempt.as_ref();
        if is_newest || (asks && attempt.is_none_or(|of| of.path == path)) {
            self.on_packet(now, path, bytes, true, rtt);
        }
    }

    /// Asks the peer from another address of this end, along `path`. `left` is the path that this end can no longer use,
    /// if it cannot.
    pub(crate) fn probe(&mut self, now: Instant, path: Path, left: Option<Path>, rtt: Duration) {
        self.left = left.or(self.left);
        self.begin(now, path, rtt);
        if let Some(attempt) = &mut self.attempt {
            // RFC 9000, 8.1: the limit is for an address that somebody else may have named.
            attempt.received = u64::MAX;
            attempt.is_own = true;
            attempt.is_authentic = true;
            attempt.asks_to_stay = false;
        }
    }

    /// Returns whether the peer is asked from another address of this end, along this path.
    pub(crate) fn probes(&self, path: Path) -> bool {
        let attempt = self.attempt.as_ref();
        attempt.is_some_and(|of| of.is_own && of.path == path)
    }

    fn begin(&mut self, now: Instant, path: Path, rtt: Duration) {
        self.attempt = Some(Attempt {
            path,
            is_own: false,
            cookies: [None; CHALLENGES as usize],
            challenges: 0,
            stay_cookie: self.draw(),
            asks_to_stay: true,
            next_at: now,
            ends_at: now + SHORTEST_ATTEMPT,
            wait: rtt.clamp(SHORTEST_WAIT, LONGEST_WAIT),
            is_authentic: false,
            received: 0,
            spent: 0,
            free: FREE_PACKETS,
        });
    }

    fn draw(&mut self) -> Cookie {
        self.drawn += 1;
        let mut hasher = SipHasher24::new_with_keys(self.key.0[0], self.key.0[1]);
        hasher.write_u64(self.drawn);
        hasher.finish().to_be_bytes()
    }

    /// Returns the message that leaves next, if one is due. One to an address that is not checked has `size` bytes.
    pub(crate) fn due(&mut self, now: Instant, size: usize) -> Option<Due> {
        if let Some(due) = self.owed.pop_front() {
            return Some(due);
        }
        let due = self.answer_there(size);
        let due = due.or_else(|| self.challenge(now, size));
        due.or_else(|| self.challenge_here())
    }

    /// Returns the answer to a challenge from an address that is not checked. What goes there counts.
    fn answer_there(&mut self, size: usize) -> Option<Due> {
        let owed = self.owed_there.take()?;
        let may = match self.attempt.as_mut().filter(|of| of.path == owed.to) {
            Some(attempt) => attempt.spend(size),
            None => size as u64 <= owed.received.saturating_mul(AMPLIFICATION),
        };
        may.then_some(Due {
            check: PathCheck::Response(owed.cookie),
            to: Some(owed.to),
        })
    }

    /// Returns a challenge for the address that is checked.
    fn challenge(&mut self, now: Instant, size: usize) -> Option<Due> {
        let attempt = self.attempt.as_mut()?;
        if !attempt.may_ask() || now < attempt.next_at {
            return None;
        }
        let number = usize::from(attempt.challenges);
        attempt.challenges += 1;
        attempt.next_at = now + attempt.wait;
        attempt.wait = attempt.wait * 2;
        // RFC 9000, 8.2.4: three times the timer of a path that is not known.
        let least = if number == 0 {
            SHORTEST_ATTEMPT
        } else {
            Duration::ZERO
        };
        attempt.ends_at = attempt.ends_at.max(attempt.next_at).max(now + least);
        if !attempt.spend(size) {
            return None;
        }
        let path = attempt.path;
        // RFC 9000, 8.2.1: no challenge has the cookie of another.
        let cookie = self.draw();
        let place = self.attempt.as_mut()?.cookies.get_mut(number)?;
        *place = Some((cookie, now));
        Some(Due {
            check: PathCheck::Challenge(cookie),
            to: Some(path),
        })
    }

    /// Returns a challenge for the address in use. RFC 9000, 9.3.3: it is asked, too, once the peer itself has been heard
    /// from elsewhere.
    fn challenge_here(&mut self) -> Option<Due> {
        let attempt = self.attempt.as_mut()?;
        let asks = attempt.is_authentic && std::mem::take(&mut attempt.asks_to_stay);
        asks.then_some(Due {
            check: PathCheck::Challenge(attempt.stay_cookie),
            to: None,
        })
    }

    /// Returns when [`Self::handle_timeout`] or [`Self::due`] has something to do.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        let attempt = self.attempt.as_ref()?;
        Some(if attempt.may_ask() {
            attempt.next_at.min(attempt.ends_at)
        } else {
            attempt.ends_at
        })
    }

    /// Ends an attempt that was not answered.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let over = |attempt: &mut Attempt| attempt.ends_at <= now;
        self.before.take_if(over);
        // Somebody else can have sent what has no record.
        let of_peer = |of: &Attempt| of.is_authentic && !of.is_own;
        if let Some(attempt) = self.attempt.take_if(over).filter(of_peer) {
            self.fail(now, attempt.path, false);
        }
    }

    fn fail(&mut self, now: Instant, path: Path, is_dropped: bool) {
        let before = self.failed.filter(|of| of.path == path && now < of.until);
        let times = before.map_or(0, |of| of.times).saturating_add(1);
        // A peer that drops the path that it has left may still have packets on it: a Reset would end its connection.
        let has_left = self.left == Some(path);
        self.failed = Some(Failed {
            path,
            times: if is_dropped { ATTEMPTS } else { times },
            is_refused: is_dropped && !has_left,
            until: now + FAILED_FOR,
        });
    }

    /// Ends the attempt, the present one or that before, whose challenge left for `from` with this cookie, if `from` is
    /// given. Returns its address and when the challenge left.
    fn take_answered(
        &mut self,
        now: Instant,
        cookie: Cookie,
        from: Option<Path>,
    ) -> Option<(Path, Instant)> {
        for place in [&mut self.attempt, &mut self.before] {
            let answered = |of: &mut Attempt| {
                let is_there = from.is_none_or(|from| of.path == from);
                is_there && of.ends_at > now && of.sent_at(cookie).is_some()
            };
            if let Some(attempt) = place.take_if(answered) {
                return attempt.sent_at(cookie).map(|at| (attempt.path, at));
            }
        }
        None
    }

    /// Answers a challenge of the peer. RFC 9000, 8.2.2, and RFC 9853, 5.4: once, where it came from. Returns whether the
    /// peer has heard this end at the address from which it asks, and is answered there.
    fn answer(&mut self, cookie: Cookie, from: Path, in_use: Path) -> bool {
        let leaves = self.attempt.as_ref().filter(|of| of.is_own);
        let (stays, goes_there) = match leaves {
            Some(attempt) => (
                attempt.path == in_use || !self.is_heard,
                attempt.path == from,
            ),
            None => (true, false),
        };
        let (response, drop) = (PathCheck::Response(cookie), PathCheck::Drop(cookie));
        let to = Some(from);
        let due = if from == in_use {
            // RFC 9853, 5.2: a path that this end wants to leave is dropped.
            let check = if self.answers && stays {
                response
            } else {
                drop
            };
            Due { check, to: None }
        } else if !self.answers {
            return false;
        } else if goes_there {
            Due {
                check: response,
                to,
            }
        } else if self.left == to && !self.follows {
            Due { check: drop, to }
        } else {
            let owed = Owed {
                cookie,
                to: from,
                received: 0,
            };
            self.owed_there = Some(owed).filter(|_| self.follows);
            return false;
        };
        let has_room = self.owed.len() < ANSWERS;
        if has_room {
            self.owed.push_back(due);
        }
        has_room && goes_there && from != in_use
    }

    /// Notes that this end uses another path than `left`, and whether the peer is known to hear it there.
    pub(crate) fn on_move(&mut self, left: Path, is_heard: bool) {
        self.left = Some(left);
        self.is_heard = is_heard;
    }

    /// Takes a message of the peer about a path. It came from `from`, and `in_use` is the address in use.
    pub(crate) fn on_check(
        &mut self,
        now: Instant,
        check: PathCheck,
        from: Path,
        in_use: Path,
    ) -> Found {
        match check {
            PathCheck::Challenge(cookie) => {
                self.peer_asks = true;
                if self.answer(cookie, from, in_use) {
                    return Found::Heard { path: from };
                }
            }
            PathCheck::Response(cookie) => {
                if let Some((path, sent_at)) = self.take_answered(now, cookie, Some(from)) {
                    (self.failed, self.attempt, self.before) = (None, None, None);
                    self.is_heard = true;
                    let rtt = now.saturating_since(sent_at);
                    return Found::There { path, rtt };
                }
                // RFC 9000, 9.3.3: it is where it was.
                let stays = |of: &mut Attempt| from == in_use && of.stay_cookie == cookie;
                self.attempt.take_if(stays);
                self.before.take_if(stays);
            }
            PathCheck::Drop(cookie) => {
                self.is_dropped = from != in_use;
                let answered = self.take_answered(now, cookie, None);
                // One that goes elsewhere by itself may come back.
                if let Some((path, _)) = answered.filter(|_| !self.peer_asks) {
                    self.fail(now, path, true);
                }
            }
        }
        Found::Nothing
    }
}

#[cfg(test)]
mod tests;
