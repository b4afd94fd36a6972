//! CCID 3 (RFC 4342, and RFC 5348 for the rate).
//!
//! Columns: time in ms; what happens; X in bytes per second; the mean loss interval 1/p; nofeedback
//! timeouts so far.
//!
//! `greedy` lets the application send whatever it may, `idle` ends that, `one` is a single
//! datagram. `report x` is feedback with that Receive Rate on the newest datagram that is at
//! least a round trip old; `from a b` names the datagrams with which loss events began, oldest
//! first, before which the receiver counts an interval of 100; `new` lets one more begin with the datagram
//! that is acknowledged. `-`: only time passes. Datagrams have 1,000 bytes, the round trip is 100 ms.

use fairwire_proto::Config;
use fairwire_units::Duration;
use fairwire_wire::{DccpOption, LossInterval};

use super::sender::Sender;

/// Slow start, two loss events, silence, a pause, and an application that is the limit.
///
/// - Initial rate (RFC 5348, 4.2): min(4s, max(2s, 4380)) = 4,000 bytes per round trip.
/// - Without losses X doubles once per round trip (4.3), so not at 450 ms, and stays below twice the
///   largest receive rate of the last two round trips: 2 x 80,000 at 300 ms. Until then the
///   infinity of the start stands in the set.
/// - The equation (3.1) at s = 1,000, R = 0.1 s, b = 1 and `t_RTO` = 4R gives 112,332 at p = 1/100. The
///   second event closes an interval of 145 - 70 = 75: the mean of 75 and 100 is 87.5, as the one
///   that has just begun would only lower it (5.4), and the equation gives 103,839.
/// - The nofeedback timer (4.3, 4.4) is max(4R, 2s/X) = 400 ms and the few
///   microseconds by which Elapsed Time is rounded. At 1,200 ms twice the receive rate
///   is above the equation's, so half of the latter is left; the set then holds a quarter, and
///   at 1,600 ms that is what limits, so that a quarter is left.
/// - At 1,700 ms a receive rate of 40,000 permits twice as much.
/// - At 2,100 ms the timer expires: 2 x 40,000 is below the equation's rate and is halved. At 2,500 ms
///   nothing was sent since the timer was set, and what was received, 20,000 by now, is below the
///   recover rate of 40,000: nothing changes any more (4.4).
/// - At 3,100 ms the report covers a round trip without data to send: what was once received stays
///   allowed, 2 x 20,000 (4.3). At 3,200 ms the application is not the limit: 2 x 40,000.
/// - From 5,000 ms on the application sends 10,000 bytes per second of 40,000 allowed, which stay
///   allowed. A loss in this halves the 20,000 in the set to 10,000, which is more than 0.85 x
///   10,000, and is the limit without being doubled (4.3). (The interval that is open counts by now, as
///   it has become long; X does not depend on it here, so p is left out.)
const RATE: &str = "
    0 | greedy                            |  40000 | inf  | 0
  100 | report  10000                     |  80000 | inf  | 0
  200 | report  40000                     | 160000 | inf  | 0
  300 | report  80000                     | 160000 | inf  | 0
  400 | report 160000                     | 320000 | inf  | 0
  450 | report 160000                     | 320000 | inf  | 0
  500 | report 320000                     | 640000 | inf  | 0
  600 | report 320000 from 70             | 112332 | 100  | 0
  700 | report 112000 from 70             | 112332 | 100  | 0
  800 | report 112000 from 70 145         | 103839 | 87.5 | 0
 1199 | -                                 | 103839 | 87.5 | 0
 1201 | -                                 |  51920 | 87.5 | 1
 1599 | -                                 |  51920 | 87.5 | 1
 1601 | -                                 |  25960 | 87.5 | 2
 1700 | report  40000 from 70 145         |  80000 | 87.5 | 2
 1750 | idle                              |  80000 | 87.5 | 2
 2099 | -                                 |  80000 | 87.5 | 2
 2101 | -                                 |  40000 | 87.5 | 3
 2500 | -                                 |  40000 | 87.5 | 3
 3000 | greedy                            |  40000 | 87.5 | 3
 3100 | report  10000 from 70 145         |  40000 | 87.5 | 3
 3200 | report  40000 from 70 145         |  80000 | 87.5 | 3
 3250 | idle                              |  80000 | 87.5 | 3
 3601 | -                                 |  40000 | 87.5 | 4
 5000 | one                               |  40000 | -    | 4
 5100 | one                               |  40000 | -    | 4
 5100 | report  10000 from 70 145         |  40000 | -    | 4
 5200 | one                               |  40000 | -    | 4
 5200 | report  10000 from 70 145         |  40000 | -    | 4
 5300 | report  10000 from 70 145 new     |  10000 | -    | 4
