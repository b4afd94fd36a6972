//! Encrypted DCCP connections: two endpoints on a virtual clock, whose packets a test sees and may lose.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use fairwire_proto::{
    CloseReason, Config, ConnectionId, Encapsulation, Endpoint, EndpointConfig, Event, Fate, Meta,
    Path, Payload, Received, Resend, Security, SendOptions,
};
use fairwire_tls::{
    ClientConfig, Dtls, DtlsRefusal, Fingerprint, Output, ServerConfig, Session, SessionError,
    Trust,
};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{HeadBuf, Packet, ServiceCode};

use crate::net::{CLIENT, DELAY, SERVER, TODAY, identity};

const PORT: u16 = 5_001;
const SERVICE: ServiceCode = ServiceCode::from_bytes(*b"test");

/// Returns whether a packet is lost. It gets the sender, the packet's number among those of its sender, and the packet.
type Loses = Box<dyn FnMut(usize, usize, &[u8]) -> bool>;

struct Both {
    ends: [Endpoint; 2],
    ids: [Option<ConnectionId>; 2],
    security: [Arc<Dtls>; 2],
    now: Instant,
    loses: Loses,
    sent: [Vec<Vec<u8>>; 2],
    events: [Vec<Event>; 2],
    read: [Vec<Received>; 2],
    /// Whether this end's application reads.
    reads: [bool; 2],
    on_the_way: VecDeque<(Instant, usize, Vec<u8>)>,
}

fn path(of: usize) -> Path {
    let address = |end: usize| {
        let port = 4_000 + u16::try_from(end).expect("two ends");
        ([127, 0, 0, 1], port).into()
    };
    Path {
        encapsulation: Encapsulation::Udp,
        local: address(of),
        remote: address(1 - of),
    }
}

fn config() -> Config {
    let mut config = Config::default();
    config.report_fates = true;
    config.resend = true;
    config
}

fn dtls() -> [Dtls; 2] {
    let identity = identity();
    let client = ClientConfig::pinned([identity.fingerprint()]);
    [
        Dtls::client(client, || TODAY),
        Dtls::server(ServerConfig::new(identity), || TODAY),
    ]
}

impl Both {
    fn new([client, server]: [Dtls; 2], config: Config) -> Self {
        Self::with_memory([client, server], config, EndpointConfig::default())
    }

    fn with_memory(dtls: [Dtls; 2], config: Config, endpoint: EndpointConfig) -> Self {
        let mut ends = Self::begin(dtls, config, endpoint);
        let (now, id) = (ends.now, ends.id(CLIENT));
        let security = Arc::clone(&ends.security[CLIENT]);
        ends.ends[CLIENT].secure(now, id, security);
        ends
    }

    /// The client's end does not encrypt.
    fn clear(dtls: [Dtls; 2], config: Config) -> Self {
        Self::begin(dtls, config, EndpointConfig::default())
    }

    fn begin([client, server]: [Dtls; 2], config: Config, endpoint: EndpointConfig) -> Self {
        let mut ends = [
            Endpoint::new(EndpointConfig::default(), [1; 32]),
            Endpoint::new(endpoint, [2; 32]),
        ];
        let now = Instant::START + Duration::from_secs(5);
        ends[SERVER]
            .listen(PORT, &[SERVICE], config.clone())
            .expect("a listener");
        let connected = ends[CLIENT].connect(now, path(CLIENT), None, PORT, SERVICE, config);
        let id = connected.expect("a connection");
        let security = [Arc::new(client), Arc::new(server)];
        Self {
            ends,
            ids: [Some(id), None],
            security,
            now,
            loses: Box::new(|_, _, _| false),
            sent: [Vec::new(), Vec::new()],
            events: [Vec::new(), Vec::new()],
            read: [Vec::new(), Vec::new()],
            reads: [true; 2],
            on_the_way: VecDeque::new(),
        }
    }

    /// Both ends, with an encrypted connection.
    fn secured(config: Config) -> Self {
        let mut ends = Self::new(dtls(), config);
        ends.run_for(Duration::from_secs(3));
        for end in [CLIENT, SERVER] {
            assert!(
                ends.has(end, |event| matches!(event, Event::Secured)),
                "{end}"
            );
        }
        ends
    }

    fn has(&self, end: usize, is: impl Fn(&Event) -> bool) -> bool {
        self.events[end].iter().any(is)
    }

