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
use zeroize::Zeroize;

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

/// The most packets of an attempt that cost their source nothing.
const FREE_PACKETS: u8 = 64;

type Cookie = [u8; 8];

/// The key from which a connection's cookies are drawn; overwritten when it is dropped.
pub(crate) struct CookieKey(pub(crate) [u64; 2]);

impl Drop for CookieKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl std::fmt::Debug for CookieKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CookieKey")
    }
}

/// The checks of one end.
#[derive(Debug)]
pub(crate) struct Migration {
    /// Whether this end follows its peer, and whether it takes part in the checks of its peer.
    follows: bool,
    answers: bool,
    key: CookieKey,
    /// Cookies drawn so far.
    drawn: u64,
    limit: RateLimit,
    attempt: Option<Attempt>,
    /// The attempt before, at another address, until it ends: its challenges may still be answered.
    before: Option<Attempt>,
    /// The address at which attempts failed last.
    failed: Option<Failed>,
    /// The address from which the present packet came, if it is not the one in use.
    pub(crate) arriving: Option<Path>,
    /// Answers to challenges, which leave next.
    owed: VecDeque<PathCheck>,
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

/// What a message of the peer about a path means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Found {
    /// Nothing more.
    Nothing,
    /// The peer receives at this address, and took `rtt` to answer.
    There { path: Path, rtt: Duration },
}

