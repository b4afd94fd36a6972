//! Requirements of RFC 4340 that are only visible on the wire, tested with two endpoints over UDP whose packets are all
//! recorded.

mod feedback;
mod header;

use fairwire_kit::{Draft, PORT, Pair, SERVICE, Wire, config_of, data};
use fairwire_proto::{Config, Encapsulation, Endpoint, EndpointConfig, Payload};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{
    AckEntry, DccpOption, Encoder, EntryState, Kind, PacketType, Ports, ResetCode, Seq, ServiceCode,
};

const OTHER_SERVICE: ServiceCode = ServiceCode(2);
const DELAY: Duration = Duration::from_millis(20);
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// RFC 4340, 5.1 and 7.6.1: CCID 2 does not use `CCVal`, so it is zero. Without agreement on 24-bit numbers, no packet
/// has them.
#[test]
fn ccval_is_zero_and_numbers_are_long() {
    let mut pair = open(2);
    for _ in 0..20 {
        send(&mut pair, CLIENT);
        send(&mut pair, SERVER);
        pair.run_for(DELAY);
    }
    pair.ends[CLIENT].close(pair.now, pair.client.expect("begun"));
    pair.run_for(Duration::from_secs(1));
    let data = pair.log.iter().filter(|sent| sent.is_data());
    assert_eq!(data.count(), 40);
    for sent in &pair.log {
        let packet = sent.packet();
        assert_eq!(packet.ccval, 0, "{:?}", packet.kind);
        assert!(!packet.is_short(), "{:?}", packet.kind);
    }
}

/// RFC 4340, 8.1.5: until the client receives another packet after the Response, it sends data in `DataAck`.
#[test]
fn data_acks_in_partopen() {
    let mut pair = begun(2);
    send(&mut pair, CLIENT);
    pair.lose(|sent| sent.from == SERVER && sent.packet_type() != PacketType::Response);
    pair.run_for(Duration::from_secs(3));
    let types: Vec<_> = pair.types(CLIENT);
    assert!(types.contains(&PacketType::DataAck), "{types:?}");
    assert!(!types.contains(&PacketType::Data), "{types:?}");
    pair.lose(|_| false);
    pair.run_for(Duration::from_secs(3));
    send(&mut pair, CLIENT);
    pair.run_for(Duration::from_secs(1));
    assert!(pair.types(CLIENT).contains(&PacketType::Data), "it is over");
}

/// RFC 4340, 8.1.5: a client that receives nothing after the Response repeats its Ack after 200 ms, and then each time
/// after twice the time.
#[test]
fn acks_of_partopen_come_again_after_200_ms() {
    let mut pair = begun(2);
    pair.lose(|sent| sent.from == SERVER && sent.packet_type() != PacketType::Response);
    pair.run_for(Duration::from_secs(2));
    let acks = |sent: &&Wire| sent.from == CLIENT && sent.packet_type() == PacketType::Ack;
    let times: Vec<_> = pair.log.iter().filter(acks).map(|sent| sent.at).collect();
    let waits: Vec<_> = times
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).as_millis())
        .collect();
    assert_eq!(waits, [200, 400, 800]);
}

/// RFC 4340, 8.1.5: PARTOPEN ends after four segment lifetimes, eight minutes, with Reset 2.
#[test]
fn partopen_ends_after_four_segment_lifetimes() {
    let mut pair = begun(2);
    pair.lose(|sent| sent.from == SERVER && sent.packet_type() != PacketType::Response);
    pair.run_for(Duration::from_secs(479));
    assert!(!pair.types(CLIENT).contains(&PacketType::Reset));
    pair.run_for(Duration::from_secs(2));
    let last = pair.log.iter().rfind(|sent| sent.from == CLIENT);
    let kind = last.expect("the client sent something").packet().kind;
    assert!(matches!(
        kind,
        Kind::Reset {
            code: ResetCode::Aborted,
            ..
        }
    ));
}

