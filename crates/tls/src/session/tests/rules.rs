//! Rules of RFC 9147 for connected sessions, with records that no honest end would make at that moment.

use bytes::Bytes;
use fairwire_proto::Rest;
use fairwire_units::{Duration, Instant};

use super::super::{MAX_ANSWERS, MAX_FORGED, Output, Session};
use super::{connected, exchange};
use crate::SessionError;
use crate::acknowledgement;
use crate::channel::Sending;
use crate::head::{ACK, ALERT, DATA, HANDSHAKE, Part};

const KEY_UPDATE: u8 = 24;
const NOW: Instant = Instant::START;

fn sending(end: &mut Session) -> &mut Sending {
    &mut end.channel.as_mut().expect("it is connected").sending
}

/// Returns what an end sends.
fn sent(end: &mut Session) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        match end.poll() {
            Output::Send(datagram) => all.extend_from_slice(&datagram),
            Output::Idle => return all,
            _ => {}
        }
    }
}

/// RFC 9147, 7: an acknowledgement names records in the order of their numbers, also if they arrive in another one.
#[test]
fn acknowledgements_name_records_in_order() {
    let [mut client, mut server] = connected(None);
    let mut records = vec![sending(&mut client).announce(false).expect("a key")];
    for _ in 0..3 {
        records.push(sending(&mut client).repeat().expect("a key"));
    }
    records.reverse();
    server
        .handle_datagram(NOW, &records.concat())
        .expect("genuine");
    let record = sent(&mut server);
    let receiving = &mut client.channel.as_mut().expect("it is connected").receiving;
    let (opened, content) = receiving.read(NOW, &record).expect("genuine");
    assert_eq!(opened.kind, ACK);
    let names: Vec<_> = acknowledgement::read(&content).collect();
    assert_eq!(names.len(), 4);
    assert!(names.is_sorted(), "{names:?}");
}

/// RFC 8446, 4.6.3: a new key asks for one or does not; anything else ends the session.
#[test]
fn a_new_key_asks_or_does_not() {
    let [mut client, mut server] = connected(None);
    let part = Part {
        kind: KEY_UPDATE,
        length: 1,
        number: server
            .channel
            .as_ref()
            .expect("it is connected")
            .receiving
            .next(),
        offset: 0,
    };
    let record = sending(&mut client)
        .seal(HANDSHAKE, &part.write(&[2]))
        .expect("a key");
    let result = server.handle_datagram(NOW, &record);
    assert!(
        matches!(result, Err(SessionError::Protocol { .. })),
        "{result:?}"
    );
}

/// A session of years replaces its keys again and again, and ends only if its peer asks for more than its data explain.
#[test]
fn honest_renewals_end_no_session() {
    let mut ends = connected(Some(4));
    let mut sealed = 0;
    while ends[1].answers <= MAX_ANSWERS + 10 {
        ends[0].seal(b"data").expect("connected");
        sealed += 1;
        // What a key of usual length protects.
        ends[1].stats.opened += 1 << 20;
        exchange(&mut ends, NOW);
        assert!(sealed < 20 * MAX_ANSWERS);
    }
    assert!(ends.iter().all(Session::is_connected));
}

/// RFC 9147, 4.2.1: the keys of an old epoch are kept for two minutes after the next one came into use, and no longer,
/// however long nothing arrives.
#[test]
fn old_keys_are_forgotten_in_silence() {
    let mut ends = connected(None);
    let [late, later] = [(); 2].map(|()| ends[0].seal(b"late").expect("connected"));
    let update = sending(&mut ends[0]).announce(false).expect("a key");
    ends[1].handle_datagram(NOW, &update).expect("genuine");
    exchange(&mut ends, NOW);
    let data = ends[0].seal(b"data").expect("connected");
    ends[1].handle_datagram(NOW, &data).expect("genuine");
    for (seconds, record, data) in [(120, late, 2), (121, later, 0)] {
        let now = NOW + Duration::from_secs(seconds);
        ends[1]
            .handle_datagram(now, &record)
            .expect("it is dropped");
        assert_eq!(exchange(&mut ends, now).len(), data, "{seconds}");
    }
}

