use fairwire_cc::EncoderInput;
use fairwire_net::Streams;
use fairwire_scenario::traffic::{
    AdaptiveVideo, FlowContext, PacketShape, Pause, Source, TrafficModel, When,
};
use fairwire_units::{Duration, Instant, Percent, Rate, Size};

/// The payload of a packet, with an RTP header of 12 bytes.
const PAYLOAD: u32 = 1_012;

/// A frame as it was offered.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Frame {
    at: Instant,
    bytes: f64,
    is_intra: bool,
}

/// A video that is asked for one frame after the other.
struct Player(Box<dyn Source>);

impl Player {
    fn new(video: &AdaptiveVideo, seed: u64) -> Self {
        let mut packet = PacketShape::new(PAYLOAD);
        packet.rtp = 12;
        let mut source = video.build(&FlowContext::new("video", packet, Streams::new(seed)));
        source.begin(Instant::START);
        Self(source)
    }

    /// Takes all packets of the next frame; a transport reports `rate` before them, if it is given.
    fn frame(&mut self, rate: Option<Rate>) -> Frame {
        let When::At(at) = self.0.next().expect("video goes on").when else {
            panic!("frames have moments");
        };
        if rate.is_some() {
            let input = EncoderInput {
                rate,
                ..EncoderInput::default()
            };
            self.0.adapt(at, &input);
        }
        let first = self.0.next().expect("video goes on");
        let mut bytes = 0.0;
        loop {
            let offer = self.0.next().expect("video goes on");
            if offer.frame != first.frame {
                assert_ne!(offer.when, first.when, "frames have moments of their own");
                return Frame {
                    at,
                    bytes,
                    is_intra: first.priority > 0,
                };
            }
            assert_eq!(offer.when, first.when, "packets of a frame have one moment");
            assert!(offer.bytes <= PAYLOAD);
            bytes += f64::from(offer.bytes - 12);
            self.0.advance();
        }
    }

    fn frames(&mut self, count: usize, rate: Option<Rate>) -> Vec<Frame> {
        (0..count).map(|_| self.frame(rate)).collect()
    }
}

fn kbit(kbit: u64) -> Rate {
    Rate::from_bits_per_s(1_000 * kbit)
}

/// A video of 1 Mbit/s at first, whose target is what the transport reports. Six of its intervals are 199.999998 ms.
fn video() -> AdaptiveVideo {
    AdaptiveVideo {
        start_rate: Some(kbit(1_000)),
        reaction: Duration::from_millis(199),
        headroom: Percent::NONE,
        ..AdaptiveVideo::default()
    }
}

/// The same without deviations.
fn even() -> AdaptiveVideo {
    AdaptiveVideo {
        interval_scale: 0.0,
        size_scale: 0.0,
        ..video()
    }
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean) * (value - mean));
    (mean, (squares.sum::<f64>() / (count - 1.0)).sqrt() / mean)
}

/// Frames have the mean sizes and intervals of figure 2 of RFC 8593, and deviations of a Laplace distribution, which is
/// cut at 99 %: `2 b^2 (1 - exp(-r) (1 + r))` with `r = 0.99 / b` is the variance.
#[test]
fn frames_have_their_means_and_deviations() {
    const COUNT: usize = 50_000;
    let frames = Player::new(&video(), 1).frames(COUNT + 8, None);
    let steady = &frames[8..];
    let sizes: Vec<f64> = steady.iter().map(|frame| frame.bytes).collect();
    let between = |pair: &[Frame]| pair[1].at.saturating_since(pair[0].at).as_secs_f64();
    let intervals: Vec<f64> = steady.windows(2).map(between).collect();
    let r = 0.99 / 0.15;
    let expected = 0.15 * (2.0 * (1.0 - libm::exp(-r) * (1.0 + r))).sqrt();
    for (values, of) in [(&sizes, 1e6 / 8.0 / 30.0), (&intervals, 1.0 / 30.0)] {
        let (mean, deviation) = mean_and_deviation(values);
        // Four standard errors: 4 * 0.212 / sqrt(50000) = 0.38 %.
        assert!((mean / of - 1.0).abs() < 0.0038, "{mean}, not {of}");
        // A Laplace distribution has kurtosis 6: 4 * sqrt(5 / 4 / 50000) = 2 %.
        assert!(
            (deviation / expected - 1.0).abs() < 0.02,
            "{deviation}, not {expected}"
        );
        let largest = values
            .iter()
            .fold(0.0, |most: f64, value| most.max((value / of - 1.0).abs()));
        // Sizes are whole bytes.
        assert!(largest < 0.9902, "{largest}");
    }
    let seconds = frames[COUNT].at.as_secs_f64();
    let bits = 8.0 * sizes.iter().sum::<f64>();
    assert!(
        (bits / seconds / 1e6 - 1.0).abs() < 0.006,
        "{bits} in {seconds} s"
    );
}

