//! All unpredictable values, derived from one secret.
//!
//! The protocol draws no random numbers. A value that must be hard to guess is a keyed hash of something public, with a
//! separate key for each purpose: ports (RFC 4340, sections 3.1 and 5.1), sequence numbers, timestamps. A new secret at
//! each start gives every flow unrelated values (RFC 4340, section 7.3).

use std::hash::{BuildHasher, Hash, Hasher};

use fairwire_units::Instant;
use fairwire_wire::Seq;
use siphasher::sip::{SipHasher13, SipHasher24};
use siphasher::sip128::{Hasher128, SipHasher13 as Sip128, SipHasher24 as Proof};
use zeroize::Zeroize;

use super::source::Source;
use crate::connection::DrawKey;
use crate::constants::MAX_SHORT_RATE;
use crate::flow::Flow;

/// The keys for each purpose. They are overwritten when they are dropped.
#[derive(Clone)]
pub(crate) struct Secret {
    sequence: (u64, u64),
    timestamp: (u64, u64),
    port: (u64, u64),
    time_wait: (u64, u64),
    lookup: (u64, u64),
    cookie: (u64, u64),
    draw: (u64, u64),
    nonce: (u64, u64),
    source: (u64, u64),
    path: (u64, u64),
    /// The initial sequence number, for tests near a wrap.
    #[cfg(any(test, feature = "inspect"))]
    pub(super) first: Option<Seq>,
}

/// The bits of a 24-bit sequence number.
const LOW: u64 = (1 << 24) - 1;

const NANOS_PER_S: u64 = 1_000_000_000;

impl Secret {
    /// Derives the keys from `secret`.
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        let word = |at: usize| {
            let bytes = secret[at..].first_chunk().copied().unwrap_or_default();
            u64::from_be_bytes(bytes)
        };
        let (left, right) = ((word(0), word(8)), (word(16), word(24)));
        let key = |purpose: u64| (sip(left, &purpose), sip(right, &purpose));
        Self {
            sequence: key(1),
            timestamp: key(2),
            port: key(3),
            time_wait: key(4),
            lookup: key(5),
            cookie: key(6),
            draw: key(7),
            nonce: key(8),
            source: key(9),
            path: key(10),
            #[cfg(any(test, feature = "inspect"))]
            first: None,
        }
    }

    /// Returns the first sequence number that we send on `flow`.
    ///
    /// RFC 4340, 7.2: the hash gives each flow its own number space, which cannot be guessed from outside. The clock
    /// makes a later connection of the same flow start after the earlier one. It advances by eight million numbers a
    /// second, more than any connection sends, and wraps after 417 days.
    ///
    /// Where 24-bit numbers may be sent (`short`), the low 24 bits have their own clock. It takes longer to wrap than a
    /// packet can be in flight, and it is faster than connections that send such numbers.
    pub(crate) fn initial_sequence(&self, now: Instant, flow: &Flow, short: bool) -> Seq {
        #[cfg(any(test, feature = "inspect"))]
        if let Some(first) = self.first {
            return first;
        }
        let hash = sip(self.sequence, flow);
        let number = hash.wrapping_add(now.as_nanos() >> 7);
        if !short {
            return Seq::new(number);
        }
        let (seconds, rest) = (now.as_nanos() / NANOS_PER_S, now.as_nanos() % NANOS_PER_S);
        let ticks = seconds * MAX_SHORT_RATE + rest * MAX_SHORT_RATE / NANOS_PER_S;
        let low = hash.wrapping_add(ticks) & LOW;
        Seq::new(number & !LOW | low)
    }

    /// Returns the first timestamp value of `flow`. It must not reveal our clock.
    pub(crate) fn timestamp_offset(&self, flow: &Flow) -> u32 {
        (sip(self.timestamp, flow) >> 32) as u32
    }

    /// Returns what an encrypted connection that begins with number `iss` calls its peer's datagrams that may be sent
    /// again.
    pub(crate) fn copies_tag(&self, flow: &Flow, iss: Seq) -> [u8; 8] {
        let mut hasher = Sip128::new_with_keys(self.nonce.0, self.nonce.1);
        flow.hash(&mut hasher);
        iss.get().hash(&mut hasher);
        hasher.finish128().h1.to_be_bytes()
    }

    /// Returns the key from which an encrypted connection that begins with number `iss` draws its cookies for paths.
    pub(crate) fn path_key(&self, flow: &Flow, iss: Seq) -> DrawKey {
        let mut hasher = Sip128::new_with_keys(self.path.0, self.path.1);
        flow.hash(&mut hasher);
        iss.get().hash(&mut hasher);
        let hash = hasher.finish128();
        DrawKey([hash.h1, hash.h2])
    }

    /// Returns the key that the ECN nonces of `flow` are derived from. Nobody outside can guess it.
    pub(crate) fn nonce_key(&self, flow: &Flow) -> DrawKey {
        let mut hasher = Sip128::new_with_keys(self.nonce.0, self.nonce.1);
        flow.hash(&mut hasher);
        let hash = hasher.finish128();
        DrawKey([hash.h1, hash.h2])
    }

    /// Returns where the search for a free local port of `flow` starts (RFC 6056, section 3.3.3).
    pub(crate) fn port_offset(&self, flow: &Flow) -> u16 {
        (sip(self.port, flow) >> 48) as u16
    }

    /// Returns a 128-bit name for `flow`. Nobody outside can cause a collision.
    pub(crate) fn flow_hash(&self, flow: &Flow) -> [u64; 2] {
        let mut hasher = Sip128::new_with_keys(self.time_wait.0, self.time_wait.1);
        flow.hash(&mut hasher);
        let hash = hasher.finish128();
        [hash.h1, hash.h2]
    }

    /// Returns the Init Cookie keys of one period. They reveal nothing about the keys of another period.
    pub(super) fn cookie_keys(&self, period: u64) -> CookieKeys {
        let word = |which: u64| sip(self.cookie, &(period, which));
        CookieKeys {
            hash: (word(0), word(1)),
            mask: (word(2), word(3)),
        }
    }

    /// Returns the `count`th number of an unpredictable stream.
    pub(super) fn draw(&self, count: u64) -> u64 {
        sip(self.draw, &count)
    }

    /// Returns a keyed hash of each network that `source` is in, which selects its rate limit.
    pub(super) fn networks(
        &self,
        source: Source,
    ) -> impl Iterator<Item = (usize, u64)> + Clone + use<> {
        let key = self.source;
        let networks = source.networks();
        networks.map(move |(number, network)| (number, sip(key, &network)))
    }

    /// Returns the hasher of the connection table.
    pub(crate) fn lookup(&self) -> KeyedHash {
        KeyedHash(self.lookup)
    }
}