    fn closed(&self, end: usize) -> Option<&CloseReason> {
        self.events[end].iter().find_map(|event| match event {
            Event::Closed { reason } => Some(reason),
            _ => None,
        })
    }

    fn id(&self, end: usize) -> ConnectionId {
        self.ids[end].expect("a connection")
    }

    fn send(&mut self, end: usize, data: &[u8], options: SendOptions) {
        let (now, id) = (self.now, self.id(end));
        let payload = Payload::Bytes(Bytes::copy_from_slice(data));
        let queued = self.ends[end].send_with(now, id, payload, options);
        queued.expect("there is room");
    }

    fn data(&self, end: usize) -> Vec<Vec<u8>> {
        let read = self.read[end].iter();
        read.map(|read| read.payload.as_slice().to_vec()).collect()
    }

    fn serve(&mut self, end: usize) {
        let mut head = HeadBuf::new();
        loop {
            while let Some(packet) = self.ends[end].poll_transmit(self.now, &mut head) {
                let mut bytes = head.as_slice().to_vec();
                bytes.extend_from_slice(packet.payload.as_slice());
                let number = self.sent[end].len();
                let is_lost = (self.loses)(end, number, &bytes);
                self.sent[end].push(bytes.clone());
                if !is_lost {
                    self.on_the_way
                        .push_back((self.now + DELAY, 1 - end, bytes));
                }
            }
            let Some((id, event)) = self.ends[end].poll_event() else {
                break;
            };
            if matches!(event, Event::Accepted { .. }) {
                self.ids[end] = Some(id);
                let security = Arc::clone(&self.security[end]);
                self.ends[end].secure(self.now, id, security as _);
            }
            self.events[end].push(event);
        }
        if let Some(id) = self.ids[end].filter(|_| self.reads[end]) {
            while let Some(read) = self.ends[end].recv(id) {
                self.read[end].push(read);
            }
        }
    }

    fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            for end in [CLIENT, SERVER] {
                self.serve(end);
            }
            let arrival = self.on_the_way.front().map(|(at, ..)| *at);
            let timers = [CLIENT, SERVER].map(|end| self.ends[end].next_timeout());
            let next = timers.into_iter().chain([arrival]).flatten().min();
            let Some(at) = next.filter(|&at| at <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(at);
            for end in [CLIENT, SERVER] {
                self.ends[end].handle_timeout(self.now);
            }
            while self
                .on_the_way
                .front()
                .is_some_and(|(at, ..)| *at <= self.now)
                && let Some((_, end, bytes)) = self.on_the_way.pop_front()
            {
                let meta = Meta {
                    path: path(end),
                    ecn: fairwire_units::Ecn::NotEct,
                };
                let none: &[u8] = &[];
                self.ends[end].handle_datagram(self.now, meta, &bytes, none);
            }
        }
    }
}

/// A client whose datagrams a test makes itself: the session, and its clear text connection.
struct Bare {
    ends: Both,
    session: Session,
}

impl Bare {
    fn connected(config: Config) -> Self {
        let identity = identity();
        let pinned = ClientConfig::pinned([identity.fingerprint()]);
        let server = Dtls::server(ServerConfig::new(identity), || TODAY);
        let mut ends = Both::clear([Dtls::client(pinned.clone(), || TODAY), server], config);
        ends.run_for(Duration::from_secs(1));
        let session = Session::client(&pinned, 1_200, ends.now, TODAY).expect("a client");
        let mut bare = Self { ends, session };
        for _ in 0..50 {
            bare.turn();
        }
        assert!(bare.session.is_confirmed());
        bare
    }

    fn turn(&mut self) {
        for received in std::mem::take(&mut self.ends.read[CLIENT]) {
            let data = received.payload.as_slice();
            let handled = self.session.handle_datagram(self.ends.now, data);
            handled.expect("a good server");
        }
        while let Output::Send(datagram) = self.session.poll() {
            self.ends.send(CLIENT, &datagram, SendOptions::default());
        }
        self.ends.run_for(Duration::from_millis(50));
    }
}

