//! Tests of the laws that measure, with artificial round trips.

use fairwire_units::{Duration, Instant};

use super::{Cubic, CubicVersion, Dctcp, Round, Vegas, Veno, Window, WindowLaw};
use crate::{Flight, Signal};

/// Brakmo and Peterson 1995, III.B, with ns-2's thresholds, a window of 20 and an empty path of 100 ms. A round trip of
/// 102 ms leaves 0.4 packets in the queue (rounded, none), 112 ms leaves 2.1, 123 ms leaves 3.7 (rounded, four). The
/// window grows by one, stays, and shrinks by one.
#[test]
fn vegas_keeps_between_alpha_and_beta() {
    for (rtt, growth, left) in [(102, 1.0, None), (112, 0.0, None), (123, 0.0, Some(19.0))] {
        let mut vegas = Vegas::NS2;
        assert_eq!(vegas.observe(&sample(0, 20.0, 100)), None, "the base");
        let adjustment = vegas.observe(&sample(200, 20.0, rtt));
        assert_eq!(adjustment, None, "a round that began before: {rtt} ms");
        let adjustment = vegas.observe(&sample(400, 20.0, rtt));
        assert_eq!(adjustment.map(|it| it.cwnd), left, "{rtt} ms");
        let per_round = 20.0 * vegas.increase(&window(400, 20.0), 1.0);
        assert!((per_round - growth).abs() < 1e-9, "{rtt} ms: {per_round}");
    }
}

/// Slow start of Vegas doubles every other round trip. It ends with an eighth less, and with a low threshold, once two
/// packets wait.
#[test]
fn vegas_starts_every_other_round_trip() {
    let mut vegas = Vegas::NS2;
    let slow = |at, rtt| Window {
        ssthresh: f64::INFINITY,
        ..sample(at, 16.0, rtt)
    };
    let mut grown = Vec::new();
    for round in 0..5 {
        assert_eq!(vegas.observe(&slow(round * 101, 100)), None);
        grown.push(vegas.slow_start(&slow(round * 101, 100), 1.0));
    }
    assert_eq!(grown, [0.0, 1.0, 0.0, 1.0, 0.0]);
    // 16 packets in 115 ms: 2.1 of them wait. The mean of the round that ends here is still 100 ms.
    assert_eq!(vegas.observe(&slow(520, 115)), None);
    assert_eq!(vegas.observe(&slow(640, 115)), None, "not a doubling round");
    let ended = vegas.observe(&slow(760, 115)).expect("it ends");
    assert_eq!((ended.cwnd, ended.ssthresh), (14.0, 2.0));
}

/// Packets that the receiver's window keeps out of the network are not in a queue. With a window of 40 and five packets
/// in flight, 112 ms leaves 0.5 packets, not 4.3.
#[test]
fn vegas_counts_what_is_in_flight() {
    let mut vegas = Vegas::NS2;
    let few = |at, rtt| Window {
        flight: Flight {
            packets: 4,
            ..Flight::default()
        },
        in_use: 5.0,
        ..sample(at, 40.0, rtt)
    };
    for (at, rtt) in [(0, 100), (200, 112), (400, 112)] {
        assert_eq!(vegas.observe(&few(at, rtt)), None);
    }
}

/// A loss reduces the window of Vegas by a quarter; the low threshold then keeps it in congestion avoidance.
#[test]
fn vegas_loses_a_quarter() {
    let mut vegas = Vegas::NS2;
    assert_eq!(vegas.cut(&window(0, 20.0), Signal::Lost), 15.0);
    assert_eq!(vegas.threshold(15.0), 2.0);
    assert_eq!(vegas.cut(&window(0, 2.0), Signal::Lost), 2.0);
}

/// Fu and Liew 2003, III: with a window of 20 over 100 ms, 117 ms leaves 2.9 packets in the queue and 118 ms leaves
/// 3.05. Below three, a loss takes a fifth and a round trip adds one packet; otherwise half, and half a packet.
#[test]
fn veno_tells_two_kinds_of_loss_apart() {
    for (rtt, left, growth) in [(117, 16.0, 1.0), (118, 10.0, 0.5)] {
        let mut veno = Veno::default();
        assert_eq!(veno.observe(&sample(100, 20.0, rtt)), None);
        let now = Window {
            min_rtt: Some(Duration::from_millis(100)),
            ..window(200, 20.0)
        };
        let per_round = 20.0 * veno.increase(&now, 1.0);
        assert!((per_round - growth).abs() < 1e-9, "{rtt} ms: {per_round}");
        assert_eq!(veno.cut(&now, Signal::Lost), left, "{rtt} ms");
    }
}

/// Without a sample Veno assumes no congestion.
#[test]
fn veno_without_a_sample_is_gentle() {
    assert_eq!(Veno::default().cut(&window(0, 20.0), Signal::Lost), 16.0);
}

