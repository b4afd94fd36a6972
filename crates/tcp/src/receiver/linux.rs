//! How Linux delays acknowledgements, after `tcp_input.c`, `tcp_output.c` and `tcp_timer.c` of 2.6.22 and 6.1.
//!
//! It acknowledges one by one at the beginning, after a copy, and after a pause (`icsk_ack.quick`). Otherwise the delay
//! follows the time between arrivals (`icsk_ack.ato`). The owner holds the timer and acknowledges what is out of order.

use fairwire_units::{Duration, Ecn, Instant};

use crate::config::{AckDelay, Config};
use crate::segment::TcpSegment;

/// The segment size that is assumed before the first segment, bytes (`TCP_MSS_DEFAULT`).
const DEFAULT_SEGMENT: u32 = 536;
/// The least size of a segment without PSH that counts as full, bytes (`TCP_MIN_MSS`).
const LEAST_SEGMENT: u32 = 88;
/// How many acknowledgements a congestion mark makes quick in 6.1.
const QUICK_AFTER_MARK: u32 = 2;

/// What decides when in-order data is acknowledged.
#[derive(Debug)]
pub(super) struct LinuxDelay {
    kernel: Kernel,
    /// The shortest delay (`TCP_ATO_MIN`).
    shortest: Duration,
    /// The most acknowledgements that can become quick at once (`TCP_MAX_QUICKACKS`).
    most_quick: u32,
    /// The receive window, bytes.
    window: u32,
    /// The options of a data segment, bytes.
    options: u32,
    /// The payload that counts as a full segment, bytes (`rcv_mss`).
    full: u32,
    /// The payload of the newest segment if it was shorter than a full one, bytes (`last_seg_size`).
    shorter: u32,
    /// The number of acknowledgements that still leave at once (`quick`).
    quick: u32,
    /// The delay that the arrivals suggest (`ato`); `None` before the first data.
    delay: Option<Duration>,
    /// When data last arrived in order.
    arrived: Instant,
    handshake: Handshake,
    /// The shortest variance in the timeout.
    min_rto: Duration,
    /// This side's retransmission timeout. It sends no data, so only the handshake gives it a sample.
    rto: Duration,
    /// Whether an ECN-capable segment has arrived.
    capable_seen: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kernel {
    V26,
    V61,
}

/// The measurement of the handshake's round trip.
#[derive(Clone, Copy, Debug)]
enum Handshake {
    /// No SYN-ACK has left.
    Waiting,
    /// One SYN-ACK has left, at this time.
    Answered(Instant),
    /// It is over, with this round trip if it was measured.
    Over(Option<Duration>),
}

impl LinuxDelay {
    /// Creates the state, if the configuration asks for Linux's delays.
    pub(super) fn new(config: &Config) -> Option<Self> {
        let delayed = config.delayed_acks?;
        let kernel = match delayed.delay {
            AckDelay::Fixed => return None,
            AckDelay::Linux26 => Kernel::V26,
            AckDelay::Linux61 => Kernel::V61,
        };
        let window = config.window_bytes();
        Some(Self {
            kernel,
            shortest: delayed.wait,
            most_quick: delayed.quick,
            window,
            options: config.options_on_data(),
            full: config
                .mss()
                .min(DEFAULT_SEGMENT)
                .min(window / 2)
                .max(LEAST_SEGMENT),
            shorter: 0,
            quick: 0,
            delay: None,
            arrived: Instant::START,
            handshake: if config.handshake {
                Handshake::Waiting
            } else {
                Handshake::Over(None)
            },
            min_rto: config.rto.min,
            rto: config.rto.initial,
            capable_seen: false,
        })
    }

    /// Records that a SYN-ACK leaves. Only the first one measures a round trip.
    pub(super) fn on_syn_ack(&mut self, now: Instant) {
        self.handshake = match self.handshake {
            Handshake::Waiting => Handshake::Answered(now),
            Handshake::Answered(_) => Handshake::Over(None),
            over @ Handshake::Over(_) => over,
        };
    }

    /// Records a segment after the SYN: the first one ends the handshake.
    pub(super) fn on_established(&mut self, now: Instant) {
        match self.handshake {
            Handshake::Answered(at) => {
                let round_trip = now - at;
                // The first sample R gives a timeout of R + max(2 R, RTO_min).
                self.rto = round_trip + (round_trip * 2).max(self.min_rto);
                self.handshake = Handshake::Over(Some(round_trip));
            }
            Handshake::Waiting => self.handshake = Handshake::Over(None),
            Handshake::Over(_) => {}
        }
    }

