//! Data that leaves with the end of a handshake, before its receiver is known to have that.

use fairwire_proto::{CloseReason, Config, EndpointConfig, Event, Fate, Security, SendOptions};
use fairwire_tls::{ClientConfig, Dtls, ServerConfig, SessionError, Trust};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{Packet, PacketType, ResetCode};

use crate::ends::{Both, config, dtls};
use crate::net::{CLIENT, DELAY, SERVER, TODAY, identity};

/// The most datagrams that leave before the client knows that the server has all keys.
pub(crate) const ALLOWED: usize = 16;

/// Without datagrams that are sent again: those wait for what the server says about them.
pub(crate) fn plain() -> Config {
    let mut config = config();
    config.resend = false;
    config
}

/// Returns the data of a packet.
pub(crate) fn data_of(bytes: &[u8]) -> &[u8] {
    let packet = Packet::decode(bytes).expect("a packet");
    let carries_data = packet.packet_type().carries_data();
    &bytes[if carries_data {
        packet.data_offset
    } else {
        bytes.len()
    }..]
}

/// Returns the epoch of the first record of a packet, if it is a protected one (RFC 9147, section 4).
fn epoch(bytes: &[u8]) -> Option<u8> {
    let flags = data_of(bytes).first()?;
    (flags >> 5 == 1).then_some(flags & 3)
}

/// Returns whether a packet carries the end of the client's handshake: a record of epoch 2.
pub(crate) fn ends_handshake(bytes: &[u8]) -> bool {
    epoch(bytes) == Some(2)
}

/// Returns whether a packet begins with a record of data.
pub(crate) fn carries_record_of_data(bytes: &[u8]) -> bool {
    epoch(bytes) == Some(3)
}

/// A client and a server that does not get the first `times` datagrams with the end of the handshake.
pub(crate) fn without_end(times: usize, config: Config, endpoint: EndpointConfig) -> Both {
    let mut ends = Both::with_memory(dtls(), config, endpoint);
    let mut lost = 0;
    ends.loses = Box::new(move |from, _, bytes| {
        let is_lost = from == CLIENT && ends_handshake(bytes) && lost < times;
        lost += usize::from(is_lost);
        is_lost
    });
    ends
}

/// Sends so many numbered datagrams of the client.
pub(crate) fn send(ends: &mut Both, numbers: std::ops::Range<u8>) {
    for number in numbers {
        ends.send(CLIENT, &[number; 100], SendOptions::default());
    }
}

pub(crate) fn expected(numbers: std::ops::Range<u8>) -> Vec<Vec<u8>> {
    numbers.map(|number| vec![number; 100]).collect()
}

pub(crate) fn is_secured(ends: &Both, end: usize) -> bool {
    ends.has(end, |event| matches!(event, Event::Secured))
}

pub(crate) fn acknowledged(ends: &Both) -> usize {
    let is_acknowledged = |event: &&Event| {
        matches!(
            event,
            Event::Fate {
                fate: Fate::Acknowledged,
                ..
            }
        )
    };
    ends.events[CLIENT].iter().filter(is_acknowledged).count()
}

/// A client is secured after two round trips, one of DCCP and one of DTLS, which has no cookie, and its first datagram
/// leaves at that moment.
#[test]
fn a_handshake_takes_two_round_trips() {
    let mut ends = Both::new(dtls(), plain());
    ends.send(CLIENT, b"first", SendOptions::default());
    let tick = Duration::from_millis(1);
    ends.run_for(DELAY * 4 - tick);
    assert!(!is_secured(&ends, CLIENT));
    ends.run_for(tick);
    assert!(is_secured(&ends, CLIENT));
    ends.run_for(DELAY);
    assert_eq!(ends.data(SERVER), [b"first"]);
    ends.run_for(Duration::from_secs(5));
    let secured = |event: &&Event| matches!(event, Event::Secured);
    assert_eq!(ends.events[CLIENT].iter().filter(secured).count(), 1);
}

