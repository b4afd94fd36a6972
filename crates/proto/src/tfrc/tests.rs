//! Tests that join both halves: real options through the wire's encoder, a virtual clock, random losses.

use std::collections::VecDeque;

use fairwire_cc::Permit;
use fairwire_cc::tfrc::Equation;
use fairwire_units::{Duration, Ecn, Instant};
use fairwire_wire::{Encoder, HeadBuf, Kind, Options, Packet, Ports, Seq};

use super::{Profile, TfrcRx, TfrcTx};
use crate::config::Ccid3Config;
use crate::half::{AckDue, Arrival, FeedbackOutcome, Rx, Sent, Tx, acknowledge};

const RTT: Duration = Duration::from_millis(100);
const SIZE: u32 = 1_000;
const PORTS: Ports = Ports {
    source: 1,
    destination: 2,
};

/// A 64-bit generator (xorshift64*).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a number below `bound`.
    fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.next() % u64::from(bound)).expect("the bound has 32 bits")
    }

    fn hits(&mut self, probability: f64) -> bool {
        ((self.next() >> 11) as f64) < probability * (1u64 << 53) as f64
    }
}

/// A path between the two halves, and how it treats packets.
struct Pipe {
    draws: Draws,
    /// Probability that a data packet is lost.
    loss: f64,
    /// Probability that a data packet is marked.
    mark: f64,
    /// Probability that feedback is lost.
    feedback_loss: f64,
    /// A bottleneck: the time per packet, and the packets that may wait for it.
    bottleneck: Option<(Duration, u64)>,
    /// When the bottleneck becomes free.
    free_at: Instant,
    /// Whether the application has data to send at this time.
    offers: fn(Instant) -> bool,
    profile: Profile,
    /// The size of a packet, bytes.
    size: u32,
}

/// Returns CCID 4 on a path of 1500 bytes.
fn small_packets() -> Profile {
    Profile::small_packets(1_500, false)
}

impl Pipe {
    fn new(seed: u64) -> Self {
        Self {
            draws: Draws(seed),
            loss: 0.0,
            mark: 0.0,
            feedback_loss: 0.0,
            bottleneck: None,
            free_at: Instant::START,
            offers: |_| true,
            profile: Profile::Ccid3,
            size: SIZE,
        }
    }

    /// Returns when a packet that enters now leaves the bottleneck; `None` if the queue is full.
    fn pass(&mut self, now: Instant) -> Option<Instant> {
        let Some((per_packet, room)) = self.bottleneck else {
            return Some(now);
        };
        let begins = self.free_at.max(now);
        if begins.saturating_since(now) > per_packet * room {
            return None;
        }
        self.free_at = begins + per_packet;
        Some(self.free_at)
    }
}

/// The measurements of a run, without its first fifth.
struct Outcome {
    tx: TfrcTx,
    rx: TfrcRx,
    rate: f64,
    /// Loss events per packet sent.
    p: f64,
    feedback: u64,
    largest_step: u8,
}

/// Sends packets of one size for `seconds` through `pipe`.
fn run(config: &Ccid3Config, mut pipe: Pipe, seconds: u64) -> Outcome {
    let (profile, size) = (pipe.profile, pipe.size);
    let first = Seq::new((1 << 48) - 1_000);
    let mut tx = TfrcTx::new(config, profile, size, None, Instant::START, false);
    let mut rx = TfrcRx::new(config, profile, None, Instant::START, first.prev());
    let mut arrivals: VecDeque<(Instant, Arrival)> = VecDeque::new();
    let mut acks: VecDeque<(Instant, HeadBuf)> = VecDeque::new();
    let (mut now, mut seq, mut ack_seq) = (Instant::START, first, Seq::ZERO);
    let (mut newest, mut last_ccval, mut largest_step, mut feedback) = (first.prev(), 0, 0, 0);
    let (mut sent, mut counted_sent, mut counted_events) = (0u64, 0, 0);
    let end = Instant::START + Duration::from_secs(seconds);
    let begin = Instant::START + Duration::from_secs(seconds / 5);
    while now < end {
        if now < begin {
            (counted_sent, counted_events) = (sent, rx.loss_events());
        }
        while (pipe.offers)(now) && tx.permit(now, 1, size) == Permit::Now {
            let ccval = tx.ccval(now);
            largest_step = largest_step.max((16 + ccval - last_ccval) % 16);
            last_ccval = ccval;
            let data = Some(size);
            tx.on_sent(
                now,
                Sent {
                    seq,
                    data,
                    id: None,
                    nonce: false,
                },
                1,
            );
            let ecn = if pipe.draws.hits(pipe.mark) {
                Ecn::Ce
            } else {
                Ecn::Ect0
            };
            if !pipe.draws.hits(pipe.loss)
                && let Some(out) = pipe.pass(now)
            {
                let arrival = Arrival {
                    seq,
                    data,
                    ecn,
                    ccval,
                    ndp_count: None,
                    has_ndp_counts: false,
                    rtt_estimate: None,
                };
                arrivals.push_back((out + RTT / 2, arrival));
            }
            seq = seq.next();
            sent += 1;
        }
        if tx.next_timeout().is_some_and(|at| at <= now) {
            tx.handle_timeout(now, 1, &mut FeedbackOutcome::default());
        }
        while let Some((_, arrival)) = arrivals.pop_front_if(|(at, _)| *at <= now) {
            newest = Seq::max(newest, arrival.seq);
            rx.on_packet(now, arrival.into());
        }
        let due = rx.ack_due(now);
        assert!(
            !matches!(due, AckDue::At(at) if at <= now),
            "what is due is due now"
        );
        if due == AckDue::Now {
            ack_seq = ack_seq.next();
            let buf = written(&mut rx, now, ack_seq, newest);
            feedback += 1;
            if !pipe.draws.hits(pipe.feedback_loss) {
                acks.push_back((now + RTT / 2, buf));
            }
        }
        while let Some((_, buf)) = acks.pop_front_if(|(at, _)| *at <= now) {
            let packet = Packet::decode(buf.as_slice()).expect("we wrote it");
            acknowledge(&mut tx, now, &packet, 1);
        }
        now += Duration::from_micros(500);
    }
    let measured = sent - counted_sent;
    Outcome {
        rate: measured as f64 * f64::from(size) / (end - begin).as_secs_f64(),
        p: (rx.loss_events() - counted_events) as f64 / measured as f64,
        tx,
        rx,
        feedback,
        largest_step,
    }
}

