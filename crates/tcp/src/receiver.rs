//! The receiver of a connection.

mod echo;
mod linux;
mod reassembly;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use fairwire_units::{Ecn, Instant};

use crate::config::Config;
use crate::sack::SackBlocks;
use crate::segment::{Flags, TcpSegment, Timestamps};
use crate::stats::ReceiverStats;
use echo::Echo;
use linux::LinuxDelay;
use reassembly::{Arrival, Reassembly};

/// A receiver whose application reads at once.
#[derive(Debug)]
pub struct Receiver {
    config: Config,
    reassembly: Reassembly,
    open: bool,
    syn_ack_due: bool,
    echo: Echo,
    /// The timestamp that acknowledgements echo (`TS.Recent` of RFC 7323, section 4.3).
    recent: u32,
    /// The number of the newest acknowledgement (`Last.ACK.sent`).
    last_ack: u64,
    /// Acknowledgements of an earlier state, which leave before those that are due.
    earlier_acks: VecDeque<TcpSegment>,
    /// The number of acknowledgements that have to leave now.
    due: u32,
    /// The in-order segments that share a delayed acknowledgement so far.
    unacknowledged: u32,
    delayed_until: Option<Instant>,
    /// The number of segments that may still be acknowledged one by one. Linux's delays count for themselves.
    quick_left: u32,
    /// Linux's delays, if the configuration asks for them.
    linux: Option<LinuxDelay>,
    /// The end of the data in order that the newest acknowledgement due covers.
    acknowledged: u64,
    stats: ReceiverStats,
}

