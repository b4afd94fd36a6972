//! 24-bit sequence numbers (RFC 4340, sections 7.5.5 and 7.6).

use fairwire_kit::{Dice, Draft, Fault, Pair, SERVICE, Wire, config_of, data, kind_of, ms};
use fairwire_units::Duration;
use fairwire_wire::{DccpOption, Kind, PacketType, Ports, Seq, SeqNo};
use proptest::prelude::*;

use fairwire_proto::{Config, Event};

/// A configuration with this CCID in both directions that allows 24-bit numbers.
fn short(ccid: u8) -> Config {
    let mut config = config_of(ccid);
    config.short_seqnos = true;
    config
}

/// Returns whether the packet's type may have 24-bit numbers.
fn may_be_short(wire: &Wire) -> bool {
    wire.packet_type().may_be_short()
}

/// Builds a packet from side `from` with 24-bit numbers.
fn short_wire(pair: &Pair, from: usize, ports: Ports, seq: Seq, kind: &Kind) -> Wire {
    let draft = Draft::new(ports, SeqNo::Short(seq.short()), *kind).with(data(9));
    pair.make(from, draft, |_| {})
}

/// RFC 4340, 7.6 and 7.6.1: where both ends allow it, Data, Ack and `DataAck` carry 24-bit numbers.
///
/// This begins when the connection is open. Headers have 12 and 16 bytes in place of 16 and 24. All other types stay
/// long. Loss, copies, marks and delays are handled as usual, also where numbers wrap at 2^24 and 2^48.
#[test]
fn both_ends_send_short_numbers() {
    for (ccid, first) in [
        (2, 0x7F_FFFF),
        (2, (1 << 24) - 200),
        (3, (1 << 48) - 200),
        (3, 5),
    ] {
        let mut pair = Pair::new();
        for end in &mut pair.ends {
            end.set_first_sequence(Some(Seq::new(first)));
        }
        let (client, server) = pair.open(short(ccid), short(ccid));
        let opened = pair.log.len();
        pair.bottleneck = Some((ms(2), 30));
        let mut dice = Dice::new(11);
        pair.rule(move |_| match dice.next() >> 54 {
            0..10 => Some(Fault::Lose),
            10..15 => Some(Fault::Mark),
            15..20 => Some(Fault::Copy),
            20..25 => Some(Fault::Delay(ms(7))),
            _ => None,
        });
        pair.saturate_both([client, server], 300, ms(5_000));
        pair.rule(|_| None);
        pair.run_for(ms(500));
        pair.ends[0].close(pair.now, client);
        pair.run_for(ms(2_000));
        for wire in &pair.log {
            let packet = wire.packet();
            let (packet_type, options) = (packet.packet_type(), packet.options);
            let options: usize = options.iter().map(|raw| raw.data.len() + 2).sum();
            if !may_be_short(wire) {
                assert!(!packet.is_short(), "{packet_type}");
            } else if packet.is_short() && packet_type == PacketType::Data && options == 0 {
                assert_eq!(wire.head.len(), 12);
            }
        }
        let sent = pair.log[opened..].iter().filter(|wire| may_be_short(wire));
        assert!(
            sent.clone().all(|wire| wire.packet().is_short()),
            "CCID {ccid}"
        );
        assert!(sent.count() > 1_000);
        for (side, id) in [(0, client), (1, server)] {
            let stats = pair.ends[side].stats(id).unwrap();
            let name = format!("CCID {ccid} from {first} side {side}: {stats:?}");
            assert!(stats.data_received > 500, "{name}");
            assert_eq!((stats.syncs_sent, stats.discarded), (0, 0), "{name}");
        }
    }
}

/// RFC 4340, 7.6.1: if one end does not allow short numbers, both directions stay long; short packets are ignored.
#[test]
fn one_end_s_refusal_is_enough() {
    for (client, server) in [(true, false), (false, true)] {
        let mut pair = Pair::new();
        let with = |short_seqnos| {
            let mut config = Config::default();
            config.short_seqnos = short_seqnos;
            config
        };
        let (client, server) = pair.open(with(client), with(server));
        pair.bottleneck = Some((ms(2), 30));
        pair.saturate_both([client, server], 300, ms(1_000));
        assert!(pair.log.iter().all(|wire| !wire.packet().is_short()));
        for (from, to) in [(0, server), (1, client)] {
            let (seq, ports) = pair.last_of(from);
            let wire = short_wire(&pair, from, ports, seq.next(), &Kind::Data);
            let before = pair.ends[1 - from].stats(to).unwrap();
            pair.deliver(1 - from, &wire);
            let after = pair.ends[1 - from].stats(to).unwrap();
            assert_eq!(after.data_received, before.data_received);
            assert_eq!(after.discarded, before.discarded + 1);
        }
    }
}

