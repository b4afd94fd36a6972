//! What a server keeps of data that comes before the end of a handshake, where somebody or something is in the way.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use fairwire_proto::{
    CloseReason, Encapsulation, EndpointConfig, Event, Fate, Opened, Path, PathFacts,
    ReceiveQueuePolicy, Rest, Security, SecurityError, SendOptions, Session, SessionOutput,
    SessionStage,
};
use fairwire_units::{Duration, Instant};
use fairwire_wire::{DropCode, Packet, PacketType};

use crate::early::{
    ALLOWED, acknowledged, carries_record_of_data, data_of, ends_handshake, is_secured, plain,
    send, without_end,
};
use crate::ends::{Both, PORT, SERVICE, dtls, path};
use crate::net::{CLIENT, SERVER};

/// How often the end of the handshake is lost: meanwhile all that leaves before it has arrived.
const LOST: usize = 4;

/// How long that takes.
const ALL_ARRIVED: Duration = Duration::from_millis(600);

/// Returns the first byte of each datagram that the server has read.
fn read(ends: &Both) -> Vec<u8> {
    ends.data(SERVER).iter().map(|data| data[0]).collect()
}

fn numbers(of: std::ops::Range<u8>) -> Vec<u8> {
    of.collect()
}

/// Changes each packet on its way to the server that begins with a record of data, once, until the server is secured.
fn tamper(ends: &mut Both, mut change: impl FnMut(&mut Vec<u8>)) {
    let mut seen = 0;
    while !is_secured(ends, SERVER) {
        ends.serve(CLIENT);
        let sent = &ends.sent[CLIENT];
        for bytes in &sent[seen..] {
            let on_the_way = &mut ends.on_the_way;
            if carries_record_of_data(bytes)
                && let Some((.., packet)) = on_the_way.iter_mut().find(|(.., it)| it == bytes)
            {
                change(packet);
            }
        }
        seen = sent.len();
        ends.run_for(Duration::from_millis(1));
        assert!(ends.closed(CLIENT).is_none(), "{:?}", ends.closed(CLIENT));
    }
}

/// Makes a record of data that nobody has sealed, of so many bytes.
fn forged(len: u16) -> Vec<u8> {
    let mut record = vec![0x2f, 9, 9];
    record.extend((len - 5).to_be_bytes());
    record.resize(len.into(), 9);
    record
}

/// Returns how many datagrams of the client had this fate.
fn dropped(ends: &Both, why: DropCode) -> usize {
    let fates = ends.events[CLIENT].iter();
    let is_dropped = |event: &&Event| matches!(event, Event::Fate { fate: Fate::Dropped { code }, .. } if *code == why);
    fates.filter(is_dropped).count()
}

/// Forged records that somebody on the path puts behind genuine ones take no place from those, and are reported.
#[test]
fn forged_records_take_no_place() {
    for len in [2_000, 12_000] {
        let mut ends = without_end(LOST, plain(), EndpointConfig::default());
        let count = u8::try_from(ALLOWED).expect("few");
        send(&mut ends, 0..count);
        tamper(&mut ends, |packet| {
            packet.extend(forged(len));
            packet.extend(forged(len));
        });
        ends.run_for(Duration::from_secs(10));
        assert_eq!(read(&ends), numbers(0..count), "{len}");
        assert_eq!(dropped(&ends, DropCode::Corrupt), ALLOWED, "{len}");
    }
}

/// A genuine record that somebody on the path sends first, with forged ones behind it, is read, though it comes again.
#[test]
fn a_record_in_bad_company_is_read() {
    let mut ends = without_end(LOST, plain(), EndpointConfig::default());
    send(&mut ends, 0..2);
    let mut first: Option<Vec<u8>> = None;
    tamper(&mut ends, |packet| match &first {
        None => {
            first = Some(data_of(packet).to_vec());
            packet.extend(forged(12_288));
            packet.extend(forged(12_288));
        }
        Some(record) => {
            let at = packet.len() - data_of(packet).len();
            packet.truncate(at);
            packet.extend(record);
        }
    });
    ends.run_for(Duration::from_secs(10));
    assert_eq!(read(&ends), [0]);
}

