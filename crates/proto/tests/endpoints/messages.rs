//! Messages of several datagrams, which arrive whole or not at all (`docs/messages.md`).

use bytes::Bytes;
use fairwire_kit::{Dice, Fault, Pair, Wire, kind_of, ms};
use fairwire_proto::{
    Config, ConnectionId, DatagramId, Fate, Payload, QueuePolicy, Received, Resend, SendError,
    SendOptions, Stats,
};
use fairwire_units::Duration;
use fairwire_wire::{DccpOption, PacketType, ResetCode, option_type};

use super::deadlines::{fates, with_fates};

fn config() -> Config {
    let mut config = with_fates(2);
    config.messages = true;
    config
}

/// Two open ends, of which the first sends messages.
struct Link {
    pair: Pair,
    client: ConnectionId,
    server: ConnectionId,
}

impl Link {
    fn new(config: Config) -> Self {
        let mut pair = Pair::new();
        let (client, server) = pair.open(config.clone(), config);
        Self {
            pair,
            client,
            server,
        }
    }

    fn try_send(
        &mut self,
        data: &Bytes,
        options: SendOptions,
    ) -> Result<Vec<DatagramId>, SendError> {
        let sent = self.pair.ends[0].send_message(self.pair.now, self.client, data, options);
        self.pair.drain();
        sent
    }

    fn send(&mut self, data: &Bytes, options: SendOptions) -> Vec<DatagramId> {
        self.try_send(data, options).expect("there is room")
    }

    fn read(&mut self) -> Vec<Received> {
        std::iter::from_fn(|| self.pair.ends[1].recv(self.server)).collect()
    }

    fn data(&mut self) -> Vec<Vec<u8>> {
        let read = self.read();
        read.iter()
            .map(|read| read.payload.as_slice().to_vec())
            .collect()
    }

    fn stats(&self) -> Stats {
        self.pair.ends[1]
            .stats(self.server)
            .expect("it is not released")
    }

    fn fate(&self, id: DatagramId) -> Option<Fate> {
        fates(&self.pair, 0)
            .into_iter()
            .find(|told| told.1 == id.0)
            .map(|told| told.2)
    }

    /// A part that the client did not make.
    fn part(&self, (message, index, last): (u32, u8, u8), data: &[u8]) -> Wire {
        let option = DccpOption::PartOf {
            message,
            index,
            last,
        };
        self.pair.forge(
            0,
            1,
            |ack| kind_of(PacketType::DataAck, ack),
            |encoder| encoder.option(&option).expect("room"),
            Payload::Bytes(Bytes::copy_from_slice(data)),
        )
    }
}

fn message(len: usize, seed: u8) -> Bytes {
    let bytes = (0..len).map(|at| seed.wrapping_add((at % 251) as u8));
    bytes.collect::<Vec<_>>().into()
}

/// Messages of all sizes arrive whole, in order on a path without losses, each as one. Those that fit into a datagram are
/// ordinary ones. The largest has 64 KiB.
#[test]
fn messages_arrive_whole() {
    let mut link = Link::new(config());
    let most = link.pair.ends[0]
        .max_datagram_size(link.client)
        .expect("open");
    let sizes = [0, 1, most, most + 1, 2 * most, 2 * most + 1, 30_000, 65_536];
    for (size, seed) in sizes.into_iter().zip(1..) {
        let sent = message(size, seed);
        let ids = link.send(&sent, SendOptions::default());
        assert_eq!(ids.len(), size.div_ceil(most).max(1), "{size}");
        link.pair.run_for(ms(3_000));
        let read = link.read();
        assert_eq!(read.len(), 1, "{size}");
        assert_eq!(read[0].payload.as_slice(), &sent[..], "{size}");
        assert_eq!(read[0].lost_before, 0, "{size}");
        assert!(
            ids.iter()
                .all(|&id| link.fate(id) == Some(Fate::Acknowledged))
        );
    }
    let refused = link.try_send(&message(65_537, 0), SendOptions::default());
    let (size, max) = (65_537, 65_536);
    assert_eq!(refused, Err(SendError::TooLarge { size, max }));
}

