use fairwire_units::{Duration, Instant, Rate};

use super::{LimitedBy, RoundEnd, TargetBitrate, TargetEstimator};

const RTT: Duration = Duration::from_millis(100);

fn at(ms: u64) -> Instant {
    Instant::START + Duration::from_millis(ms)
}

/// Feeds the estimator with one acknowledgement in 10 ms.
struct Feed {
    estimator: TargetEstimator,
    ms: u64,
    rtt: Duration,
    /// The rate by the window, bytes per second.
    allowed: f64,
    initial_window: f64,
    is_peer_slow: bool,
}

impl Feed {
    fn new(allowed: f64) -> Self {
        Self {
            estimator: TargetEstimator::default(),
            ms: 0,
            rtt: RTT,
            allowed,
            initial_window: 0.0,
            is_peer_slow: false,
        }
    }

    /// Lets data arrive at this rate, in bytes per second, for a time.
    fn run(&mut self, rate: u64, spare: bool, ms: u64) -> TargetBitrate {
        for _ in 0..ms / 10 {
            self.ms += 10;
            if spare {
                self.estimator.on_spare();
            }
            let now = at(self.ms);
            if self.estimator.on_arrived(now, rate / 100, self.rtt) {
                let round = RoundEnd {
                    rtt: self.rtt,
                    allowed: self.allowed,
                    initial_window: self.initial_window,
                    is_peer_slow: self.is_peer_slow,
                };
                self.estimator.end_round(now, &round);
            }
        }
        self.estimator.target().unwrap_or_default()
    }
}

fn bytes_per_s(target: TargetBitrate) -> u64 {
    target.rate.bits_per_s() / 8
}

/// While data waits, the target is the rate at which data arrives, whatever the window allows.
#[test]
fn a_busy_path_gives_what_arrives() {
    for allowed in [100e3, 250e3, 700e3] {
        let mut feed = Feed::new(allowed);
        let target = feed.run(250_000, false, 1_000);
        assert_eq!(target.limit, LimitedBy::Network);
        assert_eq!(bytes_per_s(target), 250_000);
    }
}

/// When the path's rate halves, nothing of the old rate is left after five round trips: one may have begun before, and
/// four are averaged.
#[test]
fn five_round_trips_forget_the_old_rate() {
    let mut feed = Feed::new(400e3);
    feed.run(250_000, false, 1_050);
    assert!(bytes_per_s(feed.run(125_000, false, 400)) > 130_000);
    assert_eq!(bytes_per_s(feed.run(125_000, false, 100)), 125_000);
}

/// RFC 5348, 4.3: an application that sends little gets at most twice the rate that was received, however much the
/// window allows, and reaches it in steps of a sixteenth.
#[test]
fn at_most_twice_what_arrived() {
    let mut feed = Feed::new(1e6);
    feed.initial_window = 4_380.0;
    let first = bytes_per_s(feed.run(125_000, true, 120));
    let mut last = first;
    for _ in 0..100 {
        let target = feed.run(125_000, true, 100);
        assert_eq!(target.limit, LimitedBy::Application);
        let now = bytes_per_s(target);
        assert!(now <= 250_000 && now <= last * 17 / 16 + 1, "{last}, {now}");
        last = now;
    }
    assert_eq!(last, 250_000);
}

/// The window is the limit where it is lower than twice what arrived, and an initial window needs no proof.
#[test]
fn the_window_limits_and_the_initial_window_is_free() {
    let mut feed = Feed::new(150e3);
    assert_eq!(bytes_per_s(feed.run(125_000, true, 3_000)), 150_000);
    let mut feed = Feed::new(1e6);
    feed.initial_window = 4_000.0;
    assert_eq!(bytes_per_s(feed.run(1_000, true, 5_000)), 40_000);
    // A round lasts 50 ms at least, so a short path does not promise more.
    let mut feed = Feed::new(1e6);
    (feed.initial_window, feed.rtt) = (4_000.0, Duration::from_micros(100));
    assert_eq!(bytes_per_s(feed.run(1_000, true, 5_000)), 80_000);
}

/// RFC 8298, 4.1.3: close to the rate at which the network was the limit, the target rises slowly.
#[test]
fn it_rises_carefully_near_the_known_capacity() {
    let mut feed = Feed::new(1e6);
    feed.run(200_000, false, 2_000);
    let after = bytes_per_s(feed.run(200_000, true, 1_100));
    // Ten rounds with the application as the limit; the first spare round still counts for the network.
    assert!((230_000..=235_000).contains(&after), "{after}");
}

/// One round in which the queue was empty for a moment does not end the limit of the network; two do.
#[test]
fn two_spare_rounds_show_the_application() {
    let mut feed = Feed::new(1e6);
    feed.run(200_000, false, 1_010);
    assert_eq!(feed.run(200_000, true, 100).limit, LimitedBy::Network);
    assert_eq!(feed.run(200_000, false, 100).limit, LimitedBy::Network);
    assert_eq!(feed.run(200_000, true, 100).limit, LimitedBy::Network);
    assert_eq!(feed.run(200_000, true, 100).limit, LimitedBy::Application);
}

/// A pause proves nothing and forgets nothing: the target is the same after a minute without data.
#[test]
fn a_pause_changes_nothing() {
    let mut feed = Feed::new(1e6);
    let before = feed.run(125_000, true, 5_000);
    feed.ms += 60_000;
    let after = feed.run(125_000, true, 1_000);
    assert_eq!(before, after);
    // Ten seconds of less data do lower it.
    assert_eq!(bytes_per_s(feed.run(50_000, true, 12_000)), 100_000);
}

/// A path that delivers nothing while data waits has next to no rate, even though no acknowledgement ends a round.
#[test]
fn an_outage_ends_the_target() {
    let mut feed = Feed::new(1e6);
    feed.run(125_000, false, 1_000);
    for ms in [1_500, 2_500, 4_500, 8_500] {
        let round = RoundEnd {
            rtt: RTT,
            allowed: 10e3,
            initial_window: 4_380.0,
            is_peer_slow: false,
        };
        feed.estimator.end_round(at(ms), &round);
    }
    // What arrived in the last 0.1 s before the outage, in four rounds of 7.6 s in all.
    let target = feed.estimator.target().unwrap_or_default();
    assert!(bytes_per_s(target) <= 2_000, "{target:?}");
}

/// RFC 4340, 11.6: a slow receiver gets no more than it gets now.
#[test]
fn a_slow_peer_stops_the_rise() {
    let mut feed = Feed::new(1e6);
    feed.initial_window = 4_380.0;
    let before = feed.run(125_000, true, 500);
    feed.is_peer_slow = true;
    let target = feed.run(125_000, true, 2_000);
    assert_eq!(target.limit, LimitedBy::Peer);
    assert!(target.rate <= before.rate, "{target:?} after {before:?}");
}

/// Five per cent less, ten per cent more, or another limit are worth a reaction.
#[test]
fn the_band_around_a_target() {
    let target = |bits| TargetBitrate {
        rate: Rate::from_bits_per_s(bits),
        limit: LimitedBy::Network,
    };
    let last = target(1_000_000);
    for (bits, has_left) in [
        (949_999, true),
        (950_000, false),
        (1_100_000, false),
        (1_100_001, true),
    ] {
        assert_eq!(target(bits).has_left(&last), has_left, "{bits}");
    }
    let other = TargetBitrate {
        limit: LimitedBy::Application,
        ..last
    };
    assert!(other.has_left(&last));
    assert!(!target(u64::MAX).has_left(&target(u64::MAX)));
}