/// RFC 9147, 4.5.3: forgeries are counted with each key. An end asks for another key long before they are too many, and
/// begins to count again with it.
#[test]
fn forgeries_ask_for_another_key() {
    let mut ends = connected(None);
    let mut forged = ends[0].seal(b"genuine").expect("connected").to_vec();
    forged[10] ^= 1;
    let receiving = |end: &mut Session, forged| {
        let channel = end.channel.as_mut().expect("it is connected");
        channel.receiving.set_forged(forged);
    };
    receiving(&mut ends[1], MAX_FORGED / 2 - 1);
    ends[1].handle_datagram(NOW, &forged).expect("one of many");
    assert!(ends[1].next_timeout().is_some(), "it has announced a key");
    exchange(&mut ends, NOW);
    let data = ends[0].seal(b"data").expect("connected");
    assert_eq!(data[0] & 3, 0, "the peer has replaced its key");
    receiving(&mut ends[1], MAX_FORGED - 1);
    ends[1].handle_datagram(NOW, &data).expect("genuine");
    ends[1].handle_datagram(NOW, &forged).expect("the last one");
    let error = SessionError::TooManyForgeries { limit: MAX_FORGED };
    let result = ends[1].handle_datagram(NOW, &forged);
    assert_eq!(result, Err(error));
}

/// Makes two ends with all keys, and returns them with the end of the client's handshake, which its server lacks.
fn before_the_end(records_per_key: Option<u64>) -> ([Session; 2], Bytes) {
    let mut ends = super::begun(records_per_key);
    let mut flight = None;
    while flight.is_none() {
        for from in [0, 1] {
            loop {
                let output = ends[from].poll();
                match output {
                    Output::Idle => break,
                    Output::Send(datagram) if from == 0 && ends[0].is_connected() => {
                        flight = Some(datagram);
                    }
                    Output::Send(datagram) => {
                        ends[1 - from]
                            .handle_datagram(NOW, &datagram)
                            .expect("good");
                    }
                    _ => {}
                }
            }
        }
    }
    (ends, flight.expect("the end of the handshake"))
}

/// Copies of a record that overtook the end of the handshake take no place from others.
#[test]
fn copies_do_not_wait() {
    let (mut ends, flight) = before_the_end(None);
    let [first, second] = [b"1", b"2"].map(|data| {
        let record = sending(&mut ends[0]).seal(DATA, data);
        record.expect("a key")
    });
    let mut early = Vec::new();
    for record in std::iter::repeat_n(&first, 20).chain([&second]) {
        let opened = ends[1].open(NOW, &mut record.to_vec()).expect("good");
        if let Rest::Early { place, .. } = opened.rest {
            early.push(record.slice(place));
        }
    }
    assert_eq!(early, [first, second]);
    for record in [&flight].into_iter().chain(&early) {
        ends[1].handle_datagram(NOW, record).expect("good");
    }
    assert_eq!(exchange(&mut ends, NOW), [b"1", b"2"]);
}