/// The video begins with a burst: an I frame and smaller frames that make up for it (RFC 8593, section 5.2). The I
/// frame is smaller at a low rate, at which the others could not make up for it.
#[test]
fn a_burst_has_the_mean_rate() {
    let frames = Player::new(&even(), 1).frames(9, None);
    assert_eq!((frames[0].bytes, frames[0].is_intra), (13_500.0, true));
    // (8 * 4166.67 - 13500) / 7 = 2833.3
    for frame in &frames[1..8] {
        assert_eq!((frame.bytes, frame.is_intra), (2_833.0, false));
    }
    assert_eq!(frames[8].bytes, 4_167.0);
    let slow = AdaptiveVideo {
        start_rate: None,
        ..even()
    };
    let sizes: Vec<f64> = Player::new(&slow, 1)
        .frames(9, None)
        .iter()
        .map(|frame| frame.bytes)
        .collect();
    // Of a mean of 625 bytes, 8 - 7 / 5 times as much and seven times a fifth.
    let mut expected = vec![125.0; 9];
    (expected[0], expected[8]) = (4_125.0, 625.0);
    assert_eq!(sizes, expected);
    let none = AdaptiveVideo {
        burst_frames: 1,
        ..even()
    };
    let frames = Player::new(&none, 1).frames(3, None);
    assert!(
        frames.iter().all(|frame| frame.bytes == 4_167.0),
        "{frames:?}"
    );
}

/// At 10 Mbit/s an average frame is larger than the I frame of RFC 8593, which is then as large as the others. It never
/// is the smallest frame of its burst.
#[test]
fn an_intra_frame_is_no_smaller_than_the_mean() {
    let fast = AdaptiveVideo {
        max_rate: kbit(10_000),
        start_rate: Some(kbit(10_000)),
        ..even()
    };
    let frames = Player::new(&fast, 1).frames(9, None);
    assert!(frames[0].is_intra);
    assert!(
        frames.iter().all(|frame| frame.bytes == 41_667.0),
        "{frames:?}"
    );
}

/// With `burst_frames = 1` no frame is an I frame, and each one deviates, also at the beginning, after a pause and after
/// a large change.
#[test]
fn without_bursts_all_frames_are_alike() {
    let (from, to) = (Duration::from_secs(1), Duration::from_secs(2));
    let none = AdaptiveVideo {
        max_rate: kbit(10_000),
        start_rate: Some(kbit(10_000)),
        burst_frames: 1,
        pauses: vec![Pause { from, to }],
        ..video()
    };
    let mut player = Player::new(&none, 1);
    let mut frames = player.frames(60, None);
    assert!(frames.iter().any(|frame| frame.at == Instant::START + to));
    for frame in &frames {
        assert!((frame.bytes - 41_667.0).abs() > 1.0, "{frame:?}");
    }
    frames.extend(player.frames(1, Some(kbit(1_000))));
    let fallen = frames[60].bytes;
    assert!(
        (fallen - 4_166.7).abs() > 1.0 && fallen < 8_400.0,
        "{fallen}"
    );
    assert!(frames.iter().all(|frame| !frame.is_intra), "{frames:?}");
}

