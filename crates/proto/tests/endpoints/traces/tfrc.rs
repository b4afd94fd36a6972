//! Tables for CCID 3 and CCID 4: feedback of a TFRC receiver, and the resulting rate.
//!
//! Columns: time in ms; event; X in bytes per second; the mean loss interval 1/p; nofeedback timeouts so far.
//!
//! `greedy` lets the application send as much as it may, `idle` ends that, and `one` sends a single datagram.
//! `report x` is feedback with that Receive Rate on the newest datagram that is at least a round trip old. `from a b`
//! names the datagrams with which loss events began, oldest first. `a*k` means that k datagrams from a on were lost in
//! the event, and `new` that another event begins with the acknowledged datagram. The event `-` means that only time
//! passes; a `-` in the column of 1/p means that it is not checked. The round trip is 100 ms.

use fairwire_proto::Config;
use fairwire_units::Duration;
use fairwire_wire::{Ccid, DccpOption, LossInterval};

use super::sender::Sender;

/// Runs a table for datagrams of `payload` bytes under `ccid`. `first` is the length that the receiver reports for the
/// interval before the first loss event (RFC 5348, 6.3.1).
pub(crate) fn run(table: &str, ccid: u8, payload: usize, first: u32) {
    let mut config = Config::default();
    config.send_ccids = vec![Ccid::new(ccid)];
    config.receive_ccids = vec![Ccid::new(ccid)];
    config.idle_timeout = Duration::from_secs(600).into();
    let mut sender = Sender::open(config, payload);
    for row in table.lines().filter(|line| !line.trim().is_empty()) {
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
            ["report", rate, losses @ ..] => report(&mut sender, rate, losses, first),
            _ => assert_eq!(what, "-", "{row}"),
        }
        sender.drain();
        let gauges = sender.stats().gauges;
        let x = gauges.rate_bytes_per_s.expect("a rate");
        let expected: f64 = rate.parse().expect("a number");
        // The table has whole bytes per second. Elapsed Time is rounded down to ten microseconds, which makes the
        // round-trip time too long by up to that in 100 ms.
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

/// Delivers Receive Rate, Elapsed Time and Loss Intervals. Elapsed Time makes the round-trip time 100 ms, whatever the
/// datagram (RFC 4342, section 6).
fn report(sender: &mut Sender, rate: &str, losses: &[&str], before: u32) {
    let rtt = Duration::from_millis(100);
    let (acked, held) = sender.newest_older_than(rtt);
    let mut starts: Vec<(u64, u32)> = Vec::new();
    for word in losses {
        match *word {
            "from" => {}
            "new" => starts.push((acked, 1)),
            event => {
                let (start, lost) = event.split_once('*').unwrap_or((event, "1"));
                let start = start.parse().expect("a datagram");
                starts.push((start, lost.parse().expect("a number")));
            }
        }
    }
    let mut intervals = Vec::new();
    let mut end = acked + 1;
    for (start, lost) in starts.into_iter().rev() {
        let (first, after) = (sender.seq_of(start), sender.seq_of(end - 1).next());
        let sequence = u32::try_from(first.distance(after)).expect("a short interval");
        intervals.push(LossInterval {
            lossless_length: sequence - lost,
            ecn_nonce: false,
            loss_length: lost,
            data_length: u32::try_from(end - start).expect("a short interval"),
        });
        end = start;
    }
    if !intervals.is_empty() {
        // The interval before the first loss event (RFC 5348, 6.3.1).
        intervals.push(LossInterval {
            lossless_length: before,
            ecn_nonce: false,
            loss_length: 0,
            data_length: before,
        });
    }
    // RFC 5622, 8.7: feedback of CCID 4 says how many packets each interval lost.
    let sender_counts_drops = sender.stats().send_ccid == Some(Ccid::TFRC_SP);
    let ack = sender.seq_of(acked);
    let rate = rate.parse().expect("bytes per second");
    // In units of 10 microseconds (RFC 4340, 13.2).
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
        let dropped: Vec<u32> = intervals.iter().map(|i| i.loss_length).collect();
        encoder.loss_intervals(0, intervals).expect("there is room");
        if sender_counts_drops {
            encoder.dropped_packets(dropped).expect("there is room");
        }
    });
}
