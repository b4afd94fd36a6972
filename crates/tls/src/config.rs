//! How the ends of a session are set up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use fairwire_units::Duration;

use crate::fingerprint::Fingerprint;
use crate::gate::QUEUED_RECEIVED;
use crate::identity::Identity;
use crate::memory::memory_of_handshake;
use crate::name::PeerName;
use crate::provider;
#[cfg(feature = "seeded")]
use crate::seeded::{self, SimulationSeed};
use crate::trust::{Authorities, Trust};

/// The largest datagrams of handshakes are multiples of this, in bytes, so that peers whose paths differ do not make the
/// library set itself up again for each size.
pub(crate) const DATAGRAM_STEP: usize = 32;

/// How long a handshake may take, unless a configuration says otherwise.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);

/// The initial value of the retransmission timer, which doubles each time, and how often a flight is sent again.
///
/// All of it takes more than six minutes, so that the timeout of the handshake ends it before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retransmission {
    pub(crate) first: Duration,
    pub(crate) times: usize,
}

/// What is used if nothing is known about the path (RFC 9147, section 5.8.2; RFC 5238, section 3.2, names the same
/// value).
const UNKNOWN_PATH: Retransmission = Retransmission {
    first: Duration::from_secs(1),
    times: 8,
};

/// What is used on paths whose round-trip time is known: the first one that is not less than 1.5 round trips, or else
/// the last one. They are few, because the library sets itself up again for each.
const KNOWN_PATHS: [Retransmission; 3] = [
    Retransmission {
        first: Duration::from_millis(50),
        times: 12,
    },
    Retransmission {
        first: Duration::from_millis(200),
        times: 10,
    },
    UNKNOWN_PATH,
];
const LONG_PATH: Retransmission = Retransmission {
    first: Duration::from_secs(4),
    times: 6,
};

/// How many records one key protects before it is replaced (RFC 9147, section 4.5.3).
///
/// That of AES-GCM is 2^24.5 (RFC 8446, section 5.5). A key is replaced in time if the peer answers late.
const RECORDS_PER_KEY: u64 = 1 << 23;

/// Datagrams that wait inside the library to be sent. A flight of a handshake has at most 12.
const QUEUED_TO_SEND: usize = 64;

/// The configuration of clients.
#[derive(Clone, Debug)]
#[must_use = "a configuration has no effect until it is passed on"]
pub struct ClientConfig {
    pub(crate) common: Common,
    pub(crate) name: Option<PeerName>,
}

impl ClientConfig {
    /// Creates the configuration of clients that accept a server by the fingerprint of its certificate.
    ///
    /// Names and dates in the certificate do not matter then.
    pub fn pinned(fingerprints: impl IntoIterator<Item = Fingerprint>) -> Self {
        let trust = Trust::Fingerprints(fingerprints.into_iter().collect());
        Self {
            common: Common::new(None, Some(trust)),
            name: None,
        }
    }

    /// Creates the configuration of clients that accept a server if one of `authorities` signed its certificate, for
    /// the host `name`.
    pub fn verified(authorities: Authorities, name: PeerName) -> Self {
        Self {
            common: Common::new(None, Some(Trust::Authorities(authorities))),
            name: Some(name),
        }
    }

    /// Lets the client show a certificate to servers that ask for one.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.common.identity = Some(identity);
        self
    }

    /// Sets how long a handshake may take; 60 s by default, and at least 1 ms. The standard library's `Duration` does.
    pub fn handshake_timeout(mut self, timeout: impl Into<Duration>) -> Self {
        self.common.set_handshake_timeout(timeout.into());
        self
    }

    /// Sets the round-trip time of the path, if it is known from elsewhere: what is not answered is first sent again after
    /// 1.5 times that (RFC 9147, section 5.8.2), rounded up to 50 ms, 200 ms, 1 s or 4 s. By default it is after 1 s.
    pub fn round_trip(mut self, rtt: impl Into<Duration>) -> Self {
        self.common.set_round_trip(rtt.into());
        self
    }

    /// Returns how many bytes of memory a session needs at most for its handshake, whatever its peer sends. What it holds
    /// then [falls](crate::Session::memory).
    pub fn handshake_memory(&self) -> usize {
        self.common.handshake_memory()
    }

    /// Sets how many records one key protects at most before this end replaces it; 2^23 by default, which is also the
    /// largest number, and at least 1.
    pub fn records_per_key(mut self, records: u64) -> Self {
        self.common.set_records_per_key(records);
        self
    }

    /// Lets all keys and random numbers follow from a seed, in a simulation. Anyone who knows the seed reads everything.
    ///
    /// Such a configuration is for one session.
    #[cfg(feature = "seeded")]
    pub fn simulated(mut self, seed: SimulationSeed) -> Self {
        self.common.set_seed(seed);
        self
    }
}

/// The configuration of servers.
#[derive(Clone, Debug)]
#[must_use = "a configuration has no effect until it is passed on"]
pub struct ServerConfig {
    pub(crate) common: Common,
}

impl ServerConfig {
    /// Creates the configuration of servers that show the certificate of `identity`, and accept any client.
    pub fn new(identity: Identity) -> Self {
        Self {
            common: Common::new(Some(identity), None),
        }
    }

    /// Accepts only clients that show a certificate which `trust` accepts.
    pub fn clients(mut self, trust: Trust) -> Self {
        self.common.trust = Some(Arc::new(trust));
        self.common.made = Library::default();
        self
    }

    /// Sets how long a handshake may take; 60 s by default, and at least 1 ms. The standard library's `Duration` does.
    pub fn handshake_timeout(mut self, timeout: impl Into<Duration>) -> Self {
        self.common.set_handshake_timeout(timeout.into());
        self
    }

