//! What the transports have in common, and what TCP reports to an application.

use std::io;

use etherparse::IpNumber;
use fairwire_cc::default_law;
use fairwire_net::{Release, Streams};
use fairwire_proto::Payload;
use fairwire_scenario::traffic::{Cbr, FlowContext, Greedy, PacketShape, Source, TrafficModel};
use fairwire_scenario::transport::application::Application;
use fairwire_scenario::transport::content::{Content, Parts};
use fairwire_scenario::transport::dccp::Encryption;
use fairwire_scenario::transport::frames::Frames;
use fairwire_scenario::transport::pending::{Pending, Times};
use fairwire_scenario::transport::store::Store;
use fairwire_scenario::transport::tcp::Report;
use fairwire_scenario::transport::ticks::Ticks;
use fairwire_tcp::{Config, Flags, Sender, TcpSegment};
use fairwire_units::{Duration, Instant};

use super::family::text;
use super::{cells, ms, with_set};

/// A time that is a tick is its own next tick.
#[test]
fn the_next_tick_is_found() {
    let every = Duration::from_millis(4);
    let ticks = Ticks::new(every, Streams::new(1), "flow", "sender");
    let first = ticks.not_before(Instant::START);
    assert!(Instant::START < first && first < Instant::START + every);
    assert_eq!(ticks.not_before(first), first);
    for (after, ticks_later) in [
        (1, 1),
        (3_999_999, 1),
        (4_000_000, 1),
        (3_999_000_001, 1_000),
    ] {
        let time = first + Duration::from_nanos(after);
        assert_eq!(
            ticks.not_before(time),
            first + every * ticks_later,
            "{after}"
        );
    }
}

fn open(pending: &Pending, limit: Option<Duration>, dropped: &Times) -> Vec<(Instant, u32)> {
    let open = pending.open(ms(100), limit, dropped);
    open.filter(|(_, count)| *count > 0).collect()
}

/// Packets newer than all that arrived are open, unless they were refused or dropped.
#[test]
fn only_the_newest_packets_are_open() {
    let (mut pending, mut dropped) = (Pending::default(), Times::new());
    for at in [10, 20, 20, 30, 40, 50] {
        pending.add(ms(at));
    }
    pending.refuse();
    pending.note_drop(&mut dropped, ms(30));
    pending.arrive(ms(20));
    assert_eq!(open(&pending, None, &dropped), [(ms(20), 1), (ms(40), 1)]);
    pending.note_drop(&mut dropped, ms(20));
    assert_eq!(open(&pending, None, &dropped), [(ms(40), 1)]);
    pending.arrive(ms(30));
    pending.arrive(ms(10));
    pending.note_drop(&mut dropped, ms(40));
    assert_eq!(open(&pending, None, &dropped), []);
    assert_eq!(dropped.len(), 2, "{dropped:?}");
}

/// With a limit, a packet is open only if it can arrive in time after the end.
#[test]
fn a_packet_whose_limit_has_passed_is_not_open() {
    let mut pending = Pending::default();
    for at in [69, 70, 71] {
        pending.add(ms(at));
    }
    let limit = Some(Duration::from_millis(30));
    assert_eq!(open(&pending, limit, &Times::new()), [(ms(71), 1)]);
}

/// A frame is whole when its last packet has arrived, in any order. A frame that lacks a packet is never whole, and
/// does not affect others.
#[test]
fn frames_are_whole_with_their_last_packet() {
    let mut frames = Frames::default();
    assert!(frames.offered(ms(0)));
    assert!(!frames.offered(ms(0)));
    assert!(frames.offered(ms(40)));
    assert!(!frames.offered(ms(40)));
    assert!(frames.offered(ms(80)));
    assert!(!frames.received(ms(0)));
    assert!(!frames.received(ms(40)));
    assert!(frames.received(ms(80)));
    assert!(frames.received(ms(40)));
    assert!(!frames.received(ms(40)), "a copy of what has come");
    assert!(frames.received(ms(0)));
}

/// Over a stream frames become whole in order, several at once if their bytes arrive at once.
#[test]
fn frames_of_a_stream_are_whole_with_their_last_byte() {
    let mut frames = Frames::default();
    assert!(frames.written(ms(0), 100));
    assert!(!frames.written(ms(0), 50));
    assert!(frames.written(ms(40), 30));
    assert!(frames.written(ms(80), 30));
    frames.read(149);
    assert_eq!(frames.next_whole(), None);
    frames.read(31);
    assert_eq!(frames.next_whole(), Some(ms(0)));
    assert_eq!(frames.next_whole(), Some(ms(40)));
    assert_eq!(frames.next_whole(), None);
}

fn source(model: &dyn TrafficModel) -> Box<dyn Source> {
    let packet = PacketShape::new(100);
    model.build(&FlowContext::new("flow", packet, Streams::new(1)))
}

fn each_10_ms(stop: Option<Instant>, total: Option<u64>) -> Application {
    let cbr = Cbr {
        every: Some(Duration::from_millis(10)),
        ..Cbr::default()
    };
    let mut application = Application::new(source(&cbr), stop, total);
    assert_eq!(application.next(), None, "not before it begins");
    application.begin(ms(5));
    application
}