/// A new target changes the frames after `lag`, at the first frame from then on (RFC 8867, section 3), and each later
/// one does so after the same time.
#[test]
fn a_target_takes_effect_after_the_lag() {
    let late = AdaptiveVideo {
        lag: Duration::from_millis(99),
        reaction: Duration::ZERO,
        ..even()
    };
    let mut player = Player::new(&late, 1);
    player.frames(20, Some(kbit(1_000)));
    // Three intervals are 99.999999 ms. Each fall is by less than a tenth, so there are no bursts.
    let mut sizes = Vec::new();
    for rate in [960, 930, 930, 930, 930, 930] {
        sizes.push(player.frame(Some(kbit(rate))).bytes);
    }
    let (first, second) = (4_000.0, 3_875.0);
    assert_eq!(sizes[..3], [4_167.0; 3]);
    assert_eq!(sizes[3..], [first, second, second]);
    let default = AdaptiveVideo {
        lag: Duration::ZERO,
        ..late
    };
    let mut player = Player::new(&default, 1);
    player.frames(20, Some(kbit(1_000)));
    assert_eq!(player.frame(Some(kbit(960))).bytes, first);
}

/// After a reaction the encoder ignores new targets for `tau_v` (RFC 8593, section 5.1), here six frames.
#[test]
fn a_reaction_takes_its_time() {
    let mut player = Player::new(&even(), 1);
    player.frames(20, Some(kbit(1_000)));
    // It falls by less than a tenth each time, so that there are no bursts.
    let mut target = 1_000;
    let mut changes = Vec::new();
    let mut last = 4_167.0;
    for _ in 0..60 {
        target -= 5;
        let frame = player.frame(Some(kbit(target)));
        assert!(!frame.is_intra);
        if frame.bytes < last {
            let mean = target as f64 * 1e3 / 8.0 / 30.0;
            assert!((frame.bytes - mean).abs() <= 0.5, "{frame:?} at {target}");
            changes.push(frame.at);
            last = frame.bytes;
        }
    }
    assert_eq!(changes.len(), 10, "one in six of 60 frames");
    for pair in changes.windows(2) {
        assert!(pair[1].saturating_since(pair[0]) >= even().reaction);
    }
}

/// A change by more than a tenth begins a burst at the new rate, a smaller one does not, and neither does a change in a
/// burst: the frames that are left make up for its I frame.
#[test]
fn large_changes_begin_bursts() {
    let mut player = Player::new(&even(), 1);
    player.frames(20, Some(kbit(1_000)));
    assert!(!player.frame(Some(kbit(901))).is_intra);
    player.frames(6, Some(kbit(901)));
    let burst = player.frames(8, Some(kbit(700)));
    assert!(burst[0].is_intra);
    let sum: f64 = burst.iter().map(|frame| frame.bytes).sum();
    // Eight times 2916.7 bytes; each frame is rounded.
    assert!((sum - 8.0 * 2_916.67).abs() < 4.0, "{sum}");
    player.frames(10, Some(kbit(700)));
    assert!(player.frame(Some(kbit(600))).is_intra);
    player.frames(6, Some(kbit(600)));
    let within = player.frame(Some(kbit(300)));
    assert!(!within.is_intra);
    assert_eq!(within.bytes, 250.0, "a fifth of the mean at 300 kbit/s");
    let after = player.frames(30, Some(kbit(300)));
    assert!(after.iter().all(|frame| !frame.is_intra), "{after:?}");
}

/// The bitrate rises by at most a fifth in a second, falls at once, and stays within its range.
#[test]
fn the_rate_rises_slowly_within_its_range() {
    let slow = AdaptiveVideo {
        start_rate: None,
        ..even()
    };
    let mut player = Player::new(&slow, 1);
    let frames = player.frames(450, Some(kbit(20_000)));
    let rate = |frame: &Frame| frame.bytes * 8.0 * 30.0;
    for (seconds, frame) in [1, 5, 10].map(|s| (s as f64, &frames[30 * s])) {
        // Continuously a fifth in each second, and up to six frames late.
        let most = 150e3 * libm::exp(0.2 * seconds);
        let least = 150e3 * libm::exp(0.2 * (seconds - 0.2)) * 0.99;
        let found = rate(frame);
        assert!(least < found && found < most * 1.001, "{seconds}: {found}");
    }
    // 150 kbit/s times ten after ln(10) / 0.2 = 11.5 s.
    let at_most = frames.iter().position(|frame| frame.bytes == 6_250.0);
    assert!(at_most.is_some_and(|frame| (345..355).contains(&frame)));
    assert!(frames.iter().skip(8).all(|frame| frame.bytes <= 6_250.0));
    let fallen = player.frames(20, Some(kbit(50)));
    assert_eq!(fallen.last().map(|frame| frame.bytes), Some(625.0));
    assert!(fallen[0].is_intra, "in the first frame");
}