/// However many records a peer puts into a datagram, each takes a place and its memory in the receive queue.
#[test]
fn each_record_is_a_datagram() {
    let mut config = config();
    config.receive_queue_packets = 30;
    let mut bare = Bare::connected(config);
    bare.ends.reads[SERVER] = false;
    for _ in 0..10 {
        let seal = |_| bare.session.seal(b"1").expect("connected");
        let records: Vec<u8> = (0..20).flat_map(seal).collect();
        bare.ends.send(CLIENT, &records, SendOptions::default());
    }
    bare.ends.run_for(Duration::from_secs(5));
    let id = bare.ends.id(SERVER);
    let stats = bare.ends.ends[SERVER].stats(id).expect("a connection");
    assert_eq!(stats.receive_drops, 200 - 30);
    bare.ends.reads[SERVER] = true;
    bare.ends.run_for(Duration::from_secs(1));
    assert_eq!(bare.ends.read[SERVER].len(), 30);
}

/// What a resent datagram is sent with.
fn again(ends: &Both) -> SendOptions {
    let mut options = SendOptions::default();
    options.resend = Resend::Until(ends.now + Duration::from_secs(60));
    options
}

/// Data arrives in both directions, no packet carries it in clear text, and both ends know who the peer is and that it
/// has said all it had to say.
#[test]
fn data_is_encrypted() {
    let mut ends = Both::secured(config());
    for end in [CLIENT, SERVER] {
        for number in 0..50_u8 {
            ends.send(
                end,
                &[b"in the clear, ", &[number; 40][..]].concat(),
                SendOptions::default(),
            );
        }
    }
    ends.run_for(Duration::from_secs(5));
    for end in [CLIENT, SERVER] {
        let expected: Vec<_> = (0..50_u8)
            .map(|number| [b"in the clear, ", &[number; 40][..]].concat())
            .collect();
        assert_eq!(ends.data(end), expected);
        let is_clear = |packet: &Vec<u8>| packet.windows(12).any(|part| part == b"in the clear");
        assert!(!ends.sent[end].iter().any(is_clear));
    }
    let session = ends.ends[CLIENT]
        .session(ends.id(CLIENT))
        .expect("a session");
    let session = session.as_any().downcast_ref::<Session>().expect("of DTLS");
    assert!(session.peer().is_some() && session.is_confirmed());
    let id = ends.id(CLIENT);
    ends.ends[CLIENT].close(ends.now, id);
    ends.run_for(Duration::from_secs(5));
    for end in [CLIENT, SERVER] {
        assert_eq!(ends.closed(end), Some(&CloseReason::Closed), "{end}");
    }
    assert!(ends.ends[SERVER].is_end_announced(ends.id(SERVER)));
}

/// Data that was queued before the handshake leaves after it, encrypted.
#[test]
fn data_waits_for_the_session() {
    let mut ends = Both::new(dtls(), config());
    ends.send(CLIENT, b"early", SendOptions::default());
    ends.run_for(Duration::from_secs(5));
    assert_eq!(ends.data(SERVER), [b"early"]);
    let is_clear = |packet: &Vec<u8>| packet.windows(5).any(|part| part == b"early");
    assert!(!ends.sent[CLIENT].iter().any(is_clear));
}

/// The loss of any one of the first packets of an end delays the session, and loses nothing that was reported as
/// acknowledged.
#[test]
fn any_packet_of_the_handshake_may_be_lost() {
    for (end, lost) in [CLIENT, SERVER]
        .into_iter()
        .flat_map(|end| (0..8).map(move |n| (end, n)))
    {
        let mut ends = Both::new(dtls(), config());
        ends.loses = Box::new(move |from, number, _| from == end && number == lost);
        for number in 0..20_u8 {
            ends.send(CLIENT, &[number; 100], SendOptions::default());
        }
        ends.run_for(Duration::from_secs(30));
        let acknowledged = ends.events[CLIENT].iter().filter(|event| {
            matches!(
                event,
                Event::Fate {
                    fate: Fate::Acknowledged,
                    ..
                }
            )
        });
        let (acknowledged, read) = (acknowledged.count(), ends.read[SERVER].len());
        assert!(acknowledged >= 19, "{end} {lost}: {acknowledged}");
        assert!(
            read >= acknowledged,
            "{end} {lost}: {read} of {acknowledged}"
        );
    }
}

