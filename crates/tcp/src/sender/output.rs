//! The segments that leave, and when.

use fairwire_cc::Permit;
use fairwire_units::Instant;

use super::outstanding::Sent;
use super::{Phase, Sender};
use crate::event::Event;
use crate::segment::{Flags, IPV4_HEADER, TCP_HEADER, TcpSegment, Timestamps};

/// The segment that would leave next.
enum Next {
    /// Data that was never sent.
    New(Sent),
    /// Data that a timeout gave up.
    GivenUp(Sent),
    /// Lost data, retransmitted in a recovery.
    Hole(Sent),
    /// A rescue retransmission, which causes further acknowledgements at the end of a recovery.
    Rescue(Sent),
}

impl Next {
    fn segment(&self) -> &Sent {
        match self {
            Self::New(segment)
            | Self::GivenUp(segment)
            | Self::Hole(segment)
            | Self::Rescue(segment) => segment,
        }
    }
}

impl Sender {
    pub(super) fn send_syn(&mut self, now: Instant, again: bool) -> TcpSegment {
        self.phase = Phase::SynSent { at: now, again };
        self.retransmit_at = Some(now + self.rtt.rto());
        TcpSegment {
            seq: 0,
            flags: Flags {
                syn: true,
                ..self.marks.offer()
            },
            sack_permitted: self.config.recovery.uses_sack(),
            ..self.header(now)
        }
    }

    pub(super) fn poll_established(&mut self, now: Instant) -> Option<TcpSegment> {
        if self.ack_due {
            self.ack_due = false;
            return Some(TcpSegment {
                seq: self.outstanding.max(),
                ..self.header(now)
            });
        }
        if self.retransmit_first {
            self.retransmit_first = false;
            let first = self.outstanding.retransmit_first(now)?;
            return Some(self.send_again(now, first));
        }
        if self.frto.is_probing() {
            // The next acknowledgement decides what leaves after these segments.
            let new = self.next_new(now)?;
            if !self.frto.takes_segment() {
                return None;
            }
            return Some(self.send_new(now, new));
        }
        let Some(next) = self.next_segment(now) else {
            self.held = false;
            return None;
        };
        self.held = true;
        if !self.is_permitted(now, next.segment().len) {
            return None;
        }
        if let Some(left) = &mut self.burst_left {
            *left -= 1;
        }
        match next {
            Next::New(segment) => Some(self.send_new(now, segment)),
            Next::GivenUp(_) => {
                let repeated = self.outstanding.retransmit_next(now)?;
                Some(self.send_again(now, repeated))
            }
            Next::Hole(segment) => {
                self.outstanding.repair(segment.seq, now);
                Some(self.send_again(now, segment))
            }
            Next::Rescue(segment) => {
                self.outstanding.rescue(segment.seq, now);
                Some(self.send_again(now, segment))
            }
        }
    }

    /// Returns the segment that would leave next, new or retransmitted.
    fn next_segment(&mut self, now: Instant) -> Option<Next> {
        if let Some(repeat) = self.outstanding.next_given_up() {
            return Some(Next::GivenUp(repeat));
        }
        let repairs = self.config.recovery.uses_sack() && self.recovery.is_active();
        if !repairs {
            return self.next_new(now).map(Next::New);
        }
        // RFC 6675, 4, NextSeg: lost data, new data, data that may be lost, and once the newest segment.
        if let Some(hole) = self.outstanding.next_hole(false) {
            return Some(Next::Hole(hole));
        }
        if let Some(new) = self.next_new(now) {
            return Some(Next::New(new));
        }
        if let Some(hole) = self.outstanding.next_hole(true) {
            return Some(Next::Hole(hole));
        }
        self.outstanding.next_rescue().map(Next::Rescue)
    }

    /// Returns the next new segment, if there is one that the receiver's window allows.
    pub(super) fn next_new(&self, now: Instant) -> Option<Sent> {
        let seq = self.outstanding.max();
        let unsent = self.stream_end.saturating_sub(seq);
        let len = u32::try_from(unsent).unwrap_or(u32::MAX).min(self.mss);
        let fits = seq.saturating_add(u64::from(len)) <= self.send_limit();
        (len > 0 && fits).then(|| Sent::new(seq, len, now))
    }

    fn is_permitted(&mut self, now: Instant, len: u32) -> bool {
        let stopped = self.burst_left == Some(0)
            || self
                .flight_limit
                .is_some_and(|limit| self.outstanding.in_flight() >= limit)
            || self.paced_until.is_some_and(|until| now < until);
        if stopped {
            return false;
        }
        let size = self.wire_len(len);
        match self.controller.permit(now, self.flight(), size) {
            Permit::Now => true,
            Permit::At(then) => {
                self.paced_until = Some(then);
                false
            }
            Permit::AwaitFeedback => false,
        }
    }

    fn send_new(&mut self, now: Instant, segment: Sent) -> TcpSegment {
        self.outstanding.push(segment);
        if (1..=2).contains(&self.duplicates) && !self.recovery.is_active() {
            self.limited_sent += 1;
        }
        if !self.recovery.is_active() {
            self.rtt.begin(now, segment.end());
        }
        self.sent(now, segment, false)
    }

    fn send_again(&mut self, now: Instant, segment: Sent) -> TcpSegment {
        self.stats.segments_retransmitted += 1;
        self.rtt.stop();
        self.sent(now, segment, true)
    }

    fn sent(&mut self, now: Instant, segment: Sent, retransmission: bool) -> TcpSegment {
        // RFC 6298, 5.1: the timer runs while data is outstanding.
        if self.retransmit_at.is_none() {
            self.retransmit_at = Some(now + self.rtt.rto());
        }
        self.stats.segments_sent += 1;
        self.stats.bytes_sent = self.stats.bytes_sent.saturating_add(u64::from(segment.len));
        let flight = self.flight();
        let size = self.wire_len(segment.len);
        self.controller.on_sent(now, flight, size);
        let Sent { seq, len, .. } = segment;
        self.record(
            now,
            Event::Sent {
                seq,
                len,
                retransmission,
            },
        );
        let mut header = self.header(now);
        header.flags.psh = segment.end() == self.stream_end;
        (header.ecn, header.flags.cwr) = self.data_ecn(retransmission);
        TcpSegment { seq, len, ..header }
    }

    /// Returns the header fields common to all our segments.
    fn header(&self, now: Instant) -> TcpSegment {
        TcpSegment {
            seq: 0,
            ack: super::FIRST,
            timestamps: self.config.timestamps.then(|| Timestamps {
                value: self.config.stamp(now),
                echo: self.peer_stamp,
            }),
            flags: Flags {
                ack: true,
                ..Flags::default()
            },
            window: self.config.window_bytes(),
            window_shift: self.config.window_shift(),
            mss: self.config.mss_field(),
            ..TcpSegment::default()
        }
    }

    fn wire_len(&self, len: u32) -> u32 {
        len.saturating_add(IPV4_HEADER + TCP_HEADER + self.config.options_on_data())
    }
}