/// What the receive queue could not take at the end of the handshake is not kept until then: its sender hears that it was
/// dropped.
#[test]
fn no_more_is_kept_than_the_queue_takes() {
    // A record adds 22 bytes, and a datagram counts 176 more.
    for (packets, bytes) in [(4, 1 << 20), (100, 4 * 298), (100, 4 * 298 + 297)] {
        for policy in [
            ReceiveQueuePolicy::DropNewest,
            ReceiveQueuePolicy::DropOldest,
        ] {
            let mut config = plain();
            config.receive_queue_packets = packets;
            config.receive_queue_bytes = bytes;
            config.receive_queue_policy = policy;
            let mut ends = without_end(LOST, config, EndpointConfig::default());
            send(&mut ends, 0..10);
            ends.reads[SERVER] = false;
            while !is_secured(&ends, SERVER) {
                ends.run_for(Duration::from_millis(1));
            }
            ends.reads[SERVER] = true;
            ends.run_for(Duration::from_secs(10));
            let case = format!("{packets}, {bytes}, {policy:?}");
            assert_eq!(read(&ends), [0, 1, 2, 3], "{case}");
            assert_eq!(acknowledged(&ends), 4, "{case}");
            assert_eq!(dropped(&ends, DropCode::ReceiveBuffer), 6, "{case}");
        }
    }
}

/// What was kept is read although other connections have taken all memory since then.
#[test]
fn what_is_kept_needs_no_more_memory() {
    let mut endpoint = EndpointConfig::default();
    endpoint.max_memory = 1 << 20;
    let mut ends = without_end(LOST, plain(), endpoint);
    let mut lost = 0;
    ends.loses = Box::new(move |from, _, bytes| {
        let packet = Packet::decode(bytes).expect("a packet");
        let is_end = from == CLIENT && ends_handshake(bytes) && lost < LOST;
        lost += usize::from(is_end);
        is_end || from == SERVER && packet.packet_type() == PacketType::Request
    });
    for number in 0..10 {
        ends.send(CLIENT, &[number; 1_000], SendOptions::default());
    }
    ends.run_for(ALL_ARRIVED);
    assert!(is_secured(&ends, CLIENT) && !is_secured(&ends, SERVER));
    let to_nobody = |number: u16| Path {
        encapsulation: Encapsulation::Udp,
        local: path(SERVER).local,
        remote: ([127, 0, 0, 2], number).into(),
    };
    let mut others = 0;
    let mut connect = |ends: &mut Both| {
        others += 1;
        let (now, path) = (ends.now, to_nobody(others));
        ends.ends[SERVER].connect(now, path, None, PORT, SERVICE, plain())
    };
    while connect(&mut ends).is_ok() {}
    while !is_secured(&ends, SERVER) {
        ends.run_for(Duration::from_millis(1));
    }
    assert_eq!(read(&ends), numbers(0..10));
}

/// A connection that has ended holds nothing of what it kept.
#[test]
fn an_ended_connection_keeps_nothing() {
    let memory = [0, 10].map(|count| {
        let mut ends = without_end(usize::MAX, plain(), EndpointConfig::default());
        send(&mut ends, 0..count);
        ends.run_for(ALL_ARRIVED);
        let before = ends.ends[SERVER].endpoint_stats().memory;
        let (now, id) = (ends.now, ends.id(SERVER));
        ends.ends[SERVER].abort(now, id);
        assert!(ends.ends[SERVER].stats(id).is_some(), "it is not released");
        (before, ends.ends[SERVER].endpoint_stats().memory)
    });
    let [(without, ended_without), (with, ended_with)] = memory;
    assert!(with >= without + 10 * 100, "{memory:?}");
    assert!(ended_with < ended_without + 10 * 100, "{memory:?}");
}