/// A datagram that was lost is sent again and read once; a copy of one that arrived is not read.
#[test]
fn lost_datagrams_are_sent_again() {
    let mut ends = Both::secured(config());
    let begun = ends.sent[CLIENT].len();
    let lost = begun..begun + 100;
    ends.loses = Box::new(move |from, number, _| {
        from == CLIENT && lost.contains(&number) && number % 3 == 0
    });
    for number in 0..200_u8 {
        let options = again(&ends);
        ends.send(CLIENT, &[number; 200], options);
        ends.run_for(Duration::from_millis(30));
    }
    ends.run_for(Duration::from_secs(40));
    let mut read: Vec<u8> = ends.data(SERVER).iter().map(|data| data[0]).collect();
    read.sort_unstable();
    assert_eq!(read, (0..200).collect::<Vec<_>>());
    assert!(ends.read[SERVER].iter().any(|read| read.resent));
    let lost: u64 = ends.read[SERVER].iter().map(|read| read.lost_before).sum();
    assert!(
        lost <= 5,
        "what came as a copy does not count in the end: {lost}"
    );
}

/// Datagrams with a higher priority overtake any number of others, and none is refused as a replay.
#[test]
fn any_number_may_be_overtaken() {
    let mut ends = Both::secured(config());
    for number in 0..100_u8 {
        ends.send(CLIENT, &[number; 1_000], SendOptions::default());
    }
    for number in 100..200_u8 {
        let mut options = SendOptions::default();
        options.priority = 1;
        ends.send(CLIENT, &[number; 1_000], options);
    }
    ends.run_for(Duration::from_secs(30));
    let first: Vec<u8> = ends.data(SERVER).iter().map(|data| data[0]).collect();
    let expected: Vec<u8> = (100..200).chain(0..100).collect();
    assert_eq!(first, expected);
}

/// A full send queue does not keep the session from speaking, and an application that does not read does not keep it
/// from hearing: keys are replaced many times meanwhile.
#[test]
fn keys_change_whatever_the_applications_do() {
    let [client, server] = {
        let identity = identity();
        let client = ClientConfig::pinned([identity.fingerprint()]).records_per_key(100);
        [
            Dtls::client(client, || TODAY),
            Dtls::server(ServerConfig::new(identity).records_per_key(100), || TODAY),
        ]
    };
    let mut config = config();
    config.send_queue.packets = 4;
    config.receive_queue_packets = 4;
    let mut ends = Both::new([client, server], config);
    ends.run_for(Duration::from_secs(3));
    ends.reads[SERVER] = false;
    let mut taken = 0_u32;
    for _ in 0..3_000 {
        let (now, id) = (ends.now, ends.id(CLIENT));
        while ends.ends[CLIENT].can_send(id, 200) {
            ends.ends[CLIENT]
                .send(now, id, Payload::Bytes(vec![7; 200].into()))
                .expect("room");
            taken += 1;
        }
        ends.run_for(Duration::from_millis(20));
    }
    assert!(taken > 1_000, "{taken}");
    assert_eq!((ends.closed(CLIENT), ends.closed(SERVER)), (None, None));
    ends.reads[SERVER] = true;
    ends.run_for(Duration::from_secs(1));
    let before = ends.read[SERVER].len();
    ends.send(CLIENT, b"and still", SendOptions::default());
    ends.run_for(Duration::from_secs(5));
    assert!(ends.read[SERVER].len() > before);
}

/// Data may be queued up to the largest size before there is a session, and when the peer announces its end. Neither
/// ends the connection in an error.
#[test]
fn data_that_waits_does_no_harm() {
    let mut ends = Both::new(dtls(), config());
    let max = ends.ends[CLIENT].max_datagram_size(ends.id(CLIENT));
    ends.send(
        CLIENT,
        &vec![1; max.expect("a connection")],
        SendOptions::default(),
    );
    ends.run_for(Duration::from_secs(3));
    assert_eq!(ends.data(SERVER).len(), 1);
    for number in 0..200_u8 {
        ends.send(CLIENT, &[number; 1_000], SendOptions::default());
    }
    let (now, server) = (ends.now, ends.id(SERVER));
    ends.ends[SERVER].close(now, server);
    ends.run_for(Duration::from_secs(5));
    for end in [CLIENT, SERVER] {
        assert_eq!(ends.closed(end), Some(&CloseReason::Closed), "{end}");
    }
    assert!(ends.ends[CLIENT].is_end_announced(ends.id(CLIENT)));
}