/// A client that was asked for its certificate may be refused. It is secured, and its first datagram leaves, when the
/// server has acknowledged the end of the handshake. So does one that sends datagrams again.
#[test]
fn who_may_be_refused_waits_for_a_third_round_trip() {
    let (ours, theirs) = (identity(), identity());
    let server = ServerConfig::new(theirs.clone());
    let server = server.clients(Trust::Fingerprints([ours.fingerprint()].into()));
    let client = ClientConfig::pinned([theirs.fingerprint()]).identity(ours);
    let asked = [
        Dtls::client(client, || TODAY),
        Dtls::server(server, || TODAY),
    ];
    for (dtls, config) in [(asked, plain()), (dtls(), config())] {
        let mut ends = Both::new(dtls, config);
        ends.send(CLIENT, b"first", SendOptions::default());
        ends.run_for(DELAY * 6 - Duration::from_millis(1));
        assert!(!is_secured(&ends, CLIENT));
        assert_eq!(ends.data(SERVER), Vec::<Vec<u8>>::new());
        ends.run_for(DELAY * 2);
        assert!(is_secured(&ends, CLIENT));
        assert_eq!(ends.data(SERVER), [b"first"]);
    }
}

/// A server whose client's end of the handshake is lost keeps what follows it. So much leaves once, and no more until the
/// server has that end. All is read, in order and as it came: with its own time and sequence number, and with what was
/// missing before it.
#[test]
fn the_seventeenth_datagram_waits() {
    let mut ends = without_end(2, plain(), EndpointConfig::default());
    send(&mut ends, 0..40);
    while !is_secured(&ends, SERVER) {
        let records = ends.sent[CLIENT].iter();
        let early = records
            .filter(|bytes| carries_record_of_data(bytes))
            .count();
        assert!(early <= ALLOWED, "{early}");
        assert!(ends.data(SERVER).is_empty());
        ends.run_for(Duration::from_millis(1));
    }
    let secured_at = ends.now;
    let kept: Vec<_> = ends.read[SERVER].iter().take(ALLOWED).collect();
    assert_eq!(kept.len(), ALLOWED);
    let ends_sent = ends.sent[CLIENT].iter();
    assert_eq!(ends_sent.filter(|bytes| ends_handshake(bytes)).count(), 3);
    assert!(kept.is_sorted_by(|one, next| next.seq.is_after(one.seq) && one.at <= next.at));
    let first = Instant::START + Duration::from_secs(5) + DELAY * 5;
    assert!(kept[0].at < first + DELAY, "{:?}", kept[0].at);
    assert!(kept[ALLOWED - 1].at + DELAY < secured_at, "they waited");
    ends.run_for(Duration::from_secs(10));
    assert_eq!(ends.data(SERVER), expected(0..40));
    // The second end may have left after all that was kept.
    let all = ends.read[SERVER].iter();
    let lost: Vec<_> = all.map(|read| read.lost_before).collect();
    assert_eq!((lost[0], lost.iter().sum()), (1, 2), "{lost:?}");
}

/// Whichever packets of a handshake are lost, one or two of them, all that was acknowledged is read, in order, however
/// late the application reads.
#[test]
fn what_is_acknowledged_is_read() {
    for (end, first, gap, reads) in losses() {
        let mut ends = Both::new(dtls(), plain());
        ends.loses = Box::new(move |from, number, _| {
            from == end && (number == first || gap > 0 && number == first + gap)
        });
        ends.reads[SERVER] = reads;
        send(&mut ends, 0..40);
        ends.run_for(Duration::from_secs(30));
        ends.reads[SERVER] = true;
        ends.run_for(Duration::from_secs(1));
        let case = format!("{end}: {first}, {gap}, {reads}");
        let read = ends.data(SERVER);
        assert!(read.is_sorted(), "{case}: {read:?}");
        assert!(read.len() >= 38, "{case}: {}", read.len());
        assert!(read.len() >= acknowledged(&ends), "{case}: {}", read.len());
    }
}

/// All cases: which end loses its packet of which number, and another so far behind, and whether the server reads.
fn losses() -> Vec<(usize, usize, usize, bool)> {
    let mut all = Vec::new();
    for end in [CLIENT, SERVER] {
        for first in 0..8 {
            for gap in 0..3 {
                for reads in [false, true] {
                    all.push((end, first, gap, reads));
                }
            }
        }
    }
    all
}

