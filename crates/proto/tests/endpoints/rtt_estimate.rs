//! The sender's round-trip time, sent with its data (RFC 6323).

use fairwire_kit::{Pair, Wire, config_of, data, kind_of, ms};
use fairwire_wire::{DccpOption, Kind, PacketType, ResetCode, option_type};

use fairwire_proto::{Config, ConnectionId};

fn config(ccid: u8, asks: bool) -> Config {
    let mut config = config_of(ccid);
    config.send_rtt_estimate = asks;
    config.keep_alive = Some(ms(200).into());
    config
}

/// Returns an open pair whose client asked for RTT estimates, and both ids.
fn agreed(ccid: u8) -> (Pair, [ConnectionId; 2]) {
    let mut pair = Pair::new();
    let (client, server) = pair.open(config(ccid, true), config(ccid, false));
    (pair, [client, server])
}

/// Returns the RTT estimate in a packet, microseconds.
fn estimate(wire: &Wire) -> Option<u32> {
    let options = wire.packet().options;
    options.iter().find_map(|raw| match raw.decode() {
        Ok(DccpOption::RttEstimate(us)) => Some(us),
        _ => None,
    })
}

/// RFC 6323, 3.3: every Data, `DataAck`, Sync and `SyncAck` carries the RTT estimate.
///
/// It holds in both directions and for both CCIDs. The round trip of the pair is 40 ms, and queueing adds little.
#[test]
fn data_carry_round_trip_times() {
    for ccid in [3, 4] {
        let (mut pair, ids) = agreed(ccid);
        let opened = pair.log.len();
        pair.bottleneck = Some((ms(2), 4));
        pair.saturate_both(ids, 100, ms(3_000));
        // A full queue drains at 100 packets a second or faster; then Syncs serve as keep-alives.
        pair.run_for(ms(5_000));
        for packet_type in [
            PacketType::Data,
            PacketType::DataAck,
            PacketType::Sync,
            PacketType::SyncAck,
        ] {
            let sent = pair.log[opened..].iter();
            let sent: Vec<_> = sent.filter(|w| w.packet_type() == packet_type).collect();
            assert!(!sent.is_empty(), "CCID {ccid}: no {packet_type}");
            for wire in sent {
                let us = estimate(wire).expect("each of them has one");
                assert!((40_000..80_000).contains(&us), "{packet_type}: {us}");
            }
        }
        for (side, id) in ids.into_iter().enumerate() {
            let stats = pair.ends[side].stats(id).unwrap();
            assert!(stats.data_received > 100, "CCID {ccid}: {stats:?}");
        }
    }
}

/// RFC 6323, 3.3: an RTT estimate of invalid length ends the connection with Reset 5, on Data too.
///
/// The Reset carries the option's first three bytes. Where the feature was not agreed on, the option is ignored.
#[test]
fn invalid_round_trip_times_reset() {
    let cases: [(&[u8], [u8; 3]); 3] = [
        (&[], [128, 2, 0]),
        (&[7, 8, 9, 10], [128, 6, 7]),
        (&[9; 200], [128, 202, 9]),
    ];
    for (data, blamed) in cases {
        for packet_type in [PacketType::Data, PacketType::Ack, PacketType::Sync] {
            let write = |encoder: &mut fairwire_wire::Encoder<'_>| {
                encoder.raw_option(option_type::RTT_ESTIMATE, data).unwrap();
            };
            let kind = |ack| kind_of(packet_type, ack);
            let (mut pair, _) = agreed(3);
            let answers = pair.inject(0, 1, kind, write);
            let reset = answers.iter().find_map(Wire::reset);
            let expected = Some((ResetCode::OptionError, blamed));
            assert_eq!(reset, expected, "{packet_type}, {data:?}");

            let mut pair = Pair::new();
            pair.open(config(3, false), config(3, false));
            let answers = pair.inject(0, 1, kind, write);
            assert_eq!(answers.iter().find_map(Wire::reset), None, "{packet_type}");
        }
    }
}

/// RFC 6323, 3.3 and 3.4: the RTT estimate applies to the packet that carries it.
///
/// It does so also if that packet completes the handshake. After later data without an estimate, the next report
/// follows after its 40 ms and not after half a second.
#[test]
fn the_first_data_tell_their_round_trip() {
    for ccid in [3, 4] {
        let mut pair = Pair::new();
        let client = pair.connect(config(ccid, true), config(ccid, false));
        pair.ends[0].send(pair.now, client, data(1_000)).unwrap();
        pair.run_for(ms(100));
        let first = pair
            .log
            .iter()
            .find(|wire| wire.from == 0 && estimate(wire).is_some());
        assert_eq!(first.map(Wire::packet_type), Some(PacketType::DataAck));
        let before = reports(&pair);
        assert_eq!(before, 1, "CCID {ccid}");
        pair.inject(0, 1, |_| Kind::Data, |_| {});
        pair.run_for(ms(60));
        assert_eq!(reports(&pair), 2, "CCID {ccid}");
    }
}

/// Returns the number of feedback packets that the server has sent.
fn reports(pair: &Pair) -> usize {
    let from_server = pair.log.iter().filter(|wire| wire.from == 1);
    let has_rate = |wire: &&Wire| {
        let mut options = wire.packet().options.iter();
        options.any(|raw| raw.option_type == option_type::RECEIVE_RATE)
    };
    from_server.filter(has_rate).count()
}
