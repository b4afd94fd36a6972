//! What the applications say as they close (`docs/close.md`), in clear text.

use fairwire_kit::{Pair, Wire, ms};
use fairwire_proto::{CloseReason, Config, Event, Payload, Stats};
use fairwire_units::Duration;
use fairwire_wire::{DccpOption, Encoder, Kind, PacketType, ResetCode, option_type};

fn reason(pair: &Pair, side: usize) -> Option<CloseReason> {
    pair.told(side).into_iter().find_map(|event| match event {
        Event::Closed { reason } => Some(reason),
        _ => None,
    })
}

/// Returns the code and the text with which the peer of this side closed.
fn said_to(pair: &Pair, side: usize) -> Option<(u32, String)> {
    match reason(pair, side)? {
        CloseReason::ApplicationClosed { code, text } => {
            let text = text.map_or(String::new(), |text| text.as_str().to_owned());
            Some((code, text))
        }
        _ => None,
    }
}

fn stats(pair: &Pair, side: usize) -> Stats {
    let id = pair.ids()[side];
    pair.ends[side].stats(id).expect("it is not released")
}

/// Whoever closes first: the peer learns the code and the text, and both ends see an orderly end. A close without a code
/// is as ever.
#[test]
fn the_peer_learns_why() {
    for side in 0..2 {
        let (mut pair, ids) = Pair::opened();
        pair.ends[side].close_with(pair.now, ids[side], 4_000_000_007, "good night");
        // The first word counts.
        pair.ends[side].close_with(pair.now, ids[side], 8, "again");
        pair.run_for(ms(300));
        let expected = (4_000_000_007, "good night".to_owned());
        assert_eq!(said_to(&pair, 1 - side), Some(expected), "{side}");
        assert_eq!(reason(&pair, side), Some(CloseReason::Closed), "{side}");
        assert!(reason(&pair, 1 - side).expect("the end").is_orderly());
    }
    let (mut pair, [client, _]) = Pair::opened();
    pair.ends[0].close(pair.now, client);
    pair.run_for(ms(300));
    assert_eq!(reason(&pair, 1), Some(CloseReason::Closed));
    let has_code = |wire: &Wire| wire.options().iter().any(is_close_code);
    assert!(!pair.log.iter().any(has_code));
}

fn is_close_code(option: &DccpOption<'_>) -> bool {
    matches!(option, DccpOption::CloseCode(_))
}

/// RFC 4340, 8.3: a Close is repeated until it is answered, and each has the code. So the loss of any packet, or of any
/// two, loses no code.
#[test]
fn lost_packets_lose_no_code() {
    for side in 0..2 {
        for (first, second) in
            (0..5).flat_map(|first| (first..5).map(move |second| (first, second)))
        {
            let (mut pair, ids) = Pair::opened();
            let mut number = 0;
            pair.lose(move |_| {
                number += 1;
                number - 1 == first || number - 1 == second
            });
            pair.ends[side]
                .send(pair.now, ids[side], Payload::synthetic(100, 1))
                .expect("open");
            pair.ends[side].close_with(pair.now, ids[side], 7, "why");
            pair.run_for(Duration::from_secs(20));
            let context = format!("side {side}, packets {first} and {second}");
            assert_eq!(
                said_to(&pair, 1 - side),
                Some((7, "why".to_owned())),
                "{context}"
            );
            assert_eq!(reason(&pair, side), Some(CloseReason::Closed), "{context}");
        }
    }
}

/// If both ends close at one moment, each learns what the other one says.
#[test]
fn both_may_say_something() {
    let (mut pair, ids) = Pair::opened();
    for (side, code) in [(0, 10), (1, 11)] {
        pair.ends[side].close_with(pair.now, ids[side], code, "");
    }
    pair.run_for(ms(500));
    assert_eq!(said_to(&pair, 0), Some((11, String::new())));
    assert_eq!(said_to(&pair, 1), Some((10, String::new())));
}

/// RFC 4340, 5.8: an option has at most 253 bytes of data. A longer text is cut between characters.
#[test]
fn a_long_text_is_cut() {
    let (mut pair, [client, _]) = Pair::opened();
    pair.ends[0].close_with(pair.now, client, 1, &"é".repeat(200));
    pair.run_for(ms(300));
    assert_eq!(said_to(&pair, 1), Some((1, "é".repeat(124))));
}

/// A connection that is not open yet is reset, and no code is said.
#[test]
fn before_it_is_open_nothing_is_said() {
    let mut pair = Pair::new();
    let id = pair.connect(Config::default(), Config::default());
    pair.ends[0].close_with(pair.now, id, 7, "too early");
    pair.run_for(ms(500));
    assert_eq!(reason(&pair, 0), Some(CloseReason::Aborted));
    assert!(
        !pair
            .log
            .iter()
            .any(|wire| wire.options().iter().any(is_close_code))
    );
}

/// RFC 4340, 5.8: an option that is too short is ignored, and the Close counts. A text of any bytes is one. On other
/// packets the option says nothing, and with Mandatory before it, it resets the connection (5.8.2).
#[test]
fn odd_codes_say_nothing() {
    for (value, expected) in [
        (&[1, 2, 3][..], None),
        (&[0, 0, 0, 9], Some((9, String::new()))),
        (&[0, 0, 0, 9, 0xff, b'!'], Some((9, "\u{fffd}!".to_owned()))),
    ] {
        let (mut pair, _) = Pair::opened();
        let write = |encoder: &mut Encoder<'_>| {
            encoder
                .raw_option(option_type::CLOSE_CODE, value)
                .expect("room");
        };
        pair.inject(0, 1, |ack| Kind::Ack { ack }, write);
        assert_eq!(reason(&pair, 1), None);
        let answers = pair.inject(0, 2, |ack| Kind::Close { ack }, write);
        let types: Vec<_> = answers.iter().map(Wire::packet_type).collect();
        assert_eq!(types, [PacketType::Reset]);
        assert!(reason(&pair, 1).expect("the end").is_orderly());
        assert_eq!(said_to(&pair, 1), expected, "{value:?}");
        assert_eq!(stats(&pair, 1).unread_close_codes, 0);
    }
    let (mut pair, _) = Pair::opened();
    let answers = pair.inject(
        0,
        1,
        |ack| Kind::Ack { ack },
        |encoder| {
            encoder.option(&DccpOption::Mandatory).expect("room");
            encoder
                .option(&DccpOption::CloseCode(&[7; 4]))
                .expect("room");
        },
    );
    let data = [option_type::CLOSE_CODE, 7, 7];
    let expected = Some((ResetCode::MandatoryError, data));
    assert_eq!(answers.last().and_then(Wire::reset), expected);
}