impl Attempt {
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
    pub(crate) fn new(follows: bool, answers: bool, key: CookieKey) -> Self {
        Self {
            follows,
            answers,
            key,
            drawn: 0,
            limit: RateLimit::per_second(ATTEMPTS_PER_S, ATTEMPTS_AT_ONCE),
            attempt: None,
            before: None,
            failed: None,
            arriving: None,
            owed: VecDeque::new(),
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
        let stay_cookie = self.draw();
        if let Some(before) = self.attempt.take() {
            self.before = Some(before);
        }
        self.attempt = Some(Attempt {
            path,
            cookies: [None; CHALLENGES as usize],
            challenges: 0,
            stay_cookie,
            asks_to_stay: true,
            next_at: now,
            ends_at: now + SHORTEST_ATTEMPT,
            wait: rtt.clamp(SHORTEST_WAIT, LONGEST_WAIT),
            is_authentic: is_newest,
            received: bytes,
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

    /// Returns the message that leaves next, if one is due. A challenge to an address that is not checked has `size`
    /// bytes.
    pub(crate) fn due(&mut self, now: Instant, size: usize) -> Option<Due> {
        if let Some(check) = self.owed.pop_front() {
            return Some(Due { check, to: None });
        }
        // RFC 9000, 8.2.1: no challenge has the cookie of another.
        let cookie = self.attempt.is_some().then(|| self.draw())?;
        let attempt = self.attempt.as_mut()?;
        let number = usize::from(attempt.challenges);
        if attempt.may_ask()
            && attempt.next_at <= now
            && let Some(place) = attempt.cookies.get_mut(number)
        {
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
            let spent = attempt.spent.saturating_add(size as u64);
            if spent <= attempt.received.saturating_mul(AMPLIFICATION) {
                attempt.spent = spent;
                *place = Some((cookie, now));
                return Some(Due {
                    check: PathCheck::Challenge(cookie),
                    to: Some(attempt.path),
                });
            }
        }
        // RFC 9000, 9.3.3: the address in use is asked, too, once the peer itself has been heard from elsewhere.
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
        if let Some(attempt) = self.attempt.take_if(over).filter(|of| of.is_authentic) {
            self.fail(now, attempt.path, false);
        }
    }

    fn fail(&mut self, now: Instant, path: Path, is_refused: bool) {
        let before = self.failed.filter(|of| of.path == path && now < of.until);
        self.failed = Some(Failed {
            path,
            times: before.map_or(0, |of| of.times).saturating_add(1),
            is_refused,
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
                // RFC 9000, 8.2.2, and RFC 9853, 5.4: one answer, where the challenge came from.
                if from == in_use && self.owed.len() < ANSWERS {
                    self.owed.push_back(if self.answers {
                        PathCheck::Response(cookie)
                    } else {
                        PathCheck::Drop(cookie)
                    });
                }
            }
            PathCheck::Response(cookie) => {
                if let Some((path, sent_at)) = self.take_answered(now, cookie, Some(from)) {
                    (self.failed, self.attempt, self.before) = (None, None, None);
                    let rtt = now.saturating_since(sent_at);
                    return Found::There { path, rtt };
                }
                // RFC 9000, 9.3.3: it is where it was.
                let stays = |of: &mut Attempt| from == in_use && of.stay_cookie == cookie;
                self.attempt.take_if(stays);
                self.before.take_if(stays);
            }
            PathCheck::Drop(cookie) => {
                if let Some((path, _)) = self.take_answered(now, cookie, None) {
                    self.fail(now, path, true);
                }
            }
        }
        Found::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::{
        AMPLIFICATION, CookieKey, Duration, Found, Instant, Migration, Path, PathCheck, Standing,
    };
    use crate::transmit::Encapsulation;

    const RTT: Duration = Duration::from_millis(40);

    fn at(ms: u64) -> Instant {
        Instant::START + Duration::from_millis(ms)
    }

    fn path(port: u16) -> Path {
        Path {
            encapsulation: Encapsulation::Udp,
            local: ([127, 0, 0, 1], 1).into(),
            remote: ([127, 0, 0, 1], port).into(),
        }
    }

    fn server() -> Migration {
        Migration::new(true, true, CookieKey([1, 2]))
    }

    /// Returns the cookies that leave now: for the address that is checked, and for the one in use.
    fn cookies(server: &mut Migration, now: Instant) -> (Vec<[u8; 8]>, Vec<[u8; 8]>) {
        let (mut there, mut here) = (Vec::new(), Vec::new());
        while let Some(due) = server.due(now, 60) {
            let PathCheck::Challenge(cookie) = due.check else {
                panic!("it answers nothing: {due:?}");
            };
            match due.to {
                Some(to) => {
                    assert_eq!(to, path(2));
                    there.push(cookie);
                }
                None => here.push(cookie),
            }
        }
        (there, here)
    }

    /// Three challenges leave with back-off, and one for the address in use. No cookie comes twice, and each is answered
    /// by itself.
    #[test]
    fn each_challenge_has_a_cookie_of_its_own() {
        let mut all = Vec::new();
        for answered in 0..3 {
            let mut server = server();
            server.on_packet(at(0), path(2), 1_000, true, RTT);
            let (mut there, here) = cookies(&mut server, at(0));
            assert_eq!((there.len(), here.len()), (1, 1));
            for (ms, sent) in [(99, 1), (100, 2), (299, 2), (300, 3), (1_000, 3)] {
                there.extend(cookies(&mut server, at(ms)).0);
                assert_eq!(there.len(), sent, "{ms}");
            }
            let check = PathCheck::Response(there[answered]);
            let found = server.on_check(at(1_050), check, path(2), path(1));
            let rtt = Duration::from_millis([1_050, 950, 750][answered]);
            assert_eq!(found, Found::There { path: path(2), rtt });
            all = [there, here].concat();
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4);
    }

    /// Wrong cookies, answers from elsewhere, and those that come after the end of an attempt count for nothing.
    #[test]
    fn an_attempt_ends() {
        let mut server = server();
        server.on_packet(at(0), path(2), 1_000, true, RTT);
        let (there, here) = cookies(&mut server, at(0));
        for (cookie, from) in [
            (there[0], path(1)),
            (there[0], path(3)),
            (here[0], path(2)),
            ([0; 8], path(2)),
        ] {
            let found = server.on_check(at(40), PathCheck::Response(cookie), from, path(1));
            assert_eq!(found, Found::Nothing);
        }
        for ms in [100, 300] {
            cookies(&mut server, at(ms));
        }
        server.handle_timeout(at(2_999));
        assert_eq!(server.next_timeout(), Some(at(3_000)));
        server.handle_timeout(at(3_000));
        assert_eq!(server.next_timeout(), None);
        let late = PathCheck::Response(there[0]);
        let found = server.on_check(at(3_001), late, path(2), path(1));
        assert_eq!(found, Found::Nothing);
        assert_eq!(server.standing(at(3_001), path(2)), Standing::Open);
        server.on_packet(at(4_000), path(2), 1_000, true, RTT);
        for ms in [4_000, 4_100, 4_300] {
            cookies(&mut server, at(ms));
        }
        server.handle_timeout(at(7_000));
        for (ms, port, standing) in [
            (7_000, 2, Standing::Unanswered),
            (36_999, 2, Standing::Unanswered),
            (37_000, 2, Standing::Open),
            (7_000, 3, Standing::Open),
        ] {
            assert_eq!(server.standing(at(ms), path(port)), standing, "{ms} {port}");
        }
    }

    /// An answer from the address of the attempt before counts until that attempt would have ended.
    #[test]
    fn the_attempt_before_may_be_answered() {
        for (ms, is_there) in [(2_999, true), (3_000, false)] {
            let mut server = server();
            server.on_packet(at(0), path(2), 1_000, true, RTT);
            let (there, _) = cookies(&mut server, at(0));
            server.on_packet(at(1_000), path(3), 1_000, true, RTT);
            let check = PathCheck::Response(there[0]);
            let found = server.on_check(at(ms), check, path(2), path(1));
            assert_eq!(found != Found::Nothing, is_there, "{ms}");
            assert_eq!(server.next_timeout().is_none(), is_there, "{ms}");
        }
    }

    /// Only so many packets from an address that is checked cost nothing, and none from elsewhere.
    #[test]
    fn few_packets_are_free() {
        let mut server = server();
        assert!(!server.is_free(path(2)));
        server.on_packet(at(0), path(2), 1_000, true, RTT);
        let free = (0..100).filter(|_| server.is_free(path(2))).count();
        assert_eq!((free, server.is_free(path(3))), (64, false));
    }

    /// Packets without a record make it ask once, there only, but neither take an attempt away nor count as failures of the peer.
    #[test]
    fn what_proves_nothing_ends_nothing() {
        let mut server = server();
        for ms in [0, 10_000, 20_000] {
            server.on_packet(at(ms), path(2), 1_000, false, RTT);
            let sent = [0, 100, 300, 700].map(|later| {
                let (there, here) = cookies(&mut server, at(ms + later));
                (there.len(), here.len())
            });
            assert_eq!(sent, [(1, 0), (0, 0), (0, 0), (0, 0)]);
            server.on_packet(at(ms + 800), path(3), 1_000, false, RTT);
            server.handle_timeout(at(ms + 9_000));
            let standing = server.standing(at(ms + 9_000), path(2));
            assert_eq!((standing, server.next_timeout()), (Standing::Open, None));
        }
    }

    /// An address gets at most three times what came from there, also if that is next to nothing.
    #[test]
    fn an_address_gets_three_times_what_it_sent() {
        for (bytes, most) in [(1, 0), (19, 0), (20, 1), (40, 2), (60, 3), (1_000, 3)] {
            let mut server = server();
            server.on_packet(at(0), path(2), bytes, true, RTT);
            let times = [0, 100, 300, 700, 1_299];
            let sent = times.map(|ms| cookies(&mut server, at(ms)).0.len());
            let sent: usize = sent.iter().sum();
            assert_eq!(sent, most, "{bytes}");
            assert!((sent * 60) as u64 <= bytes as u64 * AMPLIFICATION);
        }
    }

    /// If the peer answers at the address in use first, it stays there. Attempts are rare after the first four.
    #[test]
    fn an_answer_from_the_old_address_ends_an_attempt() {
        let mut server = server();
        let mut begun = 0;
        for ms in 0..3_000 {
            server.on_packet(at(ms), path(2), 1_000, true, RTT);
            let (there, here) = cookies(&mut server, at(ms));
            let (Some(there), Some(here)) = (there.first(), here.first()) else {
                continue;
            };
            begun += 1;
            for (cookie, from) in [(*here, path(1)), (*there, path(2))] {
                let check = PathCheck::Response(cookie);
                let found = server.on_check(at(ms), check, from, path(1));
                assert_eq!(found, Found::Nothing);
            }
        }
        assert!((4..=7).contains(&begun), "{begun}");
    }

    /// Each challenge that comes on the path in use is answered once, and no other. An end that does not take part says
    /// so.
    #[test]
    fn challenges_are_answered_once() {
        for answers in [true, false] {
            let mut client = Migration::new(false, answers, CookieKey([1, 2]));
            for (cookie, from) in [([1; 8], path(1)), ([2; 8], path(2)), ([3; 8], path(1))] {
                client.on_check(at(0), PathCheck::Challenge(cookie), from, path(1));
            }
            let due = std::iter::from_fn(|| client.due(at(0), 60));
            let due: Vec<_> = due.map(|due| (due.check, due.to)).collect();
            let answer = if answers {
                PathCheck::Response
            } else {
                PathCheck::Drop
            };
            assert_eq!(due, [(answer([1; 8]), None), (answer([3; 8]), None)]);
            client.on_packet(at(0), path(2), 1_000, true, RTT);
            assert_eq!(client.next_timeout(), None, "it follows nobody");
        }
    }
}
