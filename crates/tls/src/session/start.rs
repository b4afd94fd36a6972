//! How a session begins.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use dimpl::{Dtls, DtlsCertificate};
use fairwire_units::Instant;

use super::guard::guarded;
use super::{MIN_DATAGRAM, Role, Session, State, Stats, Unanswered};
use crate::clear::Clear;
use crate::clock::Clock;
use crate::config::{Common, DATAGRAM_STEP};
use crate::date::Date;
use crate::error::StartError;
use crate::gate::{self, Gate};
use crate::identity::Identity;
use crate::provider::{self, Secrets};

/// The largest datagram of a handshake, in bytes, even if larger ones can be sent. Any path of IPv6 carries it with the
/// headers of IPv6, UDP and DCCP.
pub(super) const HANDSHAKE_DATAGRAM: usize = 1_200;

/// How large the records of a handshake are at most, in bytes: the first of these sizes with which the own certificate
/// fits.
///
/// RFC 9147, section 4.4, and RFC 5238, section 3.5: a message that is sent again and again without an answer is cut
/// smaller. The library cannot cut a message again. So the records are small from the beginning, as any path of IPv4
/// carries them with the headers of IPv4, UDP and DCCP (576 bytes). [`Session::send`] puts several of them into one
/// datagram until one was lost.
const HANDSHAKE_RECORDS: [usize; 2] = [480, HANDSHAKE_DATAGRAM];

/// What the messages of a server's flight have besides its certificate, and what six more records for its parts add, in
/// bytes; rounded up.
const FLIGHT: usize = 700;
/// What a datagram of the library loses to headers and to room too small for a part, in bytes; rounded up.
const LOST_PER_DATAGRAM: usize = 40;
/// The library's datagrams that a flight may fill. The library keeps at most 12 records of a flight, and six messages
/// end with the datagrams between them cut into one more record each.
const FLIGHT_DATAGRAMS: usize = 6;

impl Session {
    pub(super) fn begin(
        config: &Common,
        role: Role,
        max_datagram: usize,
        now: Instant,
        date: Date,
    ) -> Result<Self, StartError> {
        let size = record_size(config, max_datagram)?;
        let clock = Clock::new(now);
        let library = guarded(|| library(config, &role, size, &clock))
            .map_err(|message| StartError::Library { message })?;
        let (clear, allowed) = match role {
            Role::Client { .. } => (Clear::of_server(), gate::OF_SERVER),
            Role::Server if config.trust.is_some() => (Clear::of_client(), gate::OF_CLIENT),
            Role::Server => (Clear::of_client(), gate::OF_ANONYMOUS_CLIENT),
        };
        let mut session = Self {
            handshake: Some(Box::new(library)),
            secrets: Secrets::new(matches!(role, Role::Client { .. })),
            channel: None,
            clear,
            gate: Gate::new(allowed),
            early_in: None,
            early: Vec::new(),
            early_before: 0,
            later: BTreeMap::new(),
            longest_record: 0,
            told: None,
            role,
            state: State::Handshake,
            clock,
            timer: None,
            overdue: false,
            records_per_key: config.records_per_key,
            retransmission: config.retransmission,
            renewal: None,
            unanswered: Unanswered::default(),
            is_confirmed: false,
            outputs: VecDeque::new(),
            max_datagram,
            trust: config.trust.clone(),
            date,
            handshake_timeout: config.handshake_timeout,
            handshake_memory: config.handshake_memory(),
            peer: None,
            refused: None,
            spoke: false,
            closed: false,
            repeats: false,
            has_newer_keys: false,
            repeats_until: None,
            missed: false,
            opened: None,
            heard: None,
            handshake_bytes: 0,
            answers: 0,
            stats: Stats::default(),
            #[cfg(feature = "seeded")]
            draws: config.seed.as_ref().map(|seed| seed.draws("session")),
        };
        // This starts the client's handshake. If it fails, the session's next call tells.
        let _ = session.handle_timeout(now);
        Ok(session)
    }
}

/// Makes the library's end for a session.
fn library(config: &Common, role: &Role, max_datagram: usize, clock: &Clock) -> Dtls {
    let identity = config.identity.as_ref();
    let certificate = DtlsCertificate {
        certificate: identity.map_or_else(Vec::new, |identity| identity.certificate().to_vec()),
        private_key: Vec::new(),
    };
    let now = clock.time_of_library();
    let config = config.for_library(max_datagram);
    let key = identity.map(Identity::key).map(Arc::clone);
    provider::with_key(key, || match role {
        Role::Client { .. } => {
            let mut client = Dtls::new_13(config, certificate, now);
            client.set_active(true);
            client
        }
        // This one tells a client of an older version from one whose hello is unreadable: it then takes the part of a
        // server of that version, and `handle_datagram` ends the session.
        Role::Server => Dtls::new_auto(config, certificate, now),
    })
}

/// Returns how large the records of a handshake are at most, in bytes.
fn record_size(config: &Common, max_datagram: usize) -> Result<usize, StartError> {
    if max_datagram < MIN_DATAGRAM {
        return Err(StartError::DatagramTooSmall {
            max_datagram,
            needed: MIN_DATAGRAM,
        });
    }
    let length = config
        .identity
        .as_ref()
        .map_or(0, |identity| identity.certificate().len());
    let mut sizes = HANDSHAKE_RECORDS
        .map(|size| size.min(max_datagram) / DATAGRAM_STEP * DATAGRAM_STEP)
        .into_iter();
    let size = sizes.find(|size| length <= max_certificate(*size));
    size.ok_or_else(|| StartError::CertificateTooLarge {
        length,
        max: max_certificate(max_datagram.min(HANDSHAKE_DATAGRAM) / DATAGRAM_STEP * DATAGRAM_STEP),
        max_datagram,
    })
}

/// Returns the longest certificate that fits into a handshake with datagrams of this size.
fn max_certificate(datagram: usize) -> usize {
    (FLIGHT_DATAGRAMS * (datagram - LOST_PER_DATAGRAM)).saturating_sub(FLIGHT)
}