";

#[test]
fn ten_reports_a_pause_and_silence() {
    let mut config = Config::default();
    config.send_ccids = vec![3];
    config.receive_ccids = vec![3];
    config.idle_timeout = Duration::from_secs(600);
    let mut sender = Sender::open(config, 1_000);
    for row in RATE.lines().filter(|line| !line.trim().is_empty()) {
        let columns: Vec<&str> = row.split('|').map(str::trim).collect();
        let &[at, what, rate, interval, timeouts] = columns.as_slice() else {
            panic!("five columns: {row}");
        };
        sender.advance(Duration::from_millis(at.parse().expect("milliseconds")));
        let words: Vec<&str> = what.split_whitespace().collect();
        match words.as_slice() {
            ["greedy"] => sender.greedy = true,
            ["idle"] => sender.greedy = false,
            ["one"] => sender.offer(1),
            ["report", rate, losses @ ..] => report(&mut sender, rate, losses),
            _ => assert_eq!(what, "-", "{row}"),
        }
        sender.drain();
        let gauges = sender.stats().gauges;
        let x = gauges.rate_bytes_per_s.expect("a rate");
        let expected: f64 = rate.parse().expect("a number");
        // The table has whole bytes per second; Elapsed Time is rounded down to ten microseconds, by
        // which, in 100 ms, the round trip is too long.
        let tolerance = 0.5 + expected * 1e-4;
        assert!((x - expected).abs() <= tolerance, "X = {x}: {row}");
        let p = gauges.p.expect("a loss event rate");
        if interval != "-" {
            let mean: f64 = interval.parse().expect("a number");
            assert!((p - 1.0 / mean).abs() < 1e-9, "p = {p}: {row}");
        }
        assert_eq!(gauges.timeouts.to_string(), timeouts, "{row}");
    }
}

/// Receive Rate, Elapsed Time and Loss Intervals, so that the round trip is 100 ms whatever the
/// datagram (RFC 4342, section 6).
fn report(sender: &mut Sender, rate: &str, losses: &[&str]) {
    let rtt = Duration::from_millis(100);
    let (acked, held) = sender.newest_older_than(rtt);
    let mut starts: Vec<u64> = Vec::new();
    for word in losses {
        match *word {
            "from" => {}
            "new" => starts.push(acked),
            start => starts.push(start.parse().expect("a datagram")),
        }
    }
    let mut intervals = Vec::new();
    let mut end = acked + 1;
    for start in starts.into_iter().rev() {
        let (first, after) = (sender.seq_of(start), sender.seq_of(end - 1).next());
        let sequence = u32::try_from(first.distance(after)).expect("a short interval");
        intervals.push(LossInterval {
            lossless_length: sequence - 1,
            ecn_nonce: false,
            loss_length: 1,
            data_length: u32::try_from(end - start).expect("a short interval"),
        });
        end = start;
    }
    if !intervals.is_empty() {
        // The one before the first loss event (RFC 5348, 6.3.1).
        intervals.push(LossInterval {
            lossless_length: 100,
            ecn_nonce: false,
            loss_length: 0,
            data_length: 100,
        });
    }
    let ack = sender.seq_of(acked);
    let rate = rate.parse().expect("bytes per second");
    // In tens of microseconds (RFC 4340, 13.2).
    let elapsed = u32::try_from(held.as_nanos() / 10_000).expect("short");
    sender.receive_ack(ack, |encoder| {
        let options = [
            DccpOption::ElapsedTime(elapsed),
            DccpOption::ReceiveRate(rate),
        ];
        for option in options {
            encoder.option(&option).expect("there is room");
        }
        if intervals.is_empty() {
            intervals.push(LossInterval {
                lossless_length: 1,
                data_length: 1,
                ..LossInterval::default()
            });
        }
        encoder.loss_intervals(0, intervals).expect("there is room");
    });
}