/// Returns an Ack with the feedback that is due.
fn written(rx: &mut TfrcRx, now: Instant, seq: Seq, ackno: Seq) -> HeadBuf {
    let mut buf = HeadBuf::new();
    let kind = Kind::Ack { ack: ackno.into() };
    let mut encoder = Encoder::new(&mut buf, PORTS, seq.into(), &kind, 0, 0);
    rx.write_options(now, seq, ackno, &mut encoder)
        .expect("there is room");
    encoder.finish();
    buf
}

/// At three loss rates, the long-run rate of CCID 3 is that of the equation at the measured loss event rate. Real
/// options are used; there is one feedback packet per round trip, and a few more for losses.
///
/// The tolerance is a tenth: the rate is the mean of a function of the estimated p, not the function of its mean. With
/// hundreds of loss events in a run, chance accounts for a few percent.
#[test]
fn the_long_run_rate_is_that_of_the_equation() {
    for (loss, seconds) in [(0.002, 600), (0.01, 600), (0.05, 1_200)] {
        let seed = 0xFA1A;
        let pipe = Pipe {
            loss,
            ..Pipe::new(seed)
        };
        let outcome = run(&Ccid3Config::default(), pipe, seconds);
        let expected = Equation::RFC5348.rate(f64::from(SIZE), RTT, outcome.p);
        let ratio = outcome.rate / expected;
        let context = format!("loss {loss}, seed {seed}: p {}, {ratio}", outcome.p);
        assert!((0.9..=1.1).contains(&ratio), "{context}");
        assert!(outcome.largest_step <= 5, "{context}");
        let per_rtt = outcome.feedback as f64 / (seconds as f64 / RTT.as_secs_f64());
        assert!(
            (0.4..=1.5).contains(&per_rtt),
            "{per_rtt} per round trip, {context}"
        );
        assert_eq!(outcome.tx.srtt(), Some(RTT), "{context}");
    }
}

/// RFC 4828, 7: if every packet is equally likely to be lost, small packets get as many bytes per second, headers
/// included, as large ones. Packets of 200 bytes over CCID 4 are compared with packets of 1460 bytes over CCID 3. With
/// one loss in five packets, the 10 ms between packets do not limit the rate, and most intervals are short.
///
/// The tolerance is a factor of two. An interval just longer than two round trips counts as one loss, however many it
/// has, so CCID 4 exceeds the equation if each round trip loses packets. Tables 8 and 9 of RFC 4828, B.1, give up to
/// twice TCP's rate. The packet sizes differ by a factor of seven.
#[test]
fn small_packets_get_the_bytes_of_large_ones() {
    let flow = |profile, size, seed| {
        let pipe = Pipe {
            loss: 0.2,
            profile,
            size,
            ..Pipe::new(seed)
        };
        run(&Ccid3Config::default(), pipe, 1_000)
    };
    let small = flow(small_packets(), 200, 0x5A11);
    let large = flow(Profile::Ccid3, 1_460, 0x1A46E);
    let ratio = small.rate * 236.0 / 200.0 / large.rate;
    let context = format!("{} and {} B/s, p {}", small.rate, large.rate, small.p);
    assert!((0.5..=2.0).contains(&ratio), "{ratio}: {context}");
    assert!(small.rate < 0.9 * 100.0 * 200.0, "paced: {context}");
    // The same packets over CCID 3 get the packet rate of the large ones, not their byte rate.
    let plain = flow(Profile::Ccid3, 200, 0x5A11);
    let ratio = plain.rate / 200.0 / (large.rate / 1_460.0);
    assert!((0.5..=2.0).contains(&ratio), "{ratio} of the packets");
}