/// A record that overtook the end of the handshake and was not kept is no copy when it comes again.
#[test]
fn what_is_not_kept_may_come_again() {
    let (mut ends, flight) = before_the_end(None);
    let [first, second] = [b"1", b"2"].map(|data| {
        let record = sending(&mut ends[0]).seal(DATA, data);
        record.expect("a key")
    });
    let open = |end: &mut Session, datagram: &[u8]| {
        let opened = end.open(NOW, &mut datagram.to_vec());
        opened.expect("good").rest
    };
    let early = |place| Rest::Early {
        place,
        missed: false,
    };
    let both = [&first[..], &second].concat();
    assert_eq!(open(&mut ends[1], &first), early(0..first.len()));
    assert_eq!(open(&mut ends[1], &both), early(first.len()..both.len()));
    ends[1].forget_early();
    assert_eq!(open(&mut ends[1], &first), Rest::Nothing, "a copy");
    assert_eq!(open(&mut ends[1], &second), early(0..second.len()));
    assert_eq!(open(&mut ends[1], &second), Rest::Nothing, "a copy");
    for record in [&flight, &first, &second] {
        ends[1].handle_datagram(NOW, record).expect("good");
    }
    assert_eq!(exchange(&mut ends, NOW), [b"1", b"2"]);
}

/// What follows an authentic record that overtook the end of the handshake is not left to the caller, which would keep it,
/// unless it is authentic, too.
#[test]
fn only_authentic_records_are_left_to_be_kept() {
    let (mut ends, _) = before_the_end(None);
    let mut seal = || sending(&mut ends[0]).seal(DATA, b"data").expect("a key");
    let (first, second) = (seal(), seal());
    let mut forged = seal().to_vec();
    *forged.last_mut().expect("a tag") ^= 1;
    let mut datagram = [&first[..], &second, &forged, &forged].concat();
    let unread = ends[1].stats().unread;
    let opened = ends[1].open(NOW, &mut datagram).expect("it is dropped");
    let rest = Rest::Early {
        place: 0..first.len() + second.len(),
        missed: true,
    };
    assert_eq!(opened.rest, rest);
    assert_eq!(ends[1].stats().unread, unread + 1);
}

/// What lies between two such records is not kept, either: the second one counts as unread, and is no copy later.
#[test]
fn nothing_is_kept_between_records() {
    let (mut ends, _) = before_the_end(None);
    let [first, copied, last] =
        [(); 3].map(|()| sending(&mut ends[0]).seal(DATA, b"data").expect("a key"));
    let mut open = |datagram: &[u8]| {
        let opened = ends[1].open(NOW, &mut datagram.to_vec());
        opened.expect("good").rest
    };
    let early = |missed| Rest::Early {
        place: 0..first.len(),
        missed,
    };
    assert_eq!(open(&copied), early(false));
    assert_eq!(open(&[&first[..], &copied, &last].concat()), early(true));
    assert_eq!(open(&last), early(false));
}

/// A peer that may lack the end of the handshake keeps few records, which are for data: a client announces no new key
/// before it knows that its server has all keys.
#[test]
fn no_key_before_the_end_of_the_handshake() {
    let (mut ends, flight) = before_the_end(Some(4));
    for _ in 0..10 {
        ends[0].seal(b"data").expect("connected");
        assert_eq!(sent(&mut ends[0]), b"");
    }
    ends[1].handle_datagram(NOW, &flight).expect("good");
    exchange(&mut ends, NOW);
    assert!(ends[0].is_confirmed());
    ends[0].seal(b"data").expect("connected");
    assert_ne!(sent(&mut ends[0]), b"", "a new key");
}

/// RFC 9147, 5.10: what has a number after that of `close_notify` is ignored, whatever it is; data before it are read,
/// and a second end is none.
#[test]
fn nothing_follows_the_end() {
    let [mut client, mut server] = connected(None);
    let late = client.seal(b"late").expect("connected");
    let sending = sending(&mut client);
    let end = sending.seal(ALERT, &[1, 0]).expect("a key");
    let after = [
        sending.seal(DATA, b"after").expect("a key"),
        sending.seal(ALERT, &[2, 40]).expect("a key"),
        sending.seal(ALERT, &[1, 0]).expect("a key"),
        sending.announce(true).expect("a key"),
    ];
    for record in [&end].into_iter().chain(&after).chain([&late]) {
        server.handle_datagram(NOW, record).expect("genuine");
    }
    assert_eq!(server.poll(), Output::Closed);
    assert_eq!(server.poll(), Output::Data(b"late"[..].into()));
    assert_eq!(server.poll(), Output::Idle);
}

