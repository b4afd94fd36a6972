//! Congestion control of acknowledgements (RFC 4341, section 6.1).

use fairwire_kit::{Dice, Fault, Pair, Wire, config_of, ms};
use fairwire_units::{Duration, Instant};
use fairwire_wire::feature::Feature;
use fairwire_wire::{DccpOption, PacketType};

use fairwire_proto::{AckRatioFollows, Config, ConnectionId};

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// CCID 2 in both directions. No sequence number is skipped, because the tests depend on the order of packets.
fn ccid2() -> Config {
    let mut config = config_of(2);
    config.check_feedback = false;
    config
}

/// Returns an open pair with a capacity of 1,000 packets per second in each direction.
fn open() -> (Pair, ConnectionId, ConnectionId) {
    let mut pair = Pair::new();
    let (client, server) = pair.open(ccid2(), ccid2());
    pair.bottleneck = Some((ms(1), 60));
    (pair, client, server)
}

/// Loses the server's packets without data beyond one in each interval of `each`, as a policer does.
fn police(each: Duration) -> impl FnMut(&Wire) -> Option<Fault> {
    let mut free_at = Instant::START;
    move |wire| {
        if wire.from != SERVER || carries_data(wire) {
            return None;
        }
        if wire.at < free_at {
            return Some(Fault::Lose);
        }
        free_at = wire.at + each;
        None
    }
}

fn carries_data(wire: &Wire) -> bool {
    matches!(wire.packet_type(), PacketType::Data | PacketType::DataAck)
}

fn ratio(pair: &Pair, id: ConnectionId) -> u64 {
    pair.ends[CLIENT].stats(id).unwrap().ack_ratio
}

fn received(pair: &Pair, id: ConnectionId) -> u64 {
    pair.ends[SERVER].stats(id).unwrap().data_received
}

/// Returns the Ack Ratios that the client asked for, without repetitions, and when.
fn asked(pair: &Pair) -> Vec<(Instant, u16)> {
    let mut asked: Vec<(Instant, u16)> = Vec::new();
    for wire in pair.log.iter().filter(|wire| wire.from == CLIENT) {
        let packet = wire.packet();
        for option in packet.options.iter().filter_map(|raw| raw.decode().ok()) {
            if let DccpOption::ChangeL { feature, value } = option
                && feature == Feature::AckRatio.number()
            {
                let value = u16::from_be_bytes([value[0], value[1]]);
                if asked.last().is_none_or(|&(_, last)| last != value) {
                    asked.push((wire.at, value));
                }
            }
        }
    }
    asked
}

/// RFC 4341, 6.1: a congested reverse path gets fewer acknowledgements.
///
/// The data keep their rate. When the reverse path is clear again, the Ack Ratio returns to 2.
#[test]
fn a_congested_way_back_gets_fewer_acknowledgements() {
    let (mut pair, client, server) = open();
    pair.record = false;
    pair.saturate(CLIENT, client, 500, ms(5_000));
    let before = received(&pair, server);
    pair.saturate(CLIENT, client, 500, ms(10_000));
    let clean = received(&pair, server) - before;
    assert_eq!(ratio(&pair, client), 2);
    // 500 acknowledgements a second meet a reverse path with a capacity of 100.
    pair.rule(police(ms(10)));
    let mut highest = 0;
    let (data, acks) = (received(&pair, server), sent(&pair, server));
    for _ in 0..40 {
        pair.saturate(CLIENT, client, 500, ms(250));
        highest = highest.max(ratio(&pair, client));
    }
    let (data, acks) = (received(&pair, server) - data, sent(&pair, server) - acks);
    assert!(highest >= 8, "{highest}");
    // An Ack Ratio of 2 would give 5,000 of them; a ratio of 8 or more gives at most 1,250. For half of the time the
    // ratio is rising or falling.
    assert!(acks < 3_000, "{acks} acknowledgements for {data} packets");
    // The forward path is unchanged; bursts of acknowledged packets may cost a tenth of the rate.
    assert!(data * 10 >= clean * 9, "{data} of {clean}");
    pair.rule(|_| None);
    // Lowering each ratio R takes cwnd/(R^2 - R) windows of at most 100 packets: less than 100 windows of 0.1 s in all.
    pair.saturate(CLIENT, client, 500, ms(10_000));
    assert_eq!(ratio(&pair, client), 2);
}

fn sent(pair: &Pair, server: ConnectionId) -> u64 {
    pair.ends[SERVER].stats(server).unwrap().packets_sent
}

