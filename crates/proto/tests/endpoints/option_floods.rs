//! Options that a peer repeats for ever must not make memory use grow.

use fairwire_held::thread::bytes;
use fairwire_kit::{Draft, Pair, ms};
use fairwire_proto::{Config, Encapsulation};
use fairwire_wire::{DccpOption, Encoder, Kind, Ports, Seq};

/// A server with one connection, and the sequence numbers of the client that the test plays.
struct Victim {
    pair: Pair,
    ports: Ports,
    seq: Seq,
    newest: Seq,
    /// The number of Confirms that it has sent.
    confirms: u32,
}

impl Victim {
    fn new() -> Self {
        let mut pair = Pair::along(Encapsulation::Udp, ms(1));
        pair.open(Config::default(), Config::default());
        pair.lose(|_| true);
        let (seq, ports) = pair.last_of(0);
        Self {
            ports,
            seq: seq.next(),
            newest: pair.last_of(1).0,
            pair,
            confirms: 0,
        }
    }

    /// Delivers our next packet, ten milliseconds after the last one, and handles everything that it causes.
    fn hear(&mut self, kind: &Kind, options: impl FnOnce(&mut Encoder<'_>)) {
        let wire = self
            .pair
            .make(0, Draft::new(self.ports, self.seq, *kind), options);
        self.pair.log.clear();
        self.pair.deliver(1, &wire);
        self.seq = self.seq.next();
        self.pair.now += ms(10);
        self.pair.ends[1].handle_timeout(self.pair.now);
        self.pair.drain();
        for answer in self.pair.log.iter().filter(|wire| wire.from == 1) {
            assert_eq!(answer.reset(), None);
            self.newest = answer.seq();
            let confirms = answer.options().into_iter().filter(|option| {
                matches!(
                    option,
                    DccpOption::ConfirmL { .. } | DccpOption::ConfirmR { .. }
                )
            });
            self.confirms += confirms.count() as u32;
        }
        self.pair.events[1].clear();
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
    assert_eq!(victim.pair.ends[1].endpoint_stats().connections, 1);
    let answered = victim.confirms - confirms;
    assert!(answered >= 6_000, "each was read: {answered} answers");
}