/// RFC 9147, 7: after a handshake, an acknowledgement has the newest key of its sender.
#[test]
fn acknowledgements_have_the_newest_key() {
    let mut ends = connected(None);
    for epoch_bits in [3, 0, 1, 2, 3] {
        let update = sending(&mut ends[0]).announce(false).expect("a key");
        ends[1].handle_datagram(NOW, &update).expect("genuine");
        let record = sent(&mut ends[1]);
        assert_eq!(record[0] & 3, epoch_bits);
        ends[0].handle_datagram(NOW, &record).expect("genuine");
        ends[1].announce(false);
        exchange(&mut ends, NOW);
    }
}

/// RFC 9147, 7.1: only records with messages are acknowledged, and none that is not authentic.
#[test]
fn only_messages_are_acknowledged() {
    let [mut client, mut server] = connected(None);
    let mut forged = sending(&mut client).announce(true).expect("a key").to_vec();
    forged[9] ^= 1;
    let sending = sending(&mut client);
    let mut records = vec![forged.into()];
    for (kind, content) in [
        (DATA, &b"data"[..]),
        (ACK, &[0, 0]),
        (ALERT, &[1, 90]),
        (99, &[1]),
    ] {
        records.push(sending.seal(kind, content).expect("a key"));
    }
    for record in records {
        server.handle_datagram(NOW, &record).expect("it is dropped");
    }
    assert!(sent(&mut server).is_empty());
}

/// RFC 9147, 8: an end whose numbers of messages are used up announces no other key, also if it is asked for one.
#[test]
fn no_key_beyond_the_last() {
    let [mut client, mut server] = connected(None);
    sending(&mut server).begin(u16::MAX);
    let update = sending(&mut client).announce(true).expect("a key");
    server.handle_datagram(NOW, &update).expect("genuine");
    let acknowledgement = acknowledgement::write(&[(3, 0)]).len() + crate::OVERHEAD;
    assert_eq!(sent(&mut server).len(), acknowledgement);
    assert_eq!(server.next_timeout(), None);
}

/// RFC 9147, 9: a message about connection identifiers ends the session.
#[test]
fn connection_identifiers_end_a_session() {
    for (kind, body) in [(9, &[1][..]), (10, &[0, 0, 1])] {
        let [mut client, mut server] = connected(None);
        let receiving = &client.channel.as_ref().expect("it is connected").receiving;
        let part = Part {
            kind,
            length: body.len(),
            number: receiving.next(),
            offset: 0,
        };
        let record = sending(&mut server).seal(HANDSHAKE, &part.write(body));
        let result = client.handle_datagram(NOW, &record.expect("a key"));
        let is_refused = matches!(result, Err(SessionError::Protocol { .. }));
        assert!(is_refused, "{kind}: {result:?}");
    }
}

/// RFC 9147, 8: no end uses a new key before it was acknowledged, so a datagram has one at most. More of them would cost
/// the derivation of as many keys.
#[test]
fn a_datagram_has_one_new_key() {
    let [mut client, mut server] = connected(None);
    let mut updates = Vec::new();
    for epoch in 3..20 {
        updates.push(sending(&mut client).announce(true).expect("a key"));
        assert!(sending(&mut client).acknowledge(epoch, 0));
    }
    server
        .handle_datagram(NOW, &updates.concat())
        .expect("genuine");
    let one = acknowledgement::write(&[(3, 0)]).len() + crate::OVERHEAD;
    let key = Part::HEADER + 1 + crate::OVERHEAD;
    assert_eq!(sent(&mut server).len(), one + key);
    // Its sender repeats the next one.
    for update in &updates[1..] {
        server.handle_datagram(NOW, update).expect("genuine");
        assert_eq!(sent(&mut server).len(), 0, "its copy");
    }
}
