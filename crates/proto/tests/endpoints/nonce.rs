//! The ECN nonce between two endpoints (RFC 4340, section 12.2).

use fairwire_kit::{Dice, Fault, Pair, Wire, config_of, ms};
use fairwire_units::Ecn;
use fairwire_wire::ResetCode;

use fairwire_proto::{CloseReason, Config, ConnectionId, Event};

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// CCID 2 in both directions, with or without the nonce.
fn config(ecn_nonce: bool) -> Config {
    let mut config = config_of(2);
    config.ecn_nonce = ecn_nonce;
    // Numbers are skipped only under suspicion.
    config.check_feedback = false;
    config
}

/// Returns a client that sends nonces, if asked to, and a server that does not.
///
/// The link carries 1,000 packets a second; its queue holds at most 60.
fn open(ecn_nonce: bool) -> (Pair, ConnectionId, ConnectionId) {
    let mut pair = Pair::new();
    let (client, server) = pair.open(config(ecn_nonce), config(false));
    pair.bottleneck = Some((ms(1), 60));
    (pair, client, server)
}

fn received(pair: &Pair, server: ConnectionId) -> u64 {
    pair.ends[SERVER].stats(server).unwrap().data_received
}

fn closed(pair: &Pair) -> Option<CloseReason> {
    pair.told(CLIENT).into_iter().find_map(|event| match event {
        Event::Closed { reason } => Some(reason),
        _ => None,
    })
}

/// RFC 8311, 6: data is sent as ECT(0) unless nonces are configured; then about half of it is ECT(1).
#[test]
fn nonces_are_sent_where_asked_for() {
    for on in [false, true] {
        let (mut pair, client, _) = open(on);
        pair.saturate(CLIENT, client, 500, ms(3_000));
        let count = |ecn| {
            let data = pair
                .log
                .iter()
                .filter(|wire| !wire.transmit.payload.is_empty());
            data.filter(|wire| wire.transmit.ecn == ecn).count()
        };
        let (zeros, ones) = (count(Ecn::Ect0), count(Ecn::Ect1));
        assert_eq!(count(Ecn::NotEct), 0);
        assert!(zeros + ones > 1_000, "{zeros} and {ones}");
        if on {
            // Within six standard deviations, of sqrt(n)/2 each, of one half.
            let far = zeros.abs_diff(ones);
            assert!(far * far < 36 * (zeros + ones), "{zeros} and {ones}");
        } else {
            assert_eq!(ones, 0);
        }
    }
}

/// An honest receiver is never suspected, whatever the network does to packets and marks.
#[test]
fn the_honest_are_not_punished() {
    let (mut pair, client, server) = open(true);
    let mut dice = Dice::new(23);
    pair.rule(move |_| match dice.next() >> 57 {
        0..2 => Some(Fault::Lose),
        2..4 => Some(Fault::Mark),
        4..6 => Some(Fault::Copy),
        6..8 => Some(Fault::Delay(ms(9))),
        _ => None,
    });
    pair.saturate_both([client, server], 500, ms(20_000));
    assert_eq!(closed(&pair), None);
    // Numbers are skipped only under suspicion.
    let mut numbers = pair.log.iter().filter(|wire| wire.from == CLIENT);
    let first = numbers.next().unwrap().packet().seq.long().unwrap();
    let sent = pair.ends[CLIENT].stats(client).unwrap().packets_sent;
    assert_eq!(first.distance(pair.last_of(CLIENT).0), sent - 1);
}

/// Adversarial item 26: with nonces, a receiver that hides marks gets less than twice as much as an honest one.
///
/// Without nonces nothing protects other flows: it gets more than four times as much.
#[test]
fn item_26_hiding_marks_gains_nothing() {
    let run = |nonce, fault| {
        let (mut pair, client, server) = open(nonce);
        pair.record = false;
        let mut dice = Dice::new(31);
        pair.rule(move |wire| (wire.from == CLIENT && dice.chance(50)).then_some(fault));
        pair.saturate(CLIENT, client, 500, ms(20_000));
        // The sender slows down and does not reset the connection, so the received data shows what the window allowed.
        assert_eq!(closed(&pair), None);
        received(&pair, server)
    };
    let honest = run(false, Fault::Mark);
    let undefended = run(false, Fault::Hide);
    let checked = run(true, Fault::Hide);
    // One mark in 20 packets gives about sqrt(1.5 * 20) = 5.5 packets per round trip of 40 ms. The link carries 1,000
    // packets a second.
    assert!((1_500..4_500).contains(&honest), "{honest}");
    assert!(undefended > 4 * honest, "{undefended} to {honest}");
    // Half of the hidden marks are detected.
    assert!(checked < 2 * honest, "{checked} to {honest}");
}

/// RFC 4340, 12.3: a receiver that keeps hiding marks is reset with code 11, after several round trips.
///
/// Here half of the packets are marked, and every mark is hidden.
#[test]
fn item_26_a_liar_is_reset() {
    let (mut pair, client, _) = open(true);
    let mut dice = Dice::new(37);
    pair.rule(move |wire| (wire.from == CLIENT && dice.chance(500)).then_some(Fault::Hide));
    let began = pair.now;
    pair.saturate(CLIENT, client, 500, ms(10_000));
    let code = ResetCode::AggressionPenalty;
    let reason = CloseReason::PeerError { code, data: [0; 3] };
    assert_eq!(closed(&pair), Some(reason));
    let closed = pair.events[CLIENT].iter();
    let at = closed.last().unwrap().0;
    assert!(at - began >= ms(8 * 40), "after {:?}", at - began);
    let resets: Vec<_> = pair.log.iter().filter_map(Wire::reset).collect();
    assert_eq!(resets, [(code, [0; 3])]);
}
