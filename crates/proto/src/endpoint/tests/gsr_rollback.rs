//! Moving GSR back: its purpose, and that nobody else can cause it.

use fairwire_wire::{Ccid, DccpOption, Encoder, Kind, PacketType, Seq};

use super::kit::Wire;
use super::kit::{Dice, Fault, Pair, data, ms};
use crate::{Config, ConnectionId, Payload};

const SERVER: usize = 1;

fn config(short: bool) -> Config {
    let mut config = Config::default();
    config.send_ccids = vec![Ccid::TCP_LIKE];
    config.receive_ccids = vec![Ccid::TCP_LIKE];
    config.short_seqnos = short;
    config
}

fn gsr(pair: &Pair, server: ConnectionId) -> Seq {
    pair.ends[SERVER].connections[server.slot()]
        .subflow()
        .greatest_received()
}

/// RFC 4340, 7.5.4: with 48-bit numbers no Sync or `SyncAck` moves GSR back by more than a window.
///
/// Such a packet is invalid and ignored, even if it acknowledges a packet that left after GSR came. One that lies within
/// the window moves GSR back.
#[test]
fn finding_14_no_more_than_a_window_is_taken_back() {
    for packet_type in [PacketType::Sync, PacketType::SyncAck] {
        let mut pair = Pair::new();
        let (client, server) = pair.open(config(false), config(false));
        pair.bottleneck = Some((ms(5), 20));
        pair.saturate(0, client, 300, ms(8_000));
        pair.lose(|wire| wire.from == SERVER);
        let now = pair.now;
        let sent = pair.ends[SERVER].send(now, server, data(9));
        assert!(sent.is_ok(), "{sent:?}");
        pair.drain();
        let before = gsr(&pair, server);
        let (newest, ports) = pair.last_of(SERVER);
        let discarded = |pair: &Pair| pair.ends[SERVER].stats(server).unwrap().discarded;
        let old = discarded(&pair);
        let kind = super::kit::kind_of(packet_type, newest.into());
        for (back, moves) in [(1_025, false), (1_024, true)] {
            let number = before.sub(back);
            let wire = pair.forged(0, ports.swapped(), number, &kind);
            pair.deliver(SERVER, &wire);
            let expected = if moves { number } else { before };
            assert_eq!(gsr(&pair, server), expected, "{packet_type}");
            assert_eq!(discarded(&pair), old + 1, "{packet_type}: ignored");
        }
    }
}

/// RFC 4340, 7: copies are recognised by their numbers, also after GSR was moved back.
///
/// A packet of the peer that overtakes the Sync, and a forged one, are delivered once. Later packets with the same
/// numbers are not delivered.
#[test]
fn nothing_is_delivered_twice_after_gsr_was_taken_back() {
    let mut config = config(false);
    config.check_feedback = false;
    let mut pair = Pair::new();
    let (client, server) = pair.open(config.clone(), config);
    pair.rule(|wire| match wire.packet_type() {
        _ if wire.from == SERVER => None,
        PacketType::Sync => Some(Fault::Delay(ms(35))),
        _ => Some(Fault::CopyLate(ms(150))),
    });
    let (mut sent, mut read, mut fell) = (0, Vec::new(), 0);
    for count in 0..100 {
        if count == 20 {
            let wire = pair.forge(0, 40, |_| Kind::Data, |_| (), data(7));
            pair.deliver(SERVER, &wire);
        }
        let before = gsr(&pair, server);
        sent += u64::from(pair.ends[0].send(pair.now, client, data(9)).is_ok());
        pair.run_for(ms(10));
        fell += u32::from(gsr(&pair, server).is_before(before));
        read.extend(std::iter::from_fn(|| pair.ends[SERVER].recv(server)).map(|r| r.seq.get()));
    }
    pair.run_for(ms(500));
    read.extend(std::iter::from_fn(|| pair.ends[SERVER].recv(server)).map(|r| r.seq.get()));
    let count = read.len() as u64;
    read.sort_unstable();
    read.dedup();
    assert_eq!((fell, read.len() as u64), (1, count), "taken back, copies");
    // The forged datagram was delivered in place of the one with its number.
    assert_eq!(count, sent);
}

/// RFC 4340, 6.6.4: a copy of a Change that was already handled has no effect, also after GSR was moved back.
///
/// GSR was moved back from the number of a forged Change. The peer's next Change takes effect.
#[test]
fn old_changes_stay_old_after_gsr_was_taken_back() {
    let mut pair = Pair::new();
    let (client, server) = pair.open(config(false), config(false));
    let asks = |pair: &Pair, ahead, ratio| {
        let (feature, value) = (5, &[0, ratio][..]);
        let change = |encoder: &mut Encoder<'_>| {
            let change = DccpOption::ChangeL { feature, value };
            encoder.option(&change).expect("room");
        };
        pair.forge(0, ahead, |ack| Kind::Ack { ack }, change, Payload::EMPTY)
    };
    let ratio =
        |pair: &Pair| pair.ends[SERVER].connections[server.slot()].features_in_force()[1][4];
    // Two from the client, and a forged one.
    let (old, new, forged) = (asks(&pair, 1, 3), asks(&pair, 2, 4), asks(&pair, 40, 5));
    pair.ends[0].connections[client.slot()]
        .subflow_mut()
        .skip(2);
    for (wire, expected) in [(&old, 3), (&new, 4), (&old, 4), (&forged, 5)] {
        pair.deliver(SERVER, wire);
        assert_eq!(ratio(&pair), expected);
    }
    let before = gsr(&pair, server);
    pair.run_for(ms(500));
    assert!(gsr(&pair, server).is_before(before), "taken back");
    for copy in [&old, &new] {
        pair.deliver(SERVER, copy);
        assert_eq!(ratio(&pair), 5, "a copy");
    }
    let next = asks(&pair, 1, 6);
    pair.deliver(SERVER, &next);
    assert_eq!(ratio(&pair), 6, "the next Change");
}