/// RFC 4340, 8.1.3: a Response answers a Request and is never repeated by a timer.
#[test]
fn no_timer_repeats_a_response() {
    let mut pair = begun(2);
    pair.lose(|_| true);
    pair.run_for(Duration::from_secs(300));
    let requests = pair.types(CLIENT);
    assert!(requests.len() > 1, "repeated and lost: {requests:?}");
    assert_eq!(pair.types(SERVER), [PacketType::Response]);
}

/// RFC 4340, 8.2 and 5.7: a `SyncAck` acknowledges its Sync, even if newer packets have arrived since.
#[test]
fn a_sync_ack_names_its_sync() {
    let mut pair = open(2);
    let (seq, ack) = next_numbers(&pair, CLIENT);
    let ack = ack.into();
    inject(&mut pair, CLIENT, seq.add(5), &Kind::Ack { ack }, |_| {});
    let answers = inject(&mut pair, CLIENT, seq.add(2), &Kind::Sync { ack }, |_| {});
    let named = Kind::SyncAck {
        ack: seq.add(2).into(),
    };
    assert_eq!(answers, [named]);
}

/// RFC 4340, 7.4: a packet of an unexpected type is answered with a Sync, and no other packet acknowledges it.
#[test]
fn unexpected_packets_are_not_acknowledged() {
    let mut pair = open(2);
    let (seq, ack) = next_numbers(&pair, CLIENT);
    let unexpected = Kind::Response {
        ack: ack.into(),
        service: SERVICE,
    };
    let answers = inject(&mut pair, CLIENT, seq.add(3), &unexpected, |_| {});
    let ack = seq.add(3).into();
    assert_eq!(answers, [Kind::Sync { ack }]);
    let server = pair.server.expect("open");
    let before = pair.log.len();
    pair.ends[SERVER].close(pair.now, server);
    pair.drain();
    let ack = seq.prev().into();
    assert_eq!(pair.log[before].packet().kind, Kind::CloseReq { ack });
}

/// RFC 4340, 11.4: a packet that was dropped before its options were processed is reported as missing, even if the next
/// vector covers its number.
#[test]
fn dropped_packets_are_told_as_missing() {
    let mut pair = open(2);
    let (seq, ack) = next_numbers(&pair, CLIENT);
    let unexpected = Kind::Response {
        ack: ack.into(),
        service: SERVICE,
    };
    inject(&mut pair, CLIENT, seq.add(1), &unexpected, |_| {});
    inject(&mut pair, CLIENT, seq.add(2), &Kind::Data, |_| {});
    let told = pair.log.iter().rfind(|sent| sent.from == SERVER);
    let packet = told.expect("an acknowledgement").packet();
    let vector = packet
        .options
        .iter()
        .find_map(|raw| match raw.decode() {
            Ok(DccpOption::AckVector { entries, .. }) => Some(entries),
            _ => None,
        })
        .expect("a vector");
    let entries: Vec<_> = vector
        .iter()
        .map(|entry| (entry.state(), entry.run()))
        .collect();
    let missing = (EntryState::NotReceived, 2);
    assert_eq!(entries[..2], [(EntryState::Received, 1), missing]);
}

/// RFC 4340, 5.7: a Sync may name a packet that was never processed, so it acknowledges nothing, whatever else it
/// carries. An Ack with the same contents does.
#[test]
fn a_sync_acknowledges_nothing() {
    for (counts, acknowledged) in [(false, 0), (true, 1)] {
        let mut pair = open(2);
        pair.lose(|_| true);
        send(&mut pair, CLIENT);
        pair.drain();
        let (seq, ack) = next_numbers(&pair, SERVER);
        let ack = ack.into();
        let kind = if counts {
            Kind::Ack { ack }
        } else {
            Kind::Sync { ack }
        };
        inject(&mut pair, SERVER, seq, &kind, |encoder| {
            let arrived = AckEntry::new(EntryState::Received, 1);
            encoder.ack_vector([arrived]).expect("there is room");
        });
        let stats = pair.ends[CLIENT]
            .stats(pair.client.expect("begun"))
            .expect("open");
        assert_eq!(stats.acknowledged, acknowledged, "{kind:?}");
    }
}