/// If any part is lost, the others are not delivered, and the rest of the message does not leave once that is known. The
/// application counts all of its datagrams as missing, and the next message is not affected.
#[test]
fn a_missing_part_takes_the_message_with_it() {
    for lost in [0, 7, 20] {
        let mut link = Link::new(config());
        link.pair
            .rule(move |wire| (wire.transmit.id == Some(DatagramId(lost))).then_some(Fault::Lose));
        let ids = link.send(&message(30_000, 1), SendOptions::default());
        let next = message(5_000, 2);
        link.send(&next, SendOptions::default());
        link.pair.run_for(Duration::from_secs(9));
        assert_eq!(link.data(), [next.to_vec()], "{lost}");
        assert_eq!(link.stats().incomplete_messages, 0, "it may still come");
        link.pair.run_for(Duration::from_secs(2));
        assert_eq!(link.stats().incomplete_messages, 1, "{lost}");
        let fates: Vec<_> = ids.iter().map(|&id| link.fate(id)).collect();
        assert_eq!(
            fates[usize::try_from(lost).unwrap()],
            Some(Fate::Lost),
            "{fates:?}"
        );
        link.send(&message(10, 3), SendOptions::default());
        link.pair.run_for(ms(300));
        let read = link.read();
        let arrived = fates
            .iter()
            .filter(|&&fate| fate == Some(Fate::Acknowledged))
            .count();
        assert_eq!(
            read[0].lost_before, arrived as u64,
            "{lost}: those that came in vain"
        );
    }
}

/// With a deadline for the whole, parts that cannot leave in time take the others with them. With resending, lost parts
/// come again, and so does the message.
#[test]
fn options_hold_for_the_whole() {
    let mut link = Link::new(config());
    // A window of a few packets and a round trip of 40 ms: all 25 parts do not leave within 20 ms.
    let mut options = SendOptions::default();
    options.deadline = Some(link.pair.now + ms(20));
    let ids = link.send(&message(30_000, 1), options);
    link.pair.run_for(ms(1_000));
    assert!(link.read().is_empty());
    let told = |fate| {
        ids.iter()
            .filter(|&&id| link.fate(id) == Some(fate))
            .count()
    };
    assert!(told(Fate::Expired) >= 1, "those that waited expired");
    assert_eq!(
        told(Fate::Expired) + told(Fate::GroupBroken) + told(Fate::Acknowledged),
        ids.len()
    );

    let mut config = config();
    config.resend = true;
    for seed in 0..20 {
        let mut link = Link::new(config.clone());
        let mut dice = Dice::new(seed);
        link.pair
            .rule(move |_| dice.chance(150).then_some(Fault::Lose));
        let mut options = SendOptions::default();
        options.resend = Resend::Until(link.pair.now + Duration::from_secs(9));
        let sent = message(20_000, 1);
        link.send(&sent, options);
        link.pair.run_for(Duration::from_secs(10));
        assert_eq!(link.data(), [sent.to_vec()], "seed {seed}");
    }
}

/// Under loss, copies and disorder each message arrives once and whole, or not at all.
#[test]
fn nothing_is_mixed_up() {
    for seed in 0..30 {
        let mut link = Link::new(config());
        let mut dice = Dice::new(seed);
        link.pair.rule(move |_| match dice.next() % 100 {
            0..3 => Some(Fault::Lose),
            3..10 => Some(Fault::Copy),
            10..20 => Some(Fault::Delay(ms(30))),
            20..25 => Some(Fault::CopyLate(ms(100))),
            _ => None,
        });
        let mut sent = Vec::new();
        for number in 0..20_u8 {
            let next = message(2_000 + usize::from(number) * 300, number);
            if link.try_send(&next, SendOptions::default()).is_ok() {
                sent.push(next.to_vec());
            }
            link.pair.run_for(ms(100));
        }
        link.pair.run_for(Duration::from_secs(3));
        let mut read = link.data();
        assert!(read.len() >= 5, "seed {seed}: {}", read.len());
        let all = read.len();
        read.dedup();
        assert_eq!(read.len(), all, "seed {seed}: one came twice");
        assert!(read.iter().all(|read| sent.contains(read)), "seed {seed}");
    }
}

/// A message that does not fit into the send queue is refused as a whole. Where older datagrams make room, it takes theirs.
#[test]
fn all_parts_are_queued_or_none() {
    let mut config = config();
    config.send_queue.packets = 30;
    let mut link = Link::new(config.clone());
    let (large, small) = (message(30_000, 1), message(20_000, 2));
    link.send(&large, SendOptions::default());
    let before = link.pair.ends[0].stats(link.client).unwrap().queued_packets;
    let refused = link.try_send(&large, SendOptions::default());
    assert_eq!(refused, Err(SendError::Full));
    let after = link.pair.ends[0].stats(link.client).unwrap().queued_packets;
    assert_eq!(before, after);
    let too_large = link.try_send(&message(60_000, 1), SendOptions::default());
    assert!(
        matches!(too_large, Err(SendError::TooLarge { .. })),
        "{too_large:?}"
    );
    link.pair.run_for(Duration::from_secs(2));
    assert_eq!(link.data(), [large.to_vec()]);

    config.send_queue.policy = QueuePolicy::DropOldest;
    let mut link = Link::new(config);
    link.send(&small, SendOptions::default());
    link.send(&large, SendOptions::default());
    link.pair.run_for(Duration::from_secs(12));
    assert_eq!(link.data(), [large.to_vec()], "the newer one");
}

