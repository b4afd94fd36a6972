use fairwire_units::{Duration, Instant};
use proptest::prelude::*;

use super::{ByTime, LossAverage, LossHistory, ReceivedPacket, ReportedInterval};

const R: Duration = Duration::from_millis(100);
/// The length for which the interval before the first loss counts in these tests.
const FIRST: u32 = 50;

/// Returns a data packet, numbered from 1, that arrives at `seq` times 10 ms.
fn packet(seq: u64) -> ReceivedPacket<Instant> {
    ReceivedPacket {
        seq,
        stamp: Instant::from_nanos(seq * 10_000_000),
        is_data: true,
        marked: false,
        non_data_before: 0,
    }
}

fn history() -> LossHistory<ByTime> {
    LossHistory::new(ByTime { rtt: R }, 0, LossAverage::new(false))
}

/// Records packets and returns the numbers of those at which loss events were found.
fn feed(
    history: &mut LossHistory<ByTime>,
    packets: impl IntoIterator<Item = ReceivedPacket<Instant>>,
) -> Vec<u64> {
    let packets = packets.into_iter();
    packets
        .filter_map(|p| history.receive(p, |_| f64::from(FIRST)).then_some(p.seq))
        .collect()
}

fn feed_all(history: &mut LossHistory<ByTime>, seqs: impl IntoIterator<Item = u64>) -> Vec<u64> {
    feed(history, seqs.into_iter().map(packet))
}

fn newest(history: &LossHistory<ByTime>) -> ReportedInterval {
    history.intervals().next().expect("there is always one")
}

/// RFC 5348, 5.1: a gap is a loss once three packets have arrived after it, not before.
#[test]
fn three_later_packets_make_a_loss() {
    let mut history = history();
    assert!(feed_all(&mut history, [1, 2, 4, 5]).is_empty());
    assert_eq!(history.edge(), 2, "the gap is not decided");
    assert_eq!(feed_all(&mut history, [6]), [6]);
    assert_eq!((history.edge(), history.events()), (6, 1));
}

/// RFC 5348, 5.1: a packet that arrives before the third packet after its gap fills the gap. A later packet, or a copy,
/// changes nothing.
#[test]
fn reordering_by_less_than_three_is_no_loss() {
    let mut history = history();
    assert!(feed_all(&mut history, [1, 3, 4, 2, 5, 7, 6, 6, 8, 8]).is_empty());
    assert_eq!(history.edge(), 8);
    assert_eq!(history.p(), 0.0);
    assert_eq!(feed_all(&mut history, [10, 11, 12, 9, 13]), [12]);
    assert_eq!(history.events(), 1, "9 came too late");
}

/// RFC 5348, 5.1, the example: n-1 arrives, then n+1, then a marked n+2. They make one event that begins with the
/// missing n.
#[test]
fn a_mark_is_congestion_at_once() {
    let mut history = history();
    assert!(feed_all(&mut history, [1, 2, 4]).is_empty());
    let mark = ReceivedPacket {
        marked: true,
        ..packet(5)
    };
    assert_eq!(feed(&mut history, [mark]), [5]);
    assert_eq!(history.events(), 1);
    let interval = newest(&history);
    assert_eq!(
        (
            interval.first,
            interval.loss_length,
            interval.lossless_length
        ),
        (3, 3, 0)
    );
}

/// RFC 5348, 5.2: marks within a round trip of the first belong to its event; the next mark begins another event.
#[test]
fn marks_are_told_apart_by_the_round_trip() {
    let mut history = history();
    // Packets come every 10 ms, R is 100 ms.
    let marked = [20, 25, 30, 31];
    let stream = (1..=40).map(|seq| ReceivedPacket {
        marked: marked.contains(&seq),
        ..packet(seq)
    });
    assert_eq!(feed(&mut history, stream), [20, 31]);
    assert_eq!(newest(&history).first, 31);
}

