//! Handshakes that stop half-way (RFC 4340, sections 8.1.3 and 8.1.5).

use fairwire_kit::{Fault, PORT, Pair, SERVICE, Wire, data, ms};
use fairwire_units::Duration;
use fairwire_wire::{PacketType, ResetCode};

use fairwire_proto::{CloseReason, Config, Event};

/// Four segment lifetimes of two minutes.
const FOUR_MSL: Duration = Duration::from_secs(480);

/// A configuration whose timeouts are longer than the pause, so that they do not end it.
fn patient() -> Config {
    let mut config = Config::default();
    config.idle_timeout = Duration::from_secs(3_600).into();
    config.connect_timeout = Duration::from_secs(3_600).into();
    config
}

/// Returns whether `side` has nothing left of any connection: no slot, no timer, no table entry.
fn is_clean(pair: &Pair, side: usize) -> bool {
    let end = &pair.ends[side];
    let stats = end.endpoint_stats();
    end.states().next().is_none()
        && end.inspect_endpoint().attempts == 0
        && (stats.connections, stats.half_open) == (0, 0)
        && end.next_timeout().is_none()
}

/// Returns whether the newest packet of `side` is Reset 2, Aborted.
fn has_aborted(pair: &Pair, side: usize) -> bool {
    let last = pair.log.iter().rfind(|wire| wire.from == side);
    last.and_then(Wire::reset) == Some((ResetCode::Aborted, [0; 3]))
}

/// Item 33; RFC 4340, 8.1.3: a connection stays in RESPOND for at most 4 MSL after the first Request.
///
/// The client stops after its Request, or repeats it for ever and never gets the answer. Then Reset 2 is sent, and
/// nothing is kept.
#[test]
fn item_33_a_pause_in_respond_ends_with_reset_2() {
    for repeats in [false, true] {
        let mut pair = Pair::new();
        pair.rule(move |wire| {
            let first = wire.packet_type() == PacketType::Request && (repeats || wire.at < START);
            (!first).then_some(Fault::Lose)
        });
        pair.connect(patient(), patient());
        pair.run_for(FOUR_MSL);
        assert_eq!(pair.states()[1], "RESPOND", "{repeats}");
        assert!(!has_aborted(&pair, 1), "{repeats}");
        pair.lose(|_| true);
        pair.run_for(ms(20));
        assert!(has_aborted(&pair, 1), "{repeats}");
        assert!(is_clean(&pair, 1), "{repeats}");
        assert_eq!(pair.told(1), [], "nobody has heard of it");
    }
}

/// A moment after the first Request.
const START: fairwire_units::Instant = fairwire_units::Instant::from_nanos(1_100_000_000);

/// Item 33; RFC 5596, 2.2.2: the same limit holds for a server that invited its client; its application is told.
#[test]
fn item_33_a_pause_after_an_invitation_ends_with_reset_2() {
    let mut pair = Pair::new();
    let path = pair.path(1);
    pair.lose(|wire| wire.packet_type() != PacketType::Request);
    let client = pair.connect_only(patient());
    let (port, _, _) = pair.ends[0].addresses(client).unwrap();
    let server = pair.ends[1].listen_towards(pair.now, path, PORT, port, SERVICE, patient());
    let server = server.unwrap();
    pair.run_for(ms(1_100));
    assert_eq!(pair.states()[1], "RESPOND");
    pair.lose(|_| true);
    pair.run_for(FOUR_MSL);
    assert!(has_aborted(&pair, 1));
    let reason = CloseReason::IdleTimeout;
    assert_eq!(pair.told(1), [Event::Closed { reason }]);
    pair.ends[1].release(server);
    assert!(is_clean(&pair, 1));
}

/// Item 33; RFC 4340, 8.1.5: a client stays in PARTOPEN for at most 4 MSL if its server sends only the Response.
///
/// It does not matter whether it has data to send, or how often the Response is repeated. Then Reset 2 is sent, the
/// application is told, and its datagrams are refused. After the release nothing is kept.
#[test]
fn item_33_a_pause_in_partopen_ends_with_reset_2() {
    for (queued, repeats) in [(0, false), (200, false), (200, true)] {
        let mut pair = Pair::new();
        pair.rule(|wire| {
            let response = wire.packet_type() == PacketType::Response;
            (wire.from == 1 && !response).then_some(Fault::Lose)
        });
        let mut config = patient();
        config.report_fates = true;
        let client = pair.connect(config, patient());
        for _ in 0..queued {
            pair.ends[0].send(pair.now, client, data(100)).unwrap();
        }
        pair.run_for(ms(100));
        let response = pair.log.iter().find(|wire| wire.from == 1).unwrap().clone();
        for _ in 0..479 {
            if repeats {
                pair.deliver(0, &response);
            }
            pair.run_for(ms(1_000));
        }
        assert_eq!(pair.states()[0], "PARTOPEN", "{queued} {repeats}");
        assert!(!has_aborted(&pair, 0));
        pair.run_for(ms(1_000));
        assert!(has_aborted(&pair, 0), "{queued} {repeats}");
        let told = pair.told(0);
        let reason = CloseReason::IdleTimeout;
        assert_eq!(told.last(), Some(&Event::Closed { reason }));
        let fates = told.iter().filter(|e| matches!(e, Event::Fate { .. }));
        assert_eq!(fates.count(), queued, "each datagram has one fate");
        pair.ends[0].release(client);
        assert!(is_clean(&pair, 0), "{queued} {repeats}");
    }
}