impl Zeroize for Secret {
    fn zeroize(&mut self) {
        // The pattern names every field, so that no new key can be forgotten.
        let Self {
            sequence,
            timestamp,
            port,
            time_wait,
            lookup,
            cookie,
            draw,
            nonce,
            source,
            path,
            #[cfg(any(test, feature = "inspect"))]
                first: _,
        } = self;
        for key in [
            sequence, timestamp, port, time_wait, lookup, cookie, draw, nonce, source, path,
        ] {
            key.zeroize();
        }
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.zeroize();
    }
}

/// The Init Cookie keys of one period.
pub(super) struct CookieKeys {
    pub(super) hash: (u64, u64),
    mask: (u64, u64),
}

impl Drop for CookieKeys {
    fn drop(&mut self) {
        let Self { hash, mask } = self;
        hash.zeroize();
        mask.zeroize();
    }
}

impl CookieKeys {
    /// Returns the mask that hides the time in the cookie with this hash.
    pub(super) fn mask(&self, hash: &[u8]) -> u64 {
        sip(self.mask, &hash)
    }
}

/// Returns a 128-bit keyed hash over `flow`, `numbers` and `bytes`.
pub(super) fn authenticate(
    key: (u64, u64),
    flow: &Flow,
    numbers: &[u64; 4],
    bytes: &[u8],
) -> [u8; 16] {
    let mut hasher = Proof::new_with_keys(key.0, key.1);
    flow.hash(&mut hasher);
    for &number in numbers {
        hasher.write_u64(number);
    }
    hasher.write(bytes);
    hasher.finish128().as_bytes()
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

fn sip(key: (u64, u64), value: &impl Hash) -> u64 {
    let mut hasher = SipHasher24::new_with_keys(key.0, key.1);
    value.hash(&mut hasher);
    hasher.finish()
}

/// A keyed hash for tables that attackers can fill.
#[derive(Clone)]
pub(crate) struct KeyedHash((u64, u64));

impl Drop for KeyedHash {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl BuildHasher for KeyedHash {
    type Hasher = SipHasher13;
    fn build_hasher(&self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0.0, self.0.1)
    }
}

#[cfg(test)]
mod tests {
    use super::{CookieKeys, DrawKey, Flow, KeyedHash, Secret, Zeroize};
    use crate::transmit::{Encapsulation, Path};
    use fairwire_units::{Duration, Instant};

    fn flow(local_port: u16) -> Flow {
        Flow {
            path: Path {
                encapsulation: Encapsulation::Native,
                local: "192.0.2.1:0".parse().unwrap(),
                remote: "192.0.2.2:0".parse().unwrap(),
            },
            local_port,
            remote_port: 5001,
        }
    }

    /// Every key is overwritten when the secret is dropped.
    #[test]
    fn keys_are_overwritten() {
        let mut secret = Secret::new(&[7; 32]);
        assert_ne!(
            secret
                .initial_sequence(Instant::START, &flow(1), false)
                .get(),
            0
        );
        let wiped = {
            secret.zeroize();
            let (zero, keys) = ((0, 0), secret.clone());
            [
                keys.sequence,
                keys.timestamp,
                keys.port,
                keys.time_wait,
                keys.lookup,
                keys.cookie,
                keys.draw,
                keys.nonce,
                keys.source,
                keys.path,
            ] == [zero; 10]
        };
        assert!(wiped);
        assert!(std::mem::needs_drop::<Secret>() && std::mem::needs_drop::<CookieKeys>());
        assert!(std::mem::needs_drop::<DrawKey>() && std::mem::needs_drop::<KeyedHash>());
    }

    /// RFC 4340, 7.2: flows have unrelated initial numbers; on one flow they advance with the clock.
    ///
    /// They advance by more than a connection could have sent.
    #[test]
    fn initial_numbers_are_apart_and_move_on() {
        let secret = Secret::new(&[7; 32]);
        let now = Instant::START + Duration::from_secs(5);
        let first = secret.initial_sequence(now, &flow(1), false);
        assert!(
            first
                .delta(secret.initial_sequence(now, &flow(2), false))
                .abs()
                > 1 << 30
        );
        let second = now + Duration::from_secs(1);
        let ahead = first.distance(secret.initial_sequence(second, &flow(1), false));
        assert!((7_000_000..8_000_000).contains(&ahead), "{ahead}");
        let other = Secret::new(&[8; 32]).initial_sequence(now, &flow(1), false);
        assert_ne!(first, other);
    }

    /// RFC 4340, 7.2: with short numbers, a later connection does not start with recently used low bits.
    ///
    /// The earlier connection sends 60,000 numbers a second and ends when the later one begins on the same flow. The
    /// new low 24 bits are none of those sent in the last four minutes, wherever these are on the circle. (TIMEWAIT
    /// separates the two where the earlier connection lasted longer than the 24-bit clock takes to wrap.)
    #[test]
    fn low_bits_of_recent_numbers_do_not_come_again() {
        let secret = Secret::new(&[7; 32]);
        let flow = flow(1);
        for seconds in [1, 2, 60, 239, 240, 241, 255, 256] {
            let begun = Instant::START + Duration::from_secs(77);
            let ended = begun + Duration::from_secs(seconds);
            let rate = 60_000;
            let first = secret.initial_sequence(begun, &flow, true);
            let last = first.add(rate * seconds);
            let again = secret.initial_sequence(ended, &flow, true);
            let behind = last.sub(again.get()).get() & super::LOW;
            assert!(behind > rate * seconds.min(240), "{seconds}: {behind}");
        }
        let other = secret.initial_sequence(Instant::START, &self::flow(2), true);
        let mine = secret.initial_sequence(Instant::START, &flow, true);
        assert_ne!(other.short(), mine.short());
    }
}