/// What the server keeps counts in its memory. Where there is none, the client hears that the data was dropped.
#[test]
fn what_is_kept_counts() {
    let worst = dtls()[SERVER].handshake_memory();
    let mut dropped = 0;
    for max_memory in (1..40).map(|step| worst + step * (16 << 10)) {
        let mut endpoint = EndpointConfig::default();
        endpoint.max_memory = max_memory;
        let mut ends = without_end(1, plain(), endpoint);
        send(&mut ends, 0..16);
        let mut most = 0;
        while !is_secured(&ends, SERVER) && ends.closed(CLIENT).is_none() {
            ends.run_for(Duration::from_millis(5));
            let memory = ends.ends[SERVER].endpoint_stats().memory;
            assert!(memory <= max_memory, "{memory} of {max_memory}");
            most = most.max(memory);
        }
        ends.run_for(Duration::from_secs(10));
        let (read, acknowledged) = (ends.read[SERVER].len(), acknowledged(&ends));
        assert!(read >= acknowledged, "{max_memory}: {read}, {acknowledged}");
        if ends.closed(CLIENT).is_none() {
            assert!(most >= worst + read * 100, "{max_memory}: {most}, {read}");
            dropped += 16 - read;
        }
    }
    assert!(dropped > 0, "some have to be dropped");
}

/// A client that closes at once does so in the end: its data is read, and the server knows that it was all.
#[test]
fn a_close_waits_for_the_server() {
    for lost in 0..3 {
        let mut ends = without_end(lost, plain(), EndpointConfig::default());
        send(&mut ends, 0..10);
        while !is_secured(&ends, CLIENT) {
            ends.run_for(Duration::from_millis(1));
        }
        let (now, id) = (ends.now, ends.id(CLIENT));
        ends.ends[CLIENT].close(now, id);
        ends.run_for(Duration::from_secs(10));
        assert_eq!(ends.data(SERVER), expected(0..10), "{lost}");
        for end in [CLIENT, SERVER] {
            assert_eq!(ends.closed(end), Some(&CloseReason::Closed), "{end} {lost}");
        }
        assert!(ends.ends[SERVER].is_end_announced(ends.id(SERVER)));
    }
}

/// A client that closes while the server never gets the end of the handshake does not wait for ever. The server has not
/// read what it has acknowledged, so neither end takes that for a success.
#[test]
fn a_close_does_not_wait_for_ever() {
    let mut config = plain();
    config.drain_timeout = Duration::from_secs(2).into();
    let mut ends = without_end(usize::MAX, config, EndpointConfig::default());
    send(&mut ends, 0..30);
    while !is_secured(&ends, CLIENT) {
        ends.run_for(Duration::from_millis(1));
    }
    let (now, id) = (ends.now, ends.id(CLIENT));
    ends.ends[CLIENT].close(now, id);
    ends.run_for(Duration::from_millis(1_900));
    assert!(ends.closed(CLIENT).is_none());
    ends.run_for(Duration::from_secs(2));
    assert_eq!(ends.closed(CLIENT), Some(&CloseReason::CloseTimeout));
    assert_eq!(ends.closed(SERVER), Some(&aborted()));
    let stats = ends.ends[CLIENT].stats(id).expect("it is not released");
    assert_eq!(stats.refused, 30 - ALLOWED as u64, "those that never left");
}

fn aborted() -> CloseReason {
    CloseReason::Reset {
        code: ResetCode::Aborted,
        data: [0; 3],
        text: None,
    }
}

/// A client that closes without waiting is told whether the server may lack what has left. If nothing has left, it lacks
/// nothing.
#[test]
fn a_close_at_once_is_no_success() {
    for (sent, reasons) in [
        (10, [CloseReason::CloseTimeout, aborted()]),
        (0, [CloseReason::Closed, CloseReason::Closed]),
    ] {
        let mut ends = without_end(usize::MAX, plain(), EndpointConfig::default());
        send(&mut ends, 0..sent);
        ends.run_for(DELAY * 6);
        assert!(is_secured(&ends, CLIENT));
        let (now, id) = (ends.now, ends.id(CLIENT));
        ends.ends[CLIENT].discard(now, id);
        ends.run_for(DELAY * 6);
        let closed = [CLIENT, SERVER].map(|end| ends.closed(end).cloned());
        assert_eq!(closed, reasons.map(Some), "{sent}");
    }
}

/// A server that announces its end has all keys: its client, which has heard nothing else of it, announces its own.
#[test]
fn an_announced_end_confirms() {
    let mut ends = Both::new(dtls(), plain());
    let mut lost = false;
    ends.loses = Box::new(move |from, _, bytes| {
        // The acknowledgement of the end of the handshake.
        let is_lost = from == SERVER && carries_record_of_data(bytes) && !lost;
        lost |= is_lost;
        is_lost
    });
    send(&mut ends, 0..1);
    while !is_secured(&ends, SERVER) {
        ends.run_for(Duration::from_millis(1));
    }
    let (now, id) = (ends.now, ends.id(SERVER));
    ends.ends[SERVER].close(now, id);
    ends.run_for(Duration::from_secs(10));
    for end in [CLIENT, SERVER] {
        assert_eq!(ends.closed(end), Some(&CloseReason::Closed), "{end}");
        let id = ends.id(end);
        assert!(ends.ends[end].is_end_announced(id), "{end}");
    }
}