/// RFC 9438, 4.6 and 4.7: 70 % of the window remains. A second cut at 80, below the first, sets the plateau to 0.85 of
/// it, that is 68. RFC 8312 remembers 80 instead: to it a third cut at 75 is below the maximum, to RFC 9438 it is
/// above.
#[test]
fn cubic_makes_room_for_others() {
    for (version, third, plateau) in [
        (CubicVersion::Rfc9438, 67.0, 67.0 * 0.85),
        (CubicVersion::Rfc9438, 75.0, 75.0),
        (CubicVersion::Rfc8312, 75.0, 75.0 * 0.85),
        (CubicVersion::Rfc8312, 81.0, 81.0),
    ] {
        let mut cubic = Cubic::new(version);
        assert_eq!(cubic.cut(&window(0, 100.0), Signal::Lost), 70.0);
        assert_eq!(cubic.cut(&window(100, 80.0), Signal::Lost), 56.0);
        cubic.cut(&window(200, third), Signal::Lost);
        assert_eq!(plateau_of(&cubic, third), plateau, "{version:?} {third}");
        let alone = Cubic::new(version).with_fast_convergence(false);
        let mut alone = alone;
        alone.cut(&window(0, 100.0), Signal::Lost);
        alone.cut(&window(100, 80.0), Signal::Lost);
        assert_eq!(plateau_of(&alone, 80.0), 80.0, "{version:?}");
    }
}

/// RFC 9438, 4.8: after a timeout the plateau is the window at which congestion avoidance begins.
#[test]
fn cubic_is_flat_after_a_timeout() {
    let mut cubic = Cubic::default();
    cubic.cut(&window(0, 100.0), Signal::Lost);
    assert_eq!(cubic.after_timeout(&window(100, 50.0)), 35.0);
    assert_eq!(plateau_of(&cubic, 35.0 / 0.7), 35.0);
}

/// RFC 9438, 4.2 and 5.8: time without use of the window, or without acknowledgements, does not count. An hour of it
/// moves the curve by an hour.
#[test]
fn cubic_waits_for_the_application() {
    let mut used = Cubic::default();
    used.cut(&window(0, 1_000.0), Signal::Lost);
    let mut waited = used;
    let step = |cubic: &mut Cubic, at| {
        cubic.observe(&sample(at, 700.0, 100));
        cubic.increase(&window(at, 700.0), 1.0)
    };
    for at in [100, 200] {
        assert_eq!(step(&mut used, at), step(&mut waited, at));
    }
    waited.observe(&sample(300, 700.0, 100));
    waited.observe(&sample(3_600_300, 700.0, 100));
    let after = step(&mut waited, 3_600_400);
    assert_eq!(after, step(&mut used, 300));
    // A long silence alone: the same as if the acknowledgement came a round trip after the last one.
    let idle = step(&mut waited, 7_200_400);
    assert_eq!(idle, after);
}

/// RFC 8257, 3.3 and 3.5: the estimate begins at one and moves by a sixteenth towards each round trip's fraction, at
/// its end. A mark reduces the window by half of the estimate, a loss by half.
#[test]
fn dctcp_cuts_by_what_was_marked() {
    let mut dctcp = Dctcp::default();
    assert_eq!(dctcp.cut(&window(0, 20.0), Signal::Marked), 10.0);
    let round = |delivered, marked, ends| Window {
        round: Round {
            delivered,
            marked,
            ends,
        },
        ..window(0, 20.0)
    };
    assert_eq!(dctcp.observe(&round(10, 10, false)), None);
    assert_eq!(dctcp.alpha(), 1.0, "within the round");
    let mut alpha = 1.0;
    for (delivered, marked) in [(20, 5), (20, 0), (8, 8)] {
        dctcp.observe(&round(delivered, marked, true));
        alpha = alpha * 15.0 / 16.0 + f64::from(marked) / f64::from(delivered) / 16.0;
        assert!((dctcp.alpha() - alpha).abs() < 1e-12);
    }
    let left = dctcp.cut(&window(0, 20.0), Signal::Marked);
    assert!((left - 20.0 * (1.0 - alpha / 2.0)).abs() < 1e-9);
    assert_eq!(dctcp.cut(&window(0, 20.0), Signal::Lost), 10.0);
}

/// Returns the plateau of the curve that begins at 70 % of `cut_at`.
fn plateau_of(cubic: &Cubic, cut_at: f64) -> f64 {
    cubic.begin(Instant::START, cut_at * 0.7).w_max
}

/// Returns a window in congestion avoidance at `at` ms, on a path of 100 ms.
fn window(at: u64, cwnd: f64) -> Window {
    Window {
        now: Instant::START + Duration::from_millis(at),
        cwnd,
        credit: 0.0,
        ssthresh: 2.0,
        acked: 1,
        flight: Flight {
            packets: 1_000,
            ..Flight::default()
        },
        in_use: 1_001.0,
        rtt: None,
        srtt: Some(Duration::from_millis(100)),
        min_rtt: None,
        round: Round::default(),
        delivery_rate: None,
    }
}

fn sample(at: u64, cwnd: f64, rtt: u64) -> Window {
    Window {
        rtt: Some(Duration::from_millis(rtt)),
        ..window(at, cwnd)
    }
}
