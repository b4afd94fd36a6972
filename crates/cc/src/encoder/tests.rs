use std::time::Duration;

use fairwire_units::{Percent, Rate};

use super::{EncoderConfig, EncoderInput, EncoderTarget};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn kbit(kbit: u64) -> Rate {
    Rate::from_bits_per_s(1_000 * kbit)
}

/// No headroom, so that the numbers are simple.
fn config() -> EncoderConfig {
    EncoderConfig {
        start: kbit(1_000),
        headroom: Percent::NONE,
        ..EncoderConfig::default()
    }
}

fn report(rate: u64, queue_age_ms: u64) -> EncoderInput {
    EncoderInput {
        rate: Some(kbit(rate)),
        queue_age: ms(queue_age_ms),
        ..EncoderInput::default()
    }
}

/// A path of a fixed rate with a queue before it: the encoder adds what it makes, and the path takes what it can.
struct Path {
    rate: f64,
    queued: f64,
}

impl Path {
    /// Lets an encoder produce for `ms` milliseconds, and returns the age of the queue after it.
    fn pass(&mut self, bitrate: Rate, ms: u64) -> Duration {
        let seconds = ms as f64 / 1_000.0;
        let more = (bitrate.bits_per_s() as f64 - self.rate) * seconds;
        self.queued = (self.queued + more).max(0.0);
        Duration::from_secs_f64(self.queued / self.rate)
    }
}

/// The encoder gets what the transport carries, less the headroom and what is reserved, and never leaves its range.
#[test]
fn headroom_and_reserve_stay_free() {
    let config = EncoderConfig {
        start: kbit(9_000),
        reserved: kbit(64),
        headroom: Percent::of(0.1),
        ..EncoderConfig::default()
    };
    let mut target = EncoderTarget::new(config);
    assert_eq!(target.bitrate(), config.max, "not even at first");
    assert_eq!(target.update(ms(0), report(2_000, 0)), kbit(1_800 - 64));
    assert_eq!(target.update(ms(1), report(50, 0)), config.min);
    let unknown = EncoderInput::default();
    assert_eq!(
        target.update(ms(1), unknown),
        config.min,
        "nothing is known"
    );
}

/// It falls at once and rises by a fifth in a second, however often it is asked.
#[test]
fn it_rises_slowly() {
    for every in [10, 100, 1_000] {
        let mut target = EncoderTarget::new(config());
        assert_eq!(target.update(ms(0), report(800, 0)), kbit(800));
        let mut now = 0;
        while now < 1_000 {
            now += every;
            target.update(ms(now), report(5_000, 0));
        }
        let bitrate = target.bitrate().bits_per_s();
        // Interest on interest: (1 + 0.2 / 100)^100 = 1.2212.
        assert!((960_000..=977_000).contains(&bitrate), "{bitrate}");
    }
}

/// A pause counts as at most a second: after 20 s without an update the bitrate is not five times as high.
#[test]
fn it_does_not_jump_after_a_pause() {
    let mut target = EncoderTarget::new(config());
    target.update(ms(0), report(1_000, 0));
    assert_eq!(target.update(ms(20_000), report(20_000, 0)), kbit(1_200));
    assert_eq!(target.update(ms(21_000), report(20_000, 0)), kbit(1_440));
}

/// While the transport knows no rate, the bitrate stays where it is. That time does not count for the rise either.
#[test]
fn without_a_rate_it_does_not_rise() {
    let mut target = EncoderTarget::new(config());
    for now in (0..5_000).step_by(100) {
        let bitrate = target.update(ms(now), EncoderInput::default());
        assert_eq!(bitrate, kbit(1_000), "at {now} ms");
    }
    assert_eq!(target.update(ms(5_000), report(20_000, 0)), kbit(1_020));
}

/// A standing queue is short again within the configured time, and the bitrate then returns to the rate at once.
#[test]
fn a_standing_queue_drains_in_time() {
    let mut target = EncoderTarget::new(config());
    // 300 ms of data wait.
    let mut path = Path {
        rate: 1e6,
        queued: 300e3,
    };
    let mut age = ms(300);
    let mut lowest = u64::MAX;
    for now in (0..500).step_by(10) {
        let input = EncoderInput {
            queue_age: age,
            ..report(1_000, 0)
        };
        let bitrate = target.update(ms(now), input);
        lowest = lowest.min(bitrate.bits_per_s());
        age = path.pass(bitrate, 10);
    }
    assert!(age <= ms(31), "30 ms are allowed: {age:?}");
    // 270 of 500 ms have to go: 54 %.
    assert_eq!(lowest, 460_000);
    assert_eq!(target.update(ms(510), report(1_000, 30)), kbit(1_000));
}

/// A queue as old as the time to drain it stops the encoder at its lowest bitrate.
#[test]
fn a_long_queue_leaves_the_minimum() {
    let mut target = EncoderTarget::new(config());
    let just = target.update(ms(0), report(1_000, 530));
    assert_eq!(just, config().min);
    let instant = EncoderConfig {
        drain_within: ms(0),
        ..config()
    };
    let mut target = EncoderTarget::new(instant);
    assert_eq!(target.update(ms(0), report(1_000, 30)), kbit(1_000));
    assert_eq!(target.update(ms(0), report(1_000, 31)), config().min);
}

/// What expires in the queue is not encoded again in the next moment.
#[test]
fn expired_data_lowers_the_bitrate() {
    let mut target = EncoderTarget::new(config());
    target.update(ms(0), report(5_000, 0));
    let expired = EncoderInput {
        sent: 75,
        expired: 25,
        ..report(5_000, 0)
    };
    assert_eq!(target.update(ms(100), expired), kbit(750));
    assert_eq!(target.update(ms(590), expired), kbit(750), "held");
    assert!(target.update(ms(700), expired) > kbit(750));
}

/// Up to 2 % of losses do not matter, up to 10 % stop the rise, and more lower the bitrate by half of their share.
#[test]
fn losses_hold_and_lower() {
    for (lost, held, after) in [(20, false, 1_220), (21, true, 1_200), (101, true, 1_139)] {
        let mut target = EncoderTarget::new(config());
        target.update(ms(0), report(5_000, 0));
        target.update(ms(999), report(5_000, 0));
        let losing = EncoderInput {
            sent: 1_000,
            lost,
            ..report(5_000, 0)
        };
        let at = target.update(ms(1_000), losing).bits_per_s() / 1_000;
        let later = target.update(ms(1_900), losing).bits_per_s() / 1_000;
        assert_eq!(later == at, held, "{lost}: {at}, {later}");
        assert!(at.abs_diff(after) <= 21, "{lost}: {at}");
    }
}
