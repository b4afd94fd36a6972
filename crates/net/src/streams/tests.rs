use super::{Stream, Streams};
use fairwire_units::Duration;

fn bits(stream: &mut Stream, n: usize) -> Vec<u64> {
    (0..n).map(|_| stream.bits()).collect()
}

/// The numbers of three streams match an independent implementation of SHA-256 and `ChaCha8`.
///
/// They are the first three numbers and one beyond the generator's first buffer. If this test fails, every published
/// result has changed.
#[test]
fn pinned_vectors() {
    for (seed, name, first, fortieth) in VECTORS {
        let mut stream = Streams::new(seed).stream(name);
        let numbers = bits(&mut stream, 40);
        assert_eq!(numbers[..3], first, "{name} of seed {seed}");
        assert_eq!(numbers[39], fortieth, "{name} of seed {seed}");
    }
}

const VECTORS: [(u64, &str, [u64; 3], u64); 3] = [
    (
        1,
        "bottleneck/loss",
        [
            0x5161_9889_ed7a_1e1c,
            0xeee3_a2b3_5a16_8d3b,
            0xd1eb_1470_b99f_fd87,
        ],
        0x81f2_07dc_daf4_f038,
    ),
    (
        2,
        "bottleneck/loss",
        [
            0x1afd_3ff8_cf54_b47b,
            0x9112_ed11_b1e7_80d8,
            0x79db_6b3d_64db_1168,
        ],
        0x7f15_c808_210f_4f25,
    ),
    (
        1,
        "start/0",
        [
            0xa587_7878_0152_91b5,
            0xe078_71d3_72ef_f026,
            0x57a2_e536_f19c_69cd,
        ],
        0xf2b7_71b0_7e4c_1d9c,
    ),
];

/// The numbers of a stream do not depend on which other streams exist or were drawn from.
#[test]
fn streams_do_not_disturb_each_other() {
    let alone = bits(&mut Streams::new(3).stream("a"), 100);
    let streams = Streams::new(3);
    let mut other = streams.stream("b");
    let mut among = streams.stream("a");
    let mut numbers = Vec::new();
    for _ in 0..100 {
        other.bits();
        numbers.push(among.bits());
    }
    assert_eq!(alone, numbers);
    assert_ne!(bits(&mut streams.stream("b"), 100), alone);
}

/// Uniform numbers are in [0, 1) and have the mean and variance of the distribution.
#[test]
fn uniform_is_uniform() {
    let mut stream = Streams::new(1).stream("uniform");
    let n = 100_000;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..n {
        let x = stream.uniform();
        assert!((0.0..1.0).contains(&x), "{x}");
        sum += x;
        squares += x * x;
    }
    let mean = sum / f64::from(n);
    // Four standard errors: 4 * sqrt(1/12 / n) = 0.0037 and 4 * sqrt(4/45 / n) = 0.0038.
    assert!((mean - 0.5).abs() < 0.0037, "{mean}");
    assert!((squares / f64::from(n) - 1.0 / 3.0).abs() < 0.0038);
}

/// Each number below n comes equally often, even if n does not divide 2^64; below(0) and below(1) are 0.
#[test]
fn below_is_fair() {
    let mut stream = Streams::new(1).stream("below");
    let mut counts = [0u32; 6];
    for _ in 0..60_000 {
        counts[usize::try_from(stream.below(6)).expect("below 6")] += 1;
    }
    for count in counts {
        // Four standard deviations of a binomial: 4 * sqrt(60000 * 5/36) = 365.
        assert!(count.abs_diff(10_000) < 365, "{counts:?}");
    }
    let large = u64::MAX / 3 * 2;
    let odd = (0..3_000).filter(|_| stream.below(large) % 2 == 1).count();
    // Without rejection odd numbers would come twice as often as even ones: 2000 times. Four standard deviations are
    // 110.
    assert!(odd.abs_diff(1_500) < 110, "{odd}");
    assert_eq!((stream.below(0), stream.below(1)), (0, 0));
}

/// `bool(p)` is never true at 0 and always true at 1.
#[test]
fn certain_events() {
    let mut stream = Streams::new(1).stream("bool");
    for _ in 0..1_000 {
        assert!(!stream.bool(0.0));
        assert!(stream.bool(1.0));
        assert!(!stream.bool(f64::NAN));
    }
}

/// Exponential durations have the given mean, and a share of exp(-1) is longer than the mean.
#[test]
fn exponential_is_exponential() {
    let mut stream = Streams::new(1).stream("exponential");
    let mean = Duration::from_millis(10);
    let n = 100_000u32;
    let spans: Vec<Duration> = (0..n).map(|_| stream.exponential(mean)).collect();
    let sum: f64 = spans.iter().map(|d| d.as_secs_f64()).sum();
    // Four standard errors: 4 / sqrt(n) = 1.3 % of the mean.
    assert!((sum / f64::from(n) / 0.01 - 1.0).abs() < 0.013);
    let longer = spans.iter().filter(|d| **d > mean).count() as f64 / f64::from(n);
    // exp(-1) = 0.3679; four standard errors: 4 * sqrt(0.3679 * 0.6321 / n) = 0.0061.
    assert!((longer - 0.367_879).abs() < 0.0061, "{longer}");
    assert_eq!(stream.exponential(Duration::ZERO), Duration::ZERO);
}

/// Normal numbers have mean 0, variance 1 and no skew, and 4.55 % of them are beyond two standard deviations.
#[test]
fn normal_is_normal() {
    let mut stream = Streams::new(1).stream("normal");
    let n = 100_000;
    let (mut sum, mut squares, mut cubes, mut beyond) = (0.0, 0.0, 0.0, 0.0);
    for _ in 0..n {
        let x = stream.normal();
        sum += x;
        squares += x * x;
        cubes += x * x * x;
        beyond += f64::from(x.abs() > 2.0);
    }
    let n = f64::from(n);
    // Four standard errors: 4 / sqrt(n), 4 sqrt(2 / n), 4 sqrt(15 / n), 4 sqrt(0.0455 * 0.9545 / n).
    assert!((sum / n).abs() < 0.0127, "{sum}");
    assert!((squares / n - 1.0).abs() < 0.0179, "{squares}");
    assert!((cubes / n).abs() < 0.049, "{cubes}");
    assert!((beyond / n - 0.0455).abs() < 0.0027, "{beyond}");
}