/// RFC 5348, 5.3: an interval of a single marked packet has length one.
#[test]
fn a_lone_mark_is_an_interval_of_one() {
    let mut history = history();
    feed_all(&mut history, 1..10);
    feed(
        &mut history,
        [ReceivedPacket {
            marked: true,
            ..packet(10)
        }],
    );
    assert_eq!(newest(&history).data_length, 1);
}

/// RFC 5348, 5.2: losses whose nominal arrivals are at most one round trip after the first are one event; a later loss
/// begins a new one. Intervals last from loss to loss (section 5.3).
#[test]
fn events_are_a_round_trip_apart() {
    let mut history = history();
    // Packets come every 10 ms, R is 100 ms: 20 and 30 are one event, 31 begins the next.
    let lost = [20, 25, 30, 31];
    let found = feed_all(&mut history, (1..=60).filter(|seq| !lost.contains(seq)));
    // 31 is decided together with 30: 32, 33 and 34 are the three packets after the gap.
    assert_eq!(found, [23, 34]);
    let told: Vec<_> = history
        .intervals()
        .map(|i| (i.first, i.loss_length, i.lossless_length, i.data_length))
        .collect();
    assert_eq!(
        told,
        [
            (31, 1, 29, 30),
            (20, 11, 0, 11),
            (1, 0, 19, u64::from(FIRST))
        ]
    );
    // I = 30, 11, 50 with equal weights. With the current interval p = 2 / (30 + 11), which is larger than 2 / (11 +
    // 50) of the closed intervals alone: so the current one does not count.
    assert!((history.p() - 2.0 / 61.0).abs() < 1e-12);
}

/// RFC 5348, 5.2: within one long gap nominal arrivals are interpolated, and each round trip is a loss event.
#[test]
fn a_long_gap_is_several_events() {
    let mut history = history();
    // 21 to 50 are lost: nominally at 210 to 500 ms. Events begin at 21, 32 (320 > 310) and 43.
    feed_all(&mut history, (1..=20).chain(51..=60));
    let starts: Vec<_> = history.intervals().map(|i| i.first).collect();
    assert_eq!(starts, [43, 32, 21, 1]);
    assert_eq!(newest(&history).loss_length, 8, "43 to 50");
}

/// RFC 4342, 6.1: lost packets without data, as counted by the packet after them, are no loss. Without such a count
/// every lost packet counts as data.
#[test]
fn packets_without_data_are_no_loss() {
    let mut history = history();
    let told = |non_data_before| ReceivedPacket {
        non_data_before,
        ..packet(13)
    };
    let rest = || (14..=20).map(packet);
    let start: Vec<_> = (1..=10).map(packet).collect();
    // 11 and 12 are missing.
    assert!(
        feed(
            &mut history,
            start.iter().copied().chain([told(2)]).chain(rest())
        )
        .is_empty()
    );
    assert_eq!(history.events(), 0);

    let mut history = self::history();
    feed(
        &mut history,
        start.into_iter().chain([told(1)]).chain(rest()),
    );
    assert_eq!(history.events(), 1);
    let interval = newest(&history);
    // 11 was data, 12 was not: the lossy part ends with 11, and 12 does not count.
    assert_eq!(
        (
            interval.first,
            interval.loss_length,
            interval.lossless_length
        ),
        (11, 1, 9)
    );
    assert_eq!(interval.data_length, 9);
}

/// RFC 4342, 6.1.1: received packets without data count in the sequence but not as data, and a mark on one is no
/// congestion of the data.
#[test]
fn received_packets_without_data_do_not_count() {
    let mut history = history();
    feed_all(&mut history, [1, 2, 4, 5, 6]);
    let ack = |seq| ReceivedPacket {
        is_data: false,
        marked: true,
        ..packet(seq)
    };
    assert!(feed(&mut history, [ack(7), ack(8), packet(9)]).is_empty());
    let interval = newest(&history);
    assert_eq!((interval.loss_length, interval.lossless_length), (1, 6));
    assert_eq!(interval.data_length, 5, "3, 4, 5, 6 and 9");
}

