use super::{InterarrivalJitter, Jitter};
use fairwire_units::{Duration, Instant};

fn us(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

/// Records packets that are sent every 20 ms with the given delays (in us).
fn feed(delays_us: &[u64]) -> Jitter {
    let mut jitter = Jitter::default();
    for (i, delay) in (0..).zip(delays_us) {
        jitter.packet(us(i * 20_000), us(i * 20_000 + delay));
    }
    jitter
}

/// RFC 3550, 6.4.1 by hand for delays 10, 12, 9, 9 ms: |D| = 2, 3, 0 ms, so
/// J = 2/16 = 0.125; 0.125 + (3 - 0.125)/16 = 0.3046875; 0.3046875 * 15/16 = 0.28564453125 ms.
#[test]
fn rfc_3550_by_hand() {
    let mut jitter = InterarrivalJitter::default();
    let expected_ns = [0, 125_000, 304_687, 285_644];
    for ((i, delay), expected) in (0..).zip([10_000, 12_000, 9_000, 9_000]).zip(expected_ns) {
        jitter.packet(us(i * 20_000), us(i * 20_000 + delay));
        let error = jitter.value().as_nanos().abs_diff(expected);
        // The integer form of A.8 rounds to a sixteenth of a unit at each step.
        assert!(error <= 1, "packet {i}: {}", jitter.value());
    }
}

/// The jitter approaches a constant |D|, and old values decay as (15/16)^n.
#[test]
fn rfc_3550_converges_and_forgets() {
    let mut jitter = InterarrivalJitter::default();
    for i in 0..400 {
        jitter.packet(us(i * 20_000), us(i * 20_000 + 5_000 * (i % 2)));
    }
    // (15/16)^399 of 5 ms is below a nanosecond; the integer form is within one, too.
    assert!(jitter.value().as_nanos().abs_diff(5_000_000) <= 1);
    let last = us(399 * 20_000 + 5_000);
    for i in 1..=1000 {
        let later = Duration::from_millis(i * 20);
        jitter.packet(us(399 * 20_000) + later, last + later);
    }
    assert_eq!(jitter.value(), Duration::ZERO);
}

/// The example of wifi-handoff: delays of 10 ms and 11 ms differ by 1 ms. A longer one by hand: 10, 11, 9, 9, 13 ms
/// differ by 1, 2, 0, 4; the mean is 1.75 ms.
#[test]
fn delay_variation_by_hand() {
    assert_eq!(
        feed(&[10_000, 11_000]).variation.mean(),
        Some(Duration::from_millis(1))
    );
    assert_eq!(
        feed(&[10_000, 11_000, 9_000, 9_000, 13_000])
            .variation
            .mean(),
        Some(Duration::from_micros(1_750))
    );
}

/// For delays of 10, 12, 14 ms the sample standard deviation is 2 ms. The arrival gaps are 22 and 22 ms, without any
/// variation: the definitions differ.
#[test]
fn definitions_differ() {
    let jitter = feed(&[10_000, 12_000, 14_000]);
    assert_eq!(jitter.deviation.deviation(), Some(Duration::from_millis(2)));
    assert_eq!(jitter.gaps.mean(), Some(Duration::ZERO));
    assert_eq!(jitter.variation.mean(), Some(Duration::from_millis(2)));
}

/// Arrivals at 0, 20, 50, 60 ms have gaps of 20, 30, 10 ms, which differ by 10 and 20: the mean is 15 ms. The standard
/// deviation of the gaps is 10 ms.
#[test]
fn arrival_gaps_by_hand() {
    let mut gaps = super::InterarrivalVariation::default();
    for at in [0, 20_000, 50_000, 60_000] {
        gaps.packet(us(at));
    }
    assert_eq!(gaps.mean(), Some(Duration::from_millis(15)));
    assert_eq!(gaps.deviation(), Some(Duration::from_millis(10)));
}

/// A receiver's clock that is an hour behind or ahead changes nothing.
#[test]
fn clock_offset_does_not_matter() {
    let sent = [3_600, 3_601, 3_602, 3_603].map(Duration::from_secs);
    let delays = [10, 17, 12, 19].map(Duration::from_millis);
    let hour = Duration::from_secs(3_600);
    let mut jitters = [Jitter::default(), Jitter::default(), Jitter::default()];
    for (sent, delay) in sent.into_iter().zip(delays) {
        let sent = Instant::START + sent;
        let received = sent + delay;
        jitters[0].packet(sent, received);
        jitters[1].packet(sent, received + hour);
        jitters[2].packet(sent, received.saturating_before(hour));
    }
    for skewed in &jitters[1..] {
        assert_eq!(jitters[0].interarrival.value(), skewed.interarrival.value());
        assert_eq!(jitters[0].variation.mean(), skewed.variation.mean());
        assert_eq!(
            jitters[0].deviation.deviation(),
            skewed.deviation.deviation()
        );
    }
}

/// Too few packets have no jitter, instead of a jitter of zero; absurd times do not panic.
#[test]
fn too_little_is_none() {
    let one = feed(&[10]);
    assert_eq!(one.variation.mean(), None);
    assert_eq!(one.deviation.deviation(), None);
    assert_eq!(feed(&[10, 20]).gaps.mean(), None);
    let mut absurd = Jitter::default();
    for _ in 0..3 {
        absurd.packet(Instant::START, Instant::MAX);
        absurd.packet(Instant::MAX, Instant::START);
    }
    assert!(absurd.interarrival.value() > Duration::ZERO);
}