/// RFC 4340, 15: off unless both ends ask for it. A larger message is refused then, and nothing of it is on the wire.
#[test]
fn both_ends_have_to_agree() {
    for (client, server) in [(false, true), (true, false), (false, false)] {
        let mut configs = [config(), config()];
        (configs[0].messages, configs[1].messages) = (client, server);
        let [of_client, of_server] = configs;
        let mut pair = Pair::new();
        let (client, server) = pair.open(of_client, of_server);
        let mut link = Link {
            pair,
            client,
            server,
        };
        let refused = link.try_send(&message(30_000, 1), SendOptions::default());
        assert_eq!(refused, Err(SendError::MessagesNotAgreed));
        link.send(&message(100, 1), SendOptions::default());
        link.pair.run_for(ms(200));
        assert_eq!(link.read().len(), 1);
        // A peer that marks a part all the same says nothing: the option is an unknown one (RFC 4340, 5.8).
        let wire = link.part((1, 0, 1), b"whole");
        link.pair.deliver(1, &wire);
        assert_eq!(link.data(), [b"whole"]);
    }
    let mut pair = Pair::new();
    let client = pair.connect(config(), config());
    let early = pair.ends[0].send_message(
        pair.now,
        client,
        &message(30_000, 1),
        SendOptions::default(),
    );
    assert_eq!(early, Err(SendError::MessagesNotAgreed));
}

/// A part that cannot be ends its message, and its data is delivered to nobody. Others go on. With Mandatory before it, it
/// resets the connection (RFC 4340, 5.8.2).
#[test]
fn parts_that_contradict_deliver_nothing() {
    let mut link = Link::new(config());
    link.send(&message(10, 0), SendOptions::default());
    link.pair.run_for(ms(100));
    link.read();
    for part in [
        (1, 0, 1),
        (2, 0, 1),
        (1, 1, 5),
        (1, 1, 1),
        (3, 9, 2),
        (2, 1, 1),
    ] {
        let wire = link.part(part, b"data");
        link.pair.deliver(1, &wire);
        // The number of the next packet is one higher.
        link.pair.log.push(wire);
    }
    assert_eq!(link.data(), [b"datadata"], "message 2");
    let stats = link.stats();
    assert_eq!(stats.incomplete_messages, 2);
    // RFC 4340, 11.7.1: Drop Code 0, Protocol Constraints.
    assert_eq!(stats.dropped_locally[0], 2);
    let answers = link.pair.inject(
        0,
        1,
        |ack| kind_of(PacketType::DataAck, ack),
        |encoder| {
            encoder.option(&DccpOption::Mandatory).expect("room");
            encoder
                .raw_option(option_type::PART_OF, &[0, 0, 0, 9, 2, 1])
                .expect("room");
        },
    );
    let reset = answers.last().and_then(Wire::reset).expect("a Reset");
    assert_eq!(reset.0, ResetCode::MandatoryError);
}

/// A peer that begins messages and never ends them costs a bounded amount of memory, and nothing after a while.
#[test]
fn messages_without_an_end_cost_little() {
    let mut link = Link::new(config());
    link.send(&message(10, 0), SendOptions::default());
    link.pair.run_for(ms(100));
    let before = link.pair.ends[1].endpoint_stats().memory;
    for number in 0..2_000 {
        let wire = link.part((number, 0, 255), &[7; 1_000]);
        link.pair.deliver(1, &wire);
        link.pair.log.push(wire);
        let memory = link.pair.ends[1].endpoint_stats().memory;
        assert!(
            memory <= before + (700 << 10),
            "{number}: {}",
            memory - before
        );
    }
    assert!(
        link.pair.ends[1].endpoint_stats().memory >= before + (300 << 10),
        "it is counted"
    );
    link.pair.run_for(Duration::from_secs(12));
    assert_eq!(link.stats().incomplete_messages, 2_000);
    let after = link.pair.ends[1].endpoint_stats().memory;
    assert!(after < before + (300 << 10), "{after} of {before}");
}