/// RFC 5348, 6.3.1: the first interval is reported in whole packets, rounded to the nearest.
#[test]
fn the_first_interval_is_rounded() {
    for (counts_as, told) in [(0.3, 1), (4.49, 4), (4.5, 5), (4.85, 5), (1e300, u64::MAX)] {
        let mut history = history();
        for seq in 2..=4 {
            history.receive(packet(seq), |_| counts_as);
        }
        let oldest = history.intervals().last().expect("the null interval");
        assert_eq!(oldest.data_length, told, "{counts_as}");
    }
}

/// RFC 5348, 6.3.1: if the very first packet is lost, `first_length` is called with zero packets before the loss.
#[test]
fn the_first_packet_may_be_lost() {
    let mut history = history();
    let mut asked = None;
    for seq in 2..=4 {
        let before = std::cell::Cell::new(None);
        history.receive(packet(seq), |data| {
            before.set(Some(data));
            2.0
        });
        asked = asked.or(before.get());
    }
    assert_eq!(asked, Some(0));
    let oldest = history.intervals().last().expect("the null interval");
    assert_eq!(
        (
            oldest.loss_length,
            oldest.lossless_length,
            oldest.data_length
        ),
        (0, 0, 2)
    );
}

/// RFC 4828, 4.4: in intervals of at most two round trips each loss counts; in longer ones only the loss event counts.
#[test]
fn short_intervals_count_packets_per_loss() {
    // R = 100 ms, a packet every 10 ms. Losses: 20, 24, 28 in an interval of 15 packets; 35 alone in one of 21 that
    // lasts 210 ms; 56 begins the current one.
    let lost = [20, 24, 28, 35, 56];
    let before = |newest: u64| {
        let mut history = history().with_small_packets();
        let seqs = (1..=newest).filter(|seq| !lost.contains(seq));
        feed_all(&mut history, seqs);
        history
    };
    let told: Vec<_> = before(60)
        .intervals()
        .map(|i| (i.first, i.data_length, i.drops))
        .collect();
    assert_eq!(
        told,
        [
            (56, 5, 1),
            (35, 21, 1),
            (20, 15, 3),
            (1, u64::from(FIRST), 0)
        ]
    );
    // The current interval of 56 to 60 is short and does not count. I = 21, 15/3, 50.
    let mean = (21.0 + 5.0 + 50.0) / 3.0;
    assert!((before(60).p() - 1.0 / mean).abs() < 1e-12);
    // Without the rule: I = 21, 15, 50.
    let mut plain = history();
    feed_all(&mut plain, (1..=60).filter(|seq| !lost.contains(seq)));
    assert!((plain.p() - 3.0 / 86.0).abs() < 1e-12);
    // 56 to 106 are 51 packets in five round trips: this interval counts, and the oldest drops out.
    assert!((before(106).p() - 3.0 / (51.0 + 21.0 + 5.0)).abs() < 1e-12);
}

/// RFC 4828, 3: in a short current interval neither more losses nor more packets change p; otherwise p could fall and
/// rise again.
#[test]
fn a_short_current_interval_does_not_count() {
    let mut history = history().with_small_packets();
    // The first length is 2 here, so that the current interval would soon be longer.
    let lost = [20, 21, 22];
    let mut told = Vec::new();
    for seq in (1..=60).filter(|seq| !lost.contains(seq)) {
        history.receive(packet(seq), |_| 2.0);
        told.push((seq, history.p()));
    }
    let at = |seq| told.iter().find(|&&(s, _)| s == seq).expect("received").1;
    assert_eq!(at(24), 0.0, "three packets make a loss");
    assert_eq!(at(25), 0.5);
    assert_eq!(at(40), 0.5, "two round trips after 20");
    assert!((at(41) - 1.0 / 22.0).abs() < 1e-12, "longer: 22 packets");
}

