//! What the peer's host reports about itself, as a TFRC sender uses it (RFC 4342, section 5.2).
//!
//! A full receive buffer or a slow receiver limits the rate for a round trip. Corrupt data counts as marked (RFC 4340,
//! section 11.7.2) and so makes a loss event. The peer's Loss Intervals need not contain that event, so this module
//! inserts it.

use fairwire_cc::HostLimits;
use fairwire_wire::{DropCode, LossInterval, Seq};

use super::report::Intervals;
use super::sent::SentPackets;
use crate::half::{HostReport, counts_as_marked};

/// The number of loss events remembered: as many as there are intervals that count.
const EVENTS: usize = fairwire_cc::tfrc::INTERVALS + 1;

/// Losses whose window counters are further apart than one round trip belong to different events (RFC 4342, section
/// 10.2).
const ROUND_TRIP: u64 = 4;

/// What the peer's host has reported.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HostReports {
    /// The limits that have not been passed to the controller yet.
    pub(super) limits: HostLimits,
    /// The packets with which loss events of corrupt data begin, newest first.
    events: [Option<Event>; EVENTS],
}

#[derive(Clone, Copy, Debug)]
struct Event {
    seq: Seq,
    counter: u64,
}

impl HostReports {
    pub(super) fn on_report(&mut self, report: &HostReport, sent: &SentPackets) {
        self.limits.slow |= report.slow;
        for run in report.drops.iter().rev() {
            match run.code {
                // RFC 4340, 11.7.2: not congestion; treated as if the data had been received.
                DropCode::ProtocolConstraints => {}
                DropCode::ReceiveBuffer => {
                    let packets = u32::try_from(run.packets()).unwrap_or(u32::MAX);
                    self.limits.buffer_drops = self.limits.buffer_drops.saturating_add(packets);
                    self.limits.ends_slow_start = true;
                }
                code if counts_as_marked(code) => {
                    self.limits.ends_slow_start = true;
                    let oldest_first = sent.between(run.low, run.high);
                    for (seq, counter) in oldest_first {
                        self.note_event(seq, counter);
                    }
                }
                _ => {}
            }
        }
    }

    /// Records a packet that counts as marked. It begins a loss event, unless one began within the round trip before.
    fn note_event(&mut self, seq: Seq, counter: u64) {
        let separate = self.events[0].is_none_or(|newest| {
            seq.is_after(newest.seq) && counter > newest.counter.saturating_add(ROUND_TRIP)
        });
        if separate {
            self.events.rotate_right(1);
            self.events[0] = Some(Event { seq, counter });
        }
    }

    /// Splits the intervals reported up to `ackno` where a loss event of corrupt data begins.
    pub(super) fn split(&self, ackno: Seq, reported: &Intervals) -> Intervals {
        if self.events[0].is_none() {
            return *reported;
        }
        let mut split = Intervals::new(reported.skip);
        let mut end = ackno.next().sub(u64::from(reported.skip));
        for (i, &interval) in reported.as_slice().iter().enumerate() {
            let mut rest = interval;
            let start = end.sub(sequence_length(&interval));
            let mut high = end;
            for event in self.events.iter().flatten() {
                // Only a packet after the interval's losses can begin another event.
                let lossless = start.add(u64::from(rest.loss_length));
                if event.seq.is_before(lossless) || !event.seq.is_before(high) {
                    continue;
                }
                let newer = event.seq.distance(high);
                split.push(piece(&mut rest, newer), 1);
                high = event.seq;
            }
            split.push(rest, reported.drops(i));
            end = start;
        }
        split
    }
}

/// Splits off the newest `packets` of `interval`, as an interval that begins with one marked packet.
fn piece(interval: &mut LossInterval, packets: u64) -> LossInterval {
    let packets = u32::try_from(packets).unwrap_or(u32::MAX);
    let data_length = interval.data_length.min(packets);
    interval.lossless_length = interval.lossless_length.saturating_sub(packets);
    interval.data_length -= data_length;
    LossInterval {
        lossless_length: packets.saturating_sub(1),
        ecn_nonce: false,
        loss_length: 1,
        data_length,
    }
}

fn sequence_length(interval: &LossInterval) -> u64 {
    u64::from(interval.lossless_length) + u64::from(interval.loss_length)
}

#[cfg(test)]
mod tests {
    use super::{HostReports, Intervals, LossInterval, SentPackets, Seq};
    use crate::half::{DropRun, HostReport};
    use fairwire_units::Instant;
    use fairwire_wire::DropCode;

    fn interval(lossless_length: u32, loss_length: u32) -> LossInterval {
        LossInterval {
            lossless_length,
            ecn_nonce: false,
            loss_length,
            data_length: lossless_length + loss_length,
        }
    }

    fn intervals(list: &[LossInterval]) -> Intervals {
        let mut intervals = Intervals::new(0);
        for &interval in list {
            intervals.push(interval, interval.loss_length);
        }
        intervals
    }

    /// Returns a state in which packets 1 to 200 were sent, ten per step of the window counter, and `numbers` were
    /// reported as corrupt.
    fn reported_events(numbers: &[u64]) -> HostReports {
        let mut sent = SentPackets::new();
        for number in 1..=200 {
            sent.push(Seq::new(number), Instant::START, Some(100), number / 10);
        }
        let mut host = HostReports::default();
        let drops = numbers.iter().rev().map(|&number| DropRun {
            high: Seq::new(number),
            low: Seq::new(number),
            code: DropCode::Corrupt,
        });
        let report = HostReport {
            drops: drops.collect(),
            slow: false,
        };
        host.on_report(&report, &sent);
        host
    }

    /// RFC 4340, 11.7.2: corrupt data counts as marked. Of packets 1 to 200, number 101 was lost. The corrupt packets
    /// 41 and 161 also begin loss events; 45 belongs to the event of 41, and 101 is lost already.
    #[test]
    fn damage_makes_loss_events() {
        let host = reported_events(&[41, 45, 101, 161]);
        // Up to 200: 99 received after one lost (101), and the 100 before it.
        let reported = intervals(&[interval(99, 1), interval(100, 0)]);
        let split = host.split(Seq::new(200), &reported);
        let expected = [
            interval(39, 1), // 161 to 200
            interval(59, 1), // 101 to 160
            interval(59, 1), // 41 to 100
            interval(40, 0), // 1 to 40
        ];
        assert_eq!(split.as_slice(), expected);
        let none = reported_events(&[]).split(Seq::new(200), &reported);
        assert_eq!(none, reported);
    }

    /// RFC 4342, 5.2: data dropped because the receive buffer was full is not a loss event.
    #[test]
    fn full_buffers_make_none() {
        let mut host = HostReports::default();
        let run = DropRun {
            high: Seq::new(9),
            low: Seq::new(5),
            code: DropCode::ReceiveBuffer,
        };
        let report = HostReport {
            drops: vec![run],
            slow: true,
        };
        host.on_report(&report, &SentPackets::new());
        assert_eq!(host.limits.buffer_drops, 5);
        assert!(host.limits.slow);
        assert!(host.events[0].is_none());
    }
}