/// RFC 4340, 7.5.4: a number forged far ahead in the window costs only about one round trip of data.
///
/// After it all packets of the peer are too old to be told from copies. The peer sends a Sync, because an
/// acknowledgement names a number that it never sent, and data is delivered again a round trip later.
#[test]
fn a_number_forged_far_ahead_swallows_a_round_trip_of_data_only() {
    for ahead in [2_000, 20_000, 90_000] {
        let mut config = config(false);
        config.sequence_window = 1 << 17;
        config.check_feedback = false;
        let mut pair = Pair::new();
        let (client, server) = pair.open(config.clone(), config);
        let mut read = 0;
        for count in 0..100 {
            if count == 20 {
                let wire = pair.forge(0, ahead, |_| Kind::Data, |_| (), data(7));
                pair.deliver(SERVER, &wire);
            }
            assert!(pair.ends[0].send(pair.now, client, data(9)).is_ok());
            pair.run_for(ms(10));
            read += std::iter::from_fn(|| pair.ends[SERVER].recv(server)).count();
        }
        assert!(read > 75, "{read} of 101 with a number {ahead} ahead");
    }
}

/// With 24-bit and 48-bit numbers, no late copy of the peer's Syncs or `SyncAck`s moves GSR back.
///
/// Each of them acknowledges a packet that was sent before the packet with the current GSR arrived.
#[test]
fn finding_14_old_syncs_take_nothing_back() {
    let mut heard = 0;
    for seed in 0..20 {
        let mut pair = Pair::new();
        let short = seed % 2 == 0;
        let (client, server) = pair.open(config(short), config(short));
        pair.bottleneck = Some((ms(5), 20));
        let mut dice = Dice::new(seed);
        pair.rule(move |_| match dice.next() >> 60 {
            0 => Some(Fault::Lose),
            1 => Some(Fault::Delay(ms(90))),
            2 => Some(Fault::CopyLate(ms(130))),
            _ => None,
        });
        let mut kept: Vec<Wire> = Vec::new();
        let mut dice = Dice::new(seed + 100);
        for round in 0..60 {
            // Both ends sometimes need to resynchronise, as if packets had been lost.
            let side = (dice.next() >> 33) as usize % 2;
            let id = [client, server][side];
            pair.ends[side].connections[id.slot()]
                .subflow_mut()
                .skip(700 + dice.next() % 1_500);
            let begun = pair.log.len();
            pair.saturate_both([client, server], 100, ms(100));
            let syncs =
                |wire: &&Wire| matches!(wire.packet_type(), PacketType::Sync | PacketType::SyncAck);
            kept.extend(pair.log[begun..].iter().filter(syncs).cloned());
            for wire in &kept {
                let to = 1 - wire.from;
                let id = [client, server][to];
                let gsr = |pair: &Pair| {
                    pair.ends[to].connections[id.slot()]
                        .subflow()
                        .greatest_received()
                };
                let before = gsr(&pair);
                pair.deliver(to, wire);
                let after = gsr(&pair);
                assert!(
                    !after.is_before(before),
                    "seed {seed}, round {round}: {before:?} to {after:?} by {:?}",
                    wire.packet().kind
                );
            }
        }
        heard += kept.len();
    }
    assert!(heard > 200, "{heard}");
}

/// RFC 4340, 7.5.5: blind Syncs and `SyncAck`s do not move GSR back.
///
/// The attacker knows everything except our sequence numbers. None of 200,000 packets succeeds, because each has to
/// guess 48 bits, whatever the length of other numbers.
#[test]
fn finding_14_blind_syncs_take_nothing_back() {
    for short in [true, false] {
        blind_syncs(short);
    }
}

fn blind_syncs(short: bool) {
    let mut pair = Pair::new();
    let (client, server) = pair.open(config(short), config(short));
    pair.bottleneck = Some((ms(5), 20));
    pair.saturate(0, client, 300, ms(2_000));
    let ports = pair.log[0].packet().ports;
    let before = gsr(&pair, server);
    let mut dice = Dice::new(14);
    for _ in 0..100_000 {
        let ack = Seq::new(dice.next()).into();
        let kind = if dice.chance(500) {
            Kind::Sync { ack }
        } else {
            Kind::SyncAck { ack }
        };
        // The attacker's best choice: a number shortly before GSR, which the attacker has observed.
        let seq = before.sub(1 + dice.next() % 500);
        let wire = pair.forged(0, ports, seq, &kind);
        pair.deliver(SERVER, &wire);
    }
    assert_eq!(gsr(&pair, server), before);
}
