//! What an end with real keys sends in place of what its library would: parts of messages, numbers and records of any
//! kind, in any order and length.

use std::sync::LazyLock;

use dimpl::DtlsCertificate;
use fairwire_tls::{ClientConfig, Fingerprint, ServerConfig, Session, Trust};
use fairwire_units::Instant;
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};

use crate::keyed::{Keyed, certificate};
use crate::net::{MAX_DATAGRAM, TODAY, identity};
use crate::watched::Watched;

/// The certificate of hostile servers.
static CERTIFICATE: LazyLock<DtlsCertificate> = LazyLock::new(certificate);

/// Clients that accept it.
static CLIENTS: LazyLock<ClientConfig> =
    LazyLock::new(|| ClientConfig::pinned([Fingerprint::of(&CERTIFICATE.certificate)]));

/// Servers that ask for no certificate, and that ask for one.
static SERVERS: LazyLock<[ServerConfig; 2]> = LazyLock::new(|| {
    let config = ServerConfig::new(identity());
    let asks = config.clone().clients(Trust::Fingerprints(Vec::new()));
    [config, asks]
});

/// Content and type of a record.
type Content = (u8, Vec<u8>);

/// A datagram: whether it begins with a flight that is sent again, and records with the order in which they stand.
type Datagram = (bool, Vec<(Content, u16)>);

fn server(asks: bool) -> Session {
    let config = &SERVERS[usize::from(asks)];
    Session::server(config, MAX_DATAGRAM, Instant::START, TODAY).expect("a server")
}

fn client() -> Session {
    Session::client(&CLIENTS, MAX_DATAGRAM, Instant::START, TODAY).expect("a client")
}

/// Returns a part of a message: any type, number, length and place, with all of its bytes or some.
fn part() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![
        Just(4_u8),
        Just(8),
        Just(11),
        Just(13),
        Just(15),
        Just(20),
        Just(24),
        any::<u8>()
    ];
    let length = prop_oneof![0..3_usize, 0..600_usize, 15_000..17_000_usize];
    let place = prop_oneof![Just(0_usize), 0..600_usize];
    let own = prop_oneof![Just(None), (0..40_usize).prop_map(Some)];
    (kind, 0..6_u8, length, place, own, 0..3_u8).prop_map(
        |(kind, number, length, offset, own, fill)| {
            let own = own.unwrap_or_else(|| length.saturating_sub(offset));
            let [length, offset, written] = [length, offset, own]
                .map(|number| u32::try_from(number).expect("short").to_be_bytes());
            let mut part = vec![kind];
            for field in [&length[1..], &[0, number], &offset[1..], &written[1..]] {
                part.extend_from_slice(field);
            }
            part.resize(part.len() + own, fill);
            part
        },
    )
}

fn content() -> impl Strategy<Value = Content> {
    prop_oneof![
        4 => vec(part(), 0..4).prop_map(|parts| (22, parts.concat())),
        1 => (20..28_u8, vec(any::<u8>(), 0..60)),
        1 => (Just(23_u8), vec(Just(7_u8), 0..16_384)),
    ]
}

fn datagrams() -> impl Strategy<Value = Vec<Datagram>> {
    vec(
        (any::<bool>(), vec((content(), any::<u16>()), 1..16)),
        0..12,
    )
}

/// Sends a forged flight, and then datagrams, as far as they fit into packets.
fn attack(victim: &mut Watched, peer: &mut Keyed, flight: &[Content], datagrams: &[Datagram]) {
    let inner = |(kind, content): &Content| [&content[..], &[*kind]].concat();
    victim.meet(peer, flight.iter().map(inner).collect());
    for (again, records) in datagrams {
        let mut sealed = Vec::new();
        for (content, order) in records {
            if let Some(record) = peer.try_seal(content.0, &content.1) {
                sealed.push((*order, record));
            }
        }
        sealed.sort();
        let mut flight = Vec::new();
        if *again {
            victim.wait(peer);
            flight = peer.repeat(
                records
                    .first()
                    .map(|(content, _)| inner(content))
                    .unwrap_or_default(),
            );
        }
        let records = sealed.into_iter().map(|(_, record)| record);
        let mut datagram: Vec<u8> = flight.into_iter().chain(records).flatten().collect();
        datagram.truncate(usize::from(u16::MAX));
        victim.give(peer, &datagram);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    /// A client with the keys of its session makes no server panic, hold more than the limit, or work more for a
    /// datagram than its records allow.
    #[test]
    fn clients_with_keys_cost_little(
        asks in any::<bool>(),
        flight in vec(content(), 0..4),
        datagrams in datagrams(),
    ) {
        // The first one sets the library up.
        drop(server(asks));
        let mut victim = Watched::new(|| server(asks));
        attack(&mut victim, &mut Keyed::client(), &flight, &datagrams);
    }

    /// The same holds for a server with keys, and a client.
    #[test]
    fn servers_with_keys_cost_little(flight in vec(content(), 0..6), datagrams in datagrams()) {
        drop(client());
        let mut victim = Watched::new(client);
        attack(&mut victim, &mut Keyed::server(CERTIFICATE.clone()), &flight, &datagrams);
    }
}

/// The two ends connect and exchange data if nothing is forged, and records of any length arrive: the properties above
/// reach what they speak of.
#[test]
fn ends_with_keys_connect() {
    let pairs = [
        (Watched::new(|| server(false)), Keyed::client()),
        (Watched::new(client), Keyed::server(CERTIFICATE.clone())),
    ];
    for (mut victim, mut peer) in pairs {
        victim.meet(&mut peer, Vec::new());
        assert!(victim.session().is_connected(), "{:?}", victim.session());
        for length in [0, 1, 1_000, 16_000] {
            let record = peer
                .try_seal(23, &vec![7; length])
                .expect("it is connected");
            victim.give(&mut peer, &record);
        }
        assert_eq!(victim.received(), 17_001);
        let too_long = peer
            .try_seal(23, &vec![7; 17_000])
            .expect("it is connected");
        victim.give(&mut peer, &too_long);
        assert_eq!(victim.received(), 17_001, "dropped");
    }
}

/// A certificate that comes in place of an empty one, which the library could not read, panics nobody.
#[test]
fn a_certificate_after_an_empty_one_panics_nobody() {
    let mut victim = Watched::new(|| server(true));
    let mut peer = Keyed::client();
    let empty = [11, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 22];
    victim.meet(&mut peer, vec![empty.to_vec()]);
    for _ in 0..3 {
        victim.wait(&mut peer);
        let flight = peer.repeat(vec![7, 23]);
        victim.give(&mut peer, &flight.concat());
        let flight = peer.repeat_all();
        victim.give(&mut peer, &flight.concat());
    }
}

/// A record of a handshake that is longer than what the library would send is authentic, too.
#[test]
fn long_records_of_a_handshake_are_authentic() {
    let mut victim = Watched::new(|| server(true));
    let mut peer = Keyed::client();
    let header = [11, 0, 0x3f, 0, 0, 2, 0, 0, 0, 0, 0x3f, 0];
    let certificate = [&header[..], &[0; 0x3f00], &[22]].concat();
    victim.meet(&mut peer, vec![certificate]);
    assert!(
        victim.session().stats().opened > 0,
        "{:?}",
        victim.session()
    );
}