/// Only the newest 28 intervals are kept.
#[test]
fn memory_is_bounded() {
    let mut history = history();
    feed_all(&mut history, (1..=2_000).filter(|seq| seq % 20 != 0));
    assert_eq!(history.events(), 99);
    assert_eq!(
        history.intervals().count(),
        LossHistory::<ByTime>::MAX_INTERVALS
    );
    assert!((history.p() - 0.05).abs() < 1e-9);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any losses, marks, copies and reordering, intervals are adjacent, end at the edge, and are never longer than
    /// the packets sent. p stays between 0 and 1.
    #[test]
    fn intervals_tile_the_sequence(
        steps in prop::collection::vec((0u64..6, 0u64..4, 0u8..20, 0u64..3), 1..200),
        small in any::<bool>(),
    ) {
        let mut history = if small { history().with_small_packets() } else { history() };
        let mut seq = 4u64;
        for (ahead, back, kind, non_data_before) in steps {
            seq += ahead;
            let packet = ReceivedPacket {
                is_data: kind % 5 != 1,
                marked: kind == 0,
                non_data_before,
                ..packet(seq - back)
            };
            history.receive(packet, |_| f64::from(FIRST));
            let mut end = history.edge() + 1;
            for interval in history.intervals() {
                let length = interval.loss_length + interval.lossless_length;
                prop_assert_eq!(interval.first + length, end, "{:?}", interval);
                prop_assert!(interval.data_length <= length.max(1) || interval.loss_length == 0);
                // RFC 5622, 8.7: no more drops than packets in the lossy part.
                prop_assert!(interval.drops <= interval.loss_length, "{:?}", interval);
                prop_assert_eq!(interval.drops > 0, interval.loss_length > 0);
                end = interval.first;
            }
            prop_assert!((0.0..=1.0).contains(&history.p()));
            prop_assert!(history.edge() <= seq);
        }
    }
}

/// [`ByTime`] that counts its calls.
#[derive(Debug)]
struct Counted {
    by_time: ByTime,
    asked: std::cell::Cell<u64>,
    most: u64,
}

impl Counted {
    fn new(rtt: Duration, most: u64) -> Self {
        Self {
            by_time: ByTime { rtt },
            asked: std::cell::Cell::new(0),
            most,
        }
    }
}

impl super::Grouping for Counted {
    type Stamp = Instant;

    fn lost(&self, before: Instant, after: Instant, nth: u64, span: u64) -> Instant {
        self.asked.set(self.asked.get() + 1);
        assert!(self.asked.get() <= self.most, "more than {}", self.most);
        self.by_time.lost(before, after, nth, span)
    }

    fn is_separate(&self, event: Instant, loss: Instant) -> bool {
        self.by_time.is_separate(event, loss)
    }

    fn is_short(&self, event: Instant, end: Instant) -> bool {
        self.by_time.is_short(event, end)
    }
}