/// Of the reported rate the headroom stays free.
#[test]
fn the_headroom_stays_free() {
    let video = AdaptiveVideo {
        headroom: Percent::of(0.1),
        ..even()
    };
    let frames = Player::new(&video, 1).frames(30, Some(kbit(1_000)));
    assert_eq!(frames[20].bytes, 3_750.0);
}

/// No frame begins in a pause, and the video goes on with a burst.
#[test]
fn a_pause_has_no_frames() {
    let (from, to) = (Duration::from_millis(990), Duration::from_millis(2_500));
    let video = AdaptiveVideo {
        pauses: vec![Pause { from, to }],
        ..even()
    };
    let frames = Player::new(&video, 1).frames(60, None);
    let after = frames
        .iter()
        .position(|frame| frame.at >= Instant::START + from)
        .expect("it goes on");
    assert_eq!(after, 30);
    assert_eq!(frames[after].at, Instant::START + to);
    assert!(frames[after].is_intra);
    assert!(!frames[after + 1].is_intra);
    // One pause may begin where another ends: no frame is between them.
    let middle = Duration::from_millis(1_500);
    let adjoining = AdaptiveVideo {
        pauses: vec![Pause { from, to: middle }, Pause { from: middle, to }],
        ..even()
    };
    assert_eq!(Player::new(&adjoining, 1).frames(60, None), frames);
    let first = Duration::ZERO;
    let late = AdaptiveVideo {
        pauses: vec![Pause { from: first, to }],
        ..even()
    };
    assert_eq!(Player::new(&late, 1).frame(None).at, Instant::START + to);
}

/// The same seed gives the same frames, another one others. What the transport reports does not change what is drawn.
#[test]
fn the_seed_gives_the_frames() {
    let of = |seed, rate| Player::new(&video(), seed).frames(100, rate);
    assert_eq!(of(1, None), of(1, None));
    assert_ne!(of(1, None), of(2, None));
    let times = |frames: Vec<Frame>| frames.iter().map(|frame| frame.at).collect::<Vec<_>>();
    assert_eq!(times(of(1, None)), times(of(1, Some(kbit(500)))));
    assert!(video().is_random() && !even().is_random());
}

/// Settings that contradict each other are refused with both values.
#[test]
fn contradictions_are_refused() {
    let packet = PacketShape::new(1_000);
    let pause = |from, to| Pause {
        from: Duration::from_secs(from),
        to: Duration::from_secs(to),
    };
    for (video, key, says) in [
        (
            AdaptiveVideo {
                max_rate: kbit(100),
                ..AdaptiveVideo::default()
            },
            "max_rate",
            "less than min_rate, 150 kbit/s",
        ),
        (
            AdaptiveVideo {
                start_rate: Some(kbit(2_000)),
                ..AdaptiveVideo::default()
            },
            "start_rate",
            "a rate from min_rate, 150 kbit/s, to max_rate, 1.5 Mbit/s",
        ),
        (
            AdaptiveVideo {
                pauses: vec![pause(2, 2)],
                ..AdaptiveVideo::default()
            },
            "pauses",
            "each must end after it begins",
        ),
        (
            AdaptiveVideo {
                pauses: vec![pause(2, 4), pause(3, 5)],
                ..AdaptiveVideo::default()
            },
            "pauses",
            "in the order of their times",
        ),
        (
            AdaptiveVideo {
                max_rate: kbit(4_000_000),
                ..AdaptiveVideo::default()
            },
            "max_rate",
            "17 MB on average",
        ),
        (
            AdaptiveVideo {
                max_rate: kbit(2_000_000),
                burst_frames: 100,
                burst_size: Size::new(200_000_000),
                ..AdaptiveVideo::default()
            },
            "burst_size",
            "the I frame of a burst would have 200 MB, and 100 MB are the most",
        ),
    ] {
        let (found, message) = video.problem(&packet).expect("a problem");
        assert_eq!(found, key);
        assert!(message.contains(says), "{message}");
    }
    assert_eq!(AdaptiveVideo::default().problem(&packet), None);
    let rate = AdaptiveVideo::default().packets_per_second(&packet);
    assert_eq!(rate, Some(218), "187.5 full packets, and 30 frames");
    assert_eq!(AdaptiveVideo::default().burst_size, Size::new(13_500));
}