    /// Records the ECN field of a data segment; `echoes` says whether acknowledgements have ECE already.
    pub(super) fn on_ecn_field(&mut self, ecn: Ecn, echoes: bool) {
        let most = match self.kernel {
            Kernel::V26 => self.most_quick,
            Kernel::V61 => self.most_quick.min(QUICK_AFTER_MARK),
        };
        let is_quick = match (ecn, self.kernel) {
            // Without ECN-capability it is a retransmission.
            (Ecn::NotEct, Kernel::V26) => true,
            (Ecn::NotEct, Kernel::V61) => self.capable_seen,
            (Ecn::Ce, Kernel::V61) => !echoes,
            _ => false,
        };
        if is_quick {
            self.enter_quick(most);
        }
        self.capable_seen |= ecn != Ecn::NotEct;
    }

    /// Returns whether data with CWR is acknowledged at once.
    pub(super) fn hurries_after_cwr(&self) -> bool {
        self.kernel == Kernel::V61
    }

    /// Records a segment without new data, or beyond the window: the sender may have lost acknowledgements.
    pub(super) fn on_useless(&mut self) {
        self.enter_quick(self.most_quick);
    }

    /// Records that an acknowledgement leaves.
    pub(super) fn on_ack(&mut self) {
        if self.quick == 1 {
            self.delay = Some(self.shortest);
        }
        self.quick = self.quick.saturating_sub(1);
    }

    /// Records that a delayed acknowledgement leaves because its time is over: the next segment takes longer than
    /// expected.
    pub(super) fn on_expiry(&mut self) {
        if let Some(delay) = &mut self.delay {
            *delay = (*delay * 2).min(self.rto);
        }
    }

    /// Records data that arrived in order. Returns until when its acknowledgement may wait, or `None` if it leaves at
    /// once.
    ///
    /// `unacknowledged` is the data that no acknowledgement covers yet, bytes.
    pub(super) fn on_in_order(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        unacknowledged: u64,
    ) -> Option<Instant> {
        let is_pushed = self.measure(segment);
        let delay = self.adapt(now);
        self.arrived = now;
        if unacknowledged > u64::from(self.full) || self.quick > 0 || is_pushed {
            return None;
        }
        Some(now + self.bounded(delay))
    }

    /// Learns the size of a full segment; returns whether the segment ends what the sender's application has written.
    /// Such data is acknowledged as soon as the application has read everything.
    fn measure(&mut self, segment: &TcpSegment) -> bool {
        let shorter = std::mem::take(&mut self.shorter);
        if segment.len >= self.full {
            self.full = segment.len;
            return segment.flags.psh && self.kernel == Kernel::V61;
        }
        let with_options = segment.len + self.options;
        if with_options >= DEFAULT_SEGMENT || (with_options >= LEAST_SEGMENT && !segment.flags.psh)
        {
            self.shorter = segment.len;
            if segment.len == shorter {
                self.full = segment.len;
                return false;
            }
        }
        true
    }

    /// Adapts the delay to the time since the last arrival, and returns it.
    fn adapt(&mut self, now: Instant) -> Duration {
        let delay = match self.delay {
            None => {
                self.raise_quick(self.most_quick);
                self.shortest
            }
            Some(delay) => {
                let pause = now - self.arrived;
                if pause <= self.shortest / 2 {
                    delay / 2 + self.shortest / 2
                } else if pause < delay {
                    (delay / 2 + pause).min(self.rto)
                } else {
                    if pause > self.rto {
                        // The sender may have begun again with a small window.
                        self.raise_quick(self.most_quick);
                    }
                    delay
                }
            }
        };
        self.delay = Some(delay);
        delay
    }

    /// Returns `delay` within the bounds of the kernel: at most a round trip, and never more than its maximum.
    fn bounded(&self, delay: Duration) -> Duration {
        let most = match self.kernel {
            Kernel::V26 => Duration::from_millis(500),
            Kernel::V61 => Duration::from_millis(200),
        };
        let round_trip = match self.handshake {
            Handshake::Over(Some(round_trip)) => round_trip.max(self.shortest),
            _ => most,
        };
        if delay > self.shortest {
            delay.min(round_trip).min(most)
        } else {
            delay
        }
    }

    fn enter_quick(&mut self, most: u32) {
        self.raise_quick(most);
        self.delay = Some(self.shortest);
    }

    /// Makes as many acknowledgements quick as half the window has segments, at least two, at most `most`.
    fn raise_quick(&mut self, most: u32) {
        let half = self.window / self.full.saturating_mul(2).max(1);
        let count = if half == 0 { 2 } else { half };
        self.quick = self.quick.max(count.min(most));
    }
}