/// With a round trip of a microsecond and a gap over a pause of an hour, few loss events are made, in few steps, for
/// any number of missing packets. The newest intervals are as long as if each event had been made.
#[test]
fn finding_2_a_long_gap_makes_few_events() {
    let most = LossHistory::<Counted>::MAX_EVENTS;
    for small in [false, true] {
        for missing in [100, 5_000, 3_600_000, 1 << 32, 1 << 46, u64::MAX - 100] {
            for pause_s in [1, 3_600] {
                let grouping = Counted::new(Duration::from_micros(1), 5 * most);
                let mut history = LossHistory::new(grouping, 0, LossAverage::new(true));
                if small {
                    history = history.with_small_packets();
                }
                for seq in 1..=3 {
                    history.receive(packet(seq), |_| f64::from(FIRST));
                }
                for seq in 1..=3u64 {
                    let late = ReceivedPacket {
                        seq: 3 + missing + seq,
                        stamp: Instant::START + Duration::from_secs(pause_s),
                        ..packet(3)
                    };
                    history.receive(late, |_| f64::from(FIRST));
                }
                let name = format!("{missing} in {pause_s} s: {}", history.events());
                assert!((2..=most).contains(&history.events()), "{name}");
                // The expected interval: a nanosecond more than a microsecond, in packets of the gap, but at least one
                // packet.
                let gap_ns = u128::from(pause_s * 1_000_000_000 - 30_000_000);
                let length = u64::try_from(u128::from(missing) * 1_001 / gap_ns).expect("small");
                let length = length.max(1);
                for interval in history.intervals().skip(1).take(8) {
                    let data = interval.data_length;
                    assert!(data.abs_diff(length) <= 1 + length / 500, "{name}: {data}");
                }
            }
        }
    }
}

/// Returns the loss events of a gap without a bound on their number: one in each round trip.
fn events_of(first: u64, count: u64, at: impl Fn(u64) -> Instant, rtt: Duration) -> Vec<u64> {
    let mut events: Vec<u64> = Vec::new();
    for nth in first..first + count {
        if events.last().is_none_or(|&event| at(event) + rtt < at(nth)) {
            events.push(nth);
        }
    }
    events
}

proptest! {
    /// RFC 5348, 5.2: in a gap of no more round trips than intervals are kept, events begin where they would if each
    /// packet were examined separately.
    #[test]
    fn finding_2_gaps_of_few_events_stay_exact(
        missing in 1_u64..400,
        gap_us in 1_u64..1_000_000,
        rtt_us in 1_u64..1_000_000,
    ) {
        let rtt = Duration::from_micros(rtt_us);
        let mut history = LossHistory::new(ByTime { rtt }, 0, LossAverage::new(false));
        let start = Instant::START + Duration::from_secs(1);
        let after = start + Duration::from_micros(gap_us);
        history.receive(ReceivedPacket { stamp: start, ..packet(1) }, |_| 9.0);
        for n in 0..3 {
            let late = ReceivedPacket { seq: 2 + missing + n, stamp: after, ..packet(1) };
            history.receive(late, |_| 9.0);
        }
        let by_time = ByTime { rtt };
        let at = |seq: u64| super::Grouping::lost(&by_time, start, after, seq - 1, missing + 1);
        let expected = events_of(2, missing, at, rtt);
        if expected.len() <= LossHistory::<ByTime>::MAX_INTERVALS {
            prop_assert_eq!(history.events(), expected.len() as u64);
            let firsts: Vec<u64> = history.intervals().map(|interval| interval.first).collect();
            let newest_first = expected.iter().rev().copied().chain([1]);
            prop_assert_eq!(firsts, newest_first.take(28).collect::<Vec<_>>());
        } else {
            prop_assert!(history.events() <= LossHistory::<ByTime>::MAX_EVENTS);
        }
    }
}

/// Sequence numbers end at the largest `u64`: packets up to it count, and nothing panics there.
#[test]
fn finding_9_numbers_end_without_a_panic() {
    for marked in [false, true] {
        let mut history =
            LossHistory::new(ByTime { rtt: R }, u64::MAX - 20, LossAverage::new(true));
        for seq in [
            u64::MAX - 18,
            u64::MAX - 17,
            u64::MAX - 3,
            u64::MAX - 1,
            u64::MAX,
        ] {
            let packet = ReceivedPacket {
                seq,
                marked,
                ..packet(1)
            };
            history.receive(packet, |_| f64::from(FIRST));
            history.receive(packet, |_| f64::from(FIRST));
        }
        // Without marks the last gap waits for a third packet.
        let edge = if marked { u64::MAX } else { u64::MAX - 3 };
        assert_eq!(history.edge(), edge);
        assert!(history.p() > 0.0);
    }
}