/// Offers come at start, start + interval, and so on, and none at the stop or after it.
#[test]
fn offers_stop_before_the_stop() {
    let mut application = each_10_ms(Some(ms(25)), None);
    let due = |application: &mut Application, at| application.due(at).map(|offer| offer.bytes);
    assert_eq!(due(&mut application, ms(4)), None);
    assert_eq!(due(&mut application, ms(5)), Some(100));
    assert_eq!(application.next(), Some(ms(15)));
    assert_eq!(due(&mut application, ms(15)), Some(100));
    assert_eq!(application.next(), None);
    assert_eq!(each_10_ms(Some(ms(5)), None).next(), None);
    let mut greedy = Application::new(source(&Greedy), Some(ms(25)), None);
    greedy.begin(ms(5));
    assert_eq!(greedy.wanted(ms(24)).map(|offer| offer.bytes), Some(100));
    assert_eq!(greedy.wanted(ms(25)), None);
}

/// The last packet is as long as the rest.
#[test]
fn the_total_ends_exactly() {
    let mut application = each_10_ms(None, Some(250));
    let sizes: Vec<u32> = std::iter::from_fn(|| application.take(ms(100))).collect();
    assert_eq!(sizes, [100, 100, 50]);
    assert_eq!(application.next(), None);
    assert_eq!(each_10_ms(None, None).allowed(100), 100);
}

/// The contents of a packet of a transport.
#[derive(Debug)]
struct Packet<const PROTOCOL: u8>;

impl<const PROTOCOL: u8> Content for Packet<PROTOCOL> {
    fn protocol(&self) -> IpNumber {
        IpNumber(PROTOCOL)
    }

    fn counted(&self) -> &'static str {
        "test"
    }

    fn write(&self, _: &Parts<'_>, _: &mut Vec<u8>) -> io::Result<()> {
        Ok(())
    }
}

/// A released slot is reused with its buffer, and its old contents are gone.
#[test]
fn slots_are_used_again() {
    let mut store = Store::default();
    let put = |store: &mut Store| store.put(Packet::<17>, Payload::EMPTY, Instant::START, true);
    let first = put(&mut store);
    store.slot_mut(first).head.extend_from_slice(&[1; 40]);
    let room = store.slot(first).head.capacity();
    let second = put(&mut store);
    assert_ne!(first, second);
    store.release(first);
    assert_eq!(put(&mut store), first);
    assert!(store.slot(first).head.is_empty());
    assert_eq!(store.slot(first).head.capacity(), room);
}

/// A slot is reused only for packets of the same transport.
#[test]
fn slots_keep_their_transport() {
    let mut store = Store::default();
    let udp = store.put(Packet::<17>, Payload::EMPTY, Instant::START, true);
    store.release(udp);
    let tcp = store.put(Packet::<6>, Payload::EMPTY, Instant::START, true);
    assert_ne!(udp, tcp);
    assert!(store.slot(tcp).content_of::<Packet<6>>().is_some());
    assert!(store.slot(tcp).content_of::<Packet<17>>().is_none());
    let next = store.put(Packet::<17>, Payload::EMPTY, Instant::START, true);
    assert_eq!(udp, next);
}

fn ack(ack: u64) -> TcpSegment {
    TcpSegment {
        seq: 1,
        ack,
        flags: Flags {
            ack: true,
            ..Flags::default()
        },
        window: 60_000,
        ..TcpSegment::default()
    }
}

/// The age of the queue is that of the oldest byte that was never sent. The rate is known with the round-trip time,
/// and is the window over it, as far as an initial window or what has arrived allows it.
#[test]
fn the_report_says_what_waits_and_what_fits() {
    // Segments of 1,000 bytes, and a window of two.
    let config = Config::one_way(1_040);
    let controller = Box::new(config.window(default_law().build()));
    let mut sender = Sender::new(config, controller, fairwire_tcp::Source::Written, ms(0));
    let mut report = Report::default();
    let first = report.input(ms(0), &sender);
    assert!(first.rate.is_none() && first.queue_age.is_zero());
    for at in [0, 40] {
        sender.write(3_000);
        report.write(ms(at), 3_000);
        while sender.poll_transmit(ms(at)).is_some() {}
    }
    let full = report.input(ms(90), &sender);
    assert_eq!((full.sent, full.lost, full.rate), (2, 0, None));
    assert_eq!(full.queue_age.as_millis(), 90);
    // Slow start adds a segment for an acknowledgement: three leave, and one of the later write waits.
    sender.handle_segment(ms(100), &ack(2_001));
    while sender.poll_transmit(ms(100)).is_some() {}
    report.follow(ms(100), &sender);
    let later = report.input(ms(100), &sender);
    assert_eq!((later.sent, later.queue_age.as_millis()), (5, 60));
    let rate = later.rate.expect("a round trip of 100 ms is known");
    // An initial window of 4 segments of 1,000 bytes in 100 ms needs no proof.
    assert!((200_000..=320_000).contains(&rate.bits_per_s()), "{rate}");
}

/// A build without the feature says which feature is missing; one with it says nothing.
#[test]
fn a_build_without_dtls_says_what_to_do() {
    let message = Encryption::Dtls.missing(false).expect("a message");
    assert!(message.contains("--features dtls"), "{message}");
    assert_eq!(Encryption::Dtls.missing(true), None);
    assert_eq!(Encryption::None.missing(false), None);
}

/// The size of a record is known without the library.
#[test]
fn a_record_adds_what_the_library_says() {
    let payload = |security: &str| {
        let flow = format!(
            "flows.one={{ wire = \"1000 B\", traffic = \"greedy\", dccp = {{ ccid = 2, security = \"{security}\" }} }}"
        );
        let cells = cells(&text("", ""), &with_set(&[flow]));
        let one = cells[0].scenario.flows.get("one").expect("a flow");
        one.payload_bytes() as usize
    };
    assert_eq!(payload("none") - payload("dtls"), fairwire_tls::OVERHEAD);
}