    /// Sets the round-trip time of the path, if it is known from elsewhere; see [`ClientConfig::round_trip`].
    pub fn round_trip(mut self, rtt: impl Into<Duration>) -> Self {
        self.common.set_round_trip(rtt.into());
        self
    }

    /// Returns how many bytes of memory a session needs at most for its handshake; see
    /// [`ClientConfig::handshake_memory`].
    pub fn handshake_memory(&self) -> usize {
        self.common.handshake_memory()
    }

    /// Sets how many records one key protects; see [`ClientConfig::records_per_key`].
    pub fn records_per_key(mut self, records: u64) -> Self {
        self.common.set_records_per_key(records);
        self
    }

    /// Begins handshakes without the exchange of a cookie, which takes one round trip.
    ///
    /// By default a [`Session`](crate::Session) has one, as RFC 9147, section 5.1, asks for. It shows that the client
    /// receives what is sent to its address. The handshake of DCCP shows that, too, so [`Dtls`](crate::Dtls) has none.
    pub fn without_cookies(mut self) -> Self {
        self.common.cookies = false;
        self
    }

    /// Lets all keys and random numbers follow from a seed; see [`ClientConfig::simulated`]. The identity has a
    /// [seed](Identity::simulated) of its own.
    #[cfg(feature = "seeded")]
    pub fn simulated(mut self, seed: SimulationSeed) -> Self {
        self.common.set_seed(seed);
        self
    }
}

/// What both ends have.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) identity: Option<Identity>,
    /// Whom to accept; without it, the peer is not asked for a certificate.
    pub(crate) trust: Option<Arc<Trust>>,
    pub(crate) handshake_timeout: Duration,
    pub(crate) retransmission: Retransmission,
    pub(crate) records_per_key: u64,
    cookies: bool,
    made: Library,
    #[cfg(feature = "seeded")]
    pub(crate) seed: Option<SimulationSeed>,
}

/// The library's configurations by what each was made for.
///
/// The library tests all its cryptography when it makes one, which is too slow for each session. There are at most
/// eight for each multiple of [`DATAGRAM_STEP`] among the sizes of a handshake's datagrams.
#[derive(Clone, Debug, Default)]
struct Library(Arc<Mutex<BTreeMap<Made, Shared>>>);

/// The largest datagram, the first timer, and whether there is a cookie.
type Made = (usize, Duration, bool);

#[derive(Clone)]
struct Shared(Arc<dimpl::Config>);

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shared")
    }
}

impl Common {
    fn new(identity: Option<Identity>, trust: Option<Trust>) -> Self {
        Self {
            identity,
            trust: trust.map(Arc::new),
            handshake_timeout: HANDSHAKE_TIMEOUT,
            retransmission: UNKNOWN_PATH,
            records_per_key: RECORDS_PER_KEY,
            cookies: true,
            made: Library::default(),
            #[cfg(feature = "seeded")]
            seed: None,
        }
    }

    #[cfg(feature = "seeded")]
    fn set_seed(&mut self, seed: SimulationSeed) {
        self.seed = Some(seed);
        self.made = Library::default();
    }

    /// Returns how many bytes of memory a session needs at most for its handshake.
    pub(crate) fn handshake_memory(&self) -> usize {
        let own = self.identity.as_ref().map(|own| own.certificate().len());
        memory_of_handshake(self.trust.is_some(), own.unwrap_or(0))
    }

    fn set_handshake_timeout(&mut self, timeout: Duration) {
        self.handshake_timeout = timeout.clamp(Duration::from_millis(1), HANDSHAKE_TIMEOUT * 60);
        self.made = Library::default();
    }

    fn set_round_trip(&mut self, rtt: Duration) {
        let wanted = rtt * 3 / 2;
        let mut paths = KNOWN_PATHS.into_iter();
        let path = paths.find(|path| path.first >= wanted);
        self.retransmission = path.unwrap_or(LONG_PATH);
    }

    fn set_records_per_key(&mut self, records: u64) {
        self.records_per_key = records.clamp(1, RECORDS_PER_KEY);
    }

    /// Returns the library's configuration for handshakes in datagrams of at most `max_datagram` bytes.
    pub(crate) fn for_library(&self, max_datagram: usize) -> Arc<dimpl::Config> {
        let mut made = self.made.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (max_datagram, self.retransmission.first, self.cookies);
        if let Some(config) = made.get(&key) {
            return Arc::clone(&config.0);
        }
        let builder = dimpl::Config::builder().with_crypto_provider(provider::provider());
        #[cfg(feature = "seeded")]
        let builder = match &self.seed {
            Some(seed) => builder
                .with_crypto_provider(seeded::provider())
                .dangerously_set_rng_seed(seed.of_library()),
            None => builder,
        };
        let builder = builder
            .dtls12_cipher_suites(&[])
            .mtu(max_datagram)
            .max_queue_rx(QUEUED_RECEIVED)
            .max_queue_tx(QUEUED_TO_SEND)
            .require_client_certificate(self.trust.is_some())
            .use_server_cookie(self.cookies)
            .flight_start_rto(self.retransmission.first.into())
            .flight_retries(self.retransmission.times)
            .handshake_timeout(self.handshake_timeout.into());
        // The library's tests of its cryptography exchange keys, too.
        #[cfg(feature = "seeded")]
        let built = seeded::lent(
            &mut self.seed.as_ref().map(|seed| seed.draws("tests")),
            || builder.build(),
        );
        #[cfg(not(feature = "seeded"))]
        let built = builder.build();
        let config = built.expect(
            "the values are within the library's limits, and its cryptography passes its tests",
        );
        let config = Arc::new(config);
        made.insert(key, Shared(Arc::clone(&config)));
        config
    }
}