/// A session that fails after its client was secured ends the connection, and says why. What has left does not leave
/// again, and what waits never leaves.
#[test]
fn a_late_failure_has_its_reason() {
    let mut config = plain();
    config.idle_timeout = Duration::from_secs(3_600).into();
    let mut ends = Both::new(dtls(), config);
    ends.loses = Box::new(|from, _, bytes| {
        let packet = Packet::decode(bytes).expect("a packet");
        let is_reset = packet.packet_type() == PacketType::Reset;
        from == CLIENT && ends_handshake(bytes) || from == SERVER && is_reset
    });
    send(&mut ends, 0..30);
    ends.run_for(Duration::from_secs(600));
    assert!(is_secured(&ends, CLIENT) && !is_secured(&ends, SERVER));
    let Some(CloseReason::Security { error }) = ends.closed(CLIENT) else {
        panic!("{:?}", ends.closed(CLIENT));
    };
    let error = error.downcast_ref::<SessionError>();
    assert_eq!(error, Some(&SessionError::Unacknowledged));
    let records = ends.sent[CLIENT].iter();
    let early = records
        .filter(|bytes| carries_record_of_data(bytes))
        .count();
    assert_eq!(early, ALLOWED);
}

/// A Reset of the server that comes before it has the end of the handshake ends the connection like any other.
#[test]
fn a_reset_ends_what_was_not_confirmed() {
    let mut ends = without_end(usize::MAX, plain(), EndpointConfig::default());
    send(&mut ends, 0..30);
    ends.run_for(DELAY * 6);
    assert!(is_secured(&ends, CLIENT) && ends.closed(CLIENT).is_none());
    let (now, id) = (ends.now, ends.id(SERVER));
    ends.ends[SERVER].abort(now, id);
    ends.run_for(DELAY * 2);
    let reason = ends.closed(CLIENT);
    assert!(
        matches!(reason, Some(CloseReason::Reset { .. })),
        "{reason:?}"
    );
    assert!(ends.read[SERVER].is_empty());
}

/// Copies of early records that somebody on the path puts into packets of their own take no place from others.
///
/// RFC 9147, section 4.5.1.
#[test]
fn copies_in_other_packets_take_no_place() {
    let mut ends = without_end(2, plain(), EndpointConfig::default());
    // Large ones: a flight that the server repeats waits in the same memory.
    let send = |ends: &mut Both, number| {
        ends.send(CLIENT, &[number; 1_000], SendOptions::default());
    };
    send(&mut ends, 0);
    while ends.sent[CLIENT]
        .iter()
        .all(|bytes| !carries_record_of_data(bytes))
    {
        ends.run_for(Duration::from_millis(1));
    }
    let mut first = ends.sent[CLIENT].iter();
    let first = first.rfind(|bytes| carries_record_of_data(bytes));
    let record = data_of(first.expect("it has left")).to_vec();
    ends.run_for(DELAY * 2);
    let before = ends.ends[SERVER].endpoint_stats().memory;
    // Each of the next packets carries that record, in place of its own.
    for number in 1..u8::try_from(ALLOWED).expect("few") {
        send(&mut ends, number);
    }
    let mut copies = 0;
    while !is_secured(&ends, SERVER) {
        let after = ends.ends[SERVER].endpoint_stats().memory;
        assert!(after < before + 6_000, "{before}, {after}");
        ends.serve(CLIENT);
        for (_, to, bytes) in &mut ends.on_the_way {
            let is_data = *to == SERVER && carries_record_of_data(bytes);
            if is_data && !bytes.ends_with(&record) {
                let at = bytes.len() - record.len();
                bytes[at..].copy_from_slice(&record);
                copies += 1;
            }
        }
        ends.run_for(Duration::from_millis(1));
    }
    assert_eq!(copies, ALLOWED - 1);
    ends.run_for(Duration::from_secs(10));
    assert_eq!(ends.data(SERVER), [[0; 1_000]]);
}