/// RFC 4340, 5.1: source ports cannot be predicted without the secret, and are in the dynamic range.
#[test]
fn source_ports_are_spread() {
    let path = Pair::along(Encapsulation::Udp, DELAY).path(CLIENT);
    let mut ports: Vec<u16> = (0..100)
        .map(|seed| {
            let mut end = Endpoint::new(EndpointConfig::default(), [seed; 32]);
            let connected = end.connect(Instant::START, path, None, PORT, SERVICE, config(2));
            let id = connected.expect("a port is free");
            end.addresses(id).expect("a connection").0
        })
        .collect();
    assert!(ports.iter().all(|&port| port >= 49_152));
    ports.sort_unstable();
    ports.dedup();
    // A hundred draws from 16,384 ports: one or two may be equal, but not many.
    assert!(ports.len() > 90, "{} different ports", ports.len());
}

/// RFC 5595, 2.4: a port serves several Service Codes and refuses others.
#[test]
fn a_port_serves_several_services() {
    for (service, opens) in [
        (SERVICE, true),
        (OTHER_SERVICE, true),
        (ServiceCode(3), false),
    ] {
        let mut pair = with_configs(service, [config(2), config(2)]);
        pair.run_for(Duration::from_secs(1));
        assert_eq!(pair.server.is_some(), opens, "{service}");
        // RFC 5595, 3.3: the server learns which one the client chose.
        let chosen = pair.server.and_then(|id| pair.ends[SERVER].service(id));
        assert_eq!(chosen, opens.then_some(service));
    }
}

/// Returns a pair over UDP whose client is about to connect.
fn begun(ccid: u8) -> Pair {
    with_configs(SERVICE, [config(ccid), config(ccid)])
}

fn with_configs(service: ServiceCode, [client, server]: [Config; 2]) -> Pair {
    let mut pair = Pair::along(Encapsulation::Udp, DELAY);
    let listening = pair.ends[SERVER].listen(PORT, &[SERVICE, OTHER_SERVICE], server);
    assert_eq!(listening, Ok(()));
    pair.connect_to(service, client);
    pair
}

/// Returns a pair with an open connection and a complete handshake.
fn open(ccid: u8) -> Pair {
    let mut pair = begun(ccid);
    pair.run_for(Duration::from_secs(1));
    assert!(pair.server.is_some(), "it opened");
    pair
}

fn send(pair: &mut Pair, side: usize) {
    let id = [pair.client, pair.server][side].expect("open");
    let sent = pair.ends[side].send(pair.now, id, data(100));
    sent.expect("there is room");
}

/// Returns the next sequence number of `side`, and the newest of the other side.
fn next_numbers(pair: &Pair, side: usize) -> (Seq, Seq) {
    (pair.last_of(side).0.next(), pair.last_of(1 - side).0)
}

/// Delivers a packet that `from` could have sent, and returns the immediate answers.
fn inject(
    pair: &mut Pair,
    from: usize,
    seq: Seq,
    kind: &Kind,
    options: impl FnOnce(&mut Encoder<'_>),
) -> Vec<Kind> {
    let draft = Draft::new(pair.last_of(from).1, seq, *kind);
    let answers = pair.answers_to(&pair.make(from, draft, options));
    answers.iter().map(|sent| sent.packet().kind).collect()
}

/// Returns a configuration with one CCID in both directions and long timeouts.
fn config(ccid: u8) -> Config {
    let mut config = config_of(ccid);
    config.connect_timeout = Duration::from_secs(600).into();
    config.idle_timeout = Duration::from_secs(3_600).into();
    config
}
