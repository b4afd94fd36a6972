//! Options that a peer repeats for ever must not make memory use grow.

use fairwire_held::thread::bytes;
use fairwire_proto::{Config, Encapsulation, Endpoint, EndpointConfig, Meta, Path, Payload};
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{DccpOption, Encoder, HeadBuf, Kind, Packet, Ports, Seq, ServiceCode};

const SERVICE: ServiceCode = ServiceCode(42);
const PORTS: Ports = Ports {
    source: 50_000,
    destination: 5_001,
};

/// A server with one connection, and the sequence numbers of the client that the test plays.
struct Victim {
    end: Endpoint,
    now: Instant,
    seq: Seq,
    newest: Seq,
    /// The number of Confirms that it has sent.
    confirms: u32,
}

impl Victim {
    fn new() -> Self {
        let mut end = Endpoint::new(EndpointConfig::default(), [7; 32]);
        end.listen(PORTS.destination, &[SERVICE], Config::default())
            .expect("the port is free");
        let mut victim = Self {
            end,
            now: Instant::START + Duration::from_secs(1),
            seq: Seq::new(1_000),
            newest: Seq::ZERO,
            confirms: 0,
        };
        victim.hear(&Kind::Request { service: SERVICE }, |_| {});
        let ack = victim.newest.into();
        victim.hear(&Kind::Ack { ack }, |_| {});
        assert_eq!(victim.end.endpoint_stats().connections, 1);
        assert_eq!(victim.end.endpoint_stats().half_open, 0);
        victim
    }

    /// Delivers our next packet, ten milliseconds after the last one, and handles everything that it causes.
    fn hear(&mut self, kind: &Kind, options: impl FnOnce(&mut Encoder<'_>)) {
        let mut head = HeadBuf::new();
        let mut encoder = Encoder::new(&mut head, PORTS, self.seq.into(), kind, 0, 0);
        options(&mut encoder);
        let head = encoder.finish().as_slice();
        let path = Path {
            encapsulation: Encapsulation::Udp,
            local: ([192, 0, 2, 2], 6_511).into(),
            remote: ([192, 0, 2, 1], 6_511).into(),
        };
        let meta = Meta {
            path,
            ecn: Ecn::NotEct,
        };
        self.end
            .handle_datagram(self.now, meta, head, Payload::EMPTY);
        self.seq = self.seq.next();
        self.now += Duration::from_millis(10);
        self.end.handle_timeout(self.now);
        let mut out = HeadBuf::new();
        while self.end.poll_transmit(self.now, &mut out).is_some() {
            let packet = Packet::decode(out.as_slice()).expect("we can read it");
            assert!(!matches!(packet.kind, Kind::Reset { .. }));
            self.newest = packet.seq.long().expect("48 bits");
            let confirms = packet.options.iter().filter(|raw| {
                let option = raw.decode();
                let left = matches!(option, Ok(DccpOption::ConfirmL { .. }));
                left || matches!(option, Ok(DccpOption::ConfirmR { .. }))
            });
            self.confirms += u32::try_from(confirms.count()).expect("a head holds few");
        }
        while self.end.poll_event().is_some() {}
    }

    /// Delivers an Ack full of Changes: equal ones, unknown ones, the longest lists, the widest window.
    fn flood(&mut self, round: u8) {
        let ack = self.newest.into();
        self.hear(&Kind::Ack { ack }, |encoder| {
            let long = [200; 252];
            let widest = [0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
            let window = DccpOption::ChangeL {
                feature: 3,
                value: &widest,
            };
            encoder.option(&window).expect("the first fits");
            for n in 0..=u8::MAX {
                let value = if round.is_multiple_of(3) {
                    &long[..]
                } else {
                    &[1]
                };
                let feature = match round % 3 {
                    0 => 2,
                    1 => 6,
                    _ => n,
                };
                let change = if n.is_multiple_of(2) {
                    DccpOption::ChangeR { feature, value }
                } else {
                    DccpOption::ChangeL { feature, value }
                };
                if encoder.option(&change).is_err() {
                    break;
                }
            }
        });
    }
}

/// Item 6; RFC 4340, 6: a peer sends packets full of Changes, including the widest Sequence Window of 2^46 - 1. After
/// the first rounds of each kind, no more memory is held than before, and the connection stays open.
#[test]
fn item_6_floods_of_options_do_not_grow_memory() {
    let mut victim = Victim::new();
    for round in 0..60 {
        victim.flood(round);
    }
    let (before, confirms) = (bytes(), victim.confirms);
    for _ in 0..100 {
        for round in 0..60 {
            victim.flood(round);
        }
    }
    let after = bytes();
    assert!(after <= before, "{before} bytes, then {after}");
    assert_eq!(victim.end.endpoint_stats().connections, 1);
    let answered = victim.confirms - confirms;
    assert!(answered >= 6_000, "each was read: {answered} answers");
}
