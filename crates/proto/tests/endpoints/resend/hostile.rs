//! Options of copies that are forged, senseless, or too old.

use fairwire_kit::{Wire, kind_of, ms};
use fairwire_wire::{DccpOption, PacketType, ResetCode, Seq, option_type};

use super::{Link, resending, tags};
use crate::deadlines::{tagged, with_fates};
use fairwire_proto::{DatagramId, SendOptions};

/// How far behind the newest number a copy is still known.
const SPAN: u64 = 16_384;

/// Where the feature was not agreed on, the option is one that nobody knows: it is ignored, and with Mandatory it ends
/// the connection (RFC 4340, 5.8.2). Where it was, an option with a wrong length or an impossible number is ignored.
#[test]
fn senseless_options_are_ignored() {
    type Data = fn(Seq) -> Vec<u8>;
    let cases: [(bool, Data); 5] = [
        // The number of a datagram that was delivered.
        (false, |own| own.sub(2).get().to_be_bytes()[2..].to_vec()),
        (true, |_| vec![1; 5]),
        (true, |_| vec![1; 7]),
        (true, |_| Vec::new()),
        // Its own number, which is no older one.
        (true, |own| own.get().to_be_bytes()[2..].to_vec()),
    ];
    for (case, (agreed, data)) in cases.into_iter().enumerate() {
        let config = if agreed { resending() } else { with_fates(2) };
        let mut link = Link::new(config);
        link.send(1, SendOptions::default());
        link.pair.run_for(ms(100));
        assert_eq!(link.read().len(), 1);
        let newest = link.pair.last_of(0).0;
        for (ahead, mandatory) in [(1, false), (2, true)] {
            let option = data(newest.add(ahead));
            let wire = link.pair.forge(
                0,
                ahead,
                |ack| kind_of(PacketType::DataAck, ack),
                |encoder| {
                    if mandatory {
                        encoder.option(&DccpOption::Mandatory).unwrap();
                    }
                    encoder.raw_option(option_type::COPY_OF, &option).unwrap();
                },
                tagged(2),
            );
            let answers = link.pair.answers_to(&wire);
            let read = link.read();
            let reset = answers.iter().find_map(Wire::reset);
            if mandatory {
                assert_eq!(reset.unwrap().0, ResetCode::MandatoryError, "{case}");
            } else {
                assert_eq!((tags(&read), reset), (vec![2], None), "{case}");
                assert!(!read[0].resent);
            }
        }
    }
}

/// A copy that a stranger forges for a datagram on its way takes the place of that datagram and of no other.
#[test]
fn a_forged_copy_costs_one_datagram() {
    let mut link = Link::new(resending());
    link.pair.drain();
    let mut ids = Vec::new();
    for tag in 0..4 {
        ids.push(link.send(tag, SendOptions::default()));
    }
    let second = link.pair.log.iter();
    let mut second = second.filter(|wire| wire.transmit.id == Some(DatagramId(ids[1])));
    let first = second.next().unwrap().packet().seq.long().unwrap();
    let wire = link.pair.forge(
        0,
        1,
        |ack| kind_of(PacketType::DataAck, ack),
        |encoder| encoder.option(&DccpOption::CopyOf(first)).unwrap(),
        tagged(99),
    );
    link.pair.deliver(1, &wire);
    link.pair.run_for(ms(100));
    assert_eq!(tags(&link.read()), [99, 0, 2, 3]);
}

/// A copy of a datagram from before the receiver's window is dropped and counted, and the sender does not take it for
/// delivered.
#[test]
fn a_copy_that_is_too_old_is_dropped() {
    let mut link = Link::new(resending());
    link.send(1, SendOptions::default());
    link.pair.run_for(ms(100));
    let (newest, _) = link.pair.last_of(0);
    for (back, is_taken) in [(SPAN + 1, false), (SPAN - 100, true)] {
        let wire = link.pair.forge(
            0,
            1,
            |ack| kind_of(PacketType::DataAck, ack),
            |encoder| {
                let first = newest.sub(back);
                encoder.option(&DccpOption::CopyOf(first)).unwrap();
            },
            tagged(9),
        );
        link.read();
        let mut wire = wire;
        if is_taken {
            // Not the number of the packet before.
            wire = link.pair.forge(
                0,
                2,
                |ack| kind_of(PacketType::DataAck, ack),
                |encoder| {
                    let first = newest.sub(back);
                    encoder.option(&DccpOption::CopyOf(first)).unwrap();
                },
                tagged(9),
            );
        }
        link.pair.deliver(1, &wire);
        assert_eq!(!link.read().is_empty(), is_taken, "{back}");
    }
    let stats = link.pair.ends[1].stats(link.server).unwrap();
    assert_eq!((stats.resent_too_old, stats.recovered), (1, 1));
    assert_eq!(stats.dropped_locally[2], 1);
}