/// RFC 4341, 6.1.2: a fixed Ack Ratio is held to half the window, so a flow that lost a window recovers its rate.
///
/// With a larger ratio each window would wait for the delay of the peer's acknowledgements.
#[test]
fn a_fixed_ratio_does_not_starve_a_flow() {
    for fixed in [2, 4, 30] {
        let mut pair = Pair::new();
        let mut config = ccid2();
        config.ccid2.ack_ratio = std::num::NonZeroU16::new(fixed);
        let (client, server) = pair.open(config, ccid2());
        pair.bottleneck = Some((ms(1), 60));
        pair.record = false;
        pair.saturate(CLIENT, client, 500, ms(2_000));
        pair.lose(|_| true);
        pair.saturate(CLIENT, client, 500, ms(1_500));
        pair.rule(|_| None);
        pair.saturate(CLIENT, client, 500, ms(10_000));
        let before = received(&pair, server);
        pair.saturate(CLIENT, client, 500, ms(10_000));
        let news = received(&pair, server) - before;
        // The path carries 10,000.
        assert!(news > 8_000, "{news} with a ratio of {fixed}");
    }
}

/// RFC 4341, 6.1.2: a new Ack Ratio is requested at most once per round trip.
///
/// It holds for any changes of the window and any losses of acknowledgements. A ratio of one is requested only after a
/// timeout has reduced the window to one packet.
#[test]
fn one_renegotiation_per_round_trip() {
    let (mut pair, client, _) = open();
    let mut dice = Dice::new(11);
    let mut policer = police(ms(8));
    pair.rule(move |wire| {
        let unlucky = wire.from == CLIENT && carries_data(wire) && dice.chance(4);
        if unlucky {
            Some(Fault::Lose)
        } else {
            policer(wire)
        }
    });
    pair.saturate(CLIENT, client, 500, ms(20_000));
    let asked = asked(&pair);
    assert!(asked.len() > 10, "{asked:?}");
    for two in asked.windows(2) {
        let apart = two[1].0 - two[0].0;
        assert!(apart >= ms(40), "{two:?}: a round trip is longer");
    }
    let ones = asked.iter().filter(|&&(_, ratio)| ratio == 1).count() as u64;
    let timeouts = pair.ends[CLIENT].stats(client).unwrap().gauges.timeouts;
    assert!(ones <= timeouts, "{timeouts} timeouts: {asked:?}");
}

/// RFC 4341, 6.1.1: lost data of the server does not count as lost acknowledgements.
///
/// After the first ambiguous loss the client asks for NDP Counts, which distinguish the two (RFC 4340, 7.7).
#[test]
fn lost_data_is_not_taken_for_lost_acknowledgements() {
    let (mut pair, client, server) = open();
    let mut count = 0;
    pair.rule(move |wire| {
        let data = wire.from == SERVER && carries_data(wire);
        count += u64::from(data);
        (data && count % 50 == 0).then_some(Fault::Lose)
    });
    pair.saturate_both([client, server], 500, ms(20_000));
    let lost = pair.ends[SERVER].stats(server).unwrap().lost;
    assert!(lost > 30, "{lost}");
    let asked = asked(&pair);
    let highest = asked.iter().map(|&(_, ratio)| ratio).max();
    assert!(
        highest.is_none_or(|ratio| ratio <= 4),
        "the first: {asked:?}"
    );
    assert_eq!(ratio(&pair, client), 2, "{asked:?}");
}