/// A handshake that is complete when a timer expires, and not when a datagram arrives, has what was kept read at once.
#[test]
fn what_is_kept_is_read_when_a_timer_ends_the_handshake() {
    let mut ends = Both::new(dtls(), plain());
    let inner = Arc::clone(&ends.security[SERVER]);
    ends.security[SERVER] = Arc::new(Lazy(inner));
    send(&mut ends, 0..10);
    ends.run_for(ALL_ARRIVED);
    assert!(is_secured(&ends, CLIENT) && !is_secured(&ends, SERVER));
    // Nothing more arrives.
    ends.loses = Box::new(|from, _, _| from == CLIENT);
    ends.run_for(PAUSE);
    assert!(is_secured(&ends, SERVER));
    assert_eq!(read(&ends), numbers(0..10));
    assert_eq!(ends.closed(SERVER), None::<&CloseReason>);
}

/// How long a lazy session leaves the end of the handshake aside.
const PAUSE: Duration = Duration::from_secs(1);

/// Sessions that look at the end of the handshake later.
#[derive(Debug)]
struct Lazy(Arc<dyn Security>);

impl Security for Lazy {
    fn speaks_first(&self) -> bool {
        self.0.speaks_first()
    }

    fn handshake_memory(&self) -> usize {
        self.0.handshake_memory()
    }

    fn overhead(&self) -> usize {
        self.0.overhead()
    }

    fn begin(&self, now: Instant, facts: PathFacts) -> Result<Box<dyn Session>, SecurityError> {
        Ok(Box::new(LazySession {
            inner: self.0.begin(now, facts)?,
            aside: None,
        }))
    }
}

#[derive(Debug)]
struct LazySession {
    inner: Box<dyn Session>,
    /// The end of the handshake, and when it is looked at.
    aside: Option<(Instant, Vec<u8>)>,
}

impl Session for LazySession {
    fn open(&mut self, now: Instant, datagram: &mut [u8]) -> Result<Opened, SecurityError> {
        let is_end = datagram.first().is_some_and(|flags| flags & 0xe3 == 0x22);
        if is_end && self.stage() == SessionStage::Handshake {
            self.aside
                .get_or_insert_with(|| (now + PAUSE, datagram.to_vec()));
            return Ok(Opened {
                data: None,
                rest: Rest::Nothing,
            });
        }
        self.inner.open(now, datagram)
    }

    fn forget_early(&mut self) {
        self.inner.forget_early();
    }

    fn handle_timeout(&mut self, now: Instant) -> Result<(), SecurityError> {
        if let Some((_, mut datagram)) = self.aside.take_if(|(at, _)| *at <= now) {
            self.inner.open(now, &mut datagram)?;
        }
        self.inner.handle_timeout(now)
    }

    fn next_timeout(&self) -> Option<Instant> {
        let aside = self.aside.as_ref().map(|(at, _)| *at);
        Instant::earliest([aside, self.inner.next_timeout()])
    }

    fn poll(&mut self) -> Option<SessionOutput> {
        self.inner.poll()
    }

    fn seal(
        &mut self,
        now: Instant,
        data: &[&[u8]],
        datagrams: &mut BytesMut,
    ) -> Result<(), SecurityError> {
        self.inner.seal(now, data, datagrams)
    }

    fn close(&mut self, now: Instant) {
        self.inner.close(now);
    }

    fn stage(&self) -> SessionStage {
        self.inner.stage()
    }

    fn set_max_datagram(&mut self, max_datagram: usize) {
        self.inner.set_max_datagram(max_datagram);
    }

    fn set_waiting(&mut self, now: Instant, waiting: bool) {
        self.inner.set_waiting(now, waiting);
    }

    fn memory(&self) -> usize {
        self.inner.memory()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