impl Receiver {
    /// Creates a receiver that waits for a SYN, or for data if the configuration has no handshake.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            reassembly: Reassembly::new(config.window_bytes()),
            open: !config.handshake,
            syn_ack_due: false,
            echo: Echo::new(config.ecn, config.handshake),
            recent: 0,
            last_ack: Reassembly::FIRST,
            earlier_acks: VecDeque::new(),
            due: 0,
            unacknowledged: 0,
            delayed_until: None,
            quick_left: config.delayed_acks.map_or(0, |delayed| delayed.quick),
            linux: LinuxDelay::new(&config),
            acknowledged: Reassembly::FIRST,
            stats: ReceiverStats::default(),
        }
    }

    /// Processes a segment from the peer.
    pub fn handle_segment(&mut self, now: Instant, segment: &TcpSegment) {
        self.record_timestamp(segment);
        if segment.flags.syn {
            // A repeated SYN means that our answer was lost.
            self.open = true;
            self.syn_ack_due = true;
            self.echo.on_syn(segment.flags);
            return;
        }
        if !self.open {
            return;
        }
        if let Some(linux) = &mut self.linux {
            linux.on_established(now);
        }
        if segment.len == 0 {
            return;
        }
        self.stats.segments += 1;
        self.stats.marked += u64::from(segment.ecn == Ecn::Ce);
        let hurries = self.record_mark(segment);
        let arrival = self.reassembly.insert(segment.seq, segment.end());
        if let (Some(linux), Arrival::Duplicate | Arrival::BeyondWindow) =
            (&mut self.linux, arrival)
        {
            linux.on_useless();
        }
        match arrival {
            Arrival::InOrder { filled_gap } => {
                self.acknowledge_in_order(now, segment, filled_gap || hurries);
            }
            // RFC 5681, 4.2: an out-of-order segment is acknowledged at once.
            Arrival::OutOfOrder => {
                self.stats.out_of_order += 1;
                self.acknowledge_at_once();
            }
            Arrival::Duplicate => {
                self.stats.duplicates += 1;
                self.acknowledge_at_once();
            }
            Arrival::BeyondWindow => {
                self.stats.beyond_window += 1;
                self.acknowledge_at_once();
            }
        }
        self.stats.bytes_delivered = self.reassembly.next() - Reassembly::FIRST;
    }

    /// Returns the next acknowledgement to send now, if there is one.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<TcpSegment> {
        let mut segment = self.next_to_send(now)?;
        if let Some(timestamps) = &mut segment.timestamps {
            timestamps.value = self.config.stamp(now);
        }
        self.last_ack = segment.ack;
        Some(segment)
    }

    fn next_to_send(&mut self, now: Instant) -> Option<TcpSegment> {
        if self.syn_ack_due {
            self.syn_ack_due = false;
            if let Some(linux) = &mut self.linux {
                linux.on_syn_ack(now);
            }
            return Some(self.acknowledgement(true));
        }
        if let Some(earlier) = self.earlier_acks.pop_front() {
            self.stats.acks_sent += 1;
            return Some(earlier);
        }
        self.due = self.due.checked_sub(1)?;
        self.stats.acks_sent += 1;
        Some(self.acknowledgement(false))
    }

    /// Records the timestamp to echo (RFC 7323, 4.3).
    ///
    /// It is that of the first segment that the next acknowledgement covers. So the sender's sample includes the delay
    /// of an acknowledgement and the time until a gap is filled.
    fn record_timestamp(&mut self, segment: &TcpSegment) {
        let Some(timestamps) = segment.timestamps else {
            return;
        };
        let is_newer = timestamps.value.wrapping_sub(self.recent) < 1 << 31;
        if segment.flags.syn || (is_newer && segment.seq <= self.last_ack) {
            self.recent = timestamps.value;
        }
    }

    /// Returns when to call [`handle_timeout`](Self::handle_timeout), if ever.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.delayed_until
    }

    /// Handles the delayed-acknowledgement timer if it has expired at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.delayed_until.is_some_and(|until| until <= now) {
            if let Some(linux) = &mut self.linux {
                linux.on_expiry();
            }
            self.acknowledge_at_once();
        }
    }

    /// Returns the counters.
    pub fn stats(&self) -> ReceiverStats {
        self.stats
    }

    /// Records the ECN field and CWR of a data segment; returns whether the segment must be acknowledged at once.
    fn record_mark(&mut self, segment: &TcpSegment) -> bool {
        // RFC 3168, 6.1.5: a segment outside the window does not count.
        if !self.reassembly.window_holds(segment.seq, segment.end()) {
            return false;
        }
        let marked = segment.ecn == Ecn::Ce;
        let turns = self.echo.changes_echo(marked);
        let mut hurries = turns;
        if let (Some(linux), true) = (&mut self.linux, self.echo.is_agreed()) {
            linux.on_ecn_field(segment.ecn, self.echo.flag(false));
            hurries |= segment.flags.cwr && linux.hurries_after_cwr();
        }
        if turns && self.unacknowledged > 0 {
            // RFC 8257, 3.2, permits two acknowledgements here; this is the one for the earlier segments.
            let earlier = self.acknowledgement(false);
            self.earlier_acks.push_back(earlier);
            self.unacknowledged = 0;
            self.delayed_until = None;
        }
        self.echo.on_data(marked, segment.flags.cwr);
        hurries
    }

    fn acknowledge_in_order(&mut self, now: Instant, segment: &TcpSegment, at_once: bool) {
        let Some(delayed) = self.config.delayed_acks else {
            return self.acknowledge_at_once();
        };
        if let Some(linux) = &mut self.linux {
            let unacknowledged = self.reassembly.next() - self.acknowledged;
            return match linux.on_in_order(now, segment, unacknowledged) {
                Some(until) if !at_once => {
                    let due = self.delayed_until.map_or(until, |due| due.min(until));
                    self.delayed_until = Some(due);
                }
                _ => self.acknowledge_at_once(),
            };
        }
        self.unacknowledged += 1;
        let is_quick = self.quick_left > 0;
        self.quick_left = self.quick_left.saturating_sub(1);
        // RFC 5681, 4.2: at least every second segment, and at once if a gap was filled.
        if at_once || is_quick || self.unacknowledged >= delayed.every {
            self.acknowledge_at_once();
        } else if self.delayed_until.is_none() {
            self.delayed_until = Some(now + delayed.wait);
        }
    }

    fn acknowledge_at_once(&mut self) {
        self.due = self.due.saturating_add(1);
        self.unacknowledged = 0;
        self.delayed_until = None;
        self.acknowledged = self.reassembly.next();
        if let Some(linux) = &mut self.linux {
            linux.on_ack();
        }
    }

    fn acknowledgement(&self, syn: bool) -> TcpSegment {
        let uses_sack = self.config.recovery.uses_sack();
        TcpSegment {
            seq: u64::from(!syn),
            ack: self.reassembly.next(),
            flags: Flags {
                syn,
                ack: true,
                psh: false,
                ece: self.echo.flag(syn),
                cwr: false,
            },
            ecn: Ecn::NotEct,
            window: self.config.window_bytes(),
            window_shift: self.config.window_shift(),
            mss: self.config.mss_field(),
            len: 0,
            timestamps: self.config.timestamps.then_some(Timestamps {
                value: 0,
                echo: self.recent,
            }),
            sack_permitted: syn && uses_sack,
            sack: if syn || !uses_sack {
                SackBlocks::default()
            } else {
                self.reassembly.sack_blocks()
            },
        }
    }
}