/// RFC 5622, 5: whatever the allowed rate, at most one packet leaves in 10 ms.
#[test]
fn small_packets_are_at_most_a_hundred_a_second() {
    let pipe = Pipe {
        profile: small_packets(),
        size: 80,
        ..Pipe::new(13)
    };
    let outcome = run(&Ccid3Config::default(), pipe, 100);
    assert_eq!(outcome.rate, 8_000.0);
}

/// Marks slow a flow as losses do, although no packet is lost (RFC 5348, 5.1).
#[test]
fn marks_slow_like_losses() {
    let marks = Pipe {
        mark: 0.01,
        ..Pipe::new(3)
    };
    let losses = Pipe {
        loss: 0.01,
        ..Pipe::new(3)
    };
    let marked = run(&Ccid3Config::default(), marks, 300);
    let lost = run(&Ccid3Config::default(), losses, 300);
    let ratio = marked.rate / lost.rate;
    // Two runs of some 300 loss events: each rate varies by some 4 %, and the bounds are 3 sigma of the ratio.
    assert!((0.83..=1.2).contains(&ratio), "{ratio}");
    assert!(marked.rx.loss_events() > 100);
}

/// A lone flow keeps a bottleneck of 125 packets per second busy if its queue holds one round trip of packets. Nine
/// tenths suffice, because the queue takes time to fill again after a cut.
#[test]
fn a_lone_flow_fills_a_bottleneck() {
    let pipe = Pipe {
        bottleneck: Some((Duration::from_millis(8), 13)),
        ..Pipe::new(11)
    };
    let outcome = run(&Ccid3Config::default(), pipe, 300);
    let used = outcome.rate / 125_000.0;
    assert!((0.9..=1.05).contains(&used), "{used}, p {}", outcome.p);
    assert!(
        outcome.rx.loss_events() > 0,
        "the queue was full at least once"
    );
}

/// Losing a third of the feedback costs little: every report repeats the intervals that count.
#[test]
fn lost_feedback_costs_little() {
    let pipe = Pipe {
        loss: 0.01,
        feedback_loss: 0.33,
        ..Pipe::new(5)
    };
    let outcome = run(&Ccid3Config::default(), pipe, 600);
    let expected = Equation::RFC5348.rate(f64::from(SIZE), RTT, outcome.p);
    let ratio = outcome.rate / expected;
    assert!((0.8..=1.15).contains(&ratio), "{ratio}");
}

/// RFC 5348, 4.4: an application that pauses for ten of every twenty seconds returns to its rate; it loses only the
/// slow start after each pause.
#[test]
fn pauses_do_not_ruin_the_rate() {
    let pipe = Pipe {
        loss: 0.01,
        offers: |now| now.as_nanos() / 10_000_000_000 % 2 == 0,
        ..Pipe::new(7)
    };
    let outcome = run(&Ccid3Config::default(), pipe, 600);
    let expected = Equation::RFC5348.rate(f64::from(SIZE), RTT, outcome.p) / 2.0;
    let ratio = outcome.rate / expected;
    assert!((0.8..=1.15).contains(&ratio), "{ratio}");
}

/// The state of both halves is bounded, and they report its size.
#[test]
fn the_receivers_state_is_bounded() {
    let pipe = Pipe {
        loss: 0.2,
        ..Pipe::new(9)
    };
    let outcome = run(&Ccid3Config::default(), pipe, 60);
    assert!(
        outcome.rx.state_len() < 4_096,
        "{} bytes",
        outcome.rx.state_len()
    );
    assert!(outcome.tx.flight().packets < 100);
}