/// A peer that is not accepted is refused in words that it knows, and nothing of the application leaves.
#[test]
fn a_wrong_peer_is_refused() {
    let [_, server] = dtls();
    let stranger = ClientConfig::pinned([identity().fingerprint()]);
    let mut ends = Both::new([Dtls::client(stranger, || TODAY), server], config());
    ends.send(CLIENT, b"secret", SendOptions::default());
    ends.run_for(Duration::from_secs(5));
    let Some(CloseReason::Security { error }) = ends.closed(CLIENT) else {
        panic!("{:?}", ends.closed(CLIENT));
    };
    let error = error.downcast_ref::<SessionError>();
    assert!(
        matches!(error, Some(SessionError::Certificate(_))),
        "{error:?}"
    );
    let Some(CloseReason::Reset {
        text: Some(text), ..
    }) = ends.closed(SERVER)
    else {
        panic!("{:?}", ends.closed(SERVER));
    };
    assert_eq!(
        DtlsRefusal::told(&text.to_string()),
        Some(DtlsRefusal::Certificate)
    );
    assert!(ends.read[SERVER].is_empty());
}

/// A client that the server does not accept never learns anything else.
#[test]
fn a_refused_client_is_never_secured() {
    let (stranger, theirs) = (identity(), identity());
    let client = ClientConfig::pinned([theirs.fingerprint()]).identity(stranger);
    let nobody = Fingerprint::from_bytes([7; 32]);
    let server = ServerConfig::new(theirs).clients(Trust::Fingerprints([nobody].into()));
    let dtls = [
        Dtls::client(client, || TODAY),
        Dtls::server(server, || TODAY),
    ];
    let mut ends = Both::new(dtls, config());
    ends.run_for(Duration::from_secs(5));
    for end in [CLIENT, SERVER] {
        assert!(
            !ends.has(end, |event| matches!(event, Event::Secured)),
            "{end} {:?}",
            ends.events
        );
        assert!(ends.closed(end).is_some());
    }
}

/// A session waits for memory, and the connection ends if none comes.
#[test]
fn without_memory_there_is_no_session() {
    let dtls = dtls();
    let mut endpoint = EndpointConfig::default();
    endpoint.max_memory = dtls[SERVER].handshake_memory();
    let mut ends = Both::with_memory(dtls, config(), endpoint);
    ends.run_for(Duration::from_secs(5));
    assert!(ends.ids[SERVER].is_some() && ends.closed(SERVER).is_none());
    ends.run_for(Duration::from_secs(10));
    let Some(CloseReason::Security { error }) = ends.closed(SERVER) else {
        panic!("{:?}", ends.closed(SERVER));
    };
    assert!(
        error.downcast_ref::<fairwire_proto::NoMemory>().is_some(),
        "{error}"
    );
}

/// The memory of a session counts towards the endpoint's budget: at its worst while its handshake lasts, less after it,
/// and none once the connection is released.
#[test]
fn the_memory_of_a_session_counts() {
    let dtls = dtls();
    let worst = dtls[SERVER].handshake_memory();
    let mut ends = Both::new(dtls, config());
    let memory = |ends: &Both| ends.ends[SERVER].endpoint_stats().memory;
    while !ends.has(SERVER, |event| matches!(event, Event::Heard)) {
        ends.run_for(Duration::from_millis(5));
    }
    let during = memory(&ends);
    assert!(during >= worst, "{during} {worst}");
    ends.run_for(Duration::from_secs(3));
    let after = memory(&ends);
    assert!(after < during - worst / 2, "{after} {during}");
    let id = ends.id(SERVER);
    ends.ends[SERVER].abort(ends.now, id);
    ends.run_for(Duration::from_secs(1));
    ends.ends[SERVER].release(id);
    assert_eq!(memory(&ends), 0);
}

/// Packets that somebody else has put among those of the peer, or changed, harm nobody.
#[test]
fn forged_data_is_not_read() {
    let mut ends = Both::secured(config());
    for number in 0..20_u8 {
        ends.send(CLIENT, &[number; 100], SendOptions::default());
    }
    let changed = ends.sent[CLIENT].len();
    ends.serve(CLIENT);
    for (_, _, bytes) in &mut ends.on_the_way {
        let packet = Packet::decode(bytes).expect("a packet");
        if packet.packet_type().carries_data() && ends.sent[CLIENT].len() > changed {
            *bytes.last_mut().expect("data") ^= 1;
        }
    }
    ends.run_for(Duration::from_secs(5));
    let (read, lost) = (
        ends.read[SERVER].len() as u64,
        ends.read[SERVER][0].lost_before,
    );
    assert!(read < 20 && lost == 20 - read, "{read} {lost}");
}