/// RFC 4340, 7.5.4 and 7.6: with short numbers, a burst of loss beyond the window costs a Sync and a `SyncAck`.
///
/// Both are long, and data flows again.
#[test]
fn a_burst_of_loss_is_survived() {
    let mut pair = Pair::new();
    let mut config = short(2);
    config.sequence_window = 100;
    config.max_sequence_window = 100;
    let (client, server) = pair.open(config.clone(), config);
    pair.ends[0].skip_numbers(client, 3_000_000);
    for _ in 0..10 {
        pair.ends[0].send(pair.now, client, data(1)).unwrap();
        pair.run_for(ms(700));
    }
    assert!(pair.types(1).contains(&PacketType::Sync));
    assert!(pair.types(0).contains(&PacketType::SyncAck));
    let got = std::iter::from_fn(|| pair.ends[1].recv(server)).count();
    assert!(got >= 8, "{got} of 10");
}

/// RFC 4340, 7.5.5 and 7.6.2: when the Sequence Window must exceed 1,024, numbers become long.
///
/// Both ends withdraw the feature, and no Sync is needed.
#[test]
fn a_wide_window_makes_numbers_long() {
    let mut pair = Pair::new();
    let mut config = short(2);
    config.ccid2.initial_window = Some(300.0);
    let (client, server) = pair.open(config, short(2));
    pair.bottleneck = Some((Duration::from_micros(150), 100));
    pair.saturate(0, client, 100, ms(2_000));
    let stats = pair.ends[0].stats(client).unwrap();
    assert!(stats.sequence_window > 1_024, "{stats:?}");
    let settled = pair.log.len();
    pair.saturate(0, client, 100, ms(200));
    let data = pair.log[settled..]
        .iter()
        .filter(|w| w.from == 0 && may_be_short(w));
    assert!(data.clone().count() > 100);
    assert!(data.clone().all(|wire| !wire.packet().is_short()));
    // The server, whose own window is narrow, continues with short ones.
    let acks = pair.log[settled..]
        .iter()
        .filter(|w| w.from == 1 && may_be_short(w));
    assert!(acks.clone().count() > 10);
    assert!(acks.clone().all(|wire| wire.packet().is_short()));
    // The end that first sees the wide window withdraws the agreement; here it is the server, which confirms the
    // window.
    let takes_back = |wire: &&Wire| {
        let options = wire.packet().options;
        let mut options = options.iter().filter_map(|raw| raw.decode().ok());
        options.any(|option| {
            let (feature, value) = (2, &[0][..]);
            option == DccpOption::ChangeL { feature, value }
                || option == DccpOption::ChangeR { feature, value }
        })
    };
    assert!(pair.log.iter().any(|wire| takes_back(&wire)));
    let (seq, ports) = pair.last_of(0);
    let wire = short_wire(&pair, 0, ports, seq.next(), &Kind::Data);
    let before = pair.ends[1].stats(server).unwrap().data_received;
    pair.deliver(1, &wire);
    assert_eq!(pair.ends[1].stats(server).unwrap().data_received, before);
    for (side, id) in [(0, client), (1, server)] {
        assert_eq!(
            pair.ends[side].stats(id).unwrap().syncs_sent,
            0,
            "side {side}"
        );
    }
}

/// A window too wide for short numbers is refused; the error names the limit.
#[test]
fn short_numbers_and_a_wide_window_exclude_each_other() {
    let mut config = short(2);
    config.sequence_window = 1_025;
    let mut pair = Pair::new();
    let path = pair.path(0);
    let refused = pair.ends[0].connect(pair.now, path, None, 1, SERVICE, config);
    assert!(refused.unwrap_err().to_string().contains("1024"));
}