/// Adversarial item 29: a connection survives marks on every packet, and recovers when they end.
///
/// Marks on every acknowledgement raise the Ack Ratio as far as the window allows. Marks on every packet slow the data
/// down to one packet per round trip.
///
/// A marked packet does not increase the window (RFC 4341, 5), so the window falls to one packet and stays there. The
/// Ack Ratio is one then, so no acknowledgement is delayed. A packet takes 21 ms and its acknowledgement another 21 ms.
/// Where an acknowledgement of acknowledgements is sent before the next packet, that packet waits for another
/// millisecond. So each packet takes 42 or 43 ms: 232 to 239 packets in 10 s.
///
/// Without marks slow start doubles the window once, from one packet to the threshold of two. After that it grows by
/// one packet per round trip of 40 to 43 ms: 2 + 115 packets after 5 s, more than the 40 that fill the path.
#[test]
fn item_29_marks_on_everything() {
    let (mut pair, client, server) = open();
    pair.saturate(CLIENT, client, 500, ms(3_000));
    pair.rule(|wire| (wire.from == SERVER).then_some(Fault::Spoof));
    pair.saturate(CLIENT, client, 500, ms(3_000));
    let stats = pair.ends[CLIENT].stats(client).unwrap();
    // The window is at most 100 packets; half of it is 50.
    assert!((8..=50).contains(&stats.ack_ratio), "{stats:?}");
    pair.rule(|_| Some(Fault::Spoof));
    pair.saturate(CLIENT, client, 500, ms(3_000));
    let before = received(&pair, server);
    pair.saturate(CLIENT, client, 500, ms(10_000));
    let marked = received(&pair, server) - before;
    assert!((232..=239).contains(&marked), "{marked}");
    assert_eq!(ratio(&pair, client), 1);
    pair.rule(|_| None);
    pair.saturate(CLIENT, client, 500, ms(5_000));
    let before = received(&pair, server);
    pair.saturate(CLIENT, client, 500, ms(1_000));
    let recovered = received(&pair, server) - before;
    assert!(
        recovered >= 950,
        "{recovered} of the 1,000 that the path carries"
    );
}

/// RFC 4341, 6.1.2: at a window of one packet the Ack Ratio is one.
///
/// Two timeouts, 200 ms and then 600 ms apart, reduce the window to one. The peer has no timer for delayed
/// acknowledgements, as Linux has none, but it acknowledges the next packet. So the window grows again within ten round
/// trips.
#[test]
fn a_lost_window_does_not_wait_for_a_second_packet() {
    let (mut pair, client, _) = open();
    let mut data_at = Instant::START;
    let mut rule = move |wire: &Wire, block: bool| {
        if wire.from == CLIENT && carries_data(wire) {
            data_at = wire.at;
        }
        // Packets that the server's delayed-acknowledgement timer sends, 200 ms after the data.
        let held_back = wire.from == SERVER && wire.at >= data_at + ms(200);
        ((block && wire.from == CLIENT) || held_back).then_some(Fault::Lose)
    };
    pair.saturate(CLIENT, client, 500, ms(1_000));
    let clear_at = pair.now + ms(500);
    pair.rule(move |wire| rule(wire, wire.at < clear_at));
    pair.saturate(CLIENT, client, 500, ms(500));
    let stats = pair.ends[CLIENT].stats(client).unwrap();
    assert_eq!(stats.gauges.cwnd_packets, Some(1.0), "{stats:?}");
    pair.saturate(CLIENT, client, 500, ms(800));
    let stats = pair.ends[CLIENT].stats(client).unwrap();
    let cwnd = stats.gauges.cwnd_packets.unwrap();
    assert!(cwnd >= 4.0, "{stats:?}");
}

/// Without loss on the reverse path, neither an Ack Ratio nor NDP Counts are requested.
#[test]
fn a_clear_way_back_changes_nothing() {
    let (mut pair, client, _) = open();
    let mut dice = Dice::new(5);
    pair.rule(move |wire| (wire.from == CLIENT && dice.chance(10)).then_some(Fault::Lose));
    let opened = pair.log.len();
    pair.saturate(CLIENT, client, 500, ms(5_000));
    assert_eq!(asked(&pair), []);
    for wire in &pair.log[opened..] {
        let packet = wire.packet();
        let mut options = packet.options.iter().filter_map(|raw| raw.decode().ok());
        let counts = Feature::SendNdpCount.number();
        let asks = options.any(
            |option| matches!(option, DccpOption::ChangeR { feature, .. } if feature == counts),
        );
        assert!(!asks, "{packet:?}");
    }
}

/// As in Linux 6.1, the Ack Ratio can follow the window: between ten and 20 acknowledgements cover one.
#[test]
fn the_ratio_can_follow_the_window() {
    let mut config = ccid2();
    config.ccid2.ack_ratio_follows = AckRatioFollows::Window;
    let mut pair = Pair::new();
    let (client, _) = pair.open(config.clone(), config);
    // 1,000 packets per second, and room for 60 of them: the window has 30 to 80.
    pair.bottleneck = Some((ms(1), 60));
    pair.saturate(CLIENT, client, 500, ms(20_000));
    let ratios: Vec<u16> = asked(&pair).into_iter().map(|(_, ratio)| ratio).collect();
    assert_eq!(ratios[..4], [1, 2, 4, 8], "slow start: {ratios:?}");
    let low = ratios[4..].iter().all(|ratio| [1, 2, 4, 8].contains(ratio));
    assert!(low, "{ratios:?}");
}