/// Random options on packets with any acknowledgement number leave the rate finite, at least one packet in 64 seconds
/// and at most the cap, and the next packet always gets a departure time.
#[test]
fn item_27_hostile_receivers_are_survived() {
    for seed in 1..40u64 {
        let mut draws = Draws(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let config = Ccid3Config::default();
        let rtt = (seed % 2 == 0).then_some(Duration::ZERO);
        let profile = if seed % 5 < 2 {
            small_packets()
        } else {
            Profile::Ccid3
        };
        let mut tx = TfrcTx::new(&config, profile, SIZE, rtt, Instant::START, seed % 3 == 0);
        let (mut now, mut seq) = (Instant::START, Seq::new(draws.next()));
        for step in 0..2_000u64 {
            now += Duration::from_nanos((draws.next() % 3_000_000_000) >> draws.below(32));
            if tx.permit(now, 1, SIZE) == Permit::Now {
                tx.ccval(now);
                let data = Some(draws.below(256)).filter(|&size| size > 64);
                tx.on_sent(
                    now,
                    Sent {
                        seq,
                        data,
                        id: None,
                        nonce: false,
                    },
                    1,
                );
                seq = seq.next();
            }
            let options = wild_options(&mut draws, step);
            let mut buf = HeadBuf::new();
            let ackno = seq - draws.next() % 20;
            let kind = Kind::Ack { ack: ackno.into() };
            let mut encoder = Encoder::new(&mut buf, PORTS, Seq::new(step).into(), &kind, 0, 0);
            for raw in Options::new(&options) {
                encoder
                    .raw_option(raw.option_type, raw.data)
                    .expect("there is room");
            }
            let packet = Packet::decode(encoder.finish().as_slice()).expect("we wrote it");
            acknowledge(&mut tx, now, &packet, 0);
            if tx.next_timeout().is_some_and(|at| at <= now) {
                tx.handle_timeout(now, 0, &mut FeedbackOutcome::default());
            }
            let rate = tx.gauges().rate_bytes_per_s.expect("a rate");
            let context = format!("seed {seed}, step {step}: {rate}");
            assert!(rate.is_finite(), "{context}");
            assert!((1.0 / 64.0..=125e9).contains(&rate), "{context}");
            assert!(tx.packets_per_rtt() >= 1, "{context}");
            // One packet per permit, so at most half a millisecond after s/X, which is at most 64 s.
            let permit = tx.permit(now, 1, SIZE);
            let soon = now + Duration::from_secs(64) + Duration::from_millis(1);
            let paced = matches!(permit, Permit::At(next) if next > now && next <= soon);
            assert!(paced || permit == Permit::Now, "{context}: {permit:?}");
        }
    }
}

/// Returns the five options of a report, with random and extreme contents.
fn wild_options(draws: &mut Draws, step: u64) -> [u8; 56] {
    let mut options = [0u8; 56];
    for chunk in options.chunks_mut(8) {
        chunk.copy_from_slice(&draws.next().to_be_bytes());
    }
    let extreme = |chance: u64| if chance.is_multiple_of(2) { 0xFF } else { 0 };
    if step.is_multiple_of(5) {
        options[2..6].fill(extreme(step / 5));
        options[8..12].fill(extreme(step / 10));
        options[15..42].fill(extreme(step / 20));
        options[44..48].fill(0);
    }
    options[0..2].copy_from_slice(&[194, 6]);
    options[6..8].copy_from_slice(&[192, 6]);
    options[12..14].copy_from_slice(&[193, 30]);
    options[14] &= 3;
    options[42..44].copy_from_slice(&[43, 6]);
    options[48..50].copy_from_slice(&[195, 8]);
    options
}

/// Whatever packets a sender sends, feedback on them can be written within the announced length.
#[test]
fn hostile_senders_are_survived() {
    for seed in 1..40u64 {
        let mut draws = Draws(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let config = Ccid3Config::default();
        let rtt = (seed % 2 == 0).then_some(Duration::ZERO);
        let profile = if seed % 5 < 2 {
            small_packets()
        } else {
            Profile::Ccid3
        };
        let mut rx = TfrcRx::new(&config, profile, rtt, Instant::START, Seq::ZERO);
        let mut now = Instant::START;
        for step in 0..2_000u64 {
            now += Duration::from_nanos((draws.next() % 3_000_000_000) >> draws.below(32));
            let [ecn, ccval, ..] = draws.next().to_be_bytes();
            let arrival = Arrival {
                seq: Seq::new(step + draws.next() % 300),
                data: Some(draws.below(u32::MAX)).filter(|size| size % 4 > 0),
                ecn: Ecn::from_bits(ecn),
                ccval,
                ndp_count: Some(draws.next()).filter(|count| count % 3 == 0),
                has_ndp_counts: false,
                rtt_estimate: None,
            };
            rx.on_packet(now, arrival.into());
            let mut buf = HeadBuf::new();
            let ack = arrival.seq;
            let kind = Kind::Ack { ack: ack.into() };
            let mut encoder = Encoder::new(&mut buf, PORTS, Seq::ZERO.into(), &kind, 0, 0);
            let announced = rx.options_len(now);
            let written = rx.write_options(now, Seq::ZERO, ack, &mut encoder);
            assert!(written.is_ok(), "seed {seed}, step {step}: {written:?}");
            let len = encoder.options_len();
            assert!(
                len <= announced,
                "seed {seed}, step {step}: {len} of {announced}"
            );
        }
    }
}
