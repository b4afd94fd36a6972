//! The processing cost of packets that were made to cost much, measured in counted loop steps.

use fairwire_kit::{Fault, Pair, SERVICE, config_of, data, ms};
use fairwire_units::Duration;
use fairwire_wire::{Ccid, DccpOption, Encoder, Kind, PacketType};

use fairwire_proto::{Config, within_steps};

/// More steps than one report takes: three for each block that fits into a header.
const REPORT: u64 = 8_192;

/// Adds a Change L of feature 3 with the largest Sequence Window.
fn widest_window(encoder: &mut Encoder<'_>) {
    let change = DccpOption::ChangeL {
        feature: 3,
        value: &[0x3F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
    };
    encoder.option(&change).unwrap();
}

/// A Sequence Window that a Request asks for is not in force before the handshake is complete.
///
/// A forged Request asks for the widest window. The next Request, with data, is up to 2^45 numbers further. It is not
/// valid, so it gets a Sync, and nothing is reported about the numbers between.
#[test]
fn finding_1_a_window_waits_for_the_handshake() {
    for jump in [1 << 45, 76, 75] {
        let mut pair = Pair::new();
        pair.lose(|wire| wire.from == 1);
        pair.connect(Config::default(), Config::default());
        pair.run_for(ms(25));
        let request = |_| Kind::Request { service: SERVICE };
        let first = pair.forge(0, 1, request, widest_window, data(1));
        pair.answers_to(&first);
        let remote = pair.first(1).remote_window;
        assert_eq!(remote, 100, "until the handshake is complete");
        let second = pair.forge(0, 1 + jump, request, |_| {}, data(1));
        let (answers, _) = within_steps(REPORT, || pair.answers_to(&second));
        let valid = jump == 75;
        let expected = if valid {
            PacketType::Response
        } else {
            PacketType::Sync
        };
        assert_eq!(answers[0].packet_type(), expected, "{jump}");
    }
}

/// A stated round trip of a microsecond (RFC 6323) does not turn one gap into many loss events.
///
/// The sender pauses for an hour and skips numbers. The number of loss events stays small, however many microseconds
/// and packets the gap has. Each data packet gets at most one feedback packet.
#[test]
fn finding_2_a_stated_round_trip_of_a_microsecond() {
    for ccid in [3, 4] {
        let mut config = config_of(ccid);
        config.send_rtt_estimate = true;
        // Only the answers that the packets cause.
        config.keep_alive = None;
        let mut pair = Pair::new();
        let (client, server) = pair.open(config.clone(), config);
        pair.ends[0].send(pair.now, client, data(100)).unwrap();
        pair.run_for(ms(300));
        pair.lose(|_| true);
        let before = pair.types(1).len();
        let (mut ahead, mut sent, mut seen) = (0, 0, 0);
        for hole in [700, 300, 760, 1] {
            pair.run_for(Duration::from_secs(3_600));
            ahead += hole;
            for _ in 0..3 {
                ahead += 1;
                sent += 1;
                let stated = |encoder: &mut Encoder<'_>| {
                    encoder.option(&DccpOption::RttEstimate(1)).unwrap();
                };
                let wire = pair.forge(0, ahead, |_| Kind::Data, stated, data(1));
                pair.deliver(1, &wire);
                pair.drain();
            }
            let events = pair.ends[1].stats(server).unwrap().loss_events_seen;
            assert!(events > seen, "CCID {ccid}: {hole}");
            assert!(events <= seen + 112, "CCID {ccid}: {events}");
            seen = events;
        }
        pair.run_for(ms(1_000));
        let answers = pair.types(1).len() - before;
        assert!(answers <= sent + 2, "CCID {ccid}: {answers}");
    }
}

/// The result of a header full of Changes is applied once per packet, and a CCID changes once.
///
/// The header is that of a Request, or of a packet of an open connection.
#[test]
fn finding_10_a_head_of_changes_is_read_once() {
    let changes: [&[[u8; 4]]; 6] = [
        &[[32, 4, 1, 2], [32, 4, 1, 3]],
        &[[34, 4, 1, 3], [34, 4, 1, 2]],
        &[[32, 4, 1, 2]],
        &[[32, 4, 4, 0]],
        &[[34, 4, 200, 0], [32, 4, 77, 1]],
        &[[32, 4, 7, 1], [34, 4, 9, 1], [34, 4, 8, 0]],
    ];
    for (n, changes) in changes.into_iter().enumerate() {
        for open in [false, true] {
            let mut config = Config::default();
            config.ccid_change_interval = Duration::ZERO.into();
            let mut pair = Pair::new();
            pair.connect(config.clone(), config);
            pair.rule(move |wire| (wire.from == 1 && !open).then_some(Fault::Lose));
            pair.run_for(ms(500));
            let kind = |ack| {
                if open {
                    Kind::Ack { ack }
                } else {
                    Kind::Request { service: SERVICE }
                }
            };
            let fill = |encoder: &mut Encoder<'_>| {
                for option in changes.iter().cycle().take(230) {
                    encoder.raw_option(option[0], &option[2..]).unwrap();
                }
            };
            let before = pair.told(1).len();
            let wire = pair.forge(0, 1, kind, fill, data(0));
            // The preferences and the agreement, for the packet and for its answer, and two halves.
            let ((), steps) = within_steps(400, || pair.deliver(1, &wire));
            assert!(steps <= 24, "{n}, {open}: {steps}");
            pair.drain();
            assert!(pair.told(1).len() <= before + 2, "{n}, {open}");
        }
    }
}

/// RFC 4340, 6.6.1: options that refer to the same feature are processed one by one.
///
/// Of several Changes the last counts. What one option agrees on applies to the options after it. Here features and
/// options of CCID 3 follow the Change to CCID 3 and are accepted.
#[test]
fn finding_10_later_options_build_on_earlier_ones() {
    let mut config = Config::default();
    config.receive_ccids = vec![Ccid::TCP_LIKE, Ccid::TFRC];
    let mut pair = Pair::new();
    pair.lose(|wire| wire.from == 1);
    pair.connect(config.clone(), config);
    pair.run_for(ms(25));
    let request = |_| Kind::Request { service: SERVICE };
    let last = pair.forge(
        0,
        1,
        request,
        |encoder| {
            encoder.raw_option(32, &[1, 2]).unwrap();
            encoder.raw_option(32, &[1, 3]).unwrap();
            encoder.option(&DccpOption::Mandatory).unwrap();
            // Features and options of CCID 3.
            encoder.raw_option(32, &[128, 1]).unwrap();
            encoder.option(&DccpOption::Mandatory).unwrap();
            encoder.option(&DccpOption::RttEstimate(7)).unwrap();
        },
        data(0),
    );
    let answers = pair.answers_to(&last);
    assert_eq!(answers[0].packet_type(), PacketType::Response);
    let confirms = |number: u8, value: u8| {
        answers[0].packet().options.iter().any(|raw| {
            matches!(raw.decode(), Ok(DccpOption::ConfirmR { feature, value: [first, ..] })
                if feature == number && *first == value)
        })
    };
    assert!(confirms(1, 3));
    assert!(confirms(128, 1));
}
