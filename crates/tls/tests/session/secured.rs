//! Encrypted DCCP connections.

use bytes::Bytes;
use fairwire_proto::{
    CloseReason, EndpointConfig, Event, Fate, Payload, Resend, Security, SendError, SendOptions,
};
use fairwire_tls::{
    ClientConfig, Dtls, DtlsRefusal, Fingerprint, ServerConfig, Session, SessionError, Trust,
};
use fairwire_units::Duration;
use fairwire_wire::{DropCode, Packet};

use crate::ends::{Bare, Both, config, dtls};
use crate::net::{CLIENT, SERVER, TODAY, identity};

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
        assert!(read >= 19, "{end} {lost}: {read}");
        // What the server loses may be the acknowledgement of some.
        let least = if end == CLIENT { 19 } else { 16 };
        assert!(acknowledged >= least, "{end} {lost}: {acknowledged}");
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

/// A client that the server does not accept never learns anything else, whether it has a certificate or none.
#[test]
fn a_refused_client_is_never_secured() {
    for shown in [Some(identity()), None] {
        let theirs = identity();
        let client = ClientConfig::pinned([theirs.fingerprint()]);
        let client = match shown {
            Some(stranger) => client.identity(stranger),
            None => client,
        };
        let nobody = Fingerprint::from_bytes([7; 32]);
        let server = ServerConfig::new(theirs).clients(Trust::Fingerprints([nobody].into()));
        let dtls = [
            Dtls::client(client, || TODAY),
            Dtls::server(server, || TODAY),
        ];
        let mut ends = Both::new(dtls, config());
        ends.run_for(Duration::from_secs(5));
        for end in [CLIENT, SERVER] {
            let is_secured = ends.has(end, |event| matches!(event, Event::Secured));
            assert!(!is_secured, "{end} {:?}", ends.events);
            assert!(ends.closed(end).is_some());
        }
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
    let dropped = Fate::Dropped {
        code: DropCode::Corrupt,
    };
    let fates = ends.events[CLIENT].iter();
    let told = fates.filter(|event| matches!(event, Event::Fate { fate, .. } if *fate == dropped));
    assert_eq!(told.count() as u64, lost, "the sender is told");
}

/// RFC 4340, 11.7.2: once an application has stopped reading, the peer hears that of all data, also of what cannot be
/// read.
#[test]
fn nobody_listens_to_what_cannot_be_read() {
    let mut ends = Both::secured(config());
    let server = ends.id(SERVER);
    let now = ends.now;
    ends.ends[SERVER].stop_reading(now, server);
    ends.send(CLIENT, &[1; 100], SendOptions::default());
    ends.serve(CLIENT);
    let (_, _, bytes) = ends.on_the_way.back_mut().expect("its packet");
    *bytes.last_mut().expect("data") ^= 1;
    ends.run_for(Duration::from_secs(1));
    let stats = ends.ends[SERVER].stats(server).expect("a connection");
    assert_eq!(stats.dropped_locally[1], 1, "{stats:?}");
    assert_eq!(stats.dropped_locally[3], 0, "{stats:?}");
}

/// RFC 8446, 6.1: an end says that it sends nothing more before it closes, also one that the peer asks to close. So a
/// server that closes first knows that it got all there was.
#[test]
fn an_asked_client_announces_its_end() {
    let mut ends = Both::secured(config());
    ends.send(CLIENT, b"all of it", SendOptions::default());
    ends.run_for(Duration::from_secs(1));
    let (now, server) = (ends.now, ends.id(SERVER));
    ends.ends[SERVER].close(now, server);
    ends.run_for(Duration::from_secs(1));
    assert!(ends.closed(SERVER).is_some());
    assert!(ends.ends[SERVER].is_end_announced(server));
}

/// Somebody on the path can ask a client to close. The client's end is not announced then: the server would take the
/// data that came for all there was.
#[test]
fn a_client_that_is_only_asked_announces_nothing() {
    let mut ends = Both::secured(config());
    let (now, server) = (ends.now, ends.id(SERVER));
    // The server's announcement is lost, so that the client gets its CloseReq alone.
    ends.loses = Box::new(|from, _, bytes| {
        let packet = Packet::decode(bytes).expect("a packet");
        from == SERVER && packet.packet_type().carries_data()
    });
    ends.ends[SERVER].close(now, server);
    ends.run_for(Duration::from_secs(1));
    assert!(ends.closed(SERVER).is_some() && ends.closed(CLIENT).is_some());
    assert!(!ends.ends[SERVER].is_end_announced(server));
}

/// A datagram that only repeats messages of the handshake is no data that the application misses.
#[test]
fn a_repeated_handshake_misses_no_data() {
    let mut bare = Bare::connected(config());
    for datagram in bare.said.clone() {
        bare.ends.send(CLIENT, &datagram, SendOptions::default());
    }
    bare.turn();
    let data = bare.session.seal(b"data").expect("connected");
    bare.ends.send(CLIENT, &data, SendOptions::default());
    bare.turn();
    let read = bare.ends.read[SERVER].last().expect("data");
    assert_eq!(read.payload.as_slice(), b"data");
    assert_eq!(read.lost_before, 0);
}

/// An application that waits for room in its send queue is called when the peer announces its end, not only when the
/// connection is over.
#[test]
fn who_waits_for_room_learns_of_the_end() {
    let mut ends = Both::secured(config());
    ends.loses = Box::new(|from, _, _| from == CLIENT);
    let (now, id) = (ends.now, ends.id(CLIENT));
    let offer = |ends: &mut Both| {
        let payload = Payload::Bytes(Bytes::from_static(&[1; 1_000]));
        ends.ends[CLIENT].send_with(now, id, payload, SendOptions::default())
    };
    while offer(&mut ends).is_ok() {}
    ends.run_for(Duration::from_secs(1));
    while offer(&mut ends).is_ok() {}
    ends.events[CLIENT].clear();
    let server = ends.id(SERVER);
    let mut sent = 0;
    ends.loses = Box::new(move |from, _, _| {
        sent += usize::from(from == SERVER);
        from == CLIENT || sent > 1
    });
    let now = ends.now;
    ends.ends[SERVER].close(now, server);
    ends.run_for(Duration::from_millis(200));
    assert!(ends.closed(CLIENT).is_none(), "its Close is lost");
    assert!(ends.has(CLIENT, |event| matches!(event, Event::Writable)));
    assert_eq!(offer(&mut ends), Err(SendError::Closed));
}