/// Adversarial item 13 with 24-bit numbers: blind Data packets succeed about once per round of the circle.
///
/// An off-path attacker knows addresses and ports but no numbers. Its best strategy is to send one Data packet per
/// window, evenly spread over the circle (RFC 4340, 7.5.5). With a window of 100, 2^24 / 100 packets succeed once in
/// all; rounding at the ends of the window allows two. They cost eight Syncs a second, and their options have no
/// effect.
#[test]
fn item_13_short_data_succeeds_once_per_round_of_the_circle() {
    let mut pair = Pair::new();
    let mut config = short(2);
    config.sequence_window = 100;
    config.max_sequence_window = 100;
    let (_, server) = pair.open(config.clone(), config);
    let (_, ports) = pair.last_of(0);
    pair.record = false;
    let before = pair.ends[1].stats(server).unwrap();
    let begun = pair.now;
    let mut dice = Dice::new(5);
    let start = dice.next();
    let tries = (1 << 24) / 100;
    for i in 0..tries {
        let wire = short_wire(&pair, 0, ports, Seq::new(start + i * 100), &Kind::Data);
        pair.deliver(1, &wire);
        if i % 100 == 0 {
            pair.now += ms(1);
            pair.drain();
        }
    }
    let after = pair.ends[1].stats(server).unwrap();
    let successes = after.data_received - before.data_received;
    assert!(successes <= 2, "{successes} of {tries}");
    let seconds = (pair.now - begun).as_millis() / 1_000;
    assert!(after.syncs_sent <= 8 * seconds + 8, "{}", after.syncs_sent);
    let closed = |e: &Event| matches!(e, Event::Closed { .. });
    assert!(!pair.told(0).iter().chain(&pair.told(1)).any(closed));
}

/// Adversarial item 13: a forged short Data packet inside the window delivers its data but does not stall the transfer.
///
/// The ends notice from the numbers of their Syncs that it was never sent. In the next three seconds at least half as
/// much data arrives as before: one timeout of CCID 2 and its slow start cost less than that. A stall would last until
/// the sender has used the skipped numbers, at one packet per timeout.
#[test]
fn item_13_a_forged_number_stalls_nothing() {
    for ccid in [2, 3] {
        for ahead in [1, 60, 250, 300, 700] {
            let mut pair = Pair::new();
            let (client, server) = pair.open(short(ccid), short(ccid));
            pair.bottleneck = Some((ms(5), 20));
            pair.saturate(0, client, 300, ms(6_000));
            let received = |pair: &Pair| pair.ends[1].stats(server).unwrap().data_received;
            let begun = received(&pair);
            pair.saturate(0, client, 300, ms(3_000));
            let usual = received(&pair) - begun;
            let ports = pair.log[0].packet().ports;
            let gsr = pair.ends[1].inspect(server).unwrap().gsr;
            let wire = short_wire(&pair, 0, ports, gsr.add(ahead), &Kind::Data);
            let before = received(&pair);
            pair.deliver(1, &wire);
            assert_eq!(received(&pair), before + 1, "it got in");
            pair.saturate(0, client, 300, ms(3_000));
            let then = received(&pair) - before;
            let name = format!("CCID {ccid}, {ahead} ahead: {then} of {usual}");
            assert!(usual > 100, "{name}");
            assert!(then * 2 > usual, "{name}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Adversarial item 13: random short packets succeed only at the rate given by the windows.
    ///
    /// That is once in 2^24 / W for Data, and once in 2^48 / (W W') for types with an acknowledgement. Of 2,000 tries
    /// with W = 100 the expected number is 0.012; the probability of three is less than 1 in 10^6.
    #[test]
    fn item_13_random_short_packets_get_nowhere(seed in any::<u64>()) {
        let mut pair = Pair::new();
        let mut config = short(3);
        config.sequence_window = 100;
        config.max_sequence_window = 100;
        let (_, server) = pair.open(config.clone(), config);
        let (_, ports) = pair.last_of(0);
        pair.record = false;
        let mut dice = Dice::new(seed);
        let before = pair.ends[1].stats(server).unwrap();
        for i in 0..2_000usize {
            let packet_type = [PacketType::Data, PacketType::Ack, PacketType::DataAck][i % 3];
            let kind = kind_of(packet_type, Seq::new(dice.next()).into());
            let wire = short_wire(&pair, 0, ports, Seq::new(dice.next()), &kind);
            pair.deliver(1, &wire);
            pair.now += ms(1);
            pair.drain();
        }
        let after = pair.ends[1].stats(server).unwrap();
        prop_assert!(after.packets_received - before.packets_received < 3);
        prop_assert!(after.syncs_sent <= 8 * 3);
    }
}
